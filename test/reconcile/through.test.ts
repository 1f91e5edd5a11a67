import { describe, expect, it } from 'vitest';

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { DAY, HOUR_MS, NOON_MS, type World, createWorld, filesIn } from './world.ts';

const NEXT_DAY = '2025-06-11';
const LAST_DAY = '2025-06-12';

/** Three days of a co-signer, which has no bill. On the second one nothing was signed. */
async function threeDays(): Promise<World> {
  const world = await createWorld();
  for (const [index, id] of ['a', 'b', 'c'].entries()) {
    const atMs = NOON_MS + 24 * index * HOUR_MS;
    await world.approve({ id, atMs });
    if (id !== 'b') await world.sign({ id, txid: `0x${id}`, atMs: atMs + 1 });
  }
  return world;
}

const vault = (world: World, ...argv: readonly string[]) =>
  world.run('reconcile', '--source', 'vault', '--directory', world.directory, ...argv);

const runsIn = ({ directory }: World): readonly string[] =>
  Object.keys(filesIn(directory)).filter((name) => name.endsWith('.json'));

describe('reconcile --through', () => {
  it('reconciles every day that has no run, in order, and prints a line for each without its items', async () => {
    const world = await threeDays();
    const ran = await vault(world, '--through', LAST_DAY, '--first-day', DAY, '--json');
    expect(ran.code).toBe(1);
    const lines = ran.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { run: 1, day: DAY, ok: true, open: 0, classes: { matched: 1 }, unexplained: 0 },
      { run: 2, day: NEXT_DAY, ok: false, open: 1, classes: { 'approved-not-signed': 1 }, unexplained: 1 },
      { run: 3, day: LAST_DAY, ok: true, open: 0, classes: { matched: 1 }, unexplained: 0 },
    ]);
    for (const line of lines) expect(Object.keys(line)).not.toContain('exceptions');
    const again = await vault(world, '--through', LAST_DAY, '--first-day', DAY, '--json');
    expect([again.code, again.out]).toEqual([0, '']);
    expect(runsIn(world)).toHaveLength(3);
  });

  it('continues after the last run, whatever the first day', async () => {
    const world = await threeDays();
    await vault(world, '--day', DAY);
    await vault(world, '--through', NEXT_DAY, '--first-day', '2025-06-01');
    expect(runsIn(world)).toEqual([`00000001-run-${DAY}.json`, `00000002-run-${NEXT_DAY}.json`]);
  });

  it('begins an empty directory with its own day unless a first day is given', async () => {
    const world = await threeDays();
    await vault(world, '--through', NEXT_DAY);
    expect(runsIn(world)).toEqual([`00000001-run-${NEXT_DAY}.json`]);
  });

  it('repeats the days that rest on a replaced run', async () => {
    const world = await threeDays();
    await vault(world, '--through', LAST_DAY, '--first-day', DAY);
    await vault(world, '--day', DAY, '--settle', '2h');
    await vault(world, '--through', LAST_DAY);
    expect(runsIn(world).slice(3)).toEqual([
      `00000004-run-${DAY}.json`,
      `00000005-run-${NEXT_DAY}.json`,
      `00000006-run-${LAST_DAY}.json`,
    ]);
  });

  it('keeps the days before one that fails', async () => {
    const world = await threeDays();
    const ran = await vault(world, '--through', '2025-06-15', '--first-day', '2025-06-13');
    expect([ran.code, ran.err]).toEqual([
      2,
      expect.stringMatching(/2025-06-15 and its settle time are not over/),
    ]);
    expect(runsIn(world)).toEqual(['00000001-run-2025-06-13.json', '00000002-run-2025-06-14.json']);
  });

  it.each([
    [['--day', DAY], /--day is about one day. Give it without --through/],
    [['--bill', 'shop.csv'], /--bill is about one day/],
    [['--bill-count', '3'], /--bill-count is about one day/],
    [['--through', 'yesterday'], /yesterday is not a day/],
    [['--first-day', '2025-6-1'], /2025-6-1 is not a day/],
  ])('refuses %j', async (argv, message) => {
    const world = await createWorld();
    const ran = await vault(world, '--through', NEXT_DAY, ...argv);
    expect([ran.code, ran.err]).toEqual([2, expect.stringMatching(message)]);
    expect(runsIn(world)).toEqual([]);
  });

  it('and --day take directory, zone and settle time from the settings', async () => {
    const world = await threeDays();
    const path = join(world.folder, 'settings.yaml');
    const settings = parse(readFileSync(path, 'utf8')) as object;
    const reconcile = { directory: 'runs', zone: 'UTC', settleMinutes: '120', firstDay: NEXT_DAY };
    const platform = { url: 'http://127.0.0.1:9' };
    world.write('settings.yaml', stringify({ ...settings, platform, reconcile }));
    const ran = await world.run('reconcile', '--source', 'vault', '--through', NEXT_DAY, '--json');
    expect(ran.json()).toMatchObject({ run: 1, day: NEXT_DAY, zone: 'UTC', settleMs: 2 * HOUR_MS });
  });
});

