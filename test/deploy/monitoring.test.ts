import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestService, PAYMENT_PATH, signedPayment, startTestService } from '../service.ts';
import { alertRules } from './alert-rules.ts';
import { textOf } from './documents.ts';
import { namedIn } from './promql.ts';

const panel = z.looseObject({
  id: z.number(),
  type: z.string(),
  title: z.string(),
  gridPos: z.strictObject({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(z.looseObject({ refId: z.string(), expr: z.string() })).default([]),
});
const dashboard = z
  .looseObject({
    panels: z.array(panel),
    annotations: z.object({ list: z.array(z.looseObject({ expr: z.string() })) }),
    templating: z.object({ list: z.array(z.looseObject({ name: z.string(), query: z.unknown() })) }),
  })
  .parse(JSON.parse(textOf('deploy/grafana/countersign.json')));

/** As Grafana would put in its variables. */
const filled = (expr: string): string =>
  expr
    .replaceAll(/\$__(?:rate_interval|range)/g, '5m')
    .replaceAll(/"\$\w+"/g, '".*"')
    .replaceAll('$answer_timeout', '2');
const shown = [
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => [title, filled(expr)] as const),
  ),
  ...dashboard.annotations.list.map(({ expr }) => ['an annotation', filled(expr)] as const),
];
const expressions = [...shown, ...alertRules.map(({ alert, expr }) => [alert, expr] as const)];
const used = new Set(expressions.flatMap(([, expr]) => [...namedIn(expr).metrics]));

/** Of Prometheus itself. */
const OF_PROMETHEUS = ['up'];
/** Known of a process on Linux alone, where the service is run. */
const OF_LINUX = [
  'process_open_fds',
  'process_max_fds',
  'process_virtual_memory_bytes',
  'process_heap_bytes',
];
const ELSEWHERE = process.platform === 'linux' ? [] : OF_LINUX;
/** What the monitoring adds to each. */
const TARGET_LABELS = ['job', 'instance'];
/** Exposed and not used, and why. */
const UNUSED: Readonly<Record<string, string>> = {
  process_cpu_user_seconds_total: 'in process_cpu_seconds_total',
  process_cpu_system_seconds_total: 'in process_cpu_seconds_total',
  process_virtual_memory_bytes: 'says nothing under V8, which reserves what it never uses',
  process_heap_bytes: 'the same',
  nodejs_eventloop_lag_seconds: 'one sample at the time of the scrape; the percentiles see all',
  nodejs_eventloop_lag_min_seconds: 'its resolution',
  nodejs_eventloop_lag_mean_seconds: 'hides what the 99th percentile shows',
  nodejs_eventloop_lag_stddev_seconds: 'the same',
  nodejs_eventloop_lag_p50_seconds: 'its resolution',
  nodejs_eventloop_lag_p90_seconds: 'p99 is shown',
  nodejs_active_resources: 'for whoever looks for a leak',
  nodejs_active_resources_total: 'the same',
  nodejs_active_handles: 'the same',
  nodejs_active_handles_total: 'the same',
  nodejs_active_requests: 'the same',
  nodejs_active_requests_total: 'the same',
  nodejs_heap_size_total_bytes: 'what is used is shown',
  nodejs_heap_space_size_total_bytes: 'for whoever looks for a leak',
  nodejs_heap_space_size_used_bytes: 'the same',
  nodejs_heap_space_size_available_bytes: 'the same',
  nodejs_version_info: 'the image says it',
};

let service: TestService;
let metrics: string;
beforeAll(async () => {
  service = await startTestService();
  await service.pay({});
  await service.pay({ orderAmount: '2' });
  await service.pay({ appOrderId: 'o-2', orderAmount: '1001' });
  await service.post(PAYMENT_PATH, signedPayment({}, { secret: 'wrong' }));
  metrics = await (await fetch(`${service.ops}/metrics`)).text();
});
afterAll(() => service.stop());

/** Every series' name that a running service exposes, and the families they belong to. */
function exposed(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [, family = '', type] of metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes) names.set(`${family}${suffix}`, family);
  }
  return names;
}

