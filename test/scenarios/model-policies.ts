import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';

/*
 * Three revisions as plain data, from which both the policy files and the model's rules are made.
 */

export interface PolicySpec {
  readonly policy: string;
  readonly callback: 'payment' | 'transfer' | 'web3';
  /** The one symbol that it is for; without it, for all. */
  readonly symbol?: string;
  readonly final?: true;
  readonly rules: readonly RuleSpec[];
}

export type RuleSpec =
  | { readonly type: 'amount-limit'; readonly max: string }
  | {
      readonly type: 'window-limit' | 'velocity-limit';
      readonly per: readonly ('userId' | 'to')[];
      readonly window: '10m' | '1h' | 'day';
      readonly max: string;
      readonly observe?: true;
    }
  | { readonly type: 'allow-list' | 'deny-list'; readonly of: 'userId' | 'to'; readonly list: string };

const blocked: PolicySpec = {
  policy: 'blocked',
  callback: 'payment',
  rules: [{ type: 'deny-list', of: 'userId', list: 'blocked' }],
};
const partners: RuleSpec = { type: 'allow-list', of: 'to', list: 'partners' };

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

export const revisions = [everyday, strict, generous].map((specs) => ({ specs, release: releaseOf(specs) }));

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

function fileOf(rule: RuleSpec): object {
  const { type, ...parameters } = rule;
  if (!('observe' in parameters)) return { [type]: parameters };
  const { observe: _observe, ...others } = parameters;
  return { [type]: others, mode: 'observe' };
}
