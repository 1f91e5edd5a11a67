import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { createMetrics } from '../../src/observe/metrics.ts';
import { COMMIT } from '../../src/values/commit.ts';
import { APPROVED, STRANGER } from './reports.ts';

const plain = { processMetrics: false };

describe('the metrics of callbacks', () => {
  it('count a decision by source, kind, verdict, code and rule', async () => {
    const metrics = createMetrics(plain);
    metrics.countCallback(APPROVED);
    metrics.countCallback(APPROVED);
    metrics.countCallback({ ...APPROVED, verdict: 'FAILURE', code: 'FROZEN', rule: undefined });
    const { text } = await metrics.text();
    expect(text).toContain(
      'countersign_decisions_total{source="shop",kind="payment",verdict="SUCCESS",code="APPROVED",rule="usdt-payments/amount-limit#1"} 2',
    );
    expect(text).toContain(
      'countersign_decisions_total{source="shop",kind="payment",verdict="FAILURE",code="FROZEN",rule=""} 1',
    );
    expect(text).toContain('countersign_answers_total{answer="SUCCESS"} 2');
    expect(text).toContain('countersign_answers_total{answer="FAILURE"} 1');
  });

  it('time the steps and the whole in seconds', async () => {
    const metrics = createMetrics(plain);
    metrics.countCallback(APPROVED);
    metrics.countCallback(STRANGER);
    const { text } = await metrics.text();
    expect(text).toContain('countersign_callback_seconds_count{step="total"} 2');
    expect(text).toContain('countersign_callback_seconds_count{step="decode"} 2');
    expect(text).toContain('countersign_callback_seconds_count{step="settle"} 1');
    expect(text).toContain('countersign_callback_seconds_sum{step="settle"} 0.0015');
    expect(text).toContain('countersign_callback_seconds_bucket{le="0.001",step="settle"} 0');
    expect(text).toContain('countersign_callback_seconds_bucket{le="0.0025",step="settle"} 1');
  });

  it('count alarms by code', async () => {
    const metrics = createMetrics(plain);
    metrics.countCallback({ ...APPROVED, alarm: true, code: 'TERMS_CHANGED', verdict: 'FAILURE' });
    metrics.countCallback(APPROVED);
    expect((await metrics.text()).text).toMatch(/^countersign_alarms_total\{[^}]*\} 1$/m);
  });
});

describe('the metrics of notifications', () => {
  it('count for each host, with those of two URLs together, and are read for each scrape', async () => {
    const metrics = createMetrics(plain);
    expect(await rowsOf(metrics, 'notifications_total')).toEqual([]);
    const chat = { receiver: 'chat.example', sent: 3, failed: 2, dropped: 1, waiting: 4 };
    let read = [chat];
    metrics.notifications(() => read);
    read = [chat, { ...chat, waiting: 1 }];
    expect(await rowsOf(metrics, 'notifications_total')).toEqual([
      'countersign_notifications_total{receiver="chat.example",outcome="sent"} 6',
      'countersign_notifications_total{receiver="chat.example",outcome="failed"} 4',
      'countersign_notifications_total{receiver="chat.example",outcome="dropped"} 2',
    ]);
    expect(await rowsOf(metrics, 'notifications_waiting')).toEqual([
      'countersign_notifications_waiting{receiver="chat.example"} 5',
    ]);
  });
});

