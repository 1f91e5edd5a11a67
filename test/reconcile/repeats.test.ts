import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockDirectory } from '../../src/archive/folder.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import {
  HOUR_MS,
  MIDNIGHT_MS,
  type Row,
  type World,
  billed,
  createWorld,
  filesIn,
  reportOf,
} from './world.ts';

const CSV = '00000001-run-2025-06-10.csv';
const RECORD = '00000001-run-2025-06-10.json';

/** A day with a bit of everything, and its bill. */
async function fill({ pay, late, approve, sign }: World): Promise<readonly Row[]> {
  await pay({ id: 'old', atMs: MIDNIGHT_MS - 20 * HOUR_MS });
  for (const id of ['a', 'b', '=c', 'missing']) await pay({ id });
  await late(await pay({ id: 'late' }), 'late');
  await approve({ id: 'w' });
  await sign({ id: 'w', txid: '0x1' });
  await pay({ id: 'settles', atMs: MIDNIGHT_MS + 24 * HOUR_MS - 1 });
  return [
    ...['a', 'b', 'b', '=c', 'old', 'unknown'].map((id) => billed({ id })),
    billed({ id: 't' }, { orderType: '11' }),
  ];
}

describe.each(['embedded', 'redis'] as const)('a repeated run on the %s store', (kind) => {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());

  it('writes nothing, and says the same', async () => {
    const world = await createWorld(redis?.url);
    const rows = await fill(world);
    const first = await world.reconcile(rows, '--json');
    const files = filesIn(world.directory);
    expect(Object.keys(files).sort()).toEqual([CSV, RECORD]);
    const second = await world.reconcile(rows, '--json');
    expect(filesIn(world.directory)).toEqual(files);
    expect(second.out).toBe(first.out);
    expect(first.code).toBe(1);
  });

  it('gives the same bytes in another directory, from an export and by another person', async () => {
    const world = await createWorld(redis?.url);
    const rows = await fill(world);
    const first = await world.reconcile(rows, '--json');
    const file = join(world.folder, 'decisions.jsonl');
    await world.run('decisions', 'export', '--to', file, '--end-line');
    const other = join(world.folder, 'others');
    mkdirSync(other);
    const bill = join(world.folder, 'bill.jsonl');
    const later = world.runWith({ clock: () => Date.UTC(2026, 0, 1), user: 'bob' });
    const argv = ['--day', '2025-06-10', '--bill', bill, '--directory', other, '--decisions', file, '--json'];
    const second = await later('reconcile', ...argv);
    expect(second.out).toBe(first.out);
    expect(filesIn(other)[CSV]).toBe(filesIn(world.directory)[CSV]);
  });
});

