import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import type { Policy, Revision } from '../reference/policy.ts';
import { OTHER, TOKEN } from './model-callbacks.ts';

/*
 * The revisions of the scripts, which the services compile and the reference reads.
 */

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

/** A revision as the reference and the services have it. */
export interface Scripted extends Revision {
  readonly name: Name;
  readonly release: Release;
}

const written: Readonly<Record<Name, readonly Policy[]>> = parse(
  readFileSync(new URL('cases/model-policies.yaml', import.meta.url), 'utf8'),
);

/** The files beside the policies. */
const files: Readonly<Record<string, string>> = { 'known.txt': OTHER, 'memos.txt': '77 a' };

const ASSETS = {
  ETH: { chain: 'evm', decimals: '18' },
  USDT: { chain: 'evm', decimals: '6', contracts: { ETH: TOKEN } },
};

const ANY = { chain: 'text', spellings: 'one', decimals: '18' };
/** By these, any text is an address. */
const ANY_ADDRESS = { BTC: ANY, ETH: ANY };

/** In the order of `NAMES`. */
export const revisions = NAMES.map((name): Scripted => {
  const policies = written[name];
  const isByContract = name === 'moving' || name === 'together';
  return { name, policies, files, release: releaseOf(policies, isByContract ? ASSETS : ANY_ADDRESS) };
});

export function revisionAt(index: number): Scripted {
  const found = revisions[index];
  if (found === undefined) throw new Error(`there is no revision ${index}`);
  return found;
}

/** The one that is in force by the reference. */
export const scripted = (inForce: Revision | undefined): Scripted | undefined =>
  revisions.find((each) => each === inForce);

/** Whether callbacks of one source count for the other under the revision. */
export const countsTogether = (inForce: Revision | undefined): boolean =>
  scripted(inForce)?.name === 'together';

/**
 * Whether limits of different sizes share a count under the revision. The approval of a larger limit may then
 * leave no room under the smaller one, also for a repeat of what the smaller one let through.
 */
export const mixesLimits = (inForce: Revision | undefined): boolean =>
  ['alternatives', 'together'].includes(scripted(inForce)?.name ?? '');

/** The file's YAML is JSON. */
function releaseOf(policies: readonly Policy[], assets: object): Release {
  const texts = policies.map((policy) => ({ name: `${policy.policy}.yaml`, text: JSON.stringify(policy) }));
  const table = { name: 'assets.yaml', text: JSON.stringify({ assets }) };
  const compiled = readPolicyFiles([...texts, table], (name) => files[name]);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.release;
}
