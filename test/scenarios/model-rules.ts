import { type Amount, parseAmount } from '../../src/values/amount.ts';
import type { Asked } from './model-asked.ts';
import { type Bound, type PolicySpec, type RuleSpec, type WindowName, revisions } from './model-policies.ts';

/*
 * What the policies say before the store is asked, once more and as plainly as can be.
 */

export const MINUTE_MS = 60_000;
export const DAY_MS = 1440 * MINUTE_MS;
export const LENGTH_MS = { '10m': 10 * MINUTE_MS, '1h': 60 * MINUTE_MS } as const;
const UNIT = 10n ** 36n;

export interface Price {
  readonly price: Amount;
  readonly asOfMs: number;
}

export interface Known {
  /** An index into `revisions`; undefined while nothing is in force. */
  readonly inForce: number | undefined;
  readonly prices: ReadonlyMap<string, Price>;
  readonly atMs: number;
}

/** What must hold in the store. */
export type Wanted =
  | { readonly type: 'list'; readonly list: string; readonly entry: string; readonly listed: boolean }
  | { readonly type: 'aged'; readonly list: string; readonly entry: string; readonly ageMs: number }
  | {
      readonly type: 'window';
      readonly counter: string;
      readonly amount: Amount;
      readonly max: Amount;
      readonly window: WindowName;
    }
  | { readonly type: 'mark'; readonly mark: string; readonly ageMs: number; readonly exempt: boolean }
  | { readonly type: 'order'; readonly members: Readonly<Record<string, string>> }
  | { readonly type: 'speed-up'; readonly max: number; readonly withinMs: number };

export interface Claim {
  readonly wanted: Wanted;
  readonly decides: boolean;
  readonly final: boolean;
  readonly afresh: boolean;
}

export interface Proposal {
  readonly approves: boolean;
  readonly refusal: 'NOTHING_IN_FORCE' | 'NO_POLICY' | undefined;
  readonly final: boolean;
  readonly afresh: boolean;
  /** Whether it depends on prices. */
  readonly prices: boolean;
  readonly claims: readonly Claim[];
}

type Said = 'passes' | 'refuses' | 'refuses afresh' | Wanted;

const unheard = (refusal: Proposal['refusal']): Proposal => ({
  approves: false,
  refusal,
  final: false,
  afresh: false,
  prices: false,
  claims: [],
});

export function propose(known: Known, asked: Asked): Proposal {
  const revision = known.inForce === undefined ? undefined : revisions[known.inForce];
  if (revision === undefined) return unheard('NOTHING_IN_FORCE');
  const said = revision.specs
    .filter(({ callback, symbol = asked.symbol }) => callback === asked.kind && symbol === asked.symbol)
    .toSorted((a, b) => (a.policy < b.policy ? -1 : 1))
    .flatMap((policy) =>
      policy.rules.map((rule) => ({ policy, rule, says: judge(policy, rule, known, asked) })),
    );
  const deciding = said.filter(({ rule }) => rule.observe !== true);
  const refusing = deciding.filter(({ says }) => says === 'refuses' || says === 'refuses afresh');
  return {
    approves: deciding.length > 0 && refusing.length === 0,
    refusal: deciding.length > 0 ? undefined : 'NO_POLICY',
    final: refusing.some(({ policy }) => policy.final === true),
    afresh: refusing.length > 0 && refusing.every(({ says }) => says === 'refuses afresh'),
    prices: said.some(({ rule }) => rule.type === 'value-limit'),
    claims: said.flatMap(({ policy, rule, says }) => {
      if (typeof says === 'string') return [];
      const claim = { wanted: says, decides: rule.observe !== true, final: policy.final === true };
      return [{ ...claim, afresh: AFRESH.has(rule.type) }];
    }),
  };
}

/** Claims of these depend on what changes without a push. */
const AFRESH: ReadonlySet<RuleSpec['type']> = new Set([
  'cooling-period',
  'first-use-limit',
  'expected-order',
  'speed-up',
  'value-limit',
  'velocity-limit',
  'window-limit',
] as const);