describe('the directory of runs', () => {
  it('gets another run if the bill changes, and names the runs that rest on the first', async () => {
    const world = await createWorld();
    const rows = await fill(world);
    await world.reconcile(rows);
    await world.reconcile([], '--day', '2025-06-11');
    const changed = reportOf(await world.reconcile(rows.slice(1), '--json'));
    expect(changed).toMatchObject({ run: 3, replaces: 1, outdated: 2 });
    expect((await world.reconcile(rows.slice(1))).out).toMatch(/^Run 3 .* unchanged/);
  });

  it('fails while the run of the next day rests on a replaced run, and refuses the days after it', async () => {
    const world = await createWorld();
    await world.pay({ id: 'a' });
    const rows = [billed({ id: 'a' })];
    await world.reconcile([]);
    await world.reconcile([], '--day', '2025-06-11');
    const replaced = await world.reconcile(rows, '--json');
    expect(replaced.code).toBe(1);
    expect(reportOf(replaced)).toMatchObject({ run: 3, open: 0, ok: false, outdated: 2 });
    const refused = await world.reconcile([], '--day', '2025-06-12');
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(
      /run 2 of 2025-06-11 does not rest on run 3, the last of 2025-06-10. Repeat 2025-06-11 first/,
    );
    expect((await world.reconcile([], '--day', '2025-06-11')).code).toBe(0);
    expect((await world.reconcile(rows)).code).toBe(0);
    expect((await world.reconcile([], '--day', '2025-06-12')).code).toBe(0);
  });

  it('writes the items again if their file is lost or changed', async () => {
    const world = await createWorld();
    const rows = await fill(world);
    await world.reconcile(rows);
    const path = join(world.directory, CSV);
    const text = readFileSync(path, 'utf8');
    for (const damage of [() => rmSync(path), () => writeFileSync(path, text.replace('a', 'b'))]) {
      damage();
      await world.reconcile(rows);
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
  });

  it('has items with an end row, and each id as it is, quoted if it may be a formula', async () => {
    const world = await createWorld();
    await world.reconcile(await fill(world));
    const lines = (filesIn(world.directory)[CSV] ?? '').trimEnd().split('\n');
    expect(lines[0]).toMatch(/^item,class,level,flow,source,id,/);
    expect(lines.at(-1)).toMatch(/^end,11,[0-9a-f]{64}$/);
    expect(lines).toHaveLength(13);
    expect(lines.some((line) => line.includes(',"=c",'))).toBe(true);
  });

  it.each<[string, (directory: string) => void]>([
    ['was changed', (directory) => change(directory, '"note": "', '"note": "no ')],
    ['was cut off', (directory) => change(directory, '"record": "run"', '"record": "r')],
    [
      'was renamed',
      (directory) => renameSync(join(directory, RECORD), join(directory, `00000007${RECORD.slice(8)}`)),
    ],
    ['was removed', (directory) => rmSync(join(directory, RECORD))],
  ])('is not trusted if a record %s', async (_what, damage) => {
    const world = await createWorld();
    const rows = await fill(world);
    await world.reconcile(rows);
    await world.reconcile([], '--day', '2025-06-11');
    damage(world.directory);
    const { code, err } = await world.reconcile(rows);
    expect(code).toBe(2);
    expect(err).toMatch(/STORE_CORRUPT: the reconciliation is damaged: \S+\.json: .*Restore the directory/);
  });

  it('refuses a day after one that was left out, another zone, and fewer sources', async () => {
    const world = await createWorld();
    await world.reconcile([]);
    const say = async (...argv: readonly string[]) => (await world.reconcile([], ...argv)).err;
    expect(await say('--day', '2025-06-12')).toMatch(
      /2025-06-11 was not reconciled .* Reconcile 2025-06-11 first/,
    );
    expect(await say('--day', '2025-06-11', '--zone', 'UTC')).toMatch(
      /have days of Asia\/Shanghai, not of UTC/,
    );
    expect(await say('--day', '2025-06-11', '--source', 'shop')).toMatch(
      /includes vault, and this call does not/,
    );
  });

  it('takes a day before the first, which must then be repeated', async () => {
    const world = await createWorld();
    await world.reconcile([]);
    const earlier = await world.reconcile([], '--day', '2025-06-09', '--json');
    expect([earlier.code, reportOf(earlier).outdated]).toEqual([1, 1]);
    expect((await world.reconcile([], '--day', '2025-06-11')).err).toMatch(/Repeat 2025-06-10 first/);
    expect((await world.reconcile([])).code).toBe(0);
  });

  it('is used by one process at a time', async () => {
    const world = await createWorld();
    const lock = lockDirectory(world.directory, 'reconciliation');
    const { code, err } = await world.reconcile([]);
    lock.release();
    expect([code, err]).toEqual([2, expect.stringMatching(/another reconciliation is running in/)]);
    expect((await world.reconcile([])).code).toBe(0);
  });

  it('is cleared of what a killed run left', async () => {
    const world = await createWorld();
    writeFileSync(join(world.directory, `${CSV}.tmp`), 'item,cl');
    writeFileSync(join(world.directory, CSV), 'an earlier attempt');
    expect((await world.reconcile([])).code).toBe(0);
    expect(existsSync(join(world.directory, `${CSV}.tmp`))).toBe(false);
    expect(filesIn(world.directory)[CSV]).toMatch(/end,0,/);
  });

  it('warns if the journal begins after the day, because its entries may be archived', async () => {
    const world = await createWorld();
    await world.pay({ id: 'a', atMs: MIDNIGHT_MS + 1 });
    const { err } = await world.reconcile([billed({ id: 'a' })]);
    expect(err).toMatch(/^The journal of shop begins at 2025-06-09T16:00:00.001Z, .* give --decisions/);
    expect((await world.reconcile([], '--day', '2025-06-11')).err).toBe('');
  });

  it('says so if the journal lost what an earlier day left settling', async () => {
    const world = await createWorld();
    await fill(world);
    await world.reconcile([]);
    const untilMs = MIDNIGHT_MS + 72 * HOUR_MS;
    const end = { end: 'countersign-export', untilMs: { shop: untilMs, vault: untilMs } };
    const file = world.write('decisions.jsonl', `${JSON.stringify(end)}\n`);
    const { code, err } = await world.reconcile([], '--day', '2025-06-11', '--decisions', file);
    expect(code).toBe(2);
    expect(err).toMatch(
      /the journal of shop has no approval of payment:settles, which item 1\/\d+ left settling/,
    );
  });
});

function change(directory: string, from: string, to: string): void {
  const path = join(directory, RECORD);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  writeFileSync(path, text.replace(from, to));
}
