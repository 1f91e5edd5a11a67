import { type Amount, parseAmount } from '../../src/values/amount.ts';
import type { Asked } from './model-asked.ts';
import {
  type Bound,
  type EntrySpec,
  FILES,
  type GroupSpec,
  type PolicySpec,
  type RuleSpec,
  type WhenSpec,
  type WindowName,
  revisions,
} from './model-policies.ts';

/*
 * What the policies say before the store is asked, once more and as plainly as can be.
 */

export const MINUTE_MS = 60_000;
export const DAY_MS = 1440 * MINUTE_MS;
export const LENGTH_MS = { '10m': 10 * MINUTE_MS, '1h': 60 * MINUTE_MS, '400d': 400 * DAY_MS } as const;
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
  | {
      readonly type: 'distinct';
      readonly counter: string;
      /** What is counted; known by this name whatever the window. */
      readonly value: string;
      readonly max: number;
      readonly window: WindowName;
      readonly onlyNew: boolean;
    }
  | { readonly type: 'mark'; readonly mark: string; readonly ageMs: number; readonly exempt: boolean }
  | { readonly type: 'order'; readonly members: Readonly<Record<string, string>> }
  | { readonly type: 'speed-up'; readonly max: number; readonly withinMs: number };

export interface Claim {
  readonly wanted: Wanted;
  readonly decides: boolean;
  readonly retryable: boolean;
}

export interface Proposal {
  readonly approves: boolean;
  readonly refusal: 'NOTHING_IN_FORCE' | 'NO_POLICY' | undefined;
  readonly retryable: boolean;
  /** Whether it depends on prices. */
  readonly prices: boolean;
  /** The claims of alternatives are here as well, and decide nothing by themselves. */
  readonly claims: readonly Claim[];
  readonly choices: readonly Choice[];
}

/** Of what is wanted, by its claims, one must hold. */
export interface Choice {
  readonly decides: boolean;
  /** Whether an alternative was refused by what changes without a push. */
  readonly retryable: boolean;
  readonly alternatives: readonly (readonly (Claim | Choice)[])[];
}

type Said = 'passes' | 'refuses' | 'refuses for now' | Wanted;

const unheard = (refusal: Proposal['refusal']): Proposal => ({
  approves: false,
  refusal,
  retryable: false,
  prices: false,
  claims: [],
  choices: [],
});

export function propose(known: Known, asked: Asked): Proposal {
  const revision = known.inForce === undefined ? undefined : revisions[known.inForce];
  if (revision === undefined) return unheard('NOTHING_IN_FORCE');
  const said: Judged[] = [];
  let [prices, changes] = [false, false];
  for (const policy of revision.specs.toSorted((one, other) => (one.policy < other.policy ? -1 : 1))) {
    const { callback, symbol = asked.symbol } = policy;
    if (callback !== asked.kind || symbol !== asked.symbol) continue;
    // Without movements, all that it moves is what it says itself.
    const seen = policy.movements === true ? asked : { ...asked, moves: [asked] };
    for (const entry of policy.rules) {
      said.push(judgeEntry(policy, entry, known, seen, [], false));
      prices ||= looksUpPrices(policy, entry, known, seen, false);
      changes ||= hasChanging(entry);
    }
  }
  const deciding = said.filter(({ decides }) => decides);
  const refusing = deciding.filter(({ state }) => state === 'refuses');
  const covers = deciding.some(({ state, isCertain }) => state === 'holds' && isCertain);
  return {
    approves: covers && refusing.length === 0,
    refusal: refusing.length > 0 || covers ? undefined : 'NO_POLICY',
    retryable: refusing.length > 0 ? refusing.every(({ retryable }) => retryable) : !covers && changes,
    prices,
    // Whatever decides beside it, each claim that was wanted is looked at.
    claims: said.flatMap(({ beside }) => beside.flatMap(claimsWithin)),
    choices: said.flatMap(({ beside }) => beside.filter((each) => 'alternatives' in each)),
  };
}

/** What became of an entry before the store is asked. */
interface Judged {
  readonly state: 'absent' | 'refuses' | 'holds';
  readonly decides: boolean;
  /** Whether a cause of a refusal, if it refuses, changes without a push. */
  readonly retryable: boolean;
  /** Whether it applies for certain. */
  readonly isCertain: boolean;
  /** What must hold in the store, if it holds otherwise. */
  readonly wants: readonly (Claim | Choice)[];
  /** What the store is asked beside, though it refuses. */
  readonly beside: readonly (Claim | Choice)[];
}