describe('dashboard and alerts', () => {
  it.each(expressions)('%s: what it asks is PromQL, and names a metric', (_name, expr) => {
    const { metrics: named } = namedIn(expr);
    expect(expr.startsWith('vector(') || named.size > 0).toBe(true);
  });

  it.each(['sum(rate(a[5m])', 'a{b=}', 'sum by (a b)', 'a >> 1', 'rate(a[5 minutes])'])(
    'and what is no PromQL is found: %s',
    (expr) => {
      expect(() => namedIn(expr)).toThrow('no PromQL');
    },
  );

  it('name only metrics that a running service exposes', () => {
    const names = [...exposed().keys(), ...OF_PROMETHEUS, ...ELSEWHERE];
    expect(used.size).toBeGreaterThan(20);
    for (const name of used) expect(names).toContain(name);
  });

  it('use every metric that a running service exposes, or it is said why not', () => {
    const families = new Set([...used].map((name) => exposed().get(name)));
    for (const family of new Set(exposed().values())) {
      expect({ family, known: families.has(family) || Object.hasOwn(UNUSED, family) }).toEqual({
        family,
        known: true,
      });
    }
    for (const family of Object.keys(UNUSED).filter((each) => !ELSEWHERE.includes(each))) {
      expect(families).not.toContain(family);
      expect([...exposed().values()]).toContain(family);
    }
  });

  it('use every metric of Countersign itself, both of them together', () => {
    const own = [...new Set(exposed().values())].filter((family) => family.startsWith('countersign_'));
    expect(own.length).toBeGreaterThan(10);
    expect(own.filter((family) => Object.hasOwn(UNUSED, family))).toEqual([]);
  });

  it('name only labels that those metrics have', () => {
    const source = textOf('src/observe/metrics.ts');
    const inMetrics = [...metrics.matchAll(/(\w+)="/g)].map(([, name]) => name ?? '');
    // Of counters that nothing has been counted by, only the source tells.
    const inSource = [...source.matchAll(/\[([^\]]*)\](?: as const)?[,)]/g)].flatMap(([, list = '']) =>
      [...list.matchAll(/'(\w+)'/g)].map(([, name]) => name ?? ''),
    );
    const known = new Set([...inMetrics, ...inSource, ...TARGET_LABELS]);
    for (const [name, expr] of expressions) {
      for (const label of namedIn(expr).labels) expect(known, `${name}: ${expr}`).toContain(label);
    }
  });
});

describe('the dashboard', () => {
  it('has panels that lie beside each other, each once', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect({ title, taken: taken.has(`${x}:${y}`) }).toEqual({ title, taken: false });
          taken.add(`${x}:${y}`);
        }
      }
    }
  });

  it('uses every variable that it has, and no other', () => {
    const names = dashboard.templating.list.map(({ name }) => name);
    const text = JSON.stringify(dashboard);
    const inText = [...text.matchAll(/\$\{?(\w+)\}?/g)]
      .map(([, name]) => name ?? '')
      .filter((name) => !name.startsWith('__'));
    expect(new Set(inText)).toEqual(new Set(names));
  });

  it('asks every replica or the one that was chosen, in every panel', () => {
    for (const { title, targets } of dashboard.panels) {
      for (const { expr } of targets.filter((target) => !target.expr.startsWith('vector('))) {
        expect({ title, every: expr.includes('job=~"$job", instance=~"$instance"') }).toEqual({
          title,
          every: true,
        });
      }
    }
  });
});

describe('the alerts', () => {
  it('have a name each', () => {
    const names = alertRules.map(({ alert }) => alert);
    expect(names.length).toBeGreaterThan(15);
    expect(new Set(names).size).toBe(names.length);
  });

  it('see the very first alarm of a kind, and not only the second', () => {
    const onAlarms = alertRules.filter(({ expr }) => expr.includes('countersign_alarms_total'));
    expect(onAlarms.length).toBe(6);
    for (const { expr } of onAlarms) expect(expr).toMatch(/unless countersign_alarms_total\{.*\} offset 10m/);
  });

  it('tell of each alarm that the service can raise by its own name', () => {
    for (const code of [
      'TERMS_CHANGED',
      'SCHEME_CHANGED',
      'SIGNED_WITHOUT_APPROVAL',
      'SIGNED_AFTER_RELEASE',
      'TXID_UNEXPECTED',
    ]) {
      const telling = alertRules.filter(({ expr }) =>
        expr.includes(`countersign_alarms_total{code="${code}"}`),
      );
      expect(telling.map(({ labels }) => labels.severity)).toEqual(['critical']);
    }
  });

  it('have each a section of the runbook, and each section of alerts is one of theirs', () => {
    const runbook = textOf('docs/runbook.md');
    const sections = [...runbook.matchAll(/^### (Countersign\w+)$/gm)].map(([, name]) => name ?? '');
    expect(sections).toEqual(alertRules.map(({ alert }) => alert));
    for (const { alert, annotations } of alertRules) {
      expect(annotations.runbook_url).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    }
  });
});
