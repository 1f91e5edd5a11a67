import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';

/*
 * Revisions as plain data, from which both the policy files and the model's rules are made.
 */

export interface PolicySpec {
  readonly policy: string;
  readonly callback: 'payment' | 'transfer' | 'web3';
  /** The one symbol that it is for; without it, for all. */
  readonly symbol?: string;
  readonly final?: true;
  readonly rules: readonly RuleSpec[];
}

/** One amount, or with `by: asset` an amount for each symbol. */
export type Bound = string | Readonly<Record<string, string>>;
type Member = 'userId' | 'to' | 'symbol' | 'memo';
interface Parameters {
  readonly per: readonly Member[];
  readonly window: '10m' | '1h' | 'day';
  readonly max: Bound;
}
type Kinds = {
  readonly 'amount-limit': { readonly max: Bound };
  readonly 'window-limit': Parameters;
  readonly 'velocity-limit': Parameters & { readonly max: string };
  readonly 'value-limit': { readonly max: string; readonly maxAge: '1h' } & Partial<Omit<Parameters, 'max'>>;
  readonly 'first-use-limit': { readonly of: readonly Member[]; readonly max: Bound; readonly for?: '1h' };
  readonly 'allow-list': { readonly of: readonly Member[]; readonly list: string };
  readonly 'deny-list': { readonly of: readonly Member[]; readonly list: string };
  readonly 'cooling-period': { readonly of: readonly Member[]; readonly list: string; readonly for: '1h' };
  readonly 'expected-order': object;
  readonly 'speed-up': { readonly max: string; readonly within: '10m' } | { readonly allowed: 'false' };
  readonly schedule: {
    readonly zone: 'Asia/Kolkata';
    readonly hours: string;
    readonly days?: readonly string[];
  };
};
/** A rule as data: its name, its parameters, and whether it only observes. */
export type RuleSpec = {
  [Type in keyof Kinds]: Kinds[Type] & { readonly type: Type; readonly observe?: true };
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

/** Lower limits on the same counters, a counter more, refusals that are final, and nothing for web3. */
const strict: readonly PolicySpec[] = [
  { ...blocked, final: true },
  {
    policy: 'payments',
    callback: 'payment',
    symbol: 'USDT',
    final: true,
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
      { type: 'window-limit', per: ['to'], window: 'day', max: '20' },
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
    rules: [{ type: 'amount-limit', max: '10' }],
  },
  {
    policy: 'contracts',
    callback: 'web3',
    symbol: 'ETH',
    rules: [{ type: 'velocity-limit', per: [], window: 'day', max: '5' }],
  },
];

const valueIn = (window: '1h' | 'day', max: string): RuleSpec => ({
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
  { ...blocked, final: true },
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
    rules: [{ type: 'first-use-limit', of: ['userId'], max: { USDT: '600', BTC: '600' } }],
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

export const revisions = [everyday, strict, generous, announced, bySymbol, patient].map((specs) => ({
  specs,
  release: releaseOf(specs),
}));

/** The file's YAML is JSON. */
function releaseOf(specs: readonly PolicySpec[]): Release {
  const files = specs.map(({ policy, callback, symbol, final, rules }) => ({
    name: `${policy}.yaml`,
    text: JSON.stringify({
      policy,
      callback,
      ...(symbol === undefined ? {} : { when: { symbol } }),
      ...(final === undefined ? {} : { refusals: 'final' }),
      rules: rules.map(fileOf),
    }),
  }));
  const compiled = readPolicyFiles(files, () => undefined);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.release;
}

function fileOf({ type, observe, ...parameters }: RuleSpec): object {
  const isTable = 'max' in parameters && typeof parameters.max === 'object';
  return {
    [type]: { ...parameters, ...(isTable ? { by: 'asset' } : {}) },
    ...(observe === true ? { mode: 'observe' } : {}),
  };
}
