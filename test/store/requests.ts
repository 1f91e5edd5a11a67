import { type Question, type QuestionType, termsOf } from '../../src/callback/callback.ts';
import type { Proposal } from '../../src/policy/proposal.ts';
import type { AgedClaim } from '../../src/claims/aged.ts';
import type { ApprovalClaim } from '../../src/claims/approval.ts';
import type { DistinctClaim } from '../../src/claims/distinct.ts';
import type { ListClaim } from '../../src/claims/list.ts';
import type { MarkClaim } from '../../src/claims/mark.ts';
import type { OrderClaim } from '../../src/claims/order.ts';
import type { RefusalsClaim } from '../../src/claims/refusals.ts';
import type { SpeedUpClaim } from '../../src/claims/speed-up.ts';
import type { Window, WindowClaim } from '../../src/claims/window.ts';
import type { ClaimResult } from '../../src/claims/claims.ts';
import type {
  ApprovalRequestChange,
  Control,
  ListChange,
  NotificationRequest,
  OrderAnnouncement,
  PriceChange,
  Push,
  SettleRequest,
  SettleResult,
  SettledCallback,
  Store,
} from '../../src/store/store.ts';
import { type Amount, parseAmount } from '../../src/values/amount.ts';
import { sha256Hex } from '../../src/values/canonical.ts';

/** Where the settable clocks of the store's tests begin: on a full minute. */
export const START_MS = 1_750_000_020_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

const documentOf = (name: string): string => `{"release":"${name}"}`;
export const revisionOf = (name: string): string => sha256Hex(documentOf(name));
/** The revision that `ready` puts in force. */
export const REVISION = revisionOf('first');

export const TERMS = 'terms';
export const OTHER_TERMS = 'other terms';
/** The terms of {@link request}, as a store keeps them. */
export const storedTerms = (terms: string): string => termsOf({ terms: { terms } });

/** A push of the release `name`, compared against the revision `expected`. */
export function push(name: string, expected: string, over: Partial<Push> = {}): Push {
  return {
    revision: revisionOf(name),
    document: documentOf(name),
    expected,
    by: 'ada',
    message: `puts ${name} in force`,
    ...over,
  };
}

/**
 * What tests set of a settle request. `terms` is any text; `subject` is `payment:ID`, `transfer:ID` or
 * `web3:ID`.
 */
export interface Asked extends Omit<Proposal, 'results'> {
  readonly source: string;
  readonly subject: string;
  readonly terms: string;
  readonly scheme: string;
  readonly question: QuestionType;
  readonly speedUp: boolean;
  readonly detail: string;
}

const APPROVING: Asked = {
  source: 'shop',
  subject: 'payment:1',
  terms: TERMS,
  scheme: '',
  question: 'payment',
  speedUp: false,
  revision: REVISION,
  validFromMs: 0,
  validUntilMs: Number.MAX_SAFE_INTEGER,
  approves: true,
  refusal: undefined,
  failed: false,
  retryable: false,
  prices: 0,
  claims: [],
  detail: '{}',
};

/** An approving payment proposal without claims, valid at any time. */
export function request(over: Partial<Asked> = {}): SettleRequest {
  const asked = { ...APPROVING, ...over };
  const { source, subject, terms, scheme, question, speedUp, detail, ...proposal } = asked;
  const callback = callbackOf({ source, subject, terms }, { type: question, speedUp });
  return { callback, proposal: { ...proposal, results: [] }, scheme, detail };
}

/** `sign_start` about `transfer:1` of the source `vault`. */
export function signing(over: Partial<Asked> = {}): SettleRequest {
  return request({ source: 'vault', subject: 'transfer:1', question: 'sign_start', ...over });
}

/** What tests set of a notification. */
export interface Noted extends Pick<Asked, 'source' | 'subject' | 'terms' | 'detail'> {
  readonly txid: string;
}

export function notice(over: Partial<Noted> = {}): NotificationRequest {
  const noted = { source: 'vault', subject: 'transfer:1', terms: TERMS, txid: '0xaa', detail: '{}', ...over };
  const { txid, detail } = noted;
  return { callback: callbackOf(noted, { type: 'sign_success', speedUp: false }), txid, detail };
}

