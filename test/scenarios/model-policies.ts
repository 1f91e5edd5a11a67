import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
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

const NAMES = [
  'everyday',
  'strict',
  'generous',
  'announced',
  'bySymbol',
  'patient',
  'alternatives',
  'occasional',
  'moving',
  'together',
] as const;
type Name = (typeof NAMES)[number];

const written: Readonly<Record<Name, readonly PolicySpec[]>> = parse(
  readFileSync(new URL('cases/model-policies.yaml', import.meta.url), 'utf8'),
);

const ASSETS = {
  ETH: { chain: 'evm', decimals: '18' },
  USDT: { chain: 'evm', decimals: '6', contracts: { ETH: TOKEN } },
};

const ANY = { chain: 'text', spellings: 'one', decimals: '18' };
/** By these, any text is an address. */
const ANY_ADDRESS = { BTC: ANY, ETH: ANY };

/** Whether callbacks of one source count for the other under the revision. */
export const countsTogether = (revision: number | undefined): boolean =>
  revision !== undefined && revisions[revision]?.name === 'together';

/**
 * Whether limits of different sizes share a count under the revision. The approval of a larger limit may then
 * leave no room under the smaller one, also for a repeat of what the smaller one let through.
 */
export const mixesLimits = (revision: number | undefined): boolean =>
  revision !== undefined && ['alternatives', 'together'].includes(revisions[revision]?.name ?? '');

/** In the order of `NAMES`. */
export const revisions = NAMES.map((name) => {
  const specs = written[name];
  const isByContract = name === 'moving' || name === 'together';
  return { name, specs, release: releaseOf(specs, isByContract ? ASSETS : ANY_ADDRESS) };
});

/** The file's YAML is JSON. */
function releaseOf(specs: readonly PolicySpec[], assets: object): Release {
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
