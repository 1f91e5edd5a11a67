import { type PaymentSpec, call, payment, tampered, withdrawal } from './callbacks.ts';
import type { Planned } from './history.ts';
import { REFUSED_AMOUNT } from './policies.ts';
import type { Random } from './random.ts';

/** Steps one after the other; what is in one step is sent at once. */
export type Story = readonly (readonly Delivery[])[];

export interface Delivery {
  readonly callback: Planned;
  /** From 0 to below 1: which of the receivers that are up gets it. */
  readonly pick: number;
}

export interface Plan {
  readonly next: () => Story;
  /** One that nothing but a fault can refuse. */
  readonly probe: () => Planned;
}

/** Who comes near the limits, and who is put on a list now and then. */
const TIGHT_USERS = ['101', '102', '103'] as const;
const LISTED_USERS = ['201', '202', '203'] as const;
const address = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;
const TIGHT_SENDERS = [address(0x71), address(0x72)] as const;
const LISTED_SENDERS = [address(0x81), address(0x82)] as const;

/** What operators put on each source's list, and take off again. */
export const LISTABLE = { shop: LISTED_USERS, vault: LISTED_SENDERS } as const;

/** Sums that are just at a limit, just below and just above it, to the last decimal. */
const NEAR: readonly [string, ...string[]] = [
  '33.333333333333333333333333333333333333',
  '33.333333333333333333333333333333333334',
  '19.999999999999999999999999999999999999',
  '20.000000000000000000000000000000000001',
  '0.000000000000000000000000000000000001',
  '40',
  '13.37',
  '79.999999999999999999999999999999999999',
];
const SENT_NEAR: readonly [string, ...string[]] = [
  '9.999999999999999999',
  '5.000000000000000001',
  '4.3',
  '0.7',
];

/** Most of these are in order, some never are, and some are about what was asked before. */
export function createPlan(random: Random, prefix: string): Plan {
  let ids = 0;
  const earlier: Planned[] = [];
  const id = (): string => `${prefix}-${ids++}`;
  const scheme = (): 'md5' | 'rsa' => (random.percent(80) ? 'md5' : 'rsa');
  const one = (callback: Planned): Story => [[{ callback, pick: random.next() }]];
  const amount = (): string => `${random.whole(1, 400)}.${random.whole(1, 99)}`;
  const keep = (callback: Planned): Planned => {
    // Only the latest: what is repeated should be about what windows and faults still touch.
    if (earlier.push(callback) > 400) earlier.splice(0, 200);
    return callback;
  };
  const user = (): string => `${1_000_000 + ids}`;
  const sender = (): string => address(1_000_000 + ids);
  const spec = (story: string, more: Partial<PaymentSpec> = {}): PaymentSpec => ({
    story,
    id: id(),
    userId: user(),
    amount: amount(),
    by: scheme(),
    ...more,
  });
  const plain = (): Planned => keep(payment(spec('plain', { plain: true })));
  const tight = (): Planned =>
    keep(
      payment(
        spec('near a limit', {
          symbol: 'TIGHT1',
          userId: random.oneOf(TIGHT_USERS),
          amount: random.oneOf(NEAR),
        }),
      ),
    );
  const start = (from: string): Planned =>
    keep(
      withdrawal({
        story: 'withdrawal',
        id: id(),
        from,
        amount: random.oneOf(SENT_NEAR),
        question: 'sign_start',
      }),
    );
  const web = (from: string): Planned =>
    keep(
      call({
        story: 'web3',
        id: id(),
        from,
        data: `0xa9059cbb${(ids % 256).toString(16).padStart(2, '0')}`,
        question: 'sign_start',
      }),
    );

  const stories: readonly (readonly [weight: number, story: () => Story])[] = [
    [24, () => one(plain())],
    [16, () => one(tight())],
    [10, () => one(keep(payment(spec('listed', { userId: random.oneOf(LISTED_USERS) }))))],
    [8, () => together(random, random.percent(50) ? tight() : plain(), 3)],
    [9, () => one(random.oneOf([earlier.at(random.whole(0, earlier.length - 1)) ?? plain(), plain()]))],
    [7, () => otherTerms(random, earlier)?.map(deliver) ?? one(plain())],
    [
      12,
      () => wholeWithdrawal(id(), random.percent(50) ? random.oneOf(TIGHT_SENDERS) : sender()).map(deliver),
    ],
    [3, () => one(start(random.oneOf(LISTED_SENDERS)))],
    [4, () => one(web(random.percent(60) ? random.oneOf(TIGHT_SENDERS) : random.oneOf(LISTED_SENDERS)))],
    [2, () => one(web(sender()))],
    [2, () => one(unasked(id(), sender()))],
    [2, () => one(unauthentic(random, spec('unauthentic'), sender()))],
    [4, () => one(refused(random, spec('refused'), sender()))],
  ];

  function deliver(step: readonly Planned[]): readonly Delivery[] {
    return step.map((callback) => ({ callback, pick: random.next() }));
  }
  /** From `sign_prepare` to `sign_success`, each from another receiver, and now and then all at once. */
  function wholeWithdrawal(request: string, from: string): readonly (readonly Planned[])[] {
    const sum = random.oneOf(SENT_NEAR);
    const steps = (['sign_prepare', 'sign_start', 'sign_success'] as const).map((question) =>
      withdrawal({ story: 'withdrawal', id: request, from, amount: sum, question }),
    );
    for (const each of steps) keep(each);
    return random.percent(15) ? [steps] : steps.map((each) => [each]);
  }
  return {
    next() {
      let left = random.next() * stories.reduce((sum, [weight]) => sum + weight, 0);
      const chosen = stories.find(([weight]) => (left -= weight) < 0) ?? stories[0];
      return chosen?.[1]() ?? one(plain());
    },
    probe: () => payment(spec('probe', { by: 'md5' })),
  };
}

