import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import type { Ran } from '../cli/terminal.ts';
import { HOUR_MS, MIDNIGHT_MS, NOON_MS, type World, billed, createWorld } from './world.ts';

/** When the day and its settle time are over. */
const NEEDED_MS = MIDNIGHT_MS + 25 * HOUR_MS;
const DAY_END_MS = MIDNIGHT_MS + 24 * HOUR_MS;

/** A day of payments and withdrawals; later entries of both sources unless they are `quiet`. */
async function filled(redis: string | undefined, { quiet = false } = {}): Promise<World> {
  const world = await createWorld(redis);
  for (const [index, id] of ['a', 'b', 'c'].entries()) {
    const atMs = NOON_MS + index * HOUR_MS;
    await world.pay({ id, atMs });
    await world.approve({ id: `w-${id}`, atMs: atMs + 1 });
    await world.sign({ id: `w-${id}`, txid: `0x${id}`, atMs: atMs + 2 });
  }
  if (quiet) return world;
  await world.refuse({ id: 'later', atMs: NEEDED_MS });
  await world.approve({ id: 'w-later', atMs: NEEDED_MS });
  return world;
}

const ROWS = ['a', 'b', 'c'].map((id) => billed({ id }));

async function exported(world: World, ...argv: readonly string[]): Promise<readonly string[]> {
  const { code, out, err } = await world.run('decisions', 'export', ...argv);
  expect([code, err]).toEqual([0, '']);
  return out.trimEnd().split('\n');
}

/** Reconciles with lines as the file, in a directory of its own. */
async function reconciled(world: World, lines: readonly string[], name: string): Promise<Ran> {
  const file = world.write(`${name}.jsonl`, lines.map((line) => `${line}\n`).join(''));
  const directory = join(world.folder, `runs-${name}`);
  mkdirSync(directory);
  return world.reconcile(ROWS, '--decisions', file, '--directory', directory, '--json');
}

const refusal = (ran: Ran): string => {
  const { error } = ran.json() as { readonly error?: { readonly message: string } };
  expect(ran.code).toBe(2);
  return error?.message ?? '';
};

describe.each(['embedded', 'redis'] as const)('an export of the %s store', (kind) => {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());

  it('that was cut off between two lines is refused, wherever that was', async () => {
    const world = await filled(redis?.url);
    const lines = await exported(world, '--end-line');
    const whole = await reconciled(world, lines, 'whole');
    expect([whole.code, whole.json()]).toMatchObject([0, { classes: { matched: 6 } }]);
    // The last entries of both sources are after the day and its settle time, so the end line is not needed.
    const proven = lines.length - 1;
    expect((await reconciled(world, lines.slice(0, proven), 'proven')).out).toBe(whole.out);
    for (let count = 0; count < proven; count++) {
      const ran = await reconciled(world, lines.slice(0, count), `cut-${count}`);
      expect(refusal(ran)).toMatch(
        /^\S+\/cut-\d+\.jsonl: its entries of (?:shop|vault) (?:end at \S+|are missing), and the day and its /,
      );
    }
  });

  it('of sources that were quiet since is complete only with its end line', async () => {
    const world = await filled(redis?.url, { quiet: true });
    const lines = await exported(world, '--end-line');
    expect((await reconciled(world, lines, 'whole')).code).toBe(0);
    const without = await exported(world);
    expect(without).toEqual(lines.slice(0, -1));
    expect(refusal(await reconciled(world, without, 'without'))).toMatch(
      /its entries of shop end at 2025-06-10T06:00:00.000Z, and the day and its settle time are over at 2025-06-10T17:00:00.000Z\. .* --end-line/,
    );
  });

  it('that was made before the day and its settle time were over is refused, also with an end line', async () => {
    const world = await filled(redis?.url);
    const until = new Date(NEEDED_MS - 1).toISOString();
    const early = await exported(world, '--end-line', '--until', until);
    expect(refusal(await reconciled(world, early, 'early'))).toContain(
      'its entries of shop end at 2025-06-10T16:59:59.999Z',
    );
    const inTime = await exported(world, '--end-line', '--until', new Date(NEEDED_MS).toISOString());
    expect((await reconciled(world, inTime, 'in-time')).code).toBe(0);
  });

  it('with --limit has no end line if it was cut off by it', async () => {
    const world = await filled(redis?.url, { quiet: true });
    const lines = await exported(world, '--end-line', '--limit', '3');
    expect(lines).toHaveLength(3);
    expect((await exported(world, '--end-line', '--limit', '9')).at(-1)).toContain('"end"');
  });

  it('proves nothing about a source that it does not have', async () => {
    const world = await filled(redis?.url, { quiet: true });
    const shop = await exported(world, '--end-line', '--source', 'shop');
    expect(refusal(await reconciled(world, shop, 'shop'))).toContain('its entries of vault are missing');
    const vault = await exported(world, '--end-line', '--source', 'vault');
    expect((await reconciled(world, [...shop, ...vault], 'both')).code).toBe(0);
  });

  it('that is continued has an end line for each run, and other commands read it', async () => {
    const world = await filled(redis?.url, { quiet: true });
    const file = join(world.folder, 'journal.jsonl');
    const early = new Date(NOON_MS + HOUR_MS).toISOString();
    await exported(world, '--to', file, '--end-line', '--until', early);
    await exported(world, '--to', file, '--end-line');
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('{"end":'))).toHaveLength(2);
    expect((await reconciled(world, lines, 'continued')).code).toBe(0);
    const backtest = await world.run('policy', 'backtest', '--from-file', file, '--json');
    expect([backtest.code, backtest.err]).toEqual([expect.any(Number), '']);
    expect(backtest.out).not.toContain('"error"');
    // Cut off within the last end line: the next export writes it again.
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, -9));
    expect((await world.run('decisions', 'export', '--to', file, '--end-line')).err).toBe(
      'The last line was incomplete. It is written again.\n',
    );
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toEqual([
      ...lines.slice(0, -1),
      expect.any(String),
    ]);
  });

  it('has no end line for a source whose entries may be missing in the file', async () => {
    const world = await filled(redis?.url);
    const file = join(world.folder, 'journal.jsonl');
    await exported(world, '--to', file, '--until', new Date(DAY_END_MS).toISOString());
    const archive = join(world.folder, 'archive');
    mkdirSync(archive);
    await world.run('journal', 'archive', '--to', archive, '--older-than', '1h');
    const { err } = await world.run('decisions', 'export', '--to', file, '--end-line');
    expect(err).toContain('The journal no longer has shop/');
    expect(readFileSync(file, 'utf8').trimEnd().split('\n').at(-1)).toContain('"untilMs":{}');
  });
});

