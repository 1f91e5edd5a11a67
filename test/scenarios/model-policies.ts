import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { OTHER, TOKEN } from './model-callbacks.ts';

/*
 * Revisions as plain data, from which both the policy files and the model's rules are made.
 */

export interface PolicySpec {
  readonly policy: string;
  readonly callback: 'payment' | 'transfer' | 'web3';
  /** The one symbol that it is for; without it, for all. */
  readonly symbol?: string;
  /** Whether its rules see movements, of which approvals count. */
  readonly movements?: true;
  readonly rules: readonly EntrySpec[];
}

/** A rule, or rules of which one must hold (`any`) or each (`all`). */
export type EntrySpec = RuleSpec | GroupSpec;
export interface GroupSpec {
  readonly type: 'any' | 'all';
  readonly entries: readonly EntrySpec[];
  readonly when?: WhenSpec;
  readonly observe?: true;
}

/** All of these must be met. */
export interface WhenSpec {
  readonly userId?: string;
  readonly amount?: { readonly above?: string; readonly atMost?: string };
  readonly value?: { readonly above: string; readonly maxAge: '1h' };
  readonly during?: Opening;
  /** A file beside the policies. */
  readonly to?: { readonly file: keyof typeof FILES };
  readonly memo?: { readonly file: keyof typeof FILES };
  readonly not?: WhenSpec;
}
interface Opening {
  readonly zone: 'Asia/Kolkata';
  readonly hours: string;
  readonly days?: readonly string[];
}

/** The files beside the policies, with a value a line. */
export const FILES = { 'known.txt': OTHER, 'memos.txt': '77 a' } as const;

/** One amount, or with `by: asset` an amount for each symbol. */
export type Bound = string | Readonly<Record<string, string>>;
type Member = 'userId' | 'to' | 'symbol' | 'memo';
interface Parameters {
  readonly per: readonly Member[];
  readonly window: '10m' | '1h' | '400d' | 'day' | 'year';
  readonly max: Bound;
  /** Whether both sources count together: they are of one group. */
  readonly across?: 'group';
  /** The name of a count that rules share. */
  readonly counter?: string;
}
type Kinds = {
  readonly 'amount-limit': { readonly max: Bound };
  readonly 'window-limit': Parameters;
  readonly 'velocity-limit': Parameters & { readonly max: string };
  readonly 'distinct-limit': Omit<Parameters, 'max'> & {
    readonly of: readonly Member[];
    readonly only?: 'new';
    readonly max: string;
  };
  readonly 'value-limit': { readonly max: string; readonly maxAge: '1h' } & Partial<Omit<Parameters, 'max'>>;
  readonly 'first-use-limit': { readonly of: readonly Member[]; readonly max: Bound; readonly for?: '1h' };
  readonly 'allow-list': { readonly of: readonly Member[]; readonly list: string };
  readonly 'deny-list': { readonly of: readonly Member[]; readonly list: string };
  readonly 'cooling-period': { readonly of: readonly Member[]; readonly list: string; readonly for: '1h' };
  readonly 'expected-order': object;
  readonly 'speed-up': { readonly max: string; readonly within: '10m' } | { readonly allowed: 'false' };
  readonly schedule: Opening;
  readonly pass: { readonly because: string };
};
/** A rule as data: its name, its parameters, its conditions, and whether it only observes. */
export type RuleSpec = {
  [Type in keyof Kinds]: Kinds[Type] & {
    readonly type: Type;
    readonly observe?: true;
    readonly when?: WhenSpec;
  };
}[keyof Kinds];
export type WindowName = Parameters['window'];

const blocked: PolicySpec = {
  policy: 'blocked',
  callback: 'payment',
  rules: [{ type: 'deny-list', of: ['userId'], list: 'blocked' }],
};
const partners: RuleSpec = { type: 'allow-list', of: ['to'], list: 'partners' };
/** The addresses with the memos that they must be paid with. */
const bound: RuleSpec = { type: 'allow-list', of: ['to', 'symbol', 'memo'], list: 'bound' };
const speedUps: RuleSpec = { type: 'speed-up', max: '1', within: '10m' };

