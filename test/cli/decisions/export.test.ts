import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { openStore } from '../../../src/start/store.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { createSecrets } from '../../../src/settings/secrets.ts';
import { systemClock } from '../../../src/values/clock.ts';
import { isPriceChange } from '../../../src/journal/record.ts';
import { readRecordFile } from '../../../src/simulation/record-file.ts';
import { parseAmount } from '../../../src/values/amount.ts';
import { eventually } from '../../eventually.ts';
import { startRedisServer } from '../../redis-server.ts';
import { PROGRAM } from '../../service-process.ts';
import { place, reports, runCall } from '../terminal.ts';
import { DAY_MS, type Filled, NOW_MS, filled } from '../filled.ts';

/** Ten days ago a list and a price, then refusals at five, three and one day ago, with changes between. */
async function history(): Promise<Filled> {
  const filling = await filled();
  const { store, at, refuse } = filling;
  const who = { by: 'ada', message: '' };
  const price = (text: string) => ({
    asset: 'BTC',
    price: parseAmount(text) ?? 0n,
    asOfMs: NOW_MS - 11 * DAY_MS,
  });
  at(10);
  await store.changeList({ source: 'shop', list: 'blocked', add: ['666'], remove: [], ...who });
  await store.changePrices({ set: [price('97000.5')], remove: [], by: 'ada' });
  at(5);
  await refuse('shop', { note: 'five' });
  at(4);
  await store.expectOrder({
    source: 'shop',
    subject: 'payment:1',
    members: { userId: '1' },
    expiresAtMs: NOW_MS,
    by: 'ada',
  });
  at(3);
  await refuse('vault', { note: 'three' });
  at(2);
  await store.changePrices({ set: [], remove: ['BTC'], by: 'ada' });
  at(1);
  await refuse('shop', { note: 'one' });
  return filling;
}

const line = z.looseObject({
  id: z.string(),
  source: z.string(),
  type: z.string(),
  detail: z.looseObject({ note: z.string().optional() }),
});
const linesOf = (text: string): readonly z.output<typeof line>[] =>
  text
    .split('\n')
    .filter((each) => each !== '')
    .map((each) => line.parse(JSON.parse(each)));
const told = (text: string): readonly string[] =>
  linesOf(text).map(({ type, detail }) => detail.note ?? type);

describe('decisions export', () => {
  it('has all sources and the prices by time', async () => {
    const { run } = await history();
    const { code, out } = await run`decisions export`;
    expect(code).toBe(0);
    expect(told(out)).toEqual(['prices', 'list', 'five', 'order', 'three', 'prices', 'one']);
    expect(linesOf(out)[0]).toEqual({
      id: 'v1',
      source: '',
      atMs: NOW_MS - 10 * DAY_MS,
      type: 'prices',
      detail: {
        version: 1,
        set: [{ asset: 'BTC', price: '97000.5', asOf: '2025-06-04T12:00:00.000Z' }],
        remove: [],
        by: 'ada',
      },
    });
  });

  it('--since has the state from before first, and nothing else from before', async () => {
    const { run } = await history();
    const since = async (...args: readonly string[]): Promise<readonly string[]> =>
      told((await run`decisions export --since 60h ${args}`).out);
    expect(await since()).toEqual(['prices', 'list', 'order', 'prices', 'one']);
    expect(await since('--warm-up', '12h')).toEqual(['prices', 'list', 'order', 'three', 'prices', 'one']);
    expect(await since('--warm-up', '3d')).toEqual([
      'prices',
      'list',
      'five',
      'order',
      'three',
      'prices',
      'one',
    ]);
    expect(await since('--no-state')).toEqual(['prices', 'one']);
    expect(await since('--until', '36h')).toEqual(['prices', 'list', 'order', 'prices']);
    expect(await since('--source', 'vault')).toEqual(['prices', 'prices']);
  });

  it('is read back by a backtest, prices exact', async () => {
    const { run, folder } = await history();
    const file = join(folder, 'record.jsonl');
    await run`decisions export --to ${file}`;
    const items = [...readRecordFile(file)];
    expect(items.map((item) => (isPriceChange(item) ? 'prices' : item.type))).toEqual(
      told(readFileSync(file, 'utf8')).map((each) =>
        ['five', 'three', 'one'].includes(each) ? 'refused' : each,
      ),
    );
    expect(items[0]).toEqual({
      version: 1,
      atMs: NOW_MS - 10 * DAY_MS,
      set: [{ asset: 'BTC', price: parseAmount('97000.5'), asOfMs: NOW_MS - 11 * DAY_MS }],
      remove: [],
      by: 'ada',
    });
  });

  it('--after goes on with the prices of the same millisecond and later', async () => {
    const { run } = await history();
    const { out } = await run`decisions export --source shop`;
    const five = linesOf(out).find(({ detail }) => detail.note === 'five');
    const rest = await run`decisions export --source shop --after ${five?.id ?? ''}`;
    expect(told(rest.out)).toEqual(['order', 'prices', 'one']);
  });
});