export const claimsWithin = (wanted: Claim | Choice): readonly Claim[] =>
  'alternatives' in wanted ? wanted.alternatives.flat().flatMap(claimsWithin) : [wanted];

function judgeEntry(
  policy: PolicySpec,
  entry: EntrySpec,
  known: Known,
  asked: Asked,
  around: readonly WhenSpec[],
  isAlternative: boolean,
): Judged {
  const { when = {} } = entry;
  const scope = entry.when === undefined ? around : [...around, entry.when];
  const met = meets(when, known, asked);
  const common = { decides: entry.observe !== true };
  const nothing = {
    ...common,
    isCertain: false,
    retryable: scope.some(dependsOnTime),
    wants: [],
    beside: [],
  };
  if (met === 'no' || (met === 'unknown' && isAlternative)) {
    return { ...nothing, state: isAlternative ? 'refuses' : 'absent' };
  }
  const judged =
    'entries' in entry
      ? entry.type === 'any'
        ? judgeAny(policy, entry, known, asked, scope)
        : judgeAll(policy, entry, known, asked, scope, isAlternative)
      : judgeRule(policy, entry, known, asked, scope);
  const own = { ...nothing, ...judged, ...common };
  const observed = entry.observe === true ? asObserved(own) : own;
  return { ...observed, isCertain: observed.isCertain && met === 'yes' };
}

type Judgement = Pick<Judged, 'state'> & Partial<Judged>;

function asObserved(judged: Judged): Judged {
  const observed = (wanted: Claim | Choice): Claim | Choice => ({ ...wanted, decides: false });
  return { ...judged, wants: judged.wants.map(observed), beside: judged.beside.map(observed) };
}

function judgeRule(
  policy: PolicySpec,
  rule: RuleSpec,
  known: Known,
  asked: Asked,
  scope: readonly WhenSpec[],
): Judgement {
  const says =
    policy.movements === true
      ? judgeMoved(policy, rule, known, asked, scope)
      : [judge(policy, rule, known, asked, scope)];
  const mayChange = asked.moves !== undefined && scope.some(dependsOnTime);
  const refused = says.find((each) => each === 'refuses' || each === 'refuses for now');
  if (refused !== undefined)
    return { state: 'refuses', retryable: mayChange || refused === 'refuses for now' };
  const retryable = mayChange || RETRYABLE.has(rule.type);
  const claims = says.flatMap((wanted): readonly Claim[] =>
    typeof wanted === 'string' ? [] : [{ wanted, decides: true, retryable }],
  );
  return {
    state: 'holds',
    isCertain: true,
    ...(claims.length === 0 ? {} : { wants: claims, beside: claims }),
  };
}

/** What a rule says of each asset that a transaction moves, or of each address that gets it. */
function judgeMoved(
  policy: PolicySpec,
  rule: RuleSpec,
  known: Known,
  asked: Asked,
  scope: readonly WhenSpec[],
): readonly Said[] {
  const { moves } = asked;
  if (rule.type === 'expected-order' || rule.type === 'velocity-limit') {
    return [judge(policy, rule, known, asked, scope)];
  }
  if (moves === undefined) return ['refuses'];
  if (rule.type === 'value-limit') {
    const values = moves.map(({ symbol, amount }) => priced(symbol, amount, rule.maxAge, known));
    if (values.includes(undefined)) return ['refuses for now'];
    const value = values.reduce<Amount>((sum, each = 0n) => sum + each, 0n);
    return [valued(policy, rule, value, asked, scope)];
  }
  // No transaction moves one asset twice.
  return moves.map((move) => judge(policy, rule, known, { ...asked, ...move }, scope));
}

function judgeAll(
  policy: PolicySpec,
  { entries }: GroupSpec,
  known: Known,
  asked: Asked,
  scope: readonly WhenSpec[],
  isAlternative: boolean,
): Judgement {
  const judged = entries.map((each) => judgeEntry(policy, each, known, asked, scope, false));
  const beside = judged.flatMap((each) => each.beside);
  const refusing = judged.filter(({ state }) => state === 'refuses');
  const isCertain = judged.some((each) => each.state === 'holds' && each.isCertain);
  if (refusing.length > 0) {
    const retryable = refusing.every((each) => each.retryable);
    return { state: 'refuses', retryable, beside };
  }
  if (isAlternative && !isCertain) {
    return { state: 'refuses', retryable: scope.some(dependsOnTime) || entries.some(hasChanging), beside };
  }
  if (judged.every(({ state }) => state === 'absent')) return { state: 'absent' };
  return { state: 'holds', isCertain, wants: judged.flatMap(({ wants }) => wants), beside };
}

