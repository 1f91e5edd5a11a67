import type { Random } from '../random.ts';
import {
  type Counting,
  type Entry,
  type Facts,
  type Movement,
  type Policy,
  type Range,
  type Rule,
  type When,
  units,
} from '../reference/policies.ts';

/*
 * Random policies, as the reference reads them and as a policy file has them, and random callbacks about
 * which they say different things.
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

type Lengths = readonly [ms: number, text: string];
const WITHINS: readonly [Lengths, ...Lengths[]] = [
  [60_000, '1m'],
  [3_600_000, '1h'],
  [86_400_000, '1d'],
];
const LENGTHS: readonly [Lengths, ...Lengths[]] = [
  [300_000, '5m'],
  [7_200_000, '2h'],
  [Infinity, 'until-lifted'],
];

type Kind = Policy['callback'];
const KINDS: readonly Kind[] = ['payment', 'transfer', 'web3'];
const MEMBERS = {
  payment: ['userId', 'symbol'],
  transfer: ['to', 'memo', 'symbol'],
  web3: ['to', 'to', 'symbol'],
} as const;
const TEXTS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  userId: USERS,
  to: ADDRESSES,
  symbol: SYMBOLS,
  memo: MEMOS,
};

type Per = readonly string[];
const LOCKED_OUT: Readonly<Record<Kind, readonly [Per, ...Per[]]>> = {
  payment: [[], ['userId'], ['userId'], ['userId', 'symbol']],
  transfer: [[], ['to'], ['to'], ['memo'], ['to', 'memo']],
  web3: [[], ['to'], ['to']],
};

// ---- transactions ----

const NETWORK = 'ETH';
interface Token {
  readonly asset: string;
  readonly contract: string;
  readonly decimals: number;
}
const TOKENS: readonly [Token, ...Token[]] = [
  { asset: 'TKA', contract: `0x${'a1'.repeat(20)}`, decimals: 6 },
  { asset: 'TKB', contract: `0x${'b2'.repeat(20)}`, decimals: 18 },
];
const RECIPIENTS = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`, `0x${'33'.repeat(20)}`] as const;
const UNKNOWN_CONTRACT = `0x${'c3'.repeat(20)}`;

export const ASSETS = JSON.stringify({
  assets: {
    [NETWORK]: { chain: 'evm', decimals: '18' },
    ...Object.fromEntries(
      SYMBOLS.map((symbol) => [symbol, { chain: 'text', spellings: 'one', decimals: '8' }]),
    ),
    ...Object.fromEntries(
      TOKENS.map(({ asset, contract, decimals }) => [
        asset,
        { chain: 'evm', decimals: String(decimals), contracts: { [NETWORK]: contract } },
      ]),
    ),
  },
});

// ---- policies ----

/** Some of the policies may be a fault, such as two rules with one counter. */
export function randomPolicies(random: Random): readonly Policy[] {
  return Array.from({ length: 3 + random.below(2) }, (_, at) => {
    const callback = KINDS[at % KINDS.length] ?? 'payment';
    const when = random.oneIn(3) ? randomWhen(random, callback, 0) : undefined;
    // Whatever is refused otherwise may lock somebody out.
    const lockout = random.oneIn(3) ? [{ rule: randomLockout(random, callback) }] : [];
    const symbol = callback === 'web3' ? NETWORK : at < 2 ? 'USDT' : random.pick(SYMBOLS);
    return {
      policy: `policy-${at + 1}`,
      callback,
      // A limit counts one symbol.
      when: { ...when, texts: { ...when?.texts, symbol: [symbol] } },
      ...(callback === 'web3' && { movements: 'count' as const }),
      rules: [
        ...Array.from({ length: 1 + random.below(2) }, () => randomEntry(random, callback, 0)),
        ...lockout,
      ],
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
    const texts =
      kind === 'web3'
        ? member === 'to'
          ? RECIPIENTS
          : ([NETWORK, 'BSC'] as const)
        : (TEXTS[member] ?? SYMBOLS);
    const some = random.oneIn(2)
      ? [random.pick(texts)]
      : [...new Set([random.pick(texts), random.pick(texts)])];
    return { ...more, texts: { ...more.texts, [member]: some } };
  }
  if (drawn === 2 && kind !== 'web3') return { ...more, amount: amount() };
  if (drawn === 3 || drawn === 2) return { ...more, value: { range: amount(), maxAgeMs: 3_600_000 } };
  if (drawn === 4) return { ...more, during: random.pick(HOURS)[0] };
  if (drawn === 5)
    return depth < 2
      ? { ...more, not: randomWhen(random, kind, depth + 1) }
      : { during: random.pick(HOURS)[0] };
  return { ...more, scheme: [random.pick(SCHEMES)] };
}

function randomRule(random: Random, kind: Kind): Rule {
  const member = kind === 'payment' ? 'userId' : 'to';
  const more = kind === 'transfer' ? 'memo' : kind === 'web3' ? 'symbol' : undefined;
  const of = more !== undefined && random.oneIn(4) ? [member, more] : [member];
  const counting = randomCounting(random, kind, member);
  const [amount, list] = [random.pick(LIMITS), random.pick(LISTS)];
  const max = kind === 'web3' ? randomTable(random) : amount;
  const onlyApprovals = kind === 'web3' && random.oneIn(4) ? ({ onlyApprovals: true } as const) : {};
  return random.pick<Rule>([
    { name: 'pass' },
    { name: 'amount-limit', max, ...onlyApprovals },
    { name: 'window-limit', max, ...counting, ...onlyApprovals },
    { name: 'window-limit', max, ...counting, ...onlyApprovals },
    { name: 'velocity-limit', max: random.pick(['1', '2', '3']), ...counting },
    { name: 'value-limit', max: amount, maxAgeMs: 3_600_000, ...onlyApprovals },
    { name: 'value-window', max: amount, maxAgeMs: 3_600_000, ...counting, ...onlyApprovals },
    {
      name: 'distinct-limit',
      of,
      onlyNew: random.oneIn(2),
      max: 1 + random.below(2),
      ...counting,
      per:
        counting.counter !== undefined || kind !== 'transfer' || of.includes('symbol') || random.oneIn(2)
          ? []
          : ['symbol'],
    },
    { name: 'allow-list', of, list },
    { name: 'deny-list', of, list },
    { name: 'cooling-period', of, list, forMs: 600_000 },
    { name: 'first-use-limit', of: [member], max, forMs: random.pick([0, 600_000]) },
    { name: 'schedule', during: random.pick(HOURS)[0] },
    randomLockout(random, kind),
    randomLockout(random, kind),
  ]);
}

/** Few values, so that alternatives often share a count. */
function randomLockout(random: Random, kind: Kind): Rule {
  const per = random.pick(LOCKED_OUT[kind]);
  const [withinMs, forMs] = [random.pick(WITHINS)[0], random.pick(LENGTHS)[0]];
  return { name: 'lock-out', per, after: random.pick([1, 2, 2, 3, 5]), withinMs, forMs };
}

/**
 * Rules that share a counter must agree in the window and in what they count by, so the name says both. A
 * limit of transactions counts each asset, the others one symbol.
 */
function randomCounting(random: Random, kind: Kind, member: string): Counting {
  const [windowMs, text] = random.pick(WINDOWS);
  const across = random.oneIn(2) ? ({ acrossGroup: true } as const) : {};
  const place = across.acrossGroup ? 'group' : 'source';
  if (random.oneIn(4)) {
    const counter = `${kind === 'web3' ? 'web3' : 'coins'}-${text}-${place}`;
    return { per: [], windowMs, counter, ...across };
  }
  return { per: random.oneIn(2) ? [] : [member], windowMs, ...across };
}

/** Amounts by asset. Some assets are in no table. */
function randomTable(random: Random): Readonly<Record<string, string>> {
  const assets = [NETWORK, ...TOKENS.map(({ asset }) => asset)].filter(() => !random.oneIn(5));
  return Object.fromEntries(
    (assets.length === 0 ? [NETWORK] : assets).map((each) => [each, random.pick(LIMITS)]),
  );
}

/** The same policies with other maximums, on the same counts. */
export function withOtherLimits(random: Random, policies: readonly Policy[]): readonly Policy[] {
  const other = (entry: Entry): Entry => {
    if ('any' in entry) return { ...entry, any: entry.any.map(other) };
    if ('all' in entry) return { ...entry, all: entry.all.map(other) };
    const { rule } = entry;
    if (rule.name === 'window-limit') return { ...entry, rule: { ...rule, max: otherMax(random, rule.max) } };
    if (rule.name === 'value-window') return { ...entry, rule: { ...rule, max: random.pick(LIMITS) } };
    if (rule.name === 'velocity-limit') {
      return { ...entry, rule: { ...rule, max: random.pick(['1', '2', '3']) } };
    }
    return rule.name === 'distinct-limit' ? { ...entry, rule: { ...rule, max: 1 + random.below(2) } } : entry;
  };
  return policies.map((policy) => ({ ...policy, rules: policy.rules.map(other) }));
}

function otherMax(
  random: Random,
  max: string | Readonly<Record<string, string>>,
): string | Readonly<Record<string, string>> {
  if (typeof max === 'string') return random.pick(LIMITS);
  return Object.fromEntries(Object.keys(max).map((asset) => [asset, random.pick(LIMITS)]));
}

// ---- the same as a file ----

/** The policies of one file. */
export function writtenPolicies(policies: readonly Policy[]): string {
  return policies
    .map(({ policy, callback, when, movements, rules }) =>
      JSON.stringify({
        policy,
        callback,
        ...(when && { when: writtenWhen(when) }),
        ...(movements && { movements: { approvals: movements } }),
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
      return { 'amount-limit': { ...writtenMax(rule.max), ...approvalsOf(rule) } };
    case 'window-limit':
      return { 'window-limit': { ...writtenMax(rule.max), ...counted(rule), ...approvalsOf(rule) } };
    case 'velocity-limit':
      return { 'velocity-limit': { max: rule.max, ...counted(rule) } };
    case 'value-limit':
      return { 'value-limit': { max: rule.max, maxAge: '1h', ...approvalsOf(rule) } };
    case 'value-window':
      return { 'value-limit': { max: rule.max, maxAge: '1h', ...counted(rule), ...approvalsOf(rule) } };
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
      return { 'first-use-limit': { of: rule.of, ...writtenMax(rule.max), ...after } };
    }
    case 'schedule':
      return { schedule: { zone: 'UTC', hours: hoursOf(rule.during) } };
    case 'lock-out': {
      const { per, after, withinMs, forMs } = rule;
      const [within, period] = [textOf(WITHINS, withinMs), textOf(LENGTHS, forMs)];
      return { 'lock-out': { ...(per.length > 0 && { per }), after: String(after), within, for: period } };
    }
    default:
      throw new TypeError('no such rule');
  }
}

const writtenMax = (max: string | Readonly<Record<string, string>>): object =>
  typeof max === 'string' ? { max } : { by: 'asset', max };

const textOf = (lengths: readonly Lengths[], length: number): string =>
  lengths.find(([ms]) => ms === length)?.[1] ?? '';

const approvalsOf = ({ onlyApprovals }: { readonly onlyApprovals?: true }): object =>
  onlyApprovals ? { approvals: 'only' } : {};

const counted = ({ per, windowMs, acrossGroup, counter }: Counting): object => ({
  ...(per.length > 0 && { per }),
  window: WINDOWS.find(([ms]) => ms === windowMs)?.[1],
  ...(acrossGroup && { across: 'group' }),
  ...(counter !== undefined && { counter }),
});

// ---- callbacks ----

export interface Asked {
  readonly facts: Facts;
  /** Its members on the wire. */
  readonly wire: Readonly<Record<string, string>>;
}

export function randomCallback(random: Random, id: string): Asked {
  return random.pick([randomPayment, randomTransfer, randomTransaction])(random, id);
}

/** The callback again; a co-signer's may ask the other question about the same operation. */
export function askedAgain(random: Random, { facts, wire }: Asked): Asked {
  if (!('type' in wire)) return { facts, wire };
  return { facts, wire: { ...wire, type: random.pick(['sign_prepare', 'sign_start']) } };
}

function randomPayment(random: Random, id: string): Asked {
  const [amount, symbol, userId] = [random.pick(AMOUNTS), random.pick(SYMBOLS), random.pick(USERS)];
  return {
    facts: {
      kind: 'payment',
      id,
      members: { userId: [userId], symbol: [symbol] },
      movements: [{ kind: 'native', to: '', asset: symbol, amount: units(amount) }],
      scheme: random.pick(SCHEMES),
    },
    wire: { appOrderId: id, userId, payCoinSymbol: symbol, orderAmount: amount },
  };
}

function randomTransfer(random: Random, id: string): Asked {
  const [amount, symbol] = [random.pick(AMOUNTS), random.pick(SYMBOLS)];
  const [to, other] = [random.pick(ADDRESSES), random.pick(ADDRESSES)];
  const memo = random.oneIn(2) ? random.pick(MEMOS) : '';
  const isSplit = other !== to && amount === '100' && random.oneIn(2);
  const outputs = isSplit
    ? [
        { address_to: to, amount: '60' },
        { address_to: other, amount: '40' },
      ]
    : [{ address_to: to, amount }];
  return {
    facts: {
      kind: 'transfer',
      id,
      members: {
        to: outputs.map((each) => each.address_to),
        symbol: [symbol],
        ...(memo !== '' && { memo: [memo] }),
      },
      // Addresses are looked at in the order of their texts.
      movements: outputs
        .toSorted((a, b) => (a.address_to < b.address_to ? -1 : 1))
        .map((each) => ({
          kind: 'native',
          to: each.address_to,
          asset: symbol,
          amount: units(each.amount),
        })),
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

/** Coins alone, or a call of a token, with or without coins. */
function randomTransaction(random: Random, id: string): Asked {
  const coins = random.pick(['0', '0', '10', '40', '100'] as const);
  const recipient = random.pick(RECIPIENTS);
  const native = (to: string): Movement => ({ kind: 'native', to, asset: NETWORK, amount: units(coins) });
  const wire = {
    type: 'sign_start',
    request_id: id,
    trans_id: '1',
    from: `0x${'ff'.repeat(20)}`,
    amount: coins,
    main_chain_symbol: NETWORK,
  };
  const asked = (
    movements: readonly Movement[] | undefined,
    call: { readonly to: string; readonly interactive_contract: string; readonly input_data: string },
  ): Asked => ({
    facts: {
      kind: 'web3',
      id,
      members: { symbol: [NETWORK], to: [...new Set(movements?.map(({ to }) => to))] },
      movements,
      scheme: undefined,
    },
    wire: { ...wire, ...call },
  });
  if (random.oneIn(4)) {
    return asked([native(recipient)], { to: recipient, interactive_contract: '', input_data: '' });
  }
  const { asset, contract, decimals } = random.pick(TOKENS);
  const call = randomCall(random, recipient, decimals);
  const moved = [{ ...call.movement, asset, to: recipient }, ...(coins === '0' ? [] : [native(contract)])];
  const at = (to: string): Parameters<typeof asked>[1] => ({
    to,
    interactive_contract: to,
    input_data: call.data,
  });
  // A contract that is not in the table, and bytes behind the arguments, can't be read.
  if (random.oneIn(12)) return asked(undefined, at(UNKNOWN_CONTRACT));
  if (random.oneIn(12)) return asked(undefined, { ...at(contract), input_data: `${call.data}00` });
  return asked(moved, at(contract));
}

function randomCall(
  random: Random,
  recipient: string,
  decimals: number,
): { readonly data: string; readonly movement: Pick<Movement, 'kind' | 'amount'> } {
  const word = (hex: string): string => hex.padStart(64, '0');
  const amount = random.pick(['10', '25', '40', '100', '150', '0', 'unlimited'] as const);
  const raw = amount === 'unlimited' ? 2n ** 256n - 1n : BigInt(amount) * 10n ** BigInt(decimals);
  const moved = amount === 'unlimited' ? amount : units(amount);
  const [to, value] = [word(recipient.slice(2)), word(raw.toString(16))];
  return random.pick<ReturnType<typeof randomCall>>([
    { data: `0xa9059cbb${to}${value}`, movement: { kind: 'transfer', amount: moved } },
    {
      data: `0x23b872dd${word('ee'.repeat(20))}${to}${value}`,
      movement: { kind: 'transfer', amount: moved },
    },
    { data: `0x095ea7b3${to}${value}`, movement: { kind: 'approval', amount: moved } },
    { data: `0x39509351${to}${value}`, movement: { kind: 'approval', amount: moved } },
    { data: `0xa457c2d7${to}${value}`, movement: { kind: 'approval', amount: 0n } },
  ]);
}

/** A value that somebody adds to a list, or removes from it. */
export function randomListed(random: Random): { readonly list: string; readonly value: string } {
  const value = random.pick([
    ...USERS,
    ...ADDRESSES,
    ...RECIPIENTS,
    ...TOKENS.map(({ contract }) => contract),
    'bc1qa 7',
    'bc1qb x y',
    `${RECIPIENTS[0]} TKA`,
    `${RECIPIENTS[1]} ${NETWORK}`,
  ]);
  return { list: random.pick(LISTS), value };
}

export function randomPrice(random: Random): { readonly symbol: string; readonly price: string } {
  return {
    symbol: random.pick([...SYMBOLS, NETWORK, 'TKA', 'TKB']),
    price: random.pick(['1', '0.333333333333333333', '2']),
  };
}