describe('decisions export --to', () => {
  it('appends what is new, of each source and of the prices', async () => {
    const { run, folder, at, refuse, store } = await history();
    const file = join(folder, 'record.jsonl');
    expect((await run`decisions export --to ${file}`).out).toContain('7 lines appended');
    expect((await run`decisions export --to ${file}`).out).toContain('0 lines appended');
    at(0);
    await refuse('vault', { note: 'new' });
    await store.changePrices({
      set: [{ asset: 'ETH', price: 1n, asOfMs: NOW_MS }],
      remove: [],
      by: 'ada',
    });
    const { code, json } = await run`decisions export --to ${file} --json`;
    expect({ code, json: json() }).toEqual({ code: 0, json: { lines: 2, to: file } });
    expect(readFileSync(file, 'utf8')).toBe((await run`decisions export`).out);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('goes on from any byte at which it was cut off', async () => {
    const { run, folder } = await history();
    const file = join(folder, 'record.jsonl');
    const args = ['decisions', 'export', '--since', '6d', '--to', file] as const;
    await run(...args);
    const whole = readFileSync(file, 'utf8');
    const cuts = Array.from({ length: 40 }, (_, n) => Math.floor((n * whole.length) / 40));
    for (const cut of [...cuts, whole.length - 1, ...lineEnds(whole)]) {
      truncateSync(file, cut);
      expect((await run(...args)).code).toBe(0);
      expect(readFileSync(file, 'utf8')).toBe(whole);
    }
  });

  it('leaves nothing out where --since has moved on since the first run', async () => {
    const { run, runWith, folder } = await history();
    const file = join(folder, 'record.jsonl');
    await run`decisions export --since 6d --to ${file}`;
    const whole = readFileSync(file, 'utf8');
    truncateSync(file, whole.indexOf('"note":"five"') + 30);
    const later = runWith({ clock: () => NOW_MS + 5 * DAY_MS });
    await later`decisions export --since 6d --to ${file}`;
    expect(readFileSync(file, 'utf8')).toBe(whole);
  });

  it.each([
    ['a text of others', 'shopping list\n', 'line 1 was not written by an export'],
    ['half a line of others', 'shopping list', 'line 1 was not written by an export'],
    [
      'a line of others in between',
      `{"id":"1","source":"shop","atMs":1,"type":"list"}\nnot ours\n`,
      'line 2',
    ],
    ['a line that was cut and written over', `{"id":"1","source":"shop","atMs":1,"ty\n`, 'line 1'],
    [
      'two exports in one file',
      `{"id":"2","source":"shop","atMs":2,"type":"list"}\n{"id":"1","source":"shop","atMs":1,"type":"list"}\n`,
      'line 2: shop/1 is older than the entry of shop before it',
    ],
  ])('leaves %s alone: 2', async (_, text, said) => {
    const { run, folder } = place();
    const file = join(folder, 'mine.txt');
    writeFileSync(file, text);
    expect(await run`decisions export --to ${file}`).toMatchObject(reports(2, said));
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('leaves the export of another store alone: 2', async () => {
    const { run, folder } = await history();
    const file = join(folder, 'record.jsonl');
    await run`decisions export --to ${file}`;
    const text = readFileSync(file, 'utf8').replaceAll(/"atMs":\d+/g, '"atMs":7');
    writeFileSync(file, text);
    expect(await run`decisions export --to ${file}`).toMatchObject(reports(2, 'it is of another store'));
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('tells if the journal has forgotten where the file ends, and goes on', async () => {
    const { run, folder } = await history();
    const file = join(folder, 'record.jsonl');
    const gone = '{"id":"999999","source":"vault","atMs":1,"type":"refused"}\n';
    writeFileSync(file, gone);
    expect(await run`decisions export --to ${file}`).toMatchObject(
      reports(0, 'The journal no longer has vault/999999'),
    );
    expect(told(readFileSync(file, 'utf8').slice(gone.length))).not.toContain('three');
  });

  it.each([
    ['a directory', '.', 'not a plain file'],
    ['a file in a folder that is not there', 'none/record.jsonl', 'ENOENT'],
  ])('%s: 2', async (_, name, said) => {
    const { run, folder } = place();
    const { code, err } = await run`decisions export --to ${join(folder, name)}`;
    expect(code).toBe(2);
    expect(err).toMatch(new RegExp(`--to .*(${said}|EISDIR)`));
  });

  it('takes no --after: 2', async () => {
    const { run, folder } = place();
    const file = join(folder, 'record.jsonl');
    const { code, err } = await run`decisions export --to ${file} --source shop --after 1`;
    expect(code).toBe(2);
    expect(err).toContain('Leave --after out');
  });
});

const lineEnds = (text: string): readonly number[] => [...text.matchAll(/\n/g)].map(({ index }) => index + 1);

describe.each(['embedded', 'redis'] as const)('an export that is cut off, on %s', (kind) => {
  it('goes on where it was', async () => {
    const server = kind === 'redis' ? await startRedisServer() : undefined;
    onTestFinished(() => server?.stop());
    const { run, folder } = place(server === undefined ? {} : { redis: server.url });
    const { store: settings } = loadSettings({ file: join(folder, 'settings.yaml'), env: {} });
    const store = await openStore(settings, createSecrets({ env: {} }).read, systemClock);
    onTestFinished(() => store.close());
    await store.register(['shop', 'vault']);
    const runNow = (...args: readonly string[]) =>
      runCall([...args, '--config', join(folder, 'settings.yaml')], { clock: systemClock });
    for (let n = 0; n < 30; n++) {
      const source = n % 3 === 0 ? 'vault' : 'shop';
      await store.record({
        source,
        type: 'refused',
        subject: '',
        verdict: 'FAILURE',
        code: '',
        of: '',
        detail: `{"n":${n}}`,
      });
      if (n % 5 === 0)
        await store.changePrices({
          set: [{ asset: 'BTC', price: BigInt(n + 1), asOfMs: n }],
          remove: [],
          by: 'ada',
        });
    }
    const file = join(folder, 'record.jsonl');
    expect((await runNow('decisions', 'export', '--to', file)).code).toBe(0);
    const whole = readFileSync(file, 'utf8');
    expect([...readRecordFile(file)]).toHaveLength(36);
    for (let cut = 0; cut <= whole.length; cut += Math.floor(whole.length / 15)) {
      truncateSync(file, cut);
      expect((await runNow('decisions', 'export', '--to', file)).code).toBe(0);
      expect(readFileSync(file, 'utf8')).toBe(whole);
    }
    await run`list add --create blocked 7 --source shop --message fraud`;
    expect((await runNow('decisions', 'export', '--to', file)).out).toContain('1 line appended');
  });
});

describe('an export that is killed', () => {
  it('and run again, again and again, has every entry once and in order', async () => {
    const { run, folder, refuse } = await filled();
    const padding = 'x'.repeat(4000);
    for (let n = 0; n < 6000; n += 200) {
      const batch = Array.from({ length: 200 }, (_, i) =>
        refuse((n + i) % 3 === 0 ? 'vault' : 'shop', { note: `${n + i} ${padding}` }),
      );
      await Promise.all(batch);
    }
    const file = join(folder, 'record.jsonl');
    const size = (): number => (existsSync(file) ? statSync(file).size : 0);
    let kills = 0;
    for (const part of [200_000, 2_000_000, 9_000_000]) {
      if (await killedAt(folder, file, () => size() >= part)) kills++;
    }
    expect(kills).toBeGreaterThan(0);
    // As if it had been cut off in the middle of a line, which a kill between two writes seldom does.
    appendFileSync(file, '{"id":"');
    expect((await run`decisions export --to ${file}`).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe((await run`decisions export`).out);
  });
});

/** Runs an export in a process of its own and kills it once something is so; false if it was done before. */
async function killedAt(folder: string, file: string, isSo: () => boolean): Promise<boolean> {
  const args = [PROGRAM, 'decisions', 'export', '--to', file, '--config', join(folder, 'settings.yaml')];
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: { PATH: process.env['PATH'] } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  await eventually('the export has got so far', () => isSo() || child.exitCode !== null || undefined);
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL';
}
