import type { Random } from '../random.ts';
import {
  type Entry,
  type Facts,
  type Policy,
  type Range,
  type Rule,
  type When,
  units,
} from '../reference/policies.ts';

/*
 * Random policies, as the reference reads them and as a policy file has them, and random callbacks about which
 * they say different things.
 */

type Windows = readonly [ms: number | 'day', text: string];
const WINDOWS: readonly [Windows, ...Windows[]] = [
  [600_000, '10m'],
  [3_600_000, '1h'],
  [7_200_000, '2h'],
  ['day', 'day'],
];
const AMOUNTS = ['10', '25', '40', '40.000000000000000001', '100', '150'] as const;
const LIMITS = ['40', '100', '150', '300'] as const;
type Hours = readonly [minutes: readonly [number, number], text: string];
const HOURS: readonly [Hours, ...Hours[]] = [
  [[540, 630], '09:00-10:30'],
  [[630, 720], '10:30-12:00'],
  [[1320, 360], '22:00-06:00'],
  [[0, 780], '00:00-13:00'],
];
const LISTS = ['one', 'two'] as const;
const USERS = ['1', '2', '3'] as const;
const ADDRESSES = ['bc1qa', 'bc1qb', 'bc1qc', 'bc1qd'] as const;
const SYMBOLS = ['USDT', 'USDT', 'BTC'] as const;
const MEMOS = ['7', 'x y'] as const;
const SCHEMES = ['md5', 'rsa'] as const;
const DEPTH = 3;

type Kind = Policy['callback'];
const MEMBERS = { payment: ['userId', 'symbol'], transfer: ['to', 'memo', 'symbol'] } as const;
const TEXTS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  userId: USERS,
  to: ADDRESSES,
  symbol: SYMBOLS,
  memo: MEMOS,
};

// ---- policies ----

/** Some of the policies may be a fault, such as two rules with one counter. */
export function randomPolicies(random: Random): readonly Policy[] {
  return Array.from({ length: 2 + random.below(2) }, (_, at) => {
    const callback: Kind = at % 2 === 0 ? 'payment' : 'transfer';
    const when = random.oneIn(3) ? randomWhen(random, callback, 0) : undefined;
    const symbol = at < 2 ? 'USDT' : random.pick(SYMBOLS);
    return {
      policy: `policy-${at + 1}`,
      callback,
      // A limit counts one symbol.
      when: { ...when, texts: { ...when?.texts, symbol: [symbol] } },
      rules: Array.from({ length: 1 + random.below(2) }, () => randomEntry(random, callback, 0)),
    };
  });
}

function randomEntry(random: Random, kind: Kind, depth: number): Entry {
  const when = random.oneIn(4) ? { when: randomWhen(random, kind, 0) } : {};
  const observe = depth === 0 && random.oneIn(10) ? ({ observe: true } as const) : {};
  if (depth === DEPTH || random.oneIn(2)) return { rule: randomRule(random, kind), ...when, ...observe };
  const entries = Array.from({ length: 1 + random.below(3) }, () => randomEntry(random, kind, depth + 1));
  return random.oneIn(4) ? { all: entries, ...when, ...observe } : { any: entries, ...when, ...observe };
}

function randomWhen(random: Random, kind: Kind, depth: number): When {
  const drawn = random.below(kind === 'payment' ? 7 : 6);
  const amount = (): Range =>
    random.pick<Range>([
      { above: random.pick(AMOUNTS) },
      { atLeast: random.pick(AMOUNTS) },
      { below: random.pick(AMOUNTS) },
      { atMost: random.pick(AMOUNTS) },
    ]);
  const more = random.oneIn(4) && depth < 2 ? randomWhen(random, kind, depth + 1) : {};
  if (drawn < 2) {
    const member = random.pick(MEMBERS[kind]);
    const texts = TEXTS[member] ?? SYMBOLS;
    const some = random.oneIn(2)
      ? [random.pick(texts)]
      : [...new Set([random.pick(texts), random.pick(texts)])];
    return { ...more, texts: { ...more.texts, [member]: some } };
  }
  if (drawn === 2) return { ...more, amount: amount() };
  if (drawn === 3) return { ...more, value: { range: amount(), maxAgeMs: 3_600_000 } };
  if (drawn === 4) return { ...more, during: random.pick(HOURS)[0] };
  if (drawn === 5)
    return depth < 2 ? { ...more, not: randomWhen(random, kind, depth + 1) } : { amount: amount() };
  return { ...more, scheme: [random.pick(SCHEMES)] };
}

function randomRule(random: Random, kind: Kind): Rule {
  const member = kind === 'payment' ? 'userId' : 'to';
  const of = kind === 'transfer' && random.oneIn(4) ? ['to', 'memo'] : [member];
  const counting = {
    per: random.oneIn(2) ? [] : [member],
    windowMs: random.pick(WINDOWS)[0],
  };
  const [max, list] = [random.pick(LIMITS), random.pick(LISTS)];
  return random.pick<Rule>([
    { name: 'pass' },
    { name: 'amount-limit', max },
    { name: 'window-limit', max, ...counting },
    { name: 'window-limit', max, ...counting },
    { name: 'velocity-limit', max: random.pick(['1', '2', '3']), ...counting },
    { name: 'value-limit', max, maxAgeMs: 3_600_000 },
    { name: 'value-window', max, maxAgeMs: 3_600_000, ...counting },
    {
      name: 'distinct-limit',
      of,
      onlyNew: random.oneIn(2),
      max: 1 + random.below(2),
      ...counting,
      per: kind === 'payment' || random.oneIn(2) ? [] : ['symbol'],
    },
    { name: 'allow-list', of, list },
    { name: 'deny-list', of, list },
    { name: 'cooling-period', of, list, forMs: 600_000 },
    { name: 'first-use-limit', of, max, forMs: random.pick([0, 600_000]) },
    { name: 'schedule', during: random.pick(HOURS)[0] },
  ]);
}

