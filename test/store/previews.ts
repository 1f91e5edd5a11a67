import { inspect, isDeepStrictEqual } from 'node:util';
import type { ClaimResult } from '../../src/claims/claims.ts';
import type { SettlePreview, SettleRequest, SettleResult, Store } from '../../src/store/store.ts';
import { anyOf, randomOf } from '../../tools/fuzz/random.ts';
import { withoutEntry } from './conformance/store-under-test.ts';
import { changeSomething, randomStepMs } from './random-changes.ts';
import { type InForce, RELEASES, SOURCES, madeAgain, randomRequest } from './random-requests.ts';
import { Recount } from './recount.ts';
import { START_MS, push } from './requests.ts';

/*
 * In random states of a store, a preview returns what a settle then does, and leaves the store byte for byte
 * as it was. No approval is above a limit, and the counters hold what the latest approval of each subject
 * reserved. A round has a store of its own, and its seed repeats it.
 */

/** An empty store, and all that it keeps. */
export interface InspectedStore {
  readonly store: Store;
  readonly contents: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

export interface PreviewsOptions {
  readonly seed: number;
  readonly states: number;
  /** The contents are compared once in so many states. */
  readonly compareOneIn: number;
  readonly open: (clock: () => number) => Promise<InspectedStore>;
  readonly onRound?: (states: number) => void;
}

/** What was seen, such as `repeated SUCCESS APPROVED` and `window fails`, with how often. */
export type Seen = Map<string, number>;

const ROUND = 250;
/** After so many states, requests are about other subjects. */
const GENERATION = 50;
/** Of so many of the latest approvals, one may be asked about again. */
const SUBJECTS = 10;

/** Throws an error with all that repeats it if a preview differs from the settle after it, or writes. */
export async function comparePreviews(options: PreviewsOptions): Promise<Seen> {
  const seen: Seen = new Map();
  for (let done = 0, round = 0; done < options.states; done += ROUND, round++) {
    await compareInRound(options, Math.imul(options.seed, 65_537) + round, seen);
    options.onRound?.(done + ROUND);
  }
  return seen;
}

async function compareInRound(options: PreviewsOptions, seed: number, seen: Seen): Promise<void> {
  const random = randomOf(seed);
  let nowMs = START_MS;
  const inspected = await options.open(() => nowMs);
  const { store } = inspected;
  const approved: SettleRequest[] = [];
  const recount = new Recount();
  const released: Store = {
    ...store,
    async releaseApproval(release) {
      const result = await store.releaseApproval(release);
      if (result.outcome === 'released') recount.release(release);
      return result;
    },
  };
  try {
    await store.register(SOURCES);
    if (!random.oneIn(8)) await store.push(push(random.pick(RELEASES), ''));
    for (let at = 0; at < ROUND; at++) {
      const generation = Math.floor(at / GENERATION);
      if (random.oneIn(3))
        await changeSomething(random, released, { ...(await inForce(store)), nowMs, generation });
      nowMs += randomStepMs(random, nowMs);
      const now = { ...(await inForce(store)), nowMs, generation };
      const earlier = random.oneIn(4) ? anyOf(random, approved.slice(-SUBJECTS)) : undefined;
      const asked = earlier === undefined ? randomRequest(random, now) : madeAgain(random, earlier, now);
      const isCompared = random.oneIn(options.compareOneIn);
      const where = `seed ${seed}, step ${at}`;
      const settled = await compareOnce(inspected, asked, { isCompared, where, seen });
      await recount.check(store, asked, settled).catch((thrown: unknown) => {
        throw new Error(`${where}: ${inspect(asked, { depth: 9 })}`, { cause: thrown });
      });
      if ('verdict' in settled && settled.verdict === 'SUCCESS') approved.push(asked);
    }
  } finally {
    await inspected.close();
  }
}

async function inForce(store: Store): Promise<Pick<InForce, 'revision' | 'prices'>> {
  const { revision, prices } = await store.control();
  return { revision, prices };
}

async function compareOnce(
  { store, contents }: InspectedStore,
  asked: SettleRequest,
  { isCompared, where, seen }: { readonly isCompared: boolean; readonly where: string; readonly seen: Seen },
): Promise<SettleResult> {
  const before = isCompared ? await contents() : [];
  const previewed = await store.preview(asked);
  const after = isCompared ? await contents() : [];
  const result = await store.settle(asked);
  const settled = withoutEntry(result);
  for (const each of wordsOf(asked, previewed)) seen.set(each, (seen.get(each) ?? 0) + 1);
  const question = inspect(asked, { depth: 9 });
  if (!isDeepStrictEqual(before, after)) {
    const [gone, come] = [
      before.filter((each) => !after.includes(each)),
      after.filter((each) => !before.includes(each)),
    ];
    throw new Error(`${where}: a preview wrote ${inspect(come)} in place of ${inspect(gone)}\n${question}`);
  }
  if (isDeepStrictEqual(previewed, settled)) return result;
  const [one, other] = [previewed, settled].map((each) => inspect(each, { depth: 9 }));
  throw new Error(`${where}: previewed ${one}, but settled ${other}\n${question}`);
}

function wordsOf({ proposal }: SettleRequest, previewed: SettlePreview): readonly string[] {
  if (!('verdict' in previewed)) return [previewed.outcome];
  const { outcome, verdict, code, claims } = previewed;
  return [
    `${outcome} ${verdict} ${code}`,
    ...claims.map((result, at) => `${proposal.claims[at]?.type} ${fared(result)}`),
  ];
}

function fared(result: ClaimResult): string {
  if (result.type === 'not-checked') return 'not checked';
  if (result.type === 'refusals' && result.holds && result.lockedAtMs !== 0) return 'locks';
  const before = result.type === 'window' && result.reserved > 0n ? 'reserved, ' : '';
  return `${before}${result.holds ? 'holds' : 'fails'}`;
}

/** Where chance must have been. */
const EVERYWHERE: readonly string[] = [
  'stale',
  'expired',
  ...['APPROVED'].flatMap((code) => [`decided SUCCESS ${code}`, `repeated SUCCESS ${code}`]),
  ...['RULE_REFUSED', 'NO_POLICY', 'TOO_MANY_CLAIMS'].flatMap((code) => [
    `decided FAILURE ${code}`,
    `repeated FAILURE ${code}`,
  ]),
  ...['AWAITING_APPROVAL', 'FROZEN', 'TERMS_CHANGED', 'SCHEME_CHANGED', 'RELEASED', 'NOTHING_IN_FORCE'].map(
    (code) => `decided FAILURE ${code}`,
  ),
  ...['window', 'distinct', 'refusals', 'list', 'aged', 'mark', 'order', 'approval', 'speed-up'].flatMap(
    (kind) => [`${kind} holds`, `${kind} fails`, `${kind} not checked`],
  ),
  'window reserved, holds',
  'window reserved, fails',
  'refusals locks',
];

/** Words of {@link EVERYWHERE} that were not seen. */
export const notSeen = (seen: Seen): readonly string[] => EVERYWHERE.filter((each) => !seen.has(each));
