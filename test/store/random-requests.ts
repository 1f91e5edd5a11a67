import type { Claim } from '../../src/claims/claims.ts';
import { type Window, groupedKey } from '../../src/claims/window.ts';
import type { Choice, Requirement } from '../../src/policy/proposal.ts';
import type { SettleRequest } from '../../src/store/store.ts';
import { type Random, shuffled } from '../../tools/fuzz/random.ts';
import {
  HOUR_MS,
  MEMBERS,
  MINUTE_MS,
  OTHER_TERMS,
  TERMS,
  agedClaim,
  approvalClaim,
  distinctClaim,
  keyOf,
  listClaim,
  markClaim,
  orderClaim,
  refusalsClaim,
  request,
  revisionOf,
  rollingHour,
  speedUpClaim,
  windowClaim,
} from './requests.ts';

/*
 * Random requests about few subjects, counters, marks, lists, orders and approval requests, so that they meet each
 * other.
 */

export const SOURCES = ['shop', 'kiosk', 'vault'] as const;
export type Source = (typeof SOURCES)[number];
/** `shop` and `kiosk` share counters. */
export const GROUPS: ReadonlyMap<string, string> = new Map([
  ['shop', 'sales'],
  ['kiosk', 'sales'],
]);
export const RELEASES = ['first', 'second'] as const;
/** The last one is never made. */
export const LISTS = ['vips', 'blocked', 'vips', 'blocked', 'none'] as const;
export const VALUES = ['a', 'b', 'c'] as const;
export const REQUESTS = ['r1', 'r2'] as const;
export const LOCKOUTS = ['user 1', 'user 2'] as const;
const DAY_MS = 24 * HOUR_MS;
const CLAIMS_MAX = 6;
const PAST_END_MS = Number.MAX_SAFE_INTEGER;

/** What a proposal must be about, to be neither stale nor expired. */
export interface InForce {
  readonly nowMs: number;
  /** The empty text before the first push. */
  readonly revision: string;
  readonly prices: number;
  /** See {@link randomSubject}. */
  readonly generation: number;
}

/** One of a few, which are others in another generation. */
export function randomSubject(random: Random, source: Source, generation: number): string {
  const id = `${generation}-${random.below(4)}`;
  return source === 'vault' ? `transfer:${id}` : `payment:${id}`;
}

export function randomRequest(random: Random, inForce: InForce): SettleRequest {
  const source = random.pick(SOURCES);
  const { nowMs, revision, prices, generation } = inForce;
  const question =
    source === 'vault' ? random.pick(['sign_prepare', 'sign_start', 'sign_start'] as const) : 'payment';
  const speedUp = question === 'sign_start' && random.oneIn(3);
  const approves = !random.oneIn(4) && revision !== '';
  const drawn = Array.from({ length: random.below(CLAIMS_MAX) }, () => randomClaim(random, source, nowMs));
  const of = random.oneIn(2) ? random.below(drawn.length + 1) : drawn.length;
  const claims = drawn.map((claim, at) =>
    at < of ? { ...claim, result: at } : { ...claim, result: at, decides: false },
  );
  const refusal = refusalOf(random, approves, revision);
  const choices = of < claims.length || random.oneIn(12) ? [randomChoice(random, claims, of, 0)] : undefined;
  return request({
    source,
    onlyApproved: random.oneIn(12),
    subject: randomSubject(random, source, generation),
    terms: random.oneIn(30) ? OTHER_TERMS : TERMS,
    scheme: source === 'vault' ? '' : random.oneIn(20) ? random.pick(['', 'rsa']) : 'md5',
    question,
    speedUp,
    revision: random.oneIn(20) ? revisionOf(random.pick(RELEASES)) : revision,
    validFromMs: random.pick([0, 0, 0, 0, nowMs, nowMs - 1, random.oneIn(4) ? nowMs + 1 : 0]),
    validUntilMs: random.pick([
      PAST_END_MS,
      PAST_END_MS,
      PAST_END_MS,
      nowMs + 1,
      random.oneIn(6) ? nowMs : nowMs + 9,
    ]),
    approves,
    refusal,
    failed: !approves && random.oneIn(4),
    retryable: !approves && random.oneIn(3),
    prices: random.pick([0, 0, prices, random.oneIn(8) ? prices + 1 : prices]),
    claims,
    ...(choices && { choices }),
  });
}

/**
 * A request that was made before, asked again in the windows of now: as it was, or as another question, or
 * with other limits and amounts and in an alternative, as after a push.
 */
export function madeAgain(
  random: Random,
  { proposal, callback, ...asked }: SettleRequest,
  { nowMs, revision, prices }: InForce,
): SettleRequest {
  const valid = { revision, validFromMs: 0, validUntilMs: PAST_END_MS };
  const now = { ...proposal, ...valid, prices: proposal.prices === 0 ? 0 : prices };
  const later =
    callback.kind === 'payment'
      ? callback.question
      : { type: random.pick(['sign_prepare', 'sign_start'] as const), speedUp: false };
  const again = {
    ...asked,
    callback: { ...callback, question: random.oneIn(2) ? later : callback.question },
  };
  const dated = proposal.claims.map((claim) =>
    'window' in claim && claim.window.type === 'calendar' ? { ...claim, window: dayAt(nowMs) } : claim,
  );
  if (random.oneIn(2)) return { ...again, proposal: { ...now, claims: dated } };
  const claims = dated.map((claim, at) => {
    const given = { ...claim, result: at, decides: false };
    if (given.type === 'distinct') return { ...given, max: random.pick([1, 2, 5]) };
    if (given.type !== 'window') return given;
    const { amount, max } = given;
    return {
      ...given,
      amount: random.pick([amount, amount, amount * 2n, amount / 3n, 0n]),
      max: random.pick([0n, max, max / 2n]),
    };
  });
  return { ...again, proposal: { ...now, claims, choices: [randomChoice(random, claims, 0, 0)] } };
}