function callbackOf(
  { source, subject, terms }: Pick<Asked, 'source' | 'subject' | 'terms'>,
  question: Question,
): SettledCallback {
  const [kind, ...id] = subject.split(':');
  if (kind !== 'payment' && kind !== 'transfer' && kind !== 'web3')
    throw new Error(`${subject} is no subject`);
  return { source, kind, id: id.join(':'), question, terms: { terms } };
}

export function units(text: string): Amount {
  const amount = parseAmount(text);
  if (amount === undefined) throw new Error(`${text} is no amount`);
  return amount;
}

export const rollingHour: Window = { type: 'rolling', lengthMs: HOUR_MS, bucketMs: MINUTE_MS };

/** A counter's key: 32 hexadecimal digits. */
export const keyOf = (name: string): string => sha256Hex(name).slice(0, 32);

/** A claim for `amount` in a rolling hour that has room for `max`. */
export function windowClaim(
  amount: string,
  max: string,
  over: Partial<Omit<WindowClaim, 'amount' | 'max'>> = {},
): WindowClaim {
  return {
    type: 'window',
    result: 0,
    decides: true,
    retryable: false,
    key: keyOf('counter'),
    amount: units(amount),
    max: units(max),
    window: rollingHour,
    ...over,
  };
}

/** A claim for values in a rolling hour, of which a counter counts at most `max`. */
export function distinctClaim(
  values: readonly string[],
  max: number,
  over: Partial<DistinctClaim> = {},
): DistinctClaim {
  return {
    type: 'distinct',
    result: 0,
    decides: true,
    retryable: false,
    key: keyOf('distinct'),
    values: values.map(keyOf),
    max,
    window: rollingHour,
    onlyNew: false,
    ...over,
  };
}

/** A claim that `keyOf('refusals')` is not locked out, which it is after so many refusals within an hour. */
export function refusalsClaim(after: number, over: Partial<RefusalsClaim> = {}): RefusalsClaim {
  return {
    type: 'refusals',
    result: 0,
    decides: true,
    retryable: true,
    key: keyOf('refusals'),
    after,
    withinMs: HOUR_MS,
    forMs: 24 * HOUR_MS,
    policy: 'payments',
    whose: 'userId 7',
    ...over,
  };
}

export function listClaim(
  list: string,
  must: ListClaim['must'],
  values: readonly string[],
  over: Partial<ListClaim> = {},
): ListClaim {
  return { type: 'list', result: 0, decides: true, retryable: false, list, values, must, ...over };
}

/** That a list holds the values, each for at least `ageMs`. */
export function agedClaim(
  list: string,
  ageMs: number,
  values: readonly string[],
  over: Partial<AgedClaim> = {},
): AgedClaim {
  return {
    type: 'aged',
    result: 0,
    decides: true,
    retryable: false,
    list,
    values,
    ageMs,
    ...over,
  };
}

/** That the mark `keyOf('mark')` was made, at any time. */
export function markClaim(over: Partial<MarkClaim> = {}): MarkClaim {
  return {
    type: 'mark',
    result: 0,
    decides: true,
    retryable: false,
    key: keyOf('mark'),
    ageMs: 0,
    exempt: false,
    ...over,
  };
}

/** What `announcement` announces, and `orderClaim` has. */
export const MEMBERS: Readonly<Record<string, string>> = {
  userId: '12345',
  symbol: 'USDT1742',
  amount: '100',
  scheme: 'rsa',
};

export function announcement(over: Partial<OrderAnnouncement> = {}): OrderAnnouncement {
  return {
    source: 'shop',
    subject: 'payment:1',
    members: MEMBERS,
    expiresAtMs: START_MS + HOUR_MS,
    by: 'ada',
    ...over,
  };
}

export function orderClaim(
  members: Readonly<Record<string, string>> = MEMBERS,
  over: Partial<OrderClaim> = {},
): OrderClaim {
  return { type: 'order', result: 0, decides: true, retryable: false, members, ...over };
}