function judgeAny(
  policy: PolicySpec,
  { entries }: GroupSpec,
  known: Known,
  asked: Asked,
  scope: readonly WhenSpec[],
): Judgement {
  const judged = entries.map((each) => judgeEntry(policy, each, known, asked, scope, true));
  const sure = judged.findIndex(({ state, wants }) => state === 'holds' && wants.length === 0);
  const reached = sure === -1 ? judged : judged.slice(0, sure + 1);
  const holding = reached.filter(({ state }) => state === 'holds');
  const mayChange = scope.some(dependsOnTime);
  const changesWithin = (wanted: Claim | Choice): boolean => 'alternatives' in wanted && wanted.retryable;
  const retryable =
    mayChange ||
    reached.some((each) => (each.state === 'refuses' ? each.retryable : each.wants.some(changesWithin)));
  const [first] = holding;
  if (first === undefined) return { state: 'refuses', retryable };
  if (first.wants.length === 0) return { state: 'holds', isCertain: true };
  const undecided = (wanted: Claim | Choice): Claim | Choice =>
    'alternatives' in wanted
      ? { ...wanted, alternatives: wanted.alternatives.map((each) => each.map(undecided)) }
      : Object.assign(wanted, { decides: false });
  const alternatives = holding.map(({ wants }) => wants.map(undecided));
  const choice: Choice = { decides: true, retryable, alternatives };
  return { state: 'holds', isCertain: true, wants: [choice], beside: [choice] };
}

// ---- conditions ----

type Met = 'yes' | 'no' | 'unknown';

function meets(when: WhenSpec, known: Known, asked: Asked): Met {
  const all: Met[] = [];
  const say = (met: boolean): void => void all.push(met ? 'yes' : 'no');
  const { userId, amount, value, during, not } = when;
  const exactly = amountOf(asked.amount);
  if (userId !== undefined) say(asked.userId === userId);
  if (amount?.above !== undefined) say(exactly > amountOf(amount.above));
  if (amount?.atMost !== undefined) say(exactly <= amountOf(amount.atMost));
  for (const member of ['to', 'memo'] as const) {
    const file = when[member]?.file;
    if (file === undefined) continue;
    if (asked[member] === '') all.push('unknown');
    else say(FILES[file].toLowerCase() === asked[member].toLowerCase());
  }
  if (during !== undefined) say(isOpen(during, known.atMs));
  if (value !== undefined) {
    const found = asked.moves?.map((move) => priced(move.symbol, move.amount, value.maxAge, known));
    if (found === undefined || found.includes(undefined)) all.push('unknown');
    else say(found.reduce<Amount>((sum, each = 0n) => sum + each, 0n) > amountOf(value.above));
  }
  if (not !== undefined) {
    const other = meets(not, known, asked);
    all.push(other === 'yes' ? 'no' : other === 'no' ? 'yes' : 'unknown');
  }
  return all.includes('no') ? 'no' : all.includes('unknown') ? 'unknown' : 'yes';
}

const dependsOnTime = ({ value, during, not }: WhenSpec): boolean =>
  value !== undefined || during !== undefined || (not !== undefined && dependsOnTime(not));

const hasChanging = (entry: EntrySpec): boolean =>
  dependsOnTime(entry.when ?? {}) || ('entries' in entry && entry.entries.some(hasChanging));

const isCurrent = ({ asOfMs }: Price, maxAge: '1h', atMs: number): boolean =>
  atMs - asOfMs <= LENGTH_MS[maxAge] && atMs - asOfMs >= -MINUTE_MS;

/** Whether a price is looked up for it: not behind an alternative that holds in any case. */
function looksUpPrices(
  policy: PolicySpec,
  entry: EntrySpec,
  known: Known,
  asked: Asked,
  isAlternative: boolean,
): boolean {
  const { when = {} } = entry;
  if (looksUp(when, known, asked)) return true;
  const met = meets(when, known, asked);
  if (met === 'no' || (met === 'unknown' && isAlternative)) return false;
  if (!('entries' in entry)) return entry.type === 'value-limit' && asked.moves !== undefined;
  const isAny = entry.type === 'any';
  for (const each of entry.entries) {
    if (looksUpPrices(policy, each, known, asked, isAny)) return true;
    const { state, wants } = judgeEntry(policy, each, known, asked, [], isAny);
    if (isAny && state === 'holds' && wants.length === 0) return false;
  }
  return false;
}

