import {
  type Counting,
  type Entry,
  type Policy,
  type Range,
  type Rule,
  type Rules,
  type When,
  amountOf,
} from '../../../test/reference/policy.ts';
import type { Kind, Member, Movement, Question } from '../../../test/reference/question.ts';
import type { Random } from '../random.ts';

/*
 * Random policies, as a policy file has them and the reference reads them, and random callbacks about which
 * they say different things.
 */

const WINDOWS = ['10m', '1h', '2h', 'day'] as const;
const AMOUNTS = ['10', '25', '40', '40.000000000000000001', '100', '150'] as const;
const LIMITS = ['40', '100', '150', '300'] as const;
const NUMBERS = ['1', '2', '3'] as const;
const HOURS = ['09:00-10:30', '10:30-12:00', '22:00-06:00', '00:00-13:00'] as const;
const LISTS = ['one', 'two'] as const;
const USERS = ['1', '2', '3'] as const;
const ADDRESSES = ['bc1qa', 'bc1qb', 'bc1qc', 'bc1qd'] as const;
const SYMBOLS = ['USDT', 'USDT', 'BTC'] as const;
const MEMOS = ['7', 'x y'] as const;
const SCHEMES = ['md5', 'rsa'] as const;
const DEPTH = 3;
const WITHINS = ['1m', '1h', '1d'] as const;
const LENGTHS = ['5m', '2h', 'until-lifted'] as const;

const KINDS: readonly Kind[] = ['payment', 'transfer', 'web3'];
const MEMBERS = {
  payment: ['userId', 'symbol'],
  transfer: ['to', 'memo', 'symbol'],
  web3: ['to', 'to', 'symbol'],
} as const;
const TEXTS: Readonly<Record<Member, readonly [string, ...string[]]>> = {
  userId: USERS,
  to: ADDRESSES,
  symbol: SYMBOLS,
  memo: MEMOS,
};

type Per = readonly Member[];
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

/** One person is in both groups. */
export const GROUPS = { treasury: ['ada', 'ben', 'cleo'], board: ['cleo'] } as const;
export const APPROVERS = [...GROUPS.treasury, 'dan'];
export const PEOPLE = JSON.stringify({
  people: Object.fromEntries(
    APPROVERS.map((name) => {
      const id = Buffer.from(name).toString('base64url');
      return [name, { roles: ['approve'], passkeys: [{ id, publicKey: id }] }];
    }),
  ),
  groups: GROUPS,
});

// ---- policies ----

/** Some of the policies may be a fault, such as two rules with one counter. */
export function randomPolicies(random: Random): readonly Policy[] {
  return Array.from({ length: 3 + random.below(2) }, (_, at) => {
    const callback = KINDS[at % KINDS.length] ?? 'payment';
    const when = random.oneIn(3) ? randomWhen(random, callback, 0) : undefined;
    // Whatever is refused otherwise may lock somebody out.
    const lockout = random.oneIn(3) ? [randomLockout(random, callback)] : [];
    const approval = random.oneIn(6) ? [randomApproval(random)] : [];
    const symbol = callback === 'web3' ? NETWORK : at < 2 ? 'USDT' : random.pick(SYMBOLS);
    return {
      policy: `policy-${at + 1}`,
      callback,
      // A limit counts one symbol.
      when: { ...when, symbol: [symbol] },
      ...(callback === 'web3' && { movements: { approvals: 'count' as const } }),
      rules: [
        ...Array.from({ length: 1 + random.below(2) }, () => randomEntry(random, callback, 0)),
        ...lockout,
        ...approval,
      ],
    };
  });
}

function randomEntry(random: Random, kind: Kind, depth: number): Entry {
  const when = random.oneIn(4) ? { when: randomWhen(random, kind, 0) } : {};
  const mode = depth === 0 && random.oneIn(10) ? ({ mode: 'observe' } as const) : {};
  if (depth === DEPTH || random.oneIn(2)) return { ...randomRule(random, kind), ...when, ...mode };
  const entries = Array.from({ length: 1 + random.below(3) }, () => randomEntry(random, kind, depth + 1));
  return random.oneIn(4) ? { all: entries, ...when, ...mode } : { any: entries, ...when, ...mode };
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
  const during = () => ({ zone: 'UTC', hours: random.pick(HOURS) }) as const;
  const more = random.oneIn(4) && depth < 2 ? randomWhen(random, kind, depth + 1) : {};
  if (drawn < 2) {
    const member = random.pick(MEMBERS[kind]);
    const texts =
      kind === 'web3' ? (member === 'to' ? RECIPIENTS : ([NETWORK, 'BSC'] as const)) : TEXTS[member];
    const some = random.oneIn(2)
      ? [random.pick(texts)]
      : [...new Set([random.pick(texts), random.pick(texts)])];
    return { ...more, [member]: some };
  }
  if (drawn === 2 && kind !== 'web3') return { ...more, amount: amount() };
  if (drawn === 3 || drawn === 2) return { ...more, value: { ...amount(), maxAge: '1h' } };
  if (drawn === 4) return { ...more, during: during() };
  if (drawn === 5)
    return depth < 2 ? { ...more, not: randomWhen(random, kind, depth + 1) } : { during: during() };
  return { ...more, scheme: [random.pick(SCHEMES)] };
}