/** That the approval request of the source is at the version; without one, too few people have approved it. */
export function approvalClaim(
  id: string,
  version: number | undefined,
  over: Partial<ApprovalClaim> = {},
): ApprovalClaim {
  return { type: 'approval', result: 0, decides: true, retryable: false, id, version, ...over };
}

/** A change that opens the request `payment:1` of `shop`, if there is none, for an hour. */
export function requestChange(over: Partial<ApprovalRequestChange> = {}): ApprovalRequestChange {
  const of = { scope: 'shop', id: 'payment:1', expected: 0, value: '{"for":1}' };
  return { ...of, isOpen: true, keepMs: HOUR_MS, ...over };
}

export function speedUpClaim(max: number, withinMs: number, over: Partial<SpeedUpClaim> = {}): SpeedUpClaim {
  return { type: 'speed-up', result: 0, decides: true, retryable: false, max, withinMs, ...over };
}

/** Prices by asset, each true as of START_MS. */
export function priceChange(
  prices: Readonly<Record<string, string>>,
  over: Partial<PriceChange> = {},
): PriceChange {
  const set = Object.entries(prices).map(([asset, price]) => ({
    asset,
    price: units(price),
    asOfMs: START_MS,
  }));
  return { set, remove: [], by: 'ada', ...over };
}

export function change(
  list: string,
  add: readonly string[],
  remove: readonly string[] = [],
  over: Partial<ListChange> = {},
): ListChange {
  return { source: 'shop', list, add, remove, by: 'ada', message: 'as agreed', ...over };
}

/** The journal id of what was decided or repeated. */
export function idOf(result: SettleResult): string {
  return journalled(result).id;
}

export function claimsOf(result: SettleResult): readonly ClaimResult[] {
  return journalled(result).claims;
}

function journalled(
  result: SettleResult,
): Extract<SettleResult, { readonly outcome: 'decided' | 'repeated' }> {
  if (result.outcome === 'decided' || result.outcome === 'repeated') return result;
  throw new Error(`expected a decision, not ${result.outcome}`);
}

let probes = 0;

/** When a mark was made, by a proposal that refuses and so makes none; 0 if it never was. */
export async function markedAtOf(
  store: Store,
  { source = 'shop', key = keyOf('mark') }: { readonly source?: string; readonly key?: string } = {},
): Promise<number> {
  const subject = `payment:probe-${++probes}`;
  const asked = request({ source, subject, approves: false, claims: [markClaim({ key })] });
  const [result] = claimsOf(await store.settle(asked));
  if (result?.type !== 'mark') throw new Error('the mark claim was not reported');
  return result.markedAtMs;
}

/** What a counter holds now, by a proposal that refuses and so reserves nothing. */
export async function usedOf(
  store: Store,
  {
    source = 'shop',
    revision = REVISION,
    key = keyOf('counter'),
    window = rollingHour,
  }: {
    readonly source?: string;
    readonly revision?: string;
    readonly key?: string;
    readonly window?: Window;
  } = {},
): Promise<Amount> {
  const claim = windowClaim('0', '0', { key, window });
  const subject = `payment:probe-${++probes}`;
  const [result] = claimsOf(
    await store.settle(request({ source, subject, revision, approves: false, claims: [claim] })),
  );
  if (result?.type !== 'window') throw new Error('the window claim was not reported');
  return result.used;
}

/** How many values a counter counts now, by a proposal that refuses and so reserves nothing. */
export async function countedOf(store: Store, key = keyOf('distinct')): Promise<number> {
  const subject = `payment:probe-${++probes}`;
  const asked = request({ subject, approves: false, claims: [distinctClaim(['probe'], 1, { key })] });
  const [result] = claimsOf(await store.settle(asked));
  if (result?.type !== 'distinct') throw new Error('the distinct claim was not reported');
  return result.counted;
}

/** Lifts every freeze that stands, and acknowledges a loss. Resolves with what is in force then. */
export async function thaw(store: Pick<Store, 'control' | 'unfreeze'>): Promise<Control> {
  const { frozen } = await store.control();
  const ids = frozen.map(({ id }) => id);
  return (await store.unfreeze({ by: 'ada', ids, acknowledgeLoss: true })).control;
}