function dayAt(nowMs: number): Window {
  const startMs = nowMs - (nowMs % DAY_MS);
  return { type: 'calendar', startMs, endMs: startMs + DAY_MS };
}

function refusalOf(random: Random, approves: boolean, revision: string) {
  if (approves) return undefined;
  if (revision === '') return 'NOTHING_IN_FORCE';
  return random.pick([undefined, undefined, undefined, undefined, 'NO_POLICY', 'TOO_MANY_CLAIMS'] as const);
}

/**
 * The claims from an index on, shared among the alternatives of a choice and of a choice in it. The
 * evaluation numbers the claims in this order, too.
 */
function randomChoice(random: Random, claims: readonly Claim[], of: number, depth: number): Choice {
  const rest = [...claims.keys()].slice(of);
  const count = 1 + random.below(3);
  const shares = Array.from({ length: count }, (): Requirement[] => []);
  for (const at of rest) shares[random.below(count)]?.push(at);
  return {
    result: claims.length + depth,
    decides: !random.oneIn(5),
    retryable: random.oneIn(3),
    failed: random.oneIn(6),
    alternatives: shares.map((requires) => {
      const [first, ...others] = requires;
      const inner = (): Choice => ({
        ...randomChoice(random, [], 0, depth + 1),
        alternatives: [first, ...others].map((each) => ({
          from: 0,
          to: 0,
          requires: each === undefined ? [] : [each],
        })),
      });
      const isNested = requires.length > 1 && depth === 0 && random.oneIn(3);
      // Of an alternative that the evaluation refused, no claims are left.
      const isRefused = requires.length === 0 && random.oneIn(2);
      return { from: 0, to: 0, requires: isRefused ? undefined : isNested ? [inner()] : requires };
    }),
  };
}

type How = Pick<Claim, 'decides' | 'retryable'>;
type Draw = (random: Random, how: How, source: Source, nowMs: number) => Claim;

const drawWindow: Draw = (random, how, source, nowMs) => {
  const { key, window } = randomCounter(random, source, nowMs);
  const amount = random.pick(['1', '2.5', '0.000000000000000001', '6', '0']);
  return windowClaim(amount, random.pick(['1', '3', '20', '1000']), { ...how, key, window });
};

const drawDistinct: Draw = (random, how, source) => {
  const onlyNew = random.oneIn(2);
  const values = shuffled(random, ['p', 'q', 'r', 's', 't']).slice(0, 1 + random.below(3));
  const key = groupKey(random, source, keyOf(onlyNew ? 'new values' : 'values'));
  return distinctClaim(values, 1 + random.below(5), { ...how, key, onlyNew });
};

const drawRefusals: Draw = (random, how) =>
  refusalsClaim(1 + random.below(3), {
    ...how,
    retryable: true,
    key: keyOf(random.pick(LOCKOUTS)),
    forMs: random.pick([0, MINUTE_MS, HOUR_MS]),
  });

const drawList: Draw = (random, how) => {
  const must = random.pick(['hold-all', 'hold-none', 'hold-none'] as const);
  return listClaim(random.pick(LISTS), must, randomValues(random), how);
};

const drawAged: Draw = (random, how) =>
  agedClaim(random.pick(LISTS), random.pick([0, MINUTE_MS, HOUR_MS]), randomValues(random), how);

const drawMark: Draw = (random, how, source) => {
  const key = groupKey(random, source, keyOf(random.pick(['mark 1', 'mark 2'])));
  return markClaim({ ...how, key, ageMs: random.pick([0, 0, MINUTE_MS]), exempt: random.oneIn(3) });
};

const drawOrder: Draw = (random, how) =>
  orderClaim(random.oneIn(4) ? { ...MEMBERS, amount: '7' } : MEMBERS, how);

const drawApproval: Draw = (random, how) =>
  approvalClaim(random.pick(REQUESTS), random.oneIn(3) ? undefined : 1 + random.below(3), how);

const drawSpeedUp: Draw = (random, how) =>
  speedUpClaim(random.below(3), random.pick([MINUTE_MS, DAY_MS]), how);

/** Counters are drawn more often, because they have more states. */
const DRAWS: readonly [Draw, ...Draw[]] = [
  drawWindow,
  drawWindow,
  drawWindow,
  drawDistinct,
  drawDistinct,
  drawRefusals,
  drawList,
  drawAged,
  drawMark,
  drawOrder,
  drawApproval,
  drawSpeedUp,
];

function randomClaim(random: Random, source: Source, nowMs: number): Claim {
  const draw = random.pick(DRAWS);
  const how = { decides: !random.oneIn(3), retryable: random.oneIn(2) };
  return draw(random, how, source, nowMs);
}

const randomValues = (random: Random): readonly string[] =>
  shuffled(random, VALUES).slice(0, 1 + random.below(2));

/** The same key always has the same window. */
function randomCounter(random: Random, source: Source, nowMs: number): { key: string; window: Window } {
  const [name, window] = random.pick<readonly [string, Window]>([
    ['hour', rollingHour],
    ['ten minutes', { type: 'rolling', lengthMs: 10 * MINUTE_MS, bucketMs: MINUTE_MS }],
    ['day', dayAt(nowMs)],
  ]);
  return { key: groupKey(random, source, keyOf(name)), window };
}

const groupKey = (random: Random, source: Source, key: string): string =>
  groupedKey(random.oneIn(2) ? GROUPS.get(source) : undefined, key);
