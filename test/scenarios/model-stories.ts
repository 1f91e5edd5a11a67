import fc from 'fast-check';
import { TO } from '../service.ts';
import { subjectOf } from '../reference/question.ts';
import { type Asked, anyQuestion, contractOf, paymentOf, withdrawalOf } from './model-callbacks.ts';
import { type Command, changed, pushed } from './model-script.ts';

/*
 * What chance alone would seldom do: several steps about one subject, each of which only means something
 * after the one before. Whatever happened earlier may still make them come out otherwise.
 */

const HOUR_MS = 3_600_000;
const STRICT = 1;
const GENEROUS = 2;
const ANNOUNCED = 3;
const BY_SYMBOL = 4;
const ALTERNATIVES = 6;
const OCCASIONAL = 7;
const MOVING = 8;
const TOGETHER = 9;
const EVERYDAY = 0;

const asks = (...callbacks: readonly Asked[]): Command => ({
  type: 'burst',
  callbacks,
  meanwhile: undefined,
});
const symbolOf = ({ members }: Asked): string => members.symbol?.[0] ?? '';
const passes = (ms: number): Command => ({ type: 'advance', ms });

/** Signed and sped up, again and again. */
const spedUp = fc.constantFrom(1, 4, 5).map((order): readonly Command[] => {
  const start = withdrawalOf(order, anyQuestion);
  const signed = (txid: string): Asked => withdrawalOf(order, { type: 'sign_success', speedUp: false, txid });
  const faster = withdrawalOf(order, { ...anyQuestion, speedUp: true });
  return [
    pushed(EVERYDAY),
    asks(faster, start),
    asks(signed('0x0a')),
    asks(faster, faster),
    asks(signed('0x0b')),
    asks(faster),
    passes(HOUR_MS),
    asks(faster, start),
  ];
});

/** Sped up for the first time as late as it may be, and later. */
const spedUpLate = fc.constantFrom(1, 4, 5).map((order): readonly Command[] => {
  const faster = withdrawalOf(order, { ...anyQuestion, speedUp: true });
  const start = withdrawalOf(order, anyQuestion);
  return [pushed(EVERYDAY), asks(start), passes(600_000), asks(faster), passes(1), asks(faster)];
});

/** Tokens and coins, up to their limits, with call data that can't be read in between. */
const moved = fc
  .tuple(
    fc.shuffledSubarray([0, 4, 5, 6, 7], { minLength: 3 }),
    fc.constantFrom(599_999, 600_000, HOUR_MS, 24 * HOUR_MS),
  )
  .map(([orders, wait]): readonly Command[] => {
    const all = asks(...orders.map((order) => contractOf(order, anyQuestion)));
    const price = (asset: string) => changed({ type: 'price', asset, price: '1', ageMs: 0 });
    return [pushed(MOVING), price('USDT'), price('ETH'), all, passes(wait), all, price('USDT'), all];
  });

/** Payments, withdrawals and transactions under limits that they share, one after the other. */
const shared = fc
  .tuple(
    fc.shuffledSubarray([0, 4, 8, 10], { minLength: 2 }),
    fc.shuffledSubarray([1, 2, 7, 8], { minLength: 1 }),
    fc.shuffledSubarray([4, 5, 6, 7], { minLength: 2 }),
    fc.constantFrom(599_999, 600_000, HOUR_MS, 24 * HOUR_MS),
  )
  .map(([payments, withdrawals, contracts, wait]): readonly Command[] => {
    const all = [
      asks(...payments.map((order) => paymentOf(order))),
      asks(...withdrawals.map((order) => withdrawalOf(order, anyQuestion))),
      asks(...contracts.map((order) => contractOf(order, anyQuestion))),
    ];
    const price = (asset: string) => changed({ type: 'price', asset, price: '1', ageMs: 0 });
    const [first] = payments;
    const release = changed({ type: 'release', source: 'shop', subject: `payment:p-${first}` });
    return [pushed(TOGETHER), price('USDT'), ...all, release, ...all, passes(wait), ...all.toReversed()];
  });

/** Approved, said to have failed, and signed all the same. */
const signedAfterRelease = fc.constantFrom(1, 4, 5, 7, 8).map((order): readonly Command[] => {
  const start = withdrawalOf(order, anyQuestion);
  const signed = withdrawalOf(order, { type: 'sign_success', speedUp: false, txid: '0x0a' });
  const release = changed({ type: 'release', source: 'vault', subject: subjectOf(start) });
  return [pushed(GENEROUS), passes(24 * HOUR_MS), asks(start), release, asks(start, signed)];
});

/** Announced, cancelled, announced anew, paid, and then cancelled too late. */
const ordered = fc.tuple(fc.nat(17), fc.constantFrom(0, 60_000, HOUR_MS)).map(([order, wait]) => {
  const asked = paymentOf(order);
  const { source, orderMembers: members } = asked;
  const subject = subjectOf(asked);
  const cancel = changed({ type: 'orders', changes: [{ source, subject }] });
  const announce = { members, expiresInMs: HOUR_MS };
  const expect = changed({ type: 'orders', changes: [{ source, subject, announce }] });
  const price = changed({ type: 'price', asset: symbolOf(asked), price: '1', ageMs: 0 });
  const paid = asks(asked, asked);
  return [pushed(ANNOUNCED), price, expect, cancel, paid, expect, passes(wait), paid, cancel, expect, paid];
});

/**
 * Paid while orders are only observed, by then expired or for another amount; and again once they must agree.
 */
