import type { Release } from '../policy/release.ts';
import type { RuleReport } from './run-tests.ts';

/** Which rules of a release the tests made pass and made refuse. */
export interface Coverage {
  /** In the order of the policies. */
  readonly rules: readonly CoveredRule[];
  /** Every rule that enforces was made to pass and to refuse. */
  readonly complete: boolean;
}

export interface CoveredRule {
  /** POLICY/NAME#N. */
  readonly rule: string;
  readonly mode: 'enforce' | 'observe';
  /** How often. */
  readonly passed: number;
  readonly refused: number;
}

export interface CoverageCount {
  add(rules: readonly RuleReport[]): void;
  report(): Coverage;
}

/** A rule whose claims the store never came to check has neither passed nor refused. */
export function createCoverage(release: Release): CoverageCount {
  const counts = new Map<string, { mode: CoveredRule['mode']; passed: number; refused: number }>();
  for (const policy of release.policies) {
    for (const { name, mode } of policy.rules) {
      counts.set(`${policy.name}/${name}`, { mode, passed: 0, refused: 0 });
    }
  }
  return {
    add(rules) {
      for (const { policy, rule, verdict, asked } of rules) {
        const count = counts.get(`${policy}/${rule}`);
        if (count === undefined || !asked) continue;
        if (verdict === 'SUCCESS') count.passed++;
        else count.refused++;
      }
    },
    report() {
      const rules = [...counts].map(([rule, count]) => ({ rule, ...count }));
      const complete = rules.every(
        ({ mode, passed, refused }) => mode === 'observe' || (passed > 0 && refused > 0),
      );
      return { rules, complete };
    },
  };
}
