import { parse } from 'yaml';
import { z } from 'zod';
import { textOf } from './documents.ts';
import { type Labels, type Series, durationMs, evaluate, keyOf } from './promql-evaluate.ts';

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

/** An alert that fires, as Prometheus sends it. */
export interface Firing {
  readonly labels: Labels;
  readonly annotations: Labels;
}

/**
 * What of a rule fires at an instant, looked at each `stepMs` from 0 on: what it names must have lasted as
 * long as `for` says.
 */
export function firing(
  { alert, expr, for: forText = '0s', labels: own, annotations }: AlertRule,
  series: readonly Series[],
  { atMs, stepMs }: { readonly atMs: number; readonly stepMs: number },
): readonly Firing[] {
  let active = new Map<string, { readonly labels: Labels; readonly sinceMs: number }>();
  for (let nowMs = 0; nowMs <= atMs; nowMs += stepMs) {
    const next: typeof active = new Map();
    for (const sample of evaluate(expr, series, nowMs)) {
      const { __name__: _name, ...labels } = sample.labels;
      const key = keyOf(labels);
      next.set(key, active.get(key) ?? { labels, sinceMs: nowMs });
    }
    active = next;
  }
  return [...active.values()]
    .filter(({ sinceMs }) => atMs - sinceMs >= durationMs(forText))
    .map(({ labels }) => ({
      labels: { ...labels, ...own, alertname: alert },
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([name, text]) => [name, filled(text, labels)]),
      ),
    }));
}

/** Labels are all that the texts name. */
function filled(text: string, labels: Labels): string {
  return text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name: string) => labels[name] ?? '');
}