describe('reconcile show', () => {
  it('says that nothing was reconciled', async () => {
    const world = await createWorld();
    const ran = await world.run('reconcile', 'show', '--directory', world.directory);
    expect([ran.code, ran.out]).toEqual([0, 'No day was reconciled.\n']);
    const json = await world.run('reconcile', 'show', '--directory', world.directory, '--json');
    expect(json.json()).toEqual({ days: 0, last: null, next: null, open: 0, classes: {}, exceptions: [] });
  });

  it('lists the open exceptions of all days, and no other', async () => {
    const world = await threeDays();
    await world.approve({ id: 'd', atMs: NOON_MS + 48 * HOUR_MS + 5 });
    await vault(world, '--through', LAST_DAY, '--first-day', DAY);
    const show = (...argv: readonly string[]) =>
      world.run('reconcile', 'show', '--directory', world.directory, ...argv);
    const both = await show('--json');
    expect(both.code).toBe(1);
    expect(both.json()).toMatchObject({
      days: 3,
      last: { run: 3, day: LAST_DAY, unexplained: 1 },
      next: '2025-06-13',
      open: 2,
      classes: { 'approved-not-signed': 2 },
      exceptions: [
        { run: 2, day: NEXT_DAY, item: 1, id: 'b' },
        { run: 3, day: LAST_DAY, item: 1, id: 'd' },
      ],
    });
    expect((await show('--limit', '0', '--json')).json()).toMatchObject({ open: 2, exceptions: [] });
    expect((await show('--limit', '1')).out).toMatch(
      /2 open exceptions:\n2025-06-11 +2\/1 +approved-not-signed +vault\/b .*\nand 1 more; give --limit\n$/,
    );
    await world.run(
      'reconcile',
      'close',
      '2',
      '1',
      '--directory',
      world.directory,
      '--message',
      'sent later',
    );
    expect((await show('--json')).json()).toMatchObject({ open: 1, exceptions: [{ id: 'd' }] });
    await world.run(
      'reconcile',
      'close',
      '3',
      '1',
      '--directory',
      world.directory,
      '--message',
      'sent later',
    );
    const none = await show();
    expect([none.code, none.out]).toEqual([0, expect.stringMatching(/No exception is open\.\n$/)]);
  });

  it('counts a replaced run no more', async () => {
    const world = await threeDays();
    await vault(world, '--day', NEXT_DAY);
    await world.sign({ id: 'b', txid: '0xb', atMs: NOON_MS + 49 * HOUR_MS });
    await vault(world, '--day', NEXT_DAY, '--settle', '2h');
    const { out } = await world.run('reconcile', 'show', '--directory', world.directory, '--json');
    expect(JSON.parse(out)).toMatchObject({ days: 1, last: { run: 2 }, open: 1, exceptions: [{ run: 2 }] });
  });

  it('refuses a directory that was changed', async () => {
    const world = await threeDays();
    await vault(world, '--day', DAY);
    world.write(`runs/00000001-run-${DAY}.json`, '{}');
    const ran = await world.run('reconcile', 'show', '--directory', world.directory);
    expect([ran.code, ran.err]).toEqual([
      2,
      expect.stringMatching(/STORE_CORRUPT: the reconciliation is damaged/),
    ]);
  });

  it('needs a directory', async () => {
    const world = await createWorld();
    const ran = await world.run('reconcile', 'show');
    expect([ran.code, ran.err]).toEqual([2, expect.stringMatching(/--directory is missing/)]);
  });
});