function randomRule(random: Random, kind: Kind): Rule {
  const member = kind === 'payment' ? 'userId' : 'to';
  const more = kind === 'transfer' ? 'memo' : kind === 'web3' ? 'symbol' : undefined;
  const of = more !== undefined && random.oneIn(4) ? ([member, more] as const) : ([member] as const);
  const counting = randomCounting(random, kind, member);
  const [amount, list] = [random.pick(LIMITS), random.pick(LISTS)];
  const max = kind === 'web3' ? ({ by: 'asset', max: randomTable(random) } as const) : { max: amount };
  const value = { max: amount, maxAge: '1h' };
  const approvals = kind === 'web3' && random.oneIn(4) ? ({ approvals: 'only' } as const) : {};
  return random.pick<Rule>([
    { pass: { because: 'it may' } },
    { 'amount-limit': { ...max, ...approvals } },
    { 'window-limit': { ...max, ...counting, ...approvals } },
    { 'window-limit': { ...max, ...counting, ...approvals } },
    { 'velocity-limit': { max: random.pick(NUMBERS), ...counting } },
    { 'value-limit': { ...value, ...approvals } },
    { 'value-limit': { ...value, ...counting, ...approvals } },
    { 'distinct-limit': randomDistinct(random, kind, { ...counting, of }) },
    { 'allow-list': { of, list } },
    { 'deny-list': { of, list } },
    { 'cooling-period': { of, list, for: '10m' } },
    { 'first-use-limit': { of: [member], ...max, ...(!random.oneIn(2) && { for: '10m' }) } },
    { schedule: { zone: 'UTC', hours: random.pick(HOURS) } },
    randomApproval(random),
    randomApproval(random),
    randomLockout(random, kind),
    randomLockout(random, kind),
  ]);
}

function randomApproval(random: Random): Rule {
  const by = random.pick(['treasury', 'treasury', 'board'] as const);
  const quorum = by === 'board' ? '1' : random.pick(['1', '2'] as const);
  return { approval: { by, quorum, within: random.pick(WITHINS) } };
}

/** Who has approved something, in no order; perhaps somebody twice, who then counts once. */
export const randomApprovers = (random: Random): readonly string[] =>
  Array.from({ length: random.below(4) }, () => random.pick(['ada', 'ben', 'cleo', 'dan']));

function randomDistinct(
  random: Random,
  kind: Kind,
  { per: _per, ...counting }: Counting & { readonly of: readonly Member[] },
): Rules['distinct-limit'] {
  const isPlain = counting.counter !== undefined || kind !== 'transfer' || counting.of.includes('symbol');
  return {
    ...counting,
    ...(random.oneIn(2) && { only: 'new' }),
    max: String(1 + random.below(2)),
    ...(!isPlain && !random.oneIn(2) && { per: ['symbol'] }),
  };
}

/** Few values, so that alternatives often share a count. */
function randomLockout(random: Random, kind: Kind): Rule {
  const per = random.pick(LOCKED_OUT[kind]);
  const [within, period] = [random.pick(WITHINS), random.pick(LENGTHS)];
  const after = random.pick(['1', '2', '2', '3', '5']);
  return { 'lock-out': { ...(per.length > 0 && { per }), after, within, for: period } };
}

/**
 * Rules that share a counter must agree in the window and in what they count by, so the name says both. A
 * limit of transactions counts each asset, the others one symbol.
 */
