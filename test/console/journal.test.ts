import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordMove, recordVerification } from '../../src/archive/records.ts';
import { eventually } from '../eventually.ts';
import { type World, billed, openWorld } from '../reconcile/world.ts';
import { startRedisServer } from '../redis-server.ts';
import { READER, type Shown, type TestConsole, startTestConsole } from './console.ts';

/** Also an order id, which has no blanks. */
const HOSTILE = `<script>alert(1)</script>"onload='x'`;

describe.each(['embedded', 'redis'] as const)('the journal and the reconciliation on %s', (kind) => {
  let world: World;
  let console: TestConsole;
  let stopRedis = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined;
    if (redis !== undefined) stopRedis = () => redis.stop();
    world = await openWorld();
    await world.pay({ id: 'missing' });
    await world.pay({ id: HOSTILE });
    await world.reconcile([billed({ id: 'unknown' })]);
    console = await startTestConsole({
      ...(redis && { redis: redis.url }),
      // The service looks at the directory once, and has nothing to reconcile with for an hour.
      settings: {
        reconcile: { directory: world.directory, retryMs: '3600000' },
        platform: { url: 'http://127.0.0.1:9', retries: '0' },
      },
    });
    await console.pay({ appOrderId: 'one' });
  });
  afterAll(() => stopRedis());
  afterAll(() => world.close());
  afterAll(() => console.stop());

  /** Closes an exception once the service has looked at the directory, which it holds meanwhile. */
  const close = (fields: Readonly<Record<string, string>>): Promise<Shown> =>
    eventually('the directory is free', async () => {
      const done = await console.send('/console/journal/close', fields);
      return done.text.includes('Another reconciliation is running') ? undefined : done;
    });
  const records = (): number => readdirSync(world.directory).filter((name) => name.endsWith('.json')).length;

  it('has the size and the oldest entry of each source', async () => {
    const { status, text } = await console.get('/console/journal', READER);
    expect(status).toBe(200);
    const cells = text.replaceAll(/<td [^>]*><div>/g, '<td>').replaceAll('</div></td>', '</td>');
    expect(cells).toMatch(/<td>shop<\/td><td>1<\/td><td><a href="\/console\/decisions\/shop\/[^"]+">/);
    expect(cells).toMatch(/<td>vault<\/td><td>0<\/td><td>–<\/td><td>–<\/td><td>–<\/td><td>–<\/td>/);
    expect(text).toContain('journal verify DIRECTORY --record');
  });

  it('has when entries were archived last, and what the last verification found', async () => {
    const { store } = console;
    const end = 'ab'.repeat(32);
    const moved = { source: 'vault', files: 1, entries: 7, resumed: 0, end };
    await recordMove(store, moved, { by: 'ada', directory: HOSTILE });
    const verified = { source: 'vault', files: 1, entries: 7, ends: [end] };
    await recordVerification(store, verified, { by: 'ada', directories: [HOSTILE], faults: [] });
    const sound = await console.get('/console/journal', READER);
    expect(sound.text).toMatch(/7 entries to &lt;script&gt;.*, by ada<.*✓ no fault<.*7 entries, by ada</s);
    const fault = { file: 'f', line: 1, because: HOSTILE };
    await recordVerification(store, verified, { by: HOSTILE, directories: ['a'], faults: [fault] });
    const { text } = await console.get('/console/journal', READER);
    expect(text).toContain('✕ 1 fault<');
    expect(text).not.toContain('✓ no fault');
    expect(text).not.toContain('<script>');
    const [, entry = ''] = /href="(\/console\/decisions\/vault\/[^"]+)"[^✕]*✕ 1 fault/.exec(text) ?? [];
    expect((await console.get(entry, READER)).text).toContain('FAULTS_FOUND');
  });

  it('lists the days, and what is open', async () => {
    const { text } = await console.get('/console/journal', READER);
    expect(text).toContain('3 open exceptions');
    expect(text).toContain('2025-06-10');
    expect(text).toContain('href="/console/journal/runs/1"');
  });

  it('shows the exceptions of a run by class, as text, with links to the decisions', async () => {
    const { status, text } = await console.get('/console/journal/runs/1', READER);
    expect(status).toBe(200);
    expect(text.indexOf('billed-never-approved <')).toBeLessThan(text.indexOf('approved-not-billed <'));
    expect(text).toMatch(/<a href="\/console\/decisions\/shop\/[^"]+">shop\//);
    expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;onload=&#39;x&#39;');
    expect(text).not.toContain('<script>');
    expect(text).not.toContain('/console/journal/close');
  });

  it('is downloaded as the files of the directory', async () => {
    const csv = await console.get('/console/journal/runs/1/items.csv', READER);
    const name = '00000001-run-2025-06-10';
    expect(csv.headers.get('content-disposition')).toBe(`attachment; filename="${name}.csv"`);
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.text).toBe(readFileSync(join(world.directory, `${name}.csv`), 'utf8'));
    const json = await console.get('/console/journal/runs/1/run.json', READER);
    expect(json.text).toBe(readFileSync(join(world.directory, `${name}.json`), 'utf8'));
  });

  it.each(['0', '2', '01', '1e0', '../1', 'x'.repeat(4096), HOSTILE])('has no run %j', async (run) => {
    for (const path of ['', '/items.csv', '/run.json']) {
      const { status, text } = await console.get(`/console/journal/runs/${encodeURIComponent(run)}${path}`);
      expect(status).toBe(404);
      expect(text).not.toContain('<script>alert');
    }
  });

  it.each([
    [{ run: '1', item: '1' }, 'The reason is empty'],
    [{ run: '1', item: '1', message: ' \n' }, 'The reason is empty'],
    [
      { run: '1', item: '1', message: 'x'.repeat(4096) },
      'The reason has 4096 characters. Write at most 1000',
    ],
    [{ run: '', item: '1', message: 'x' }, 'is not the number of a run'],
    [{ run: '1', item: HOSTILE, message: 'x' }, 'is not the number of an item'],
    [{ run: '1', item: '99', message: 'x' }, 'is not an exception'],
    [{ run: '9', item: '1', message: 'x' }, 'has no run 9'],
  ])('closes nothing with %j', async (fields, because) => {
    const before = records();
    const { status, text } = await close(fields);
    expect([404, 422]).toContain(status);
    expect(text).toContain(because);
    expect(text).not.toContain('<script>alert');
    expect(records()).toBe(before);
  });

  it('closes nothing for a person who may only read', async () => {
    const before = records();
    const fields = { run: '1', item: '1', message: 'x' };
    const { status, text } = await console.send('/console/journal/close', fields, READER);
    expect([status, text.includes('This needs the role operate')]).toEqual([403, true]);
    expect(records()).toBe(before);
  });

  it('closes an exception with a reason, which the journal has', async () => {
    expect((await console.get('/console/journal/runs/1')).text).toContain('Close 1/1');
    const done = await close({ run: '1', item: '1', message: HOSTILE });
    expect(done).toMatchObject({ status: 303, to: '/console/journal/runs/1' });
    expect(done.notice).toMatch(/^Closed 1\/1 as entry shop\/.*\. 2 exceptions left open\.$/);
    const [entry] = await console.store.entries({ source: 'shop', newestFirst: true, limit: 1 });
    expect(entry).toMatchObject({ type: 'reconciliation', code: 'EXCEPTION_CLOSED' });
    expect(JSON.parse(entry?.detail ?? '')).toMatchObject({ by: 'console:ada', message: HOSTILE, run: 1 });
    const { text } = await console.get('/console/journal/runs/1');
    expect(text).not.toContain('Close 1/1');
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('console:ada');
    expect((await close({ run: '1', item: '1', message: 'again' })).text).toContain(
      'was closed by console:ada',
    );
  });
});

describe('without a reconciliation', () => {
  it('the page says how to set one up, and the rest is not found', async () => {
    const console = await startTestConsole();
    expect((await console.get('/console/journal')).text).toContain('Set reconcile.directory');
    expect((await console.get('/console/journal/runs/1')).status).toBe(404);
    const fields = { run: '1', item: '1', message: 'x' };
    expect((await console.send('/console/journal/close', fields)).status).toBe(404);
    expect((await fetch(`${console.ops}/console/journal`)).status).toBe(401);
    await console.stop();
  });
});
