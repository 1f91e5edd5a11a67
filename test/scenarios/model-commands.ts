import fc from 'fast-check';
import { TO } from '../service.ts';
import { MINUTE_MS } from '../reference/policy.ts';
import { subjectOf } from '../reference/question.ts';
import {
  OTHER,
  anyQuestion,
  contract,
  contractOf,
  payment,
  paymentOf,
  withdrawal,
  withdrawalOf,
} from './model-callbacks.ts';
import { type Change, type Command, type OrderPlan, changed, pushed } from './model-script.ts';
import { stories } from './model-stories.ts';
import { revisions } from './model-policies.ts';

/** Of what comes, mostly as it comes; some name fewer members, and some another amount. */
const orderPlan = fc
  .tuple(
    fc.oneof(
      fc.tuple(fc.nat(17), fc.boolean()).map(([order, late]) => paymentOf(order, { late })),
      fc.nat(9).map((order) => withdrawalOf(order, anyQuestion)),
      fc.nat(7).map((order) => contractOf(order, anyQuestion)),
    ),
    fc.constantFrom(
      'as it comes',
      'as it comes',
      'as it comes',
      'fewer members',
      'another',
      'another',
      'cancel',
    ),
    fc.constantFrom(0, MINUTE_MS, 60 * MINUTE_MS, 2 * 60 * MINUTE_MS, 1440 * MINUTE_MS),
  )
  .map(([asked, how, expiresInMs]): OrderPlan => {
    const { source, orderMembers: members } = asked;
    const subject = subjectOf(asked);
    if (how === 'cancel') return { source, subject };
    const { from: _from, interactive_contract: _contract, ...fewer } = members;
    const announced =
      how === 'another' ? { ...members, amount: '7' } : how === 'fewer members' ? fewer : members;
    return { source, subject, announce: { members: announced, expiresInMs } };
  });

const orders = fc
  .uniqueArray(orderPlan, {
    minLength: 1,
    maxLength: 12,
    size: 'max',
    selector: ({ source, subject }) => `${source} ${subject}`,
  })
  .map((changes): Change => ({ type: 'orders', changes }));

const release = fc
  .oneof(
    fc.nat(17).map((order) => paymentOf(order, { late: false })),
    fc.nat(9).map((order) => withdrawalOf(order, anyQuestion)),
    fc.nat(3).map((order) => contractOf(order, anyQuestion)),
  )
  .map((asked): Change => ({ type: 'release', source: asked.source, subject: subjectOf(asked) }));

const price = fc
  .tuple(
    fc.constantFrom('USDT', 'USDT', 'BTC', 'ETH'),
    fc.constantFrom('1', '0.5', '1.25', '2', `0.3${'3'.repeat(35)}`, undefined),
    fc.constantFrom(0, 0, 0, 59 * MINUTE_MS, 60 * MINUTE_MS, 60 * MINUTE_MS + 1, -MINUTE_MS, -10 * MINUTE_MS),
  )
  .map(([asset, set, ageMs]): Change => ({
    type: 'price',
    asset,
    ageMs,
    ...(set === undefined ? {} : { price: set }),
  }));

const toggles = [
  { source: 'shop', list: 'blocked', value: '1' },
  { source: 'shop', list: 'blocked', value: '3' },
  { source: 'shop', list: 'vips', value: '1' },
  { source: 'vault', list: 'partners', value: TO },
  { source: 'vault', list: 'partners', value: OTHER },
  { source: 'vault', list: 'bound', value: `${TO} ETH 77 a` },
  { source: 'vault', list: 'bound', value: `${OTHER} ETH 77 a` },
  { source: 'vault', list: 'stopped', value: `${OTHER} ETH` },
  { source: 'vault', list: 'stopped', value: `${TO} BTC` },
] as const;

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.nat(revisions.length - 1).map((revision): Change => ({ type: 'push', revision })),
  },
  { weight: 1, arbitrary: fc.constant<Change>({ type: 'freeze', kind: 'operator' }) },
  { weight: 1, arbitrary: fc.constant<Change>({ type: 'freeze', kind: 'except-approved' }) },
  { weight: 3, arbitrary: fc.constant<Change>({ type: 'unfreeze' }) },
  { weight: 3, arbitrary: fc.constantFrom(...toggles).map((each): Change => ({ type: 'toggle', ...each })) },
  { weight: 4, arbitrary: orders },
  { weight: 3, arbitrary: price },
  { weight: 4, arbitrary: release },
);

const callbacks = fc
  .array(
    fc.tuple(fc.oneof(payment, payment, withdrawal, withdrawal, contract), fc.integer({ min: 1, max: 3 })),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((rows) =>
    [0, 1, 2].flatMap((round) => rows.filter(([, times]) => times > round).map(([asked]) => asked)),
  );

const command: fc.Arbitrary<Command | readonly Command[]> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc
      .tuple(callbacks, fc.option(change, { freq: 6, nil: undefined }))
      .map(([all, meanwhile]): Command => ({ type: 'burst', callbacks: all, meanwhile })),
  },
  { weight: 14, arbitrary: change.map((each): Command => ({ type: 'change', change: each })) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(1, 999, 10_000, 59_999, 60_000, 600_000, 3_599_999, 3_600_000, 3_600_001, 43_200_000)
      .map((ms): Command => ({ type: 'advance', ms })),
  },
  { weight: 1, arbitrary: fc.constant<Command>({ type: 'reopen' }) },
  { weight: 3, arbitrary: stories },
);

/**
 * Prices are set first. Mostly something is in force and the lists are there from the beginning; then all is
 * left to chance.
 */
export const scripts: fc.Arbitrary<readonly Command[]> = fc
  .tuple(
    fc.option(fc.nat(revisions.length - 1), { freq: 4, nil: undefined }),
    fc.integer({ min: 0, max: 2 }).map((bare) => (bare === 0 ? [] : listed)),
    fc.array(command, { minLength: 15, maxLength: 40, size: 'max' }),
  )
  .map(([revision, lists, commands]) => [
    ...priced,
    ...(revision === undefined ? [] : [pushed(revision)]),
    ...lists,
    ...commands.flat(),
  ]);

const priced = ['USDT', 'BTC', 'ETH'].map((asset) => changed({ type: 'price', asset, price: '1', ageMs: 0 }));
const listed = toggles
  .filter((_, index) => [1, 2, 3, 5, 7].includes(index))
  .map((each) => changed({ type: 'toggle', ...each }));
