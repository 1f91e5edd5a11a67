import { describe, expect, it } from 'vitest';
import {
  HOUR_MS,
  MIDNIGHT_MS,
  MINUTE_MS,
  NOON_MS,
  billed,
  createWorld,
  exceptionsOf,
  reportOf,
} from './world.ts';

const DAYS = ['2025-06-10', '2025-06-11', '2025-06-12'] as const;
const DAY_MS = 24 * HOUR_MS;
const NEXT_MS = MIDNIGHT_MS + DAY_MS;

describe('a released approval', () => {
  it('that was billed on an earlier day is an alarm on the day of its release', async () => {
    const { pay, release, reconcile } = await createWorld();
    await pay({ id: 'a' });
    await pay({ id: 'b', atMs: NEXT_MS - MINUTE_MS });
    const first = await reconcile([billed({ id: 'a' })], '--day', DAYS[0], '--json');
    expect(reportOf(first)).toMatchObject({ ok: true, classes: { matched: 1, settling: 1 } });
    const later = billed({ id: 'b', atMs: NEXT_MS + 1000 });
    await release('a', 'shop', NEXT_MS + 10 * MINUTE_MS);
    const next = await reconcile([later], '--day', DAYS[1], '--json');
    expect(exceptionsOf(next)).toEqual(['billed-after-release a']);
    expect(reportOf(next).exceptions[0]?.note).toMatch(
      /^released 2025-06-1\dT\S+Z, entry shop\/\S+; run 1 found it settled$/,
    );
    await release('b', 'shop', NEXT_MS + DAY_MS + HOUR_MS);
    const last = await reconcile([], '--day', DAYS[2], '--json');
    expect(exceptionsOf(last)).toEqual(['billed-after-release b']);
    expect(reportOf(await reconcile([], '--day', DAYS[2], '--json')).run).toBe(reportOf(last).run);
  });

  it('explains what was not billed, on its own day', async () => {
    const { pay, release, late, reconcile } = await createWorld();
    await pay({ id: 'lost' });
    await late(await pay({ id: 'late' }), 'late');
    await pay({ id: 'carried', atMs: NEXT_MS - MINUTE_MS });
    await pay({ id: 'same' });
    await release('same', 'shop', NOON_MS + HOUR_MS);
    // Released within the settle time, but on the next day.
    const first = await reconcile([], '--day', DAYS[0], '--json');
    expect(exceptionsOf(first)).toEqual(['approved-not-billed lost']);
    expect(reportOf(first).classes).toMatchObject({ released: 1, settling: 1, 'approved-late': 1 });
    for (const id of ['lost', 'late', 'carried']) await release(id, 'shop', NEXT_MS + 5 * MINUTE_MS);
    const next = await reconcile([], '--day', DAYS[1], '--json');
    expect(exceptionsOf(next)).toEqual([]);
    expect(reportOf(next).classes).toEqual({ released: 3 });
  });

  it('explains a withdrawal that was never signed, and not one that was', async () => {
    const { approve, release, sign, reconcile } = await createWorld();
    await approve({ id: 'w-1' });
    await approve({ id: 'w-2' });
    await release('w-1', 'vault', NOON_MS + MINUTE_MS);
    const first = await reconcile([], '--day', DAYS[0], '--json');
    expect(exceptionsOf(first)).toEqual(['approved-not-signed w-2']);
    await release('w-2', 'vault', NEXT_MS + HOUR_MS);
    await sign({ id: 'w-2', txid: '0x1', atMs: NEXT_MS + 2 * HOUR_MS });
    await sign({ id: 'w-1', txid: '0x2', atMs: NEXT_MS + 2 * HOUR_MS });
    const next = await reconcile([], '--day', DAYS[1], '--json');
    expect(exceptionsOf(next).toSorted()).toEqual(['signed-after-release w-1', 'signed-after-release w-2']);
  });
});
