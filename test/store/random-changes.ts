import { CountersignError } from '../../src/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { type Random, anyOf } from '../../tools/fuzz/random.ts';
import {
  type InForce,
  LISTS,
  LOCKOUTS,
  RELEASES,
  REQUESTS,
  SOURCES,
  type Source,
  VALUES,
  randomSubject,
} from './random-requests.ts';
import {
  HOUR_MS,
  MEMBERS,
  MINUTE_MS,
  TERMS,
  announcement,
  change,
  keyOf,
  notice,
  priceChange,
  push,
  requestChange,
} from './requests.ts';

/**
 * Changes what settles depend on: lists, orders, approval requests, prices, freezes, releases, lock-outs, txids,
 * revisions.
 */
export async function changeSomething(
  random: Random,
  store: Store,
  { nowMs, generation }: InForce,
): Promise<void> {
  await store.unfreeze({ by: 'ada', ids: await frozenIn(store) });
  const source = random.pick(SOURCES);
  const subject = randomSubject(random, source, generation);
  switch (random.below(11)) {
    case 0:
    case 1:
      return changeList(random, store, source);
    case 2:
    case 3:
      return changeOrder(random, store, { source, subject, nowMs });
    case 4:
      return void (await store.changePrices(priceChange({ BTC: String(1 + random.below(5)) })));
    case 5:
      return void (await store.freeze({
        reason: 'drill',
        by: 'ada',
        kind: random.pick(['operator', 'except-approved']),
      }));
    case 6:
      return unlessMissing(
        store.liftLockout({ source, id: keyOf(random.pick(LOCKOUTS)), by: 'ada', message: '' }),
      );
    case 7:
      if (random.oneIn(3)) return changeRevision(random, store);
      return void (await store.recordNotification(
        notice({
          source: 'vault',
          subject: randomSubject(random, 'vault', generation),
          terms: TERMS,
          txid: `0x${random.below(9)}`,
        }),
      ));
    case 8:
    case 9:
      return changeRequest(random, store, source);
    default:
      return random.oneIn(3) ? releaseOne(store, source, subject, nowMs) : undefined;
  }
}

async function changeList(random: Random, store: Store, source: Source): Promise<void> {
  const list = random.pick(LISTS);
  if (list === 'none') return;
  const [value, adds] = [random.pick(VALUES), random.oneIn(2)];
  await unlessMissing(store.changeList(change(list, adds ? [value] : [], adds ? [] : [value], { source })));
}

async function changeOrder(
  random: Random,
  store: Store,
  { source, subject, nowMs }: { readonly source: Source; readonly subject: string; readonly nowMs: number },
): Promise<void> {
  if (random.oneIn(4)) return unlessMissing(store.cancelOrder({ source, subject, by: 'ada' }));
  const { userId = '', amount = '' } = MEMBERS;
  const members = random.oneIn(3) ? { userId, amount } : MEMBERS;
  const expiresAtMs = nowMs + random.pick([MINUTE_MS, HOUR_MS, 24 * HOUR_MS]);
  await store.expectOrder(announcement({ source, subject, members, expiresAtMs }));
}

/** Mostly over the version that it has. */
async function changeRequest(random: Random, store: Store, scope: Source): Promise<void> {
  const id = random.pick(REQUESTS);
  const { version = 0 } = (await store.approvalRequest(scope, id)) ?? {};
  const expected = random.oneIn(6) ? random.below(3) : version;
  const [isOpen, keepMs] = [random.oneIn(2), random.pick([10 * MINUTE_MS, HOUR_MS, 24 * HOUR_MS])];
  await store.changeApprovalRequest(requestChange({ scope, id, expected, isOpen, keepMs }));
}

const frozenIn = async (store: Store): Promise<readonly string[]> =>
  (await store.control()).frozen.map(({ id }) => id);

async function changeRevision(random: Random, store: Store): Promise<void> {
  const { revision } = await store.control();
  await store.push(push(random.pick(RELEASES), revision));
}

/** Releases an approval, and gives back all that it can. */
async function releaseOne(store: Store, source: Source, subject: string, nowMs: number): Promise<void> {
  const state = await store.subject(source, subject);
  const of = state?.approvals[0];
  if (state === undefined || of === undefined) return;
  const { version, reserved } = state;
  const counting = reserved.filter(({ untilMs, amount }) => untilMs > nowMs && amount !== undefined);
  await store.releaseApproval({
    source,
    subject,
    version,
    of,
    by: 'ada',
    message: 'never sent',
    keys: counting.map(({ key }) => key),
    detail: '{}',
  });
}

async function unlessMissing(changing: Promise<unknown>): Promise<void> {
  await changing.catch((thrown: unknown) => {
    if (!(thrown instanceof CountersignError) || thrown.code !== 'NOT_FOUND') throw thrown;
  });
}

const DAY_MS = 24 * HOUR_MS;
/**
 * Also to both sides of the instant at which a window of ten minutes or an hour no longer counts an approval.
 */
const STEPS_MS = [
  1,
  1000,
  MINUTE_MS - 1,
  MINUTE_MS,
  10 * MINUTE_MS - 1,
  10 * MINUTE_MS,
  11 * MINUTE_MS - 1,
  HOUR_MS - 1,
  HOUR_MS,
  HOUR_MS + MINUTE_MS - 1,
  DAY_MS,
] as const;

/** Mostly none. */
export function randomStepMs(random: Random, nowMs: number): number {
  if (!random.oneIn(4)) return 0;
  const toMidnightMs = DAY_MS - (nowMs % DAY_MS);
  return anyOf(random, [...STEPS_MS, toMidnightMs - 1, toMidnightMs]) ?? 0;
}
