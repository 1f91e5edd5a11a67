import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createReconciled } from '../../src/console/reconciled.ts';
import { readRecords } from '../../src/reconcile/records.ts';
import { type World, billed, openWorld } from '../reconcile/world.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { READER, startTestConsole } from './console.ts';
import { writeRuns } from './runs.ts';

describe('the records that pages show', () => {
  let world: World;
  let reads = 0;
  const reconciled = createReconciled((directory) => {
    reads++;
    return readRecords(directory);
  });
  beforeAll(async () => {
    world = await openWorld();
    await world.pay({ id: 'missing' });
    await world.reconcile([billed({ id: 'unknown' })]);
  });
  afterAll(() => world.close());

  it('are read once for all pages, until the directory has another one', async () => {
    const { directory } = world;
    expect(reconciled.days(directory, 1)).toMatchObject({ days: 1, open: 2, page: 1, pages: 1 });
    expect(reconciled.run(directory, '1')).toMatchObject({ number: 1, exceptions: 2, open: 2, last: 1 });
    expect(reads).toBe(1);
    const close = `reconcile close 1 1 --directory ${directory} --message x`;
    const closed = await world.run(...close.split(' '));
    expect(closed.code).toBe(0);
    const { closed: count, open, classes } = reconciled.run(directory, '1');
    expect([count, open]).toEqual([1, 1]);
    expect(classes.flatMap(({ items }) => items).find(({ item }) => item === 1)?.closing?.message).toBe('x');
    expect(reads).toBe(2);
  });

  it('are verified again once one was changed, even if its size and its time are the same', () => {
    const { directory } = world;
    reconciled.days(directory, 1);
    const name = readdirSync(directory).find((each) => each.endsWith('close.json')) ?? '';
    const path = join(directory, name);
    const { size, atime, mtime } = statSync(path);
    const before = reads;
    writeFileSync(path, ' '.repeat(size));
    utimesSync(path, atime, mtime);
    for (let time = 0; time < 2; time++) {
      expect(() => reconciled.days(directory, 1)).toThrow('the reconciliation is damaged');
    }
    expect(reads).toBe(before + 2);
  });

  it('of a directory that is missing, of something else, or too large are refused', () => {
    const directory = temporaryFolder();
    expect(() => reconciled.days(join(directory, 'none'), 1)).toThrow(/none/);
    const other = join(directory, 'other');
    mkdirSync(other);
    expect(reconciled.days(other, 1)).toMatchObject({ days: 0, last: undefined, rows: [] });
    writeFileSync(join(other, 'notes.txt'), '');
    expect(() => reconciled.days(other, 1)).toThrow('notes.txt is not a file of a reconciliation');
    const large = join(directory, 'large');
    mkdirSync(large);
    writeFileSync(join(large, '00000001-close.json'), ' '.repeat(33_554_433));
    const before = reads;
    expect(() => reconciled.days(large, 1)).toThrow('have 33554433 bytes, and a page reads at most 33554432');
    expect(reads).toBe(before);
  });
});

describe('a reconciliation of as many bytes as a page reads', () => {
  it('is read within the memory of its process, and little of it is passed on', async () => {
    const directory = temporaryFolder();
    const bytes = writeRuns(directory, 60, 900);
    expect(bytes).toBeGreaterThan(31_000_000);
    expect(bytes).toBeLessThan(33_554_432);
    const console = await startTestConsole({
      settings: {
        reconcile: { directory, retryMs: '3600000' },
        platform: { url: 'http://127.0.0.1:9', retries: '0' },
      },
    });
    onTestFinished(() => console.stop());
    const days = await console.get('/console/journal?page=2', READER);
    expect([days.status, days.text]).toEqual([200, expect.stringContaining('54000 open exceptions')]);
    expect(days.text).toContain('Page 2 of 2');
    const run = await console.get('/console/journal/runs/7', READER);
    expect(run.text).toContain('900 items: ');
    expect(run.text.match(/order-7-/g)).toHaveLength(50);
    expect(run.text).toContain('And 850 more, in the CSV.');
    expect((await console.get('/console/journal/runs/61', READER)).status).toBe(404);
  });
});

describe('the page of the journal', () => {
  it('says which day the service could not reconcile, how often, and why', async () => {
    const console = await startTestConsole({
      settings: {
        reconcile: { directory: temporaryFolder(), firstDay: '2026-01-01', retryMs: '100' },
        platform: { url: 'http://127.0.0.1:9', retries: '0' },
      },
    });
    onTestFinished(() => console.stop());
    const warning =
      /2026-01-01 could not be reconciled\s+\((\d+) tr(?:y|ies), the last at [^)]+\):\s+([^<]+)\./;
    await expect
      .poll(async () => warning.test((await console.get('/console/journal', READER)).text), {
        timeout: 30_000,
      })
      .toBe(true);
  });
});