function randomCounting(random: Random, kind: Kind, member: Member): Counting {
  const window = random.pick(WINDOWS);
  const across = random.oneIn(2) ? ({ across: 'group' } as const) : {};
  if (random.oneIn(4)) {
    const place = across.across ?? 'source';
    const counter = `${kind === 'web3' ? 'web3' : 'coins'}-${window}-${place}`;
    return { window, counter, ...across };
  }
  return { ...(!random.oneIn(2) && { per: [member] }), window, ...across };
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
    return { ...entry, ...withOtherLimit(random, entry) };
  };
  return policies.map((policy) => ({ ...policy, rules: policy.rules.map(other) }));
}

function withOtherLimit(random: Random, rule: Rule): Partial<Rules> {
  if ('window-limit' in rule) {
    const { max, ...same } = rule['window-limit'];
    const assets = typeof max === 'string' ? [] : Object.keys(max);
    const table = Object.fromEntries(assets.map((asset) => [asset, random.pick(LIMITS)]));
    return { 'window-limit': { ...same, max: typeof max === 'string' ? random.pick(LIMITS) : table } };
  }
  if ('value-limit' in rule && rule['value-limit'].window !== undefined) {
    return { 'value-limit': { ...rule['value-limit'], max: random.pick(LIMITS) } };
  }
  if ('velocity-limit' in rule) {
    return { 'velocity-limit': { ...rule['velocity-limit'], max: random.pick(NUMBERS) } };
  }
  if (!('distinct-limit' in rule)) return {};
  return { 'distinct-limit': { ...rule['distinct-limit'], max: String(1 + random.below(2)) } };
}

/** The policies as one file. */
export const writtenPolicies = (policies: readonly Policy[]): string =>
  policies.map((policy) => JSON.stringify(policy)).join('\n---\n');

// ---- callbacks ----

export interface Asked {
  readonly question: Question;
  /** Its members on the wire. */
  readonly wire: Readonly<Record<string, string>>;
}

export function randomCallback(random: Random, source: string, id: string): Asked {
  const { question, wire } = random.pick([randomPayment, randomTransfer, randomTransaction])(random, id);
  const same = { source, id, speedUp: false, txid: '', scheme: undefined, terms: id, orderMembers: {} };
  return { question: { ...same, ...question }, wire };
}

/** The callback again; a co-signer's may ask the other question about the same operation. */
export function askedAgain(random: Random, asked: Asked): Asked {
  if (asked.question.kind === 'payment') return asked;
  const type = random.pick(['sign_prepare', 'sign_start'] as const);
  return { question: { ...asked.question, type }, wire: { ...asked.wire, type } };
}

/** What depends on the kind of callback. */
interface Drawn {
  readonly question: Pick<Question, 'kind' | 'type' | 'members' | 'amounts' | 'movements'> &
    Partial<Pick<Question, 'scheme'>>;
  readonly wire: Asked['wire'];
}

const own = (to: string, asset: string, amount: string): Movement => {
  return { kind: 'own', to, asset, amount: amountOf(amount) };
};

function randomPayment(random: Random, id: string): Drawn {
  const [amount, symbol, userId] = [random.pick(AMOUNTS), random.pick(SYMBOLS), random.pick(USERS)];
  return {
    question: {
      kind: 'payment',
      type: 'payment',
      members: { userId: [userId], symbol: [symbol] },
      amounts: [own('', symbol, amount)],
      movements: undefined,
      scheme: random.pick(SCHEMES),
    },
    wire: { appOrderId: id, userId, payCoinSymbol: symbol, orderAmount: amount },
  };
}

function randomTransfer(random: Random, id: string): Drawn {
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
    question: {
      kind: 'transfer',
      type: 'sign_start',
      members: {
        to: outputs.map((each) => each.address_to),
        symbol: [symbol],
        ...(memo !== '' && { memo: [memo] }),
      },
      amounts: outputs
        .toSorted((a, b) => (a.address_to < b.address_to ? -1 : 1))
        .map((each) => own(each.address_to, symbol, each.amount)),
      movements: undefined,
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
function randomTransaction(random: Random, id: string): Drawn {
  const coins = random.pick(['0', '0', '10', '40', '100'] as const);
  const recipient = random.pick(RECIPIENTS);
  const native = (to: string): Movement => ({ ...own(to, NETWORK, coins), kind: 'native' });
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
  ): Drawn => ({
    question: {
      kind: 'web3',
      type: 'sign_start',
      members: { symbol: [NETWORK], to: [call.to] },
      amounts: [own(call.to, NETWORK, coins)],
      movements,
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
  const moved = amount === 'unlimited' ? amount : amountOf(amount);
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
