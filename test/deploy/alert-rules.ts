import { parse } from 'yaml';
import { z } from 'zod';
import { textOf } from './documents.ts';

const rule = z.strictObject({
  alert: z.string().regex(/^Countersign[A-Z]\w+$/),
  expr: z.string(),
  for: z
    .string()
    .regex(/^\d+[smh]$/)
    .optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning']) }),
  annotations: z.strictObject({
    summary: z.string().regex(/^\S.*\.$/),
    description: z.string().regex(/^\S.*\.$/s),
    runbook_url: z.string(),
  }),
});
export type AlertRule = z.output<typeof rule>;

export const ALERTS_FILE = 'deploy/prometheus/alerts.yaml';

/** The alerts of deploy/prometheus, in their order. */
export const alertRules: readonly AlertRule[] = z
  .strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule).min(1) })) })
  .parse(parse(textOf(ALERTS_FILE)))
  .groups.flatMap(({ rules }) => rules);