// ---- the same as a file ----

/** The policies of one file. */
export function writtenPolicies(policies: readonly Policy[]): string {
  return policies
    .map(({ policy, callback, when, rules }) =>
      JSON.stringify({
        policy,
        callback,
        ...(when && { when: writtenWhen(when) }),
        rules: rules.map(writtenEntry),
      }),
    )
    .join('\n---\n');
}

function writtenEntry(entry: Entry): object {
  const beside = {
    ...(entry.when && { when: writtenWhen(entry.when) }),
    ...(entry.observe && { mode: 'observe' }),
  };
  if ('any' in entry) return { any: entry.any.map(writtenEntry), ...beside };
  if ('all' in entry) return { all: entry.all.map(writtenEntry), ...beside };
  return { ...writtenRule(entry.rule), ...beside };
}

function writtenWhen({ texts, amount, value, during, scheme, not }: When): object {
  return {
    ...texts,
    ...(amount && { amount }),
    ...(value && { value: { ...value.range, maxAge: '1h' } }),
    ...(during && { during: { zone: 'UTC', hours: hoursOf(during) } }),
    ...(scheme && { scheme }),
    ...(not && { not: writtenWhen(not) }),
  };
}

const hoursOf = (during: readonly [number, number]): string =>
  HOURS.find(([minutes]) => minutes[0] === during[0] && minutes[1] === during[1])?.[1] ?? '';

function writtenRule(rule: Rule): object {
  switch (rule.name) {
    case 'pass':
      return { pass: { because: 'it may' } };
    case 'amount-limit':
      return { 'amount-limit': { max: rule.max } };
    case 'window-limit':
    case 'velocity-limit':
      return { [rule.name]: { max: rule.max, ...counted(rule) } };
    case 'value-limit':
      return { 'value-limit': { max: rule.max, maxAge: '1h' } };
    case 'value-window':
      return { 'value-limit': { max: rule.max, maxAge: '1h', ...counted(rule) } };
    case 'distinct-limit': {
      const only = rule.onlyNew ? { only: 'new' } : {};
      return { 'distinct-limit': { of: rule.of, max: String(rule.max), ...only, ...counted(rule) } };
    }
    case 'allow-list':
    case 'deny-list':
      return { [rule.name]: { of: rule.of, list: rule.list } };
    case 'cooling-period':
      return { 'cooling-period': { of: rule.of, list: rule.list, for: '10m' } };
    case 'first-use-limit': {
      const after = rule.forMs === 0 ? {} : { for: '10m' };
      return { 'first-use-limit': { of: rule.of, max: rule.max, ...after } };
    }
    case 'schedule':
      return { schedule: { zone: 'UTC', hours: hoursOf(rule.during) } };
    default:
      throw new TypeError('no such rule');
  }
}

const counted = ({
  per,
  windowMs,
}: {
  readonly per: readonly string[];
  readonly windowMs: number | 'day';
}): object => ({
  ...(per.length > 0 && { per }),
  window: WINDOWS.find(([ms]) => ms === windowMs)?.[1],
});

// ---- callbacks ----

export interface Asked {
  readonly facts: Facts;
  /** Its members on the wire. */
  readonly wire: Readonly<Record<string, string>>;
}

export function randomCallback(random: Random, id: string): Asked {
  const [amount, symbol] = [random.pick(AMOUNTS), random.pick(SYMBOLS)];
  if (random.oneIn(2)) {
    const userId = random.pick(USERS);
    return {
      facts: {
        kind: 'payment',
        id,
        members: { userId: [userId], symbol: [symbol] },
        amount: units(amount),
        payouts: [],
        scheme: random.pick(SCHEMES),
      },
      wire: { appOrderId: id, userId, payCoinSymbol: symbol, orderAmount: amount },
    };
  }
  const to = random.pick(ADDRESSES);
  const other = random.pick(ADDRESSES);
  const memo = random.oneIn(2) ? random.pick(MEMOS) : '';
  const isSplit = other !== to && amount === '100' && random.oneIn(2);
  const outputs = isSplit
    ? [
        { address_to: to, amount: '60' },
        { address_to: other, amount: '40' },
      ]
    : [];
  const payouts = isSplit
    ? outputs.map((each) => ({ to: each.address_to, amount: units(each.amount) }))
    : [{ to, amount: units(amount) }];
  return {
    facts: {
      kind: 'transfer',
      id,
      members: {
        to: payouts.map((each) => each.to),
        symbol: [symbol],
        ...(memo !== '' && { memo: [memo] }),
      },
      amount: units(amount),
      payouts,
      scheme: undefined,
    },
    wire: {
      type: 'sign_start',
      request_id: id,
      transfer_id: '1',
      from: 'bc1qfrom',
      to,
      amount,
      symbol,
      memo,
      ...(isSplit && { outputs: JSON.stringify(outputs) }),
    },
  };
}

/** A value that somebody adds to a list, or removes from it. */
export function randomListed(random: Random): { readonly list: string; readonly value: string } {
  const value = random.pick([...USERS, ...ADDRESSES, 'bc1qa 7', 'bc1qb x y']);
  return { list: random.pick(LISTS), value };
}

export function randomPrice(random: Random): { readonly symbol: string; readonly price: string } {
  return { symbol: random.pick(SYMBOLS), price: random.pick(['1', '0.333333333333333333', '2']) };
}
