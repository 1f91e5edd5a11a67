import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { DAY, NOON_MS, type World, billed, createWorld, filesIn, jsonBill } from './world.ts';

const CHILD = fileURLToPath(new URL('./run-child.ts', import.meta.url));
const CLOCK_MS = Date.UTC(2025, 5, 15);

interface Killed {
  readonly world: World;
  readonly start: (directory: string, killAt: number) => ChildProcess;
  readonly directoryOf: (name: string) => string;
}

/** A day with orders of several classes, and how to reconcile it in a process of its own. */
async function prepare(orders: number): Promise<Killed> {
  const world = await createWorld();
  const ids = Array.from({ length: orders }, (_, index) => `o-${index}`);
  await Promise.all(ids.map((id) => world.pay({ id })));
  const decisions = join(world.folder, 'decisions.jsonl');
  await world.run('decisions', 'export', '--to', decisions, '--end-line');
  const rows = [...ids.slice(1), 'unknown', ids[2] ?? ''].map((id) => billed({ id, atMs: NOON_MS }));
  const bill = world.write('bill.jsonl', jsonBill(rows));
  return {
    world,
    start: (directory, killAt) =>
      spawn(process.execPath, [CHILD, decisions, bill, directory, String(killAt), DAY, String(CLOCK_MS)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    directoryOf(name) {
      const directory = join(world.folder, name);
      mkdirSync(directory);
      return directory;
    },
  };
}

async function ended(child: ChildProcess): Promise<{ readonly signal: unknown; readonly out: string }> {
  const [out, [, signal]] = await Promise.all([
    child.stdout === null ? '' : text(child.stdout),
    once(child, 'close') as Promise<[number | null, string | null]>,
  ]);
  return { signal, out };
}

describe('a run that is killed', () => {
  it('at any point of reading leaves no run, and the next run has the same bytes', async () => {
    const { start, directoryOf } = await prepare(3);
    const whole = directoryOf('whole');
    const { out } = await ended(start(whole, 0));
    const points = Number(out);
    // The entries, the bill, the look-up of the unknown order, and the readings of the clock.
    expect(points).toBeGreaterThan(8);
    const directory = directoryOf('killed');
    for (let point = 1; point <= points; point++) {
      expect(await ended(start(directory, point))).toMatchObject({ signal: 'SIGKILL' });
      expect(readdirSync(directory).filter((name) => name.endsWith('.json'))).toEqual([]);
    }
    expect(await ended(start(directory, 0))).toMatchObject({ signal: null });
    expect(filesIn(directory)).toEqual(filesIn(whole));
  });

  it('while it writes leaves a whole run or none', async () => {
    const { start, directoryOf } = await prepare(2000);
    const whole = directoryOf('whole');
    await ended(start(whole, 0));
    for (const ending of ['.csv.tmp', '.csv', '.json']) {
      const directory = directoryOf(`killed${ending}`);
      const child = start(directory, 0);
      const closed = ended(child);
      await eventually(`a file with ${ending}`, () =>
        readdirSync(directory).some((name) => name.endsWith(ending) || name.endsWith('.json'))
          ? true
          : undefined,
      );
      child.kill('SIGKILL');
      await closed;
      await ended(start(directory, 0));
      expect(filesIn(directory)).toEqual(filesIn(whole));
    }
  });
});