function judge(policy: PolicySpec, rule: RuleSpec, known: Known, asked: Asked): Said {
  const amount = amountOf(asked.amount);
  switch (rule.type) {
    case 'amount-limit': {
      const max = boundOf(rule.max, asked);
      return max !== undefined && amount <= max ? 'passes' : 'refuses';
    }
    case 'window-limit': {
      const max = boundOf(rule.max, asked);
      if (max === undefined) return 'refuses';
      const by = typeof rule.max === 'string' ? {} : { by: asked.symbol };
      return counted(policy, { ...rule, ...by }, asked, { amount, max });
    }
    case 'velocity-limit':
      return counted(policy, rule, asked, { amount: UNIT, max: amountOf(rule.max) });
    case 'value-limit':
      return valued(policy, rule, known, asked);
    case 'first-use-limit': {
      const max = boundOf(rule.max, asked);
      const entry = entryOf(rule.of, asked);
      if (max === undefined || entry === undefined) return 'refuses';
      const mark = [policy.policy, rule.of.join(), asked.symbol, entry].join('|');
      return {
        type: 'mark',
        mark,
        ageMs: rule.for === undefined ? 0 : LENGTH_MS[rule.for],
        exempt: amount <= max,
      };
    }
    case 'allow-list':
    case 'deny-list': {
      const entry = entryOf(rule.of, asked);
      if (entry === undefined) return 'refuses';
      return { type: 'list', list: rule.list, entry, listed: rule.type === 'allow-list' };
    }
    case 'cooling-period': {
      const entry = entryOf(rule.of, asked);
      if (entry === undefined) return 'refuses';
      return { type: 'aged', list: rule.list, entry, ageMs: LENGTH_MS[rule.for] };
    }
    case 'expected-order':
      return { type: 'order', members: asked.members };
    case 'speed-up':
      if (!asked.speedUp) return 'passes';
      if ('allowed' in rule) return 'refuses';
      return { type: 'speed-up', max: Number(rule.max), withinMs: LENGTH_MS[rule.within] };
    case 'schedule':
      return isOpen(rule, known.atMs) ? 'passes' : 'refuses afresh';
    default:
      throw new TypeError('no such rule');
  }
}

export function amountOf(text: string): Amount {
  const amount = parseAmount(text);
  if (amount === undefined) throw new Error(`${text} is no amount`);
  return amount;
}

function boundOf(bound: Bound, { symbol }: Asked): Amount | undefined {
  const text = typeof bound === 'string' ? bound : bound[symbol];
  return text === undefined ? undefined : amountOf(text);
}

/** Nothing if one of the members is missing. */
function entryOf(of: readonly ('userId' | 'to' | 'symbol' | 'memo')[], asked: Asked): string | undefined {
  const texts = of.map((member) => asked[member]);
  return texts.includes('') ? undefined : texts.join(' ');
}

interface Counting {
  readonly type: string;
  readonly per: readonly ('userId' | 'to' | 'symbol' | 'memo')[];
  readonly window: WindowName;
  /** The symbol, where each has a count of its own. */
  readonly by?: string;
}

function counted(
  { policy, symbol = '' }: PolicySpec,
  { type, per, window, by }: Counting,
  asked: Asked,
  sum: { readonly amount: Amount; readonly max: Amount },
): Said {
  // A value has no coin, and a table has one for each of its counts already.
  const coin = type === 'value-limit' ? '' : by === undefined ? `all ${symbol}` : `each ${by}`;
  const counter = [policy, coin, type, window, ...per.map((member) => `${member} ${asked[member]}`)].join(
    '|',
  );
  return { type: 'window', counter, window, ...sum };
}

function valued(
  policy: PolicySpec,
  rule: Extract<RuleSpec, { readonly type: 'value-limit' }>,
  { prices, atMs }: Known,
  asked: Asked,
): Said {
  const found = prices.get(asked.symbol);
  if (found === undefined) return 'refuses afresh';
  const ageMs = atMs - found.asOfMs;
  if (ageMs > LENGTH_MS[rule.maxAge] || ageMs < -MINUTE_MS) return 'refuses afresh';
  const [value, max] = [valueOf(amountOf(asked.amount), found.price), amountOf(rule.max)];
  const { window, per = [] } = rule;
  if (window === undefined) return value <= max ? 'passes' : 'refuses afresh';
  return counted(policy, { type: rule.type, per, window }, asked, { amount: value, max });
}

/** Rounded up: in units of 10^-36. */
export function valueOf(amount: Amount, price: Amount): Amount {
  const exact = amount * price;
  return exact % UNIT === 0n ? exact / UNIT : exact / UNIT + 1n;
}

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Clocks in India are never set: they show UTC and five hours and a half. */
function isOpen(
  { hours, days = DAYS }: { readonly hours: string; readonly days?: readonly string[] },
  atMs: number,
): boolean {
  const wall = new Date(atMs + 330 * MINUTE_MS);
  const minute = wall.getUTCHours() * 60 + wall.getUTCMinutes();
  const [from = 0, to = 0] = hours.split('-').map((time) => {
    const [hour = '', minutes = ''] = time.split(':');
    return Number(hour) * 60 + Number(minutes);
  });
  const isDay = (shift: number): boolean => days.includes(DAYS[(wall.getUTCDay() + shift) % 7] ?? '');
  if (from < to) return isDay(0) && minute >= from && minute < to;
  return (isDay(0) && minute >= from) || (isDay(6) && minute < to);
}