const everyday: readonly PolicySpec[] = [
  blocked,
  {
    policy: 'payments',
    callback: 'payment',
    symbol: 'USDT',
    rules: [
      { type: 'amount-limit', max: '1000' },
      { type: 'window-limit', per: ['userId'], window: '1h', max: '3000' },
      { type: 'velocity-limit', per: [], window: '10m', max: '6' },
    ],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [
      { type: 'velocity-limit', per: ['to'], window: '1h', max: '1', observe: true },
      { type: 'amount-limit', max: '10' },
      speedUps,
      partners,
      { type: 'window-limit', per: ['to'], window: '1h', max: '25' },
      { type: 'distinct-limit', of: ['to', 'memo'], per: [], window: '10m', max: '1', observe: true },
    ],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    symbol: 'ETH',
    rules: [
      { type: 'amount-limit', max: '5' },
      { type: 'velocity-limit', per: [], window: 'day', max: '3' },
    ],
  },
];

/** Lower limits on the same counters, a counter more, and nothing for web3. */
const strict: readonly PolicySpec[] = [
  blocked,
  {
    policy: 'payments',
    callback: 'payment',
    symbol: 'USDT',
    rules: [
      { type: 'amount-limit', max: '500' },
      { type: 'window-limit', per: ['userId'], window: '1h', max: '2000' },
    ],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [
      partners,
      { type: 'window-limit', per: ['to'], window: '1h', max: '12' },
      { type: 'window-limit', per: ['to'], window: 'year', max: '20' },
    ],
  },
];

/** Higher limits, no list of users, and so nothing for payments in other symbols. */
const generous: readonly PolicySpec[] = [
  {
    policy: 'payments',
    callback: 'payment',
    symbol: 'USDT',
    rules: [
      { type: 'window-limit', per: [], window: 'day', max: '9000' },
      { type: 'window-limit', per: ['userId'], window: '1h', max: '4000' },
    ],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    rules: [
      { type: 'amount-limit', max: '10' },
      { type: 'distinct-limit', of: ['to'], per: [], window: '1h', max: '1' },
      { type: 'distinct-limit', of: ['to', 'symbol'], only: 'new', per: [], window: 'day', max: '1' },
    ],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    symbol: 'ETH',
    rules: [{ type: 'velocity-limit', per: [], window: 'day', max: '5' }],
  },
];

type Shared = Pick<Parameters, 'across'>;
const valueIn = (window: '1h' | 'day', max: string, shared: Shared = {}): RuleSpec => ({
  ...shared,
  type: 'value-limit',
  per: window === '1h' ? ['userId'] : [],
  window,
  max,
  maxAge: '1h',
});

/** What was announced, what it is worth, and whom it goes to for how long already. */
const announced: readonly PolicySpec[] = [
  { policy: 'orders', callback: 'payment', rules: [{ type: 'expected-order' }] },
  {
    policy: 'values',
    callback: 'payment',
    rules: [
      { type: 'value-limit', max: '1500', maxAge: '1h' },
      valueIn('1h', '2500'),
      { ...valueIn('day', '4000'), observe: true },
    ],
  },
  {
    policy: 'partners',
    callback: 'transfer',
    rules: [{ type: 'cooling-period', of: ['to'], list: 'partners', for: '1h' }],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [{ type: 'first-use-limit', of: ['to'], max: '3', for: '1h' }, speedUps],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    symbol: 'ETH',
    rules: [
      { type: 'speed-up', allowed: 'false' },
      { type: 'first-use-limit', of: ['to'], max: { ETH: '5' } },
    ],
  },
];

