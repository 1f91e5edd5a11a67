import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_RETENTION, openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { HOUR_MS, OTHER_TERMS, START_MS, idOf, keyOf, request, windowClaim } from './requests.ts';

const DAY_MS = 24 * HOUR_MS;

describe('what the embedded store keeps', () => {
  const opened = async () => {
    const path = temporaryPath();
    const clock = { nowMs: START_MS };
    const retention = { subjectsMs: 20 * DAY_MS, journalMs: 10 * DAY_MS };
    const store = await readied(await openEmbeddedStore({ path, clock: () => clock.nowMs, retention }));
    const reader = new DatabaseSync(path);
    onTestFinished(() => reader.close());
    const rows = (table: string): number =>
      Number(reader.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count']);
    return { store, clock, rows };
  };

  it('is 400 days of subjects and of the journal by default', () => {
    expect(DEFAULT_RETENTION).toEqual({ subjectsMs: 400 * DAY_MS, journalMs: 400 * DAY_MS });
  });

  it('loses journal entries and subjects only past their retention', async () => {
    const { store, clock, rows } = await opened();
    const first = idOf(await store.settle(request()));
    clock.nowMs += 10 * DAY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    expect(await store.journalSize('shop')).toBe(2);
    clock.nowMs += 1;
    await store.settle(request({ subject: 'payment:3' }));
    expect(await store.entry('shop', first)).toBeUndefined();
    expect(await store.journalSize('shop')).toBe(2);
    clock.nowMs = START_MS + 20 * DAY_MS;
    expect(await store.settle(request({ terms: OTHER_TERMS }))).toMatchObject({ code: 'TERMS_CHANGED' });
    expect(rows('subject')).toBe(3);
    clock.nowMs += 1;
    await store.settle(request({ subject: 'payment:4' }));
    expect(rows('subject')).toBe(3);
    expect(await store.settle(request({ terms: OTHER_TERMS }))).toMatchObject({ code: 'APPROVED' });
  });

  it('never gives an id of the journal twice', async () => {
    const { store, clock } = await opened();
    const first = Number(idOf(await store.settle(request())));
    clock.nowMs += 11 * DAY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    clock.nowMs += 11 * DAY_MS;
    const last = Number(idOf(await store.settle(request({ subject: 'payment:3' }))));
    expect(last).toBe(first + 2);
  });

  it('loses counters and their buckets once they have expired', async () => {
    const { store, clock, rows } = await opened();
    for (let index = 0; index < 100; index++) {
      const claims = [windowClaim('1', '10', { key: keyOf(String(index)) })];
      await store.settle(request({ subject: `payment:${index}`, claims }));
      clock.nowMs += HOUR_MS / 100;
    }
    expect(rows('counter')).toBe(100);
    expect(rows('bucket')).toBe(100);
    clock.nowMs += 2 * HOUR_MS;
    for (let work = 0; work < 2; work++) await store.settle(request());
    expect(rows('counter')).toBe(0);
    expect(rows('bucket')).toBe(0);
  });
});