describe('the metrics of what waits for people', () => {
  it('are by source, and are read for each scrape', async () => {
    const metrics = createMetrics(plain);
    let read = new Map([['vault', { count: 2, oldestMs: 5000 as number | undefined }]]);
    metrics.requestsWaiting(() => read);
    expect(await rowsOf(metrics, 'approval_requests')).toEqual([
      'countersign_approval_requests{source="vault"} 2',
    ]);
    expect((await metrics.text()).text).toContain(
      'countersign_approval_request_oldest_timestamp_seconds{source="vault"} 5\n',
    );
    read = new Map([['vault', { count: 0, oldestMs: undefined }]]);
    const { text } = await metrics.text();
    expect(text).toContain('countersign_approval_requests{source="vault"} 0\n');
    expect(text).not.toMatch(/^countersign_approval_request_oldest_timestamp_seconds\{/m);
  });
});

describe('the program', () => {
  it('is named by its version and its commit', async () => {
    const { text } = await createMetrics(plain).text();
    const named = `version="${packageJson.version}",commit="${COMMIT}"`;
    expect(text).toContain(`countersign_build_info{${named}} 1\n`);
  });
});

describe('a label', () => {
  it('never has a name from an unauthenticated sender', async () => {
    const metrics = createMetrics(plain);
    metrics.countCallback({ ...STRANGER, source: 'stranger', kind: 'payment', rule: 'stranger' });
    const { text } = await metrics.text();
    expect(text).not.toContain('stranger');
    expect(text).toContain('countersign_authentication_failures_total{code="SIGN_WRONG",source="shop"} 1');
    expect(text).not.toMatch(/^countersign_decisions_total\{/m);
  });

  it('has no more values than its bound, and loses no count', async () => {
    const metrics = createMetrics(plain);
    for (let n = 0; n < 2000; n += 1) metrics.countCallback({ ...APPROVED, rule: `policy-${n}/rule` });
    const rows = (await metrics.text()).text
      .split('\n')
      .filter((line) => line.startsWith('countersign_decisions_total{'));
    expect(rows).toHaveLength(513);
    expect(rows.find((row) => row.includes('rule="other"'))).toMatch(/ 1488$/);
  });

  it.each(['code', 'rule'] as const)('%s is never long', async (name) => {
    const metrics = createMetrics(plain);
    metrics.countCallback({ ...APPROVED, [name]: 'x'.repeat(161) });
    expect((await metrics.text()).text).toContain(`${name}="other"`);
  });

  it('of the store is a verb', async () => {
    const metrics = createMetrics(plain);
    for (let n = 0; n < 40; n += 1) metrics.storeFailed(`verb-${n}`);
    const rows = (await metrics.text()).text
      .split('\n')
      .filter((line) => line.startsWith('countersign_store_errors_total{'));
    expect(rows).toHaveLength(33);
    expect(rows.at(-1)).toBe('countersign_store_errors_total{verb="other"} 8');
  });
});

describe('the state of the service', () => {
  it('is one revision at a time', async () => {
    const metrics = createMetrics(plain);
    metrics.setInForce('first');
    metrics.setInForce('second');
    expect(await rowsOf(metrics, 'revision_info')).toEqual([
      'countersign_revision_info{revision="second"} 1',
    ]);
    metrics.setInForce('');
    expect(await rowsOf(metrics, 'revision_info')).toEqual([]);
  });

  it('says frozen and ready as 0 and 1, at first 0', async () => {
    const metrics = createMetrics(plain);
    expect([await rowsOf(metrics, 'frozen'), await rowsOf(metrics, 'ready')]).toEqual([
      ['countersign_frozen 0'],
      ['countersign_ready 0'],
    ]);
    metrics.setFrozen([{ id: 'f3', kind: 'operator', by: 'ada' }]);
    metrics.setReady(true);
    expect([await rowsOf(metrics, 'frozen'), await rowsOf(metrics, 'ready')]).toEqual([
      ['countersign_frozen 1'],
      ['countersign_ready 1'],
    ]);
  });

  it('names each freeze in force, and no lifted one', async () => {
    const metrics = createMetrics(plain);
    const loss = { id: 'f7', kind: 'loss', by: 'countersign' };
    metrics.setFrozen([{ id: 'f3', kind: 'operator', by: 'a"d\na' }, loss]);
    expect(await rowsOf(metrics, 'freeze_info')).toEqual([
      'countersign_freeze_info{freeze="f3",kind="operator",by="a\\"d\\na"} 1',
      'countersign_freeze_info{freeze="f7",kind="loss",by="countersign"} 1',
    ]);
    const except = { id: 'f9', kind: 'except-approved', by: 'ada' };
    metrics.setFrozen([except]);
    expect([await rowsOf(metrics, 'freeze_info'), await rowsOf(metrics, 'frozen')]).toEqual([
      ['countersign_freeze_info{freeze="f9",kind="except-approved",by="ada"} 1'],
      ['countersign_frozen 0'],
    ]);
    metrics.setFrozen([except, loss]);
    expect(await rowsOf(metrics, 'frozen')).toEqual(['countersign_frozen 1']);
    metrics.setFrozen([loss]);
    expect(await rowsOf(metrics, 'freeze_info')).toHaveLength(1);
    metrics.setFrozen([]);
    expect([await rowsOf(metrics, 'freeze_info'), await rowsOf(metrics, 'frozen')]).toEqual([
      [],
      ['countersign_frozen 0'],
    ]);
  });

  it('reads the journal for each scrape', async () => {
    const metrics = createMetrics(plain);
    let sizes = new Map([
      ['shop', 1],
      ['gone', 2],
    ]);
    metrics.journalEntries(() => Promise.resolve(sizes));
    await metrics.text();
    sizes = new Map([['shop', 3]]);
    expect(await rowsOf(metrics, 'journal_entries')).toEqual([
      'countersign_journal_entries{source="shop"} 3',
    ]);
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('no store'))],
    [
      'throws',
      () => {
        throw new Error('no store');
      },
    ],
  ])('leaves out the journal if that %s', async (_, read) => {
    const metrics = createMetrics(plain);
    metrics.journalEntries(read);
    expect(await rowsOf(metrics, 'journal_entries')).toEqual([]);
    expect(await rowsOf(metrics, 'ready')).toEqual(['countersign_ready 0']);
  });

  it('is of one service, not of all in the process', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    one.setReady(true);
    expect(await rowsOf(other, 'ready')).toEqual(['countersign_ready 0']);
    expect((await one.text()).text).toContain('process_cpu_user_seconds_total');
    expect((await one.text()).contentType).toContain('text/plain');
  });
});

async function rowsOf(
  metrics: { text(): Promise<{ readonly text: string }> },
  name: string,
): Promise<readonly string[]> {
  const { text } = await metrics.text();
  return text.split('\n').filter((line) => new RegExp(`^countersign_${name}[ {]`).test(line));
}