/** Tables by asset, opening hours, entries of several texts, and rules that only observe. */
const bySymbol: readonly PolicySpec[] = [
  blocked,
  {
    policy: 'payments',
    callback: 'payment',
    rules: [
      { type: 'schedule', zone: 'Asia/Kolkata', hours: '01:30-15:00', days: ['sun', 'mon', 'wed'] },
      { type: 'amount-limit', max: { USDT: '1000', BTC: '700' } },
      { type: 'window-limit', per: ['userId'], window: '1h', max: { USDT: '3000' } },
      { type: 'expected-order', observe: true },
    ],
  },
  {
    policy: 'payers',
    callback: 'payment',
    rules: [
      { type: 'first-use-limit', of: ['userId'], max: { USDT: '600', BTC: '600' } },
      { type: 'distinct-limit', of: ['symbol'], per: ['userId'], window: '1h', max: '1' },
      { type: 'distinct-limit', of: ['userId'], only: 'new', per: [], window: '10m', max: '1' },
      { type: 'distinct-limit', of: ['userId'], only: 'new', per: [], window: 'day', max: '2' },
    ],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    rules: [
      bound,
      { type: 'deny-list', of: ['to', 'symbol'], list: 'stopped' },
      { type: 'expected-order' },
      { type: 'value-limit', max: '20', maxAge: '1h', per: [], window: '10m', observe: true },
    ],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    rules: [{ type: 'velocity-limit', per: ['to'], window: '1h', max: '1', observe: true }],
  },
];

/** Entries of several texts that must have been there for a while, and what was paid in sum, by its value. */
const patient: readonly PolicySpec[] = [
  {
    policy: 'values',
    callback: 'payment',
    rules: [
      { type: 'schedule', zone: 'Asia/Kolkata', hours: '15:00-03:00' },
      valueIn('1h', '3500'),
      valueIn('day', '6000'),
    ],
  },
  {
    policy: 'partners',
    callback: 'transfer',
    rules: [{ type: 'cooling-period', of: ['to', 'symbol', 'memo'], list: 'bound', for: '1h' }],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [
      { type: 'first-use-limit', of: ['to', 'memo'], max: '9.5' },
      { type: 'cooling-period', of: ['to'], list: 'partners', for: '1h', observe: true },
    ],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    rules: [{ type: 'value-limit', max: '6', maxAge: '1h' }, { type: 'expected-order' }, speedUps],
  },
];

const sums = (max: string): RuleSpec => ({ type: 'window-limit', per: ['userId'], window: '1h', max });
const paidTo = (max: string, shared: Shared = {}): RuleSpec => ({
  ...shared,
  type: 'window-limit',
  per: ['to'],
  window: '1h',
  max,
});
const payees = (max: string): RuleSpec => ({
  type: 'distinct-limit',
  of: ['to', 'memo'],
  per: [],
  window: '1h',
  max,
});
const evening: Opening = { zone: 'Asia/Kolkata', hours: '01:30-15:00' };

/** Alternatives by lists, orders, amounts, prices and hours, of which two share a counter. */
const alternatives: readonly PolicySpec[] = [
  {
    policy: 'payments',
    callback: 'payment',
    symbol: 'USDT',
    rules: [
      {
        type: 'any',
        entries: [
          { type: 'all', entries: [{ type: 'allow-list', of: ['userId'], list: 'vips' }, sums('3000')] },
          { type: 'expected-order', when: { value: { above: '600', maxAge: '1h' } } },
          { ...sums('900'), when: { during: evening } },
          sums('1000'),
        ],
      },
      { type: 'velocity-limit', per: [], window: '10m', max: '4', when: { amount: { above: '600' } } },
    ],
  },
  {
    policy: 'payers',
    callback: 'payment',
    symbol: 'USDT',
    rules: [
      { type: 'pass', because: 'only some are looked at' },
      {
        type: 'any',
        when: { amount: { above: '600', atMost: '1000' }, not: { userId: '1' } },
        entries: [
          { type: 'deny-list', of: ['userId'], list: 'blocked' },
          { type: 'first-use-limit', of: ['userId'], max: '900' },
        ],
      },
    ],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [
      {
        type: 'any',
        entries: [
          {
            type: 'all',
            entries: [
              { type: 'any', entries: [{ ...partners, when: { memo: { file: 'memos.txt' } } }, bound] },
              paidTo('25'),
              { type: 'deny-list', of: ['to', 'symbol'], list: 'stopped' },
            ],
          },
          {
            type: 'all',
            entries: [payees('2'), { type: 'expected-order' }, { type: 'amount-limit', max: '10' }],
          },
          { type: 'all', entries: [paidTo('4'), payees('1')] },
        ],
      },
      speedUps,
    ],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    rules: [
      { type: 'velocity-limit', per: [], window: 'day', max: '3', when: { to: { file: 'known.txt' } } },
    ],
  },
];

