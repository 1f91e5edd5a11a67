import {
  type CompileResult,
  type PolicyFile,
  type ReadReferencedFile,
  readPolicyFiles,
} from '../policy/compile.ts';
import { coverageWarnings } from '../policy/coverage-warnings.ts';
import { formatFault } from '../policy/fault.ts';
import { movementWarnings } from '../policy/movement-warnings.ts';
import type { Release } from '../policy/release.ts';
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
