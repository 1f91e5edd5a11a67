import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { type AlertCase, alertCases } from './alert-cases.ts';
import { ALERTS_FILE, type AlertRule, type Firing, alertRules, firing } from './alert-rules.ts';
import { ROOT, textOf } from './documents.ts';
import { manifestsIn } from './manifests.ts';
import { durationMs, evaluate, readSeries } from './promql-evaluate.ts';

const AT = '30m';
const STEP = '1m';

function firedBy(rule: AlertRule, { series, at = AT, step = STEP }: AlertCase): readonly Firing[] {
  const stepMs = durationMs(step);
  const read = Object.entries(series).map(([name, values]) => readSeries(name, values, stepMs));
  return firing(rule, read, { atMs: durationMs(at), stepMs });
}

describe.each(alertRules.map((rule) => [rule.alert, rule] as const))('the alert %s', (alert, rule) => {
  const { fires = [], silent = [] } = alertCases[alert] ?? {};

  it('has series over which it fires, and others over which it does not (test/deploy/alert-cases.ts)', () => {
    expect([fires.length > 0, silent.length > 0]).toEqual([true, true]);
  });

  it.each(fires)('fires over $series', (given) => {
    const labels = { alertname: alert, ...rule.labels, ...given.labels };
    expect(firedBy(rule, given).map((fired) => fired.labels)).toEqual([labels]);
  });

  it.each(silent)('is silent over $series', (given) => {
    expect(firedBy(rule, given)).toEqual([]);
  });

  it('names nothing in its words that it does not say', () => {
    for (const given of fires) {
      for (const { annotations } of firedBy(rule, given)) {
        expect(Object.values(annotations).join(' ')).not.toMatch(/\{\{|\}\}| {2}|\( ?\)/);
      }
    }
  });
});