const observed = fc
  .tuple(fc.constantFrom(0, 7, 14), fc.constantFrom(0, 60_000), fc.constantFrom('400', '7'))
  .map(([order, wait, amount]) => {
    const asked = paymentOf(order);
    const { source, orderMembers: members } = asked;
    const announce = { members: { ...members, amount }, expiresInMs: 60_000 };
    const expect = changed({ type: 'orders', changes: [{ source, subject: subjectOf(asked), announce }] });
    const price = changed({ type: 'price', asset: symbolOf(asked), price: '1', ageMs: 0 });
    const before = [pushed(BY_SYMBOL), expect, passes(wait), asks(asked)];
    return [...before, pushed(ANNOUNCED), price, asks(asked), expect, asks(asked)];
  });

/** A little to an address that is new, then more before and after it is known. */
const known = fc.constantFrom([4, 1], [0, 6], [9, 3]).map(([few = 0, many = 0]): readonly Command[] => {
  const [little, more] = [withdrawalOf(few, anyQuestion), withdrawalOf(many, anyQuestion)];
  const steps = [passes(HOUR_MS), asks(more, little), passes(HOUR_MS - 1), asks(more), passes(1)];
  return [pushed(ANNOUNCED), ...steps, asks(more, little)];
});

const toggled = (source: Asked['source'], list: string, value: string): Command =>
  changed({ type: 'toggle', source, list, value });

/** Paid by one alternative, and again when its list has changed. */
const paidByAnother = fc.constantFrom([0, 2], [4, 10], [6, 0]).map((orders): readonly Command[] => {
  const paid = asks(...orders.map((order) => paymentOf(order)));
  const vip = toggled('shop', 'vips', '1');
  return [pushed(ALTERNATIVES), paid, vip, paid, passes(HOUR_MS + 60_000), paid, vip, paid];
});

/** Paid until there is no room in any alternative, and when there is again. */
const paidInTurn = fc.constant<readonly Command[]>([
  pushed(ALTERNATIVES),
  asks(paymentOf(1), paymentOf(7)),
  asks(paymentOf(9), paymentOf(13)),
  passes(HOUR_MS + 60_000),
  asks(paymentOf(9), paymentOf(13)),
]);

/** Prepared by one alternative, and started by another. */
const startedByAnother = fc
  .tuple(fc.constantFrom(1, 4, 5, 8), fc.constantFrom('partners', 'bound'))
  .map(([order, list]): readonly Command[] => {
    const prepare = withdrawalOf(order, { ...anyQuestion, type: 'sign_prepare' });
    const start = withdrawalOf(order, anyQuestion);
    const changes = toggled('vault', list, list === 'bound' ? `${TO} ETH 77 a` : TO);
    const partner = toggled('vault', 'partners', TO);
    const first = [pushed(ALTERNATIVES), asks(prepare), changes, asks(start), asks(prepare, start)];
    return [...first, partner, asks(start), partner, asks(start, prepare)];
  });

/**
 * A little before and after an approval leaves a window of ten minutes, of an hour or of a day, and far from
 * that.
 */
const EDGES_MS = [
  1,
  300_000,
  599_999,
  600_000,
  609_999,
  610_000,
  1_800_000,
  3_540_000,
  3_599_999,
  3_600_000,
  3_659_999,
  3_660_000,
  24 * HOUR_MS,
] as const;

/**
 * Approved, and asked about again when its windows are about to end, and others beside it when they have
 * ended.
 */
const askedAgain = fc
  .tuple(
    fc.constantFrom(EVERYDAY, STRICT, GENEROUS, BY_SYMBOL, ALTERNATIVES, TOGETHER),
    fc.constantFrom(EVERYDAY, STRICT, GENEROUS, BY_SYMBOL),
    fc.array(fc.constantFrom(...EDGES_MS), { minLength: 3, maxLength: 3 }),
  )
  .map(([revision, next, [first = 0, second = 0, third = 0]]): readonly Command[] => {
    const prepared = [1, 4, 5, 8].map((order) =>
      withdrawalOf(order, { ...anyQuestion, type: 'sign_prepare' }),
    );
    const started = [1, 4, 5, 8].map((order) => withdrawalOf(order, anyQuestion));
    const paid = [0, 2, 8, 10].map((order) => paymentOf(order));
    const half = asks(...paid.slice(0, 2), ...prepared.slice(0, 2));
    const all = [asks(...paid), asks(...started.slice(0, 2)), asks(...prepared.slice(2), ...started)];
    return [
      pushed(revision),
      toggled('vault', 'partners', TO),
      half,
      passes(first),
      half,
      asks(...started.slice(0, 1)),
      passes(second),
      ...all,
      pushed(next),
      ...all,
      passes(third),
      ...all.toReversed(),
    ];
  });

/** Refused while the address is on neither list, and again when one of the lists has changed. */
const listedLater = fc.constantFrom(1, 4).map((order): readonly Command[] => {
  const start = asks(withdrawalOf(order, anyQuestion));
  const [partner, bound] = [toggled('vault', 'partners', TO), toggled('vault', 'bound', `${TO} ETH 77 a`)];
  return [pushed(OCCASIONAL), start, partner, start, bound, start, partner, start, bound, start];
});

export const stories: fc.Arbitrary<readonly Command[]> = fc.oneof(
  { weight: 3, arbitrary: spedUp },
  { weight: 4, arbitrary: askedAgain },
  spedUpLate,
  observed,
  ordered,
  { weight: 3, arbitrary: known },
  paidByAnother,
  paidInTurn,
  { weight: 3, arbitrary: startedByAnother },
  { weight: 2, arbitrary: signedAfterRelease },
  listedLater,
  moved,
  shared,
);