function together(random: Random, callback: Planned, times: number): Story {
  return [Array.from({ length: times }, () => ({ callback, pick: random.next() }))];
}

/** An id that was used before, for something else: the second to come is refused, whichever that is. */
function otherTerms(
  random: Random,
  earlier: readonly Planned[],
): readonly (readonly Planned[])[] | undefined {
  const before = earlier.at(random.whole(0, Math.max(0, earlier.length - 1)));
  if (before === undefined) return undefined;
  const [, id = ''] = before.subject.split(':');
  const story = 'other terms';
  const changed = random.whole(1, 1_000_000);
  if (before.source === 'shop')
    return [[payment({ story, id, userId: `${changed}`, amount: '1.5' }), before]];
  const from = address(changed);
  const question = random.oneOf(['sign_prepare', 'sign_start', 'sign_success'] as const);
  return before.subject.startsWith('transfer')
    ? [[withdrawal({ story, id, from, amount: '1', question }), before]]
    : [[call({ story, id, from, question, data: '0xa9059cbb' }), before]];
}

/** A `sign_success` of what was never approved. */
const unasked = (id: string, from: string): Planned => ({
  ...withdrawal({ story: 'signed unasked', id, from, amount: '1', question: 'sign_success' }),
  approvable: false,
});

function unauthentic(random: Random, spec: PaymentSpec, from: string): Planned {
  const { id } = spec;
  const story = 'unauthentic';
  return random.oneOf<() => Planned>([
    () => payment({ ...spec, by: { secret: 'somebody-else-altogether' } }),
    () => tampered({ ...spec, by: 'rsa' }, '1'),
    () => tampered({ ...spec, by: 'md5' }, '1'),
    () => withdrawal({ story, id, from, amount: '1', question: 'sign_start', token: 'another-token' }),
    () => withdrawal({ story, id, from, amount: '1', question: 'sign_start', token: undefined }),
    () => call({ story, id, from, question: 'sign_start', data: '0xa9059cbb', token: '' }),
  ])();
}

function refused(random: Random, spec: PaymentSpec, from: string): Planned {
  const { id } = spec;
  const story = 'refused';
  return random.oneOf<() => Planned>([
    () => payment({ ...spec, amount: REFUSED_AMOUNT, approvable: false }),
    () => payment({ ...spec, symbol: 'NOPE1', approvable: false }),
    () => withdrawal({ story, id, from, amount: '1', question: 'sign_start', to: address(0x99) }),
    () => call({ story, id, from, question: 'sign_start', data: '0xa9059cbb', contract: address(0x99) }),
  ])();
}
