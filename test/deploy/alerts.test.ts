import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { type AlertCase, alertCases } from './alert-cases.ts';
import { ALERTS_FILE, type AlertRule, alertRules } from './alert-rules.ts';
import { ROOT, textOf } from './documents.ts';
import { manifestsIn } from '../../tools/generate/manifests.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const AT = '30m';
const STEP = '1m';

type Labels = Readonly<Record<string, string>>;

/** What Prometheus is asked about a rule: series, and the labels of what fires over them. */
interface Question extends AlertCase {
  readonly rule: AlertRule;
  readonly fires: readonly Labels[];
}

const questions: readonly Question[] = alertRules.flatMap((rule) => {
  const { fires = [], silent = [] } = alertCases[rule.alert] ?? {};
  return [
    ...fires.map((given) => ({ ...given, rule, fires: [given.labels ?? {}] })),
    ...silent.map((given) => ({ ...given, rule, fires: [] })),
  ];
});

describe('the alerts of deploy/prometheus', () => {
  it.each(alertRules)('$alert has series over which it fires, and others over which it does not', (rule) => {
    const { fires = [], silent = [] } = alertCases[rule.alert] ?? {};
    expect([fires.length > 0, silent.length > 0]).toEqual([true, true]);
  });

  it('no series stand in test/deploy/alert-cases.ts for an alert that is not', () => {
    expect(Object.keys(alertCases).sort()).toEqual(alertRules.map(({ alert }) => alert).sort());
  });

  it('fire and are silent over those series, by Prometheus itself', async () => {
    expect(await askPrometheus(questions)).not.toContain('FAILED');
  });

  it.each(questions.filter(({ fires }) => fires.length > 0))(
    '$rule.alert names nothing in its words that it does not say, over $series',
    ({ rule, fires: [labels = {}] }) => {
      expect(Object.values(filled(rule.annotations, labels)).join(' ')).not.toMatch(/\{\{|\}\}| {2}|\( ?\)/);
    },
  );

  it.each<[string, (question: Question) => Partial<Question>]>([
    ['that does not fire', () => ({ series: {} })],
    ['that fires and should not', () => ({ fires: [] })],
    ['with another label', ({ fires }) => ({ fires: fires.map((labels) => ({ ...labels, code: 'OTHER' })) })],
  ])('promtool refuses an alert %s', async (_, change) => {
    const question = questions.find(({ fires }) => fires.length > 0);
    if (question === undefined) throw new Error('no alert fires');
    await expect(askPrometheus([question, { ...question, ...change(question) }])).rejects.toThrow('FAILED');
  });

  it('are a file that Prometheus reads', async () => {
    const said = await promtool('check', 'rules', join(ROOT, ALERTS_FILE));
    expect(said).toContain(`SUCCESS: ${alertRules.length} rules found`);
  });
});

describe('the jobs of deploy/prometheus/scrape.yaml', () => {
  const jobs = z
    .object({
      scrape_configs: z.array(
        z.looseObject({
          job_name: z.string(),
          relabel_configs: z.array(z.looseObject({ regex: z.string().optional() })).default([]),
          static_configs: z.array(z.object({ targets: z.array(z.string()) })).default([]),
        }),
      ),
    })
    .parse(parse(textOf('deploy/prometheus/scrape.yaml'))).scrape_configs;

  it('have names by which a replica is missed that never answered', async () => {
    expect(jobs.length).toBeGreaterThan(1);
    const down = alertRules.filter(({ alert }) => alert === 'CountersignReplicaDown');
    expect(down).toHaveLength(1);
    const asked = jobs.flatMap(({ job_name: job }) =>
      down.map((rule) => ({
        rule,
        series: { [`up{job="${job}", instance="a"}`]: '0x40' },
        fires: [{ job, instance: 'a' }],
      })),
    );
    expect(await askPrometheus(asked)).toContain('SUCCESS');
  });

  it('name the service and the ports of deploy/kubernetes and compose.yaml', () => {
    const service = manifestsIn('deploy/kubernetes/service.yaml').find(
      ({ name }) => name === 'countersign-ops',
    );
    expect(service?.object).toMatchObject({ spec: { ports: [{ name: 'ops' }] } });
    expect(jobs.flatMap((job) => job.relabel_configs.map(({ regex }) => regex))).toContain(
      'countersign-ops;ops',
    );
    const targets = jobs.flatMap((job) => job.static_configs.flatMap((each) => each.targets));
    expect(targets.length).toBe(2);
    for (const target of targets) expect(textOf('compose.yaml')).toContain(`'${target}:9090'`);
  });
});

/**
 * Rejects with what promtool says where an alert fires otherwise. Each alert is in a file of its own, because
 * promtool computes all the rules of a file at each step.
 */
async function askPrometheus(asked: readonly Question[]): Promise<string> {
  const folder = temporaryFolder();
  const groups = Map.groupBy(asked, ({ rule, step = STEP }) => `${rule.alert}-${step}.yaml`);
  const files = [...groups].flatMap(([name, [first, ...more]]) => {
    if (first === undefined) return [];
    const rules = join(folder, `rules-${name}`);
    writeFileSync(rules, stringify({ groups: [{ name: 'asked', rules: [first.rule] }] }));
    const file = join(folder, name);
    writeFileSync(file, stringify(promtoolTests(rules, [first, ...more])));
    return [file];
  });
  return promtool('test', 'rules', ...files);
}

async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('promtool', [...args]);
  return stdout + stderr;
}

function promtoolTests(rules: string, asked: readonly Question[]): object {
  return {
    rule_files: [rules],
    evaluation_interval: asked[0]?.step ?? STEP,
    tests: asked.map(({ rule, series, at = AT, step = STEP, fires }) => ({
      interval: step,
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      alert_rule_test: [
        {
          eval_time: at,
          alertname: rule.alert,
          exp_alerts: fires.map((labels) => ({
            exp_labels: { ...labels, ...rule.labels },
            exp_annotations: filled(rule.annotations, labels),
          })),
        },
      ],
    })),
  };
}

/** Labels are all that the texts name. */
function filled(texts: Labels, labels: Labels): Labels {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, label: string) => labels[label] ?? ''),
    ]),
  );
}