it('no series stand there for an alert that is not', () => {
  expect(Object.keys(alertCases).sort()).toEqual(alertRules.map(({ alert }) => alert).sort());
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

  it('have names by which a replica is missed that never answered', () => {
    expect(jobs.length).toBeGreaterThan(1);
    const down = alertRules.filter(({ alert }) => alert === 'CountersignReplicaDown');
    for (const { job_name: job } of jobs) {
      const series = { [`up{job="${job}", instance="a"}`]: '0x40' };
      expect(down.flatMap((rule) => firedBy(rule, { series }))).toHaveLength(1);
    }
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

/** What Prometheus computes for these, by its own documentation and tests. */
describe('the evaluator of these tests', () => {
  const at = (
    expression: string,
    ...series: readonly [string, string][]
  ): readonly (readonly [string, number])[] =>
    evaluate(
      expression,
      series.map(([name, values]) => readSeries(name, values, 60_000)),
      600_000,
    ).map(({ labels, value }) => [Object.values(labels).join(' '), value] as const);

  it.each<[string, readonly [string, string][], readonly (readonly [string, number])[]]>([
    ['a', [['a{x="1"}', '1x20']], [['a 1', 1]]],
    ['a', [['a', '1x4']], []],
    ['a offset 5m', [['a', '0+1x20']], [['a', 5]]],
    ['increase(a[5m])', [['a', '0+1x20']], [['', 5]]],
    ['increase(a[5m])', [['a', '0x6 0+1x20']], [['', 3]]],
    ['increase(a[5m])', [['a', '_x10 1x20']], []],
    ['rate(a[10m])', [['a', '0+60x20']], [['', 1]]],
    ['changes(a[10m])', [['a', '1x3 2x3 1x3 1x9']], [['', 2]]],
    ['max_over_time(a[10m])', [['a', '9x3 1x20']], [['', 9]]],
    [
      'max(a) - min(a)',
      [
        ['a{x="1"}', '3x20'],
        ['a{x="2"}', '1x20'],
      ],
      [['', 2]],
    ],
    [
      'sum by (x) (a)',
      [
        ['a{x="1", y="1"}', '3x20'],
        ['a{x="1", y="2"}', '1x20'],
      ],
      [['1', 4]],
    ],
    [
      'a > 2 or b',
      [
        ['a{x="1"}', '1x20'],
        ['b{x="1"}', '5x20'],
      ],
      [['b 1', 5]],
    ],
    [
      'a unless b',
      [
        ['a{x="1"}', '1x20'],
        ['b{x="1"}', '0x20'],
      ],
      [],
    ],
    [
      'a and on (x) b',
      [
        ['a{x="1", y="1"}', '1x20'],
        ['b{x="1", y="2"}', '0x20'],
      ],
      [['a 1 1', 1]],
    ],
    [
      'a unless b offset 5m',
      [
        ['a', '1x20'],
        ['b', '_x7 1x20'],
      ],
      [['a', 1]],
    ],
    ['a < 2 * 3', [['a', '5x20']], [['a', 5]]],
    ['time() - a', [['a', '100x20']], [['', 500]]],
    ['absent(a)', [], [['', 1]]],
    ['absent(a)', [['a', '0x20']], []],
    [
      'a{x=~"1|2", y!="3"}',
      [
        ['a{x="1"}', '1x20'],
        ['a{x="12"}', '2x20'],
        ['a{x="2", y="3"}', '3x20'],
      ],
      [['a 1', 1]],
    ],
    [
      'histogram_quantile(0.5, a)',
      [
        ['a{le="1"}', '2x20'],
        ['a{le="2"}', '4x20'],
        ['a{le="+Inf"}', '4x20'],
      ],
      [['', 1]],
    ],
    [
      'histogram_quantile(0.99, a)',
      [
        ['a{le="1"}', '2x20'],
        ['a{le="+Inf"}', '4x20'],
      ],
      [['', 1]],
    ],
  ])('%s over %j', (expression, series, expected) => {
    const found = at(expression, ...series);
    expect(found.map(([labels]) => labels)).toEqual(expected.map(([labels]) => labels));
    found.forEach(([, value], index) => expect(value).toBeCloseTo(expected[index]?.[1] ?? NaN, 6));
  });

  it.each([
    'a % b',
    'topk(1, a)',
    'a * on (x) group_left b',
    'avg(a)',
    'irate(a[5m])',
    'sum without (x) (a)',
  ])('does not guess at what it does not know: %s', (expression) => {
    expect(() => evaluate(expression, [], 0)).toThrow('does not know');
  });
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

describe('Prometheus itself', () => {
  it.skipIf(!hasPromtool)(
    'says the same over all these series (skipped where there is no `promtool`; Debian: apt-get install prometheus)',
    { timeout: 240_000 },
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'countersign-promtool-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      for (const step of [STEP, '1h']) {
        const file = join(folder, `${step}.yaml`);
        writeFileSync(file, stringify(promtoolTests(step)));
        expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
      }
    },
  );
});

/** What it says. Rejects with that if it does not end well. */
async function promtool(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('promtool', [...args])).stdout;
}

/** Of all cases with this step. */
function promtoolTests(wanted: string): object {
  const cases = alertRules.flatMap((rule) => {
    const { fires = [], silent = [] } = alertCases[rule.alert] ?? {};
    return [...fires, ...silent].map((given) => ({ rule, given }));
  });
  return {
    rule_files: [join(ROOT, ALERTS_FILE)],
    evaluation_interval: wanted,
    tests: cases
      .filter(({ given: { step = STEP } }) => step === wanted)
      .map(({ rule, given }) => ({
        interval: wanted,
        input_series: Object.entries(given.series).map(([series, values]) => ({ series, values })),
        alert_rule_test: [
          {
            eval_time: given.at ?? AT,
            alertname: rule.alert,
            exp_alerts: firedBy(rule, given).map(
              ({ labels: { alertname: _name, ...labels }, annotations }) => ({
                exp_labels: labels,
                exp_annotations: annotations,
              }),
            ),
          },
        ],
      })),
  };
}