describe('an export of an archive', () => {
  async function archived(): Promise<{ readonly world: World; readonly archive: string }> {
    const world = await filled(undefined);
    await world.refuse({ id: 'newest', atMs: NEEDED_MS + HOUR_MS });
    await world.approve({ id: 'w-newest', atMs: NEEDED_MS + HOUR_MS });
    const archive = join(world.folder, 'archive');
    mkdirSync(archive);
    expect((await world.run('journal', 'archive', '--to', archive, '--older-than', '1h')).code).toBe(0);
    return { world, archive };
  }
  const read = async (world: World, ...argv: readonly string[]): Promise<readonly string[]> => {
    const { out } = await world.run('journal', 'export', ...argv);
    return out.trimEnd().split('\n');
  };

  it('is refused if it was cut off, wherever that was', async () => {
    const { world, archive } = await archived();
    const lines = await read(world, archive, '--end-line');
    expect((await reconciled(world, lines, 'whole')).code).toBe(0);
    for (let count = 0; count < lines.length - 1; count++) {
      const name = `cut-${count}`;
      expect(refusal(await reconciled(world, lines.slice(0, count), name))).toContain('its entries of');
    }
  });

  it('is complete up to the last entry of each source, or to --until', async () => {
    const { world, archive } = await archived();
    expect(JSON.parse((await read(world, archive, '--end-line')).at(-1) ?? '')).toEqual({
      end: 'countersign-export',
      untilMs: { shop: NEEDED_MS, vault: NEEDED_MS },
    });
    const until = ['--until', new Date(DAY_END_MS).toISOString()];
    expect(JSON.parse((await read(world, archive, '--end-line', ...until)).at(-1) ?? '')).toMatchObject({
      untilMs: { shop: DAY_END_MS, vault: DAY_END_MS },
    });
  });

  it('can be completed with what the store still has', async () => {
    const { world, archive } = await archived();
    const old = await read(world, archive, '--end-line', '--until', new Date(DAY_END_MS).toISOString());
    expect(refusal(await reconciled(world, old, 'old'))).toContain('its entries of shop end at');
    const rest = await exported(world, '--end-line');
    const all = await read(world, archive);
    expect((await reconciled(world, [...all, ...rest], 'all')).code).toBe(0);
  });

  it.each([
    ['--subject', 'payment:a'],
    ['--id', 'shop/1'],
  ])('has no end line with %s', async (...argv) => {
    const { world, archive } = await archived();
    const { code, err } = await world.run('journal', 'export', archive, '--end-line', ...argv);
    expect([code, err]).toEqual([2, expect.stringMatching(/--end-line is about all entries/)]);
  });
});

describe('an end line', () => {
  it.each([
    ['without a time', '{"end":"countersign-export"}'],
    ['with a text for a time', '{"end":"countersign-export","untilMs":{"shop":"1749574800000"}}'],
    ['of another program', '{"end":"journal","untilMs":{}}'],
  ])('%s is refused', async (_, line) => {
    const world = await filled(undefined);
    const lines = [...(await exported(world)), line];
    expect(refusal(await reconciled(world, lines, 'wrong'))).toMatch(
      /line \d+: it is not an entry of the journal/,
    );
  });
});