/** Alternatives that only observe, refusals that time lifts, and conditions that nothing or all may meet. */
const occasional: readonly PolicySpec[] = [
  {
    policy: 'payments',
    callback: 'payment',
    symbol: 'USDT',
    rules: [
      { type: 'any', observe: true, entries: [{ type: 'expected-order' }, sums('2000')] },
      {
        type: 'any',
        entries: [
          { type: 'amount-limit', max: '450' },
          { type: 'all', entries: [{ type: 'pass', because: 'open', when: { during: evening } }] },
          { type: 'schedule', zone: 'Asia/Kolkata', hours: '20:00-21:00' },
        ],
      },
    ],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [
      { type: 'amount-limit', max: '9.5', when: { not: { to: { file: 'known.txt' } } } },
      {
        type: 'any',
        when: { amount: { above: '2' } },
        entries: [
          { type: 'all', entries: [partners, { type: 'first-use-limit', of: ['to', 'memo'], max: '3' }] },
          bound,
        ],
      },
      {
        type: 'all',
        when: { memo: { file: 'memos.txt' }, not: { amount: { atMost: '2' } } },
        entries: [{ type: 'velocity-limit', per: ['to'], window: '10m', max: '2' }, speedUps],
      },
    ],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    symbol: 'ETH',
    rules: [
      {
        type: 'any',
        entries: [
          { type: 'velocity-limit', per: [], window: '400d', max: '2' },
          { type: 'pass', because: 'nothing is moved', when: { amount: { atMost: '0' } } },
          { type: 'expected-order', when: { value: { above: '4', maxAge: '1h' } } },
        ],
      },
    ],
  },
];

/** Limits on all that a transaction moves, unless it was announced. */
const moving: readonly PolicySpec[] = [
  blocked,
  {
    policy: 'transfers',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [partners, { type: 'window-limit', per: ['to'], window: '1h', max: '25' }],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    symbol: 'ETH',
    movements: true,
    rules: [
      {
        type: 'any',
        entries: [
          { type: 'expected-order' },
          {
            type: 'all',
            entries: [
              { type: 'window-limit', per: [], window: '1h', max: { USDT: '1000', ETH: '8' } },
              { type: 'window-limit', per: ['to'], window: '10m', max: { USDT: '700', ETH: '6' } },
              { type: 'value-limit', max: '900', maxAge: '1h', per: [], window: 'day' },
              {
                type: 'value-limit',
                max: '450',
                maxAge: '1h',
                when: { value: { above: '100', maxAge: '1h' } },
              },
            ],
          },
        ],
      },
      { type: 'amount-limit', max: { USDT: '600', ETH: '5' }, observe: true },
      { type: 'velocity-limit', per: [], window: 'day', max: '5' },
      { type: 'first-use-limit', of: ['to'], max: { USDT: '500', ETH: '5' }, observe: true },
    ],
  },
];

const requests: Pick<Parameters, 'per' | 'window' | 'across' | 'counter'> = {
  per: [],
  window: '10m',
  across: 'group',
  counter: 'requests',
};
const spent = { ...requests, window: '1h', counter: 'spent' } as const;
const coins: RuleSpec = {
  ...requests,
  type: 'distinct-limit',
  of: ['symbol'],
  window: '1h',
  max: '2',
  counter: 'coins',
};
const newCoins: RuleSpec = {
  ...requests,
  type: 'distinct-limit',
  of: ['symbol'],
  only: 'new',
  window: 'day',
  max: '1',
  counter: 'new-coins',
};