/** All conditions of the files that may be unmet come before, but for `not`. */
const looksUp = ({ value, not, ...others }: WhenSpec, known: Known, asked: Asked): boolean =>
  meets(others, known, asked) !== 'no' &&
  ((value !== undefined && asked.moves !== undefined) || (not !== undefined && looksUp(not, known, asked)));
/** Claims of these depend on what changes without a push. */
const RETRYABLE: ReadonlySet<RuleSpec['type']> = new Set([
  'cooling-period',
  'distinct-limit',
  'first-use-limit',
  'expected-order',
  'speed-up',
  'value-limit',
  'velocity-limit',
  'window-limit',
] as const);

function judge(
  policy: PolicySpec,
  rule: RuleSpec,
  known: Known,
  asked: Asked,
  scope: readonly WhenSpec[],
): Said {
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
      return counted(policy, { ...rule, ...by, scope }, asked, { amount, max });
    }
    case 'velocity-limit':
      return counted(policy, { ...rule, scope }, asked, { amount: UNIT, max: amountOf(rule.max) });
    case 'distinct-limit': {
      const entry = entryOf(rule.of, asked);
      if (entry === undefined) return 'refuses';
      const onlyNew = rule.only === 'new';
      const counts = rule.per.map((member) => asked[member]).join('|');
      const owner = ownerOf(policy, { ...rule, scope }, asked);
      const base = [owner, rule.of.join(), rule.per.join(), counts].join('|');
      const counter = `${base}|${rule.window}|${onlyNew}`;
      const value = `${base}|${entry}`;
      return { type: 'distinct', counter, value, max: Number(rule.max), window: rule.window, onlyNew };
    }
    case 'value-limit': {
      const value = priced(asked.symbol, asked.amount, rule.maxAge, known);
      return value === undefined ? 'refuses for now' : valued(policy, rule, value, asked, scope);
    }
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
    case 'pass':
      return 'passes';
    case 'schedule':
      return isOpen(rule, known.atMs) ? 'passes' : 'refuses for now';
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
  readonly across?: 'group';
  readonly counter?: string;
  /** The conditions around, for each of which there is a count of its own. */
  readonly scope: readonly WhenSpec[];
}

/** Whose count it is: of rules that share it or of one policy, and of all sources or of one. */
function ownerOf(
  { policy, movements }: PolicySpec,
  { across, counter, scope }: Pick<Counting, 'across' | 'counter' | 'scope'>,
  { source }: Asked,
): string {
  const rules = counter ?? `${policy} ${String(movements)} ${JSON.stringify(scope)}`;
  return `${rules}|${across === undefined ? source : 'all'}`;
}

function counted(
  policy: PolicySpec,
  counting: Counting,
  asked: Asked,
  sum: { readonly amount: Amount; readonly max: Amount },
): Said {
  const { type, per, window, by } = counting;
  // A value has no coin, and a table has one for each of its counts already.
  const coin = type === 'value-limit' ? '' : by === undefined ? `all ${policy.symbol ?? ''}` : `each ${by}`;
  const counts = per.map((member) => `${member} ${asked[member]}`);
  const counter = [ownerOf(policy, counting, asked), coin, type, window, ...counts].join('|');
  return { type: 'window', counter, window, ...sum };
}

function valued(
  policy: PolicySpec,
  rule: Extract<RuleSpec, { readonly type: 'value-limit' }>,
  value: Amount,
  asked: Asked,
  scope: readonly WhenSpec[],
): Said {
  const max = amountOf(rule.max);
  const { window, per = [] } = rule;
  if (window === undefined) return value <= max ? 'passes' : 'refuses for now';
  return counted(policy, { ...rule, per, window, scope }, asked, { amount: value, max });
}

/** The value; undefined without a price that is new enough. */
function priced(
  symbol: string,
  amount: string,
  maxAge: '1h',
  { prices, atMs }: Pick<Known, 'prices' | 'atMs'>,
): Amount | undefined {
  const found = prices.get(symbol);
  if (found === undefined || !isCurrent(found, maxAge, atMs)) return undefined;
  return valueOf(amountOf(amount), found.price);
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
