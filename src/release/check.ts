import {
  type CompileResult,
  type PolicyFile,
  type ReadReferencedFile,
  readPolicyFiles,
} from '../policy/compile.ts';
import { coverageWarnings } from '../policy/coverage-warnings.ts';
import { type PolicyFault, formatFault } from '../policy/fault.ts';
import { implies } from '../policy/language/conditions.ts';
import type { CompiledRule, Release } from '../policy/release.ts';
import { spellingFaults } from '../policy/spelling-faults.ts';
import { counted } from '../values/text.ts';

/**
 * Compiles policy files for a push, and reports also what is only a fault of all policies together: rules that
 * another spelling of an address gets past.
 */
export function compileForPush(
  files: readonly PolicyFile[],
  readReferencedFile: ReadReferencedFile,
): CompileResult {
  const compiled = readPolicyFiles(files, readReferencedFile);
  const faults = compiled.ok ? spellingFaults(compiled.release) : [];
  return faults.length === 0 ? compiled : { ok: false, faults };
}

/** What is valid, but hardly meant: a sentence each. */
export const releaseWarnings = (release: Release): readonly string[] =>
  [...release.warnings, ...coverageWarnings(release), ...movementWarnings(release)].map(formatFault);

/**
 * A warning, with place and fix, for each policy whose rules see only native coins, although call data may move
 * tokens. A policy gets no warning if contract-calls confines what may be called, in the policy or in another one
 * that judges all of its callbacks.
 */
function movementWarnings({ policies }: Pick<Release, 'policies'>): readonly PolicyFault[] {
  const confining = policies.filter(({ rules }) =>
    rules.some(
      ({ mode, always, allowedCalls }) => mode === 'enforce' && always && allowedCalls !== undefined,
    ),
  );
  return policies.flatMap((policy) => {
    if (policy.callback !== 'web3' || policy.movements !== undefined) return [];
    if (confining.some(({ callback, when }) => callback === 'web3' && implies(policy.when, when))) return [];
    const rule = policy.rules.find(({ mode, ...each }) => mode === 'enforce' && missesTokens(each));
    if (rule === undefined) return [];
    return [
      {
        ...(rule.place ?? { file: '.', line: 0, column: 0 }),
        path: `${policy.name}/${rule.name}`,
        message:
          'it sees only native coins: the tokens that call data moves do not count, and nor do their recipients',
        fix: 'add movements: { approvals: count } to the policy, or list the allowed calls with contract-calls',
      },
    ];
  });
}

/** Whether it is about amounts, or about whom a callback is for. */
function missesTokens({
  judgesAmounts,
  compared,
}: Pick<CompiledRule, 'judgesAmounts' | 'compared'>): boolean {
  return judgesAmounts !== undefined || compared?.members.includes('to') === true;
}

/** The numbers of policies and rules. */
export function sizeOf({ policies }: Pick<Release, 'policies'>): { policies: number; rules: number } {
  return {
    policies: policies.length,
    rules: policies.reduce((sum, policy) => sum + policy.rules.length, 0),
  };
}

/** `3 policies, 9 rules`. */
export function sizeText(release: Pick<Release, 'policies'>): string {
  const { policies, rules } = sizeOf(release);
  return `${counted(policies, 'policy', 'policies')}, ${counted(rules, 'rule')}`;
}