/** Limits that both sources share, over payments, withdrawals and all that transactions move. */
const together: readonly PolicySpec[] = [
  {
    policy: 'payments',
    callback: 'payment',
    rules: [
      { ...requests, type: 'velocity-limit', max: '6' },
      { ...spent, type: 'window-limit', max: { USDT: '2500', BTC: '615' } },
      coins,
      { ...newCoins, observe: true },
    ],
  },
  {
    policy: 'payers',
    callback: 'payment',
    symbol: 'USDT',
    rules: [
      { ...spent, type: 'window-limit', counter: 'paid', per: ['userId'], max: '2000' },
      valueIn('day', '4000', { across: 'group' }),
    ],
  },
  {
    policy: 'transfers',
    callback: 'transfer',
    rules: [
      { ...requests, type: 'velocity-limit', max: '4' },
      { ...spent, type: 'window-limit', max: { ETH: '20', BTC: '615' } },
      coins,
      newCoins,
    ],
  },
  {
    policy: 'payees',
    callback: 'transfer',
    symbol: 'ETH',
    rules: [
      {
        type: 'any',
        entries: [
          { type: 'all', entries: [partners, paidTo('12', { across: 'group' })] },
          { type: 'velocity-limit', per: ['to'], window: '1h', max: '1', across: 'group' },
        ],
      },
    ],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    movements: true,
    rules: [
      { ...requests, type: 'velocity-limit', max: '5' },
      { ...spent, type: 'window-limit', max: { USDT: '2500', ETH: '20' } },
    ],
  },
];
const ASSETS = {
  ETH: { chain: 'evm', decimals: '18' },
  USDT: { chain: 'evm', decimals: '6', contracts: { ETH: TOKEN } },
};

const ANY = { chain: 'text', spellings: 'one', decimals: '18' };
/** By these, any text is an address. */
const ANY_ADDRESS = { BTC: ANY, ETH: ANY };

/** Whether callbacks of one source count for the other under the revision. */
export const countsTogether = (revision: number | undefined): boolean =>
  revision !== undefined && revisions[revision]?.specs === together;

/**
 * Whether limits of different sizes share a count under the revision. The approval of a larger limit may then
 * leave no room under the smaller one, also for a repeat of what the smaller one let through.
 */
export const mixesLimits = (revision: number | undefined): boolean =>
  revision !== undefined && [alternatives, together].some((specs) => revisions[revision]?.specs === specs);

const all = [everyday, strict, generous, announced, bySymbol, patient, alternatives, occasional];
export const revisions = [
  ...all.map((specs) => ({ specs, release: releaseOf(specs) })),
  { specs: moving, release: releaseOf(moving, ASSETS) },
  { specs: together, release: releaseOf(together, ASSETS) },
];

/** The file's YAML is JSON. */
function releaseOf(specs: readonly PolicySpec[], assets: object = ANY_ADDRESS): Release {
  const table = [{ name: 'assets.yaml', text: JSON.stringify({ assets }) }];
  const files = specs.map(({ policy, callback, symbol, movements, rules }) => ({
    name: `${policy}.yaml`,
    text: JSON.stringify({
      policy,
      callback,
      ...(symbol === undefined ? {} : { when: { symbol } }),
      ...(movements === undefined ? {} : { movements: { approvals: 'count' } }),
      rules: rules.map(fileOf),
    }),
  }));
  const compiled = readPolicyFiles(
    [...files, ...table],
    (name) => Object.entries(FILES).find(([file]) => file === name)?.[1],
  );
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.release;
}

function fileOf(entry: EntrySpec): object {
  const { type, observe, when, ...parameters } = entry;
  const isTable = 'max' in parameters && typeof parameters.max === 'object';
  return {
    [type]:
      'entries' in entry ? entry.entries.map(fileOf) : { ...parameters, ...(isTable ? { by: 'asset' } : {}) },
    ...(when === undefined ? {} : { when }),
    ...(observe === true ? { mode: 'observe' } : {}),
  };
}
