import { expect } from 'vitest';
import { z } from 'zod';
import type { Finding } from '../../../src/cli/doctor/finding.ts';
import type { Run } from '../terminal.ts';

const diagnosed = z.object({
  faults: z.number(),
  warnings: z.number(),
  findings: z.array(
    z.object({ check: z.string(), state: z.enum(['ok', 'warning', 'fault']), because: z.string() }),
  ),
});

export type Diagnosis = z.output<typeof diagnosed> & { readonly code: number };

/** What `doctor` prints for machines. It says nothing to people beside that. */
export async function diagnosis(run: Run): Promise<Diagnosis> {
  const { code, json, err } = await run`doctor --json`;
  expect(err).toBe('');
  return { code, ...diagnosed.parse(json()) };
}

/** What was found in one state, `check: because` each. */
export const inState = ({ findings }: Diagnosis, state: Finding['state']): readonly string[] =>
  findings.filter((finding) => finding.state === state).map(({ check, because }) => `${check}: ${because}`);

/** What one check found, `state: because` each. */
export const ofCheck = ({ findings }: Diagnosis, check: Finding['check']): readonly string[] =>
  findings.filter((finding) => finding.check === check).map(({ state, because }) => `${state}: ${because}`);
