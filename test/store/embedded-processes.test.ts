import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { COMMAND_WAIT } from '../../src/store/embedded/lock.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { request, units, usedOf, windowClaim, thaw } from './requests.ts';

const CHILD = fileURLToPath(new URL('./embedded-child.ts', import.meta.url));

function start(path: string, name: string, max: string): ChildProcess {
  const child = spawn(process.execPath, [CHILD, path, name, max], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** The lines of a child up to `count`, upon which it is killed; then those that it had still printed. */
async function killedAfter(child: ChildProcess, count: number): Promise<readonly string[]> {
  const lines: string[] = [];
  if (child.stdout === null) throw new Error('the child has no output');
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (lines.length === count) child.kill('SIGKILL');
  }
  if (child.signalCode === null && child.exitCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  return lines;
}

async function wholeJournal(store: Store): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  for (;;) {
    const page = await store.entries({ source: 'shop', after: found.at(-1)?.id ?? '', limit: 1000 });
    if (page.length === 0) return found;
    found.push(...page);
  }
}

describe('several processes on one embedded store', () => {
  it('lose no acknowledged decision when they are killed, and pass no limit together', async () => {
    const path = temporaryPath();
    const max = '700';
    await (await readied(await openEmbeddedStore({ path }))).close();
    const printed = await Promise.all(['a', 'b'].map((name) => killedAfter(start(path, name, max), 500)));
    const acknowledged = printed.flat().map((line) => line.split(' '));
    expect(acknowledged.length).toBeGreaterThanOrEqual(1000);

    const store = await openEmbeddedStore({ path });
    onTestFinished(() => store.close());
    for (const [id = '', subject = '', verdict = ''] of acknowledged) {
      expect(await store.entry('shop', id)).toMatchObject({ type: 'decision', subject, verdict });
    }
    for (const [id = '', subject = '', verdict = ''] of acknowledged.slice(-50)) {
      const claims = [windowClaim('1', max)];
      expect(await store.settle(request({ subject, claims }))).toMatchObject({
        outcome: 'repeated',
        of: id,
        verdict,
      });
    }
    const entries = await wholeJournal(store);
    const approved = entries.filter((entry) => entry.type === 'decision' && entry.verdict === 'SUCCESS');
    expect(approved).toHaveLength(700);
    expect(await usedOf(store)).toBe(units('700'));
    expect(await store.journalSize('shop')).toBe(entries.length + 1);
    const times = entries.map((entry) => entry.atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('may create the file at the same time', async () => {
    const path = temporaryPath('new', 'store.db');
    const children = ['a', 'b', 'c'].map((name) => start(path, name, '0'));
    const store = await openEmbeddedStore({ path });
    onTestFinished(() => store.close());
    await readied(store);
    await Promise.all(children.map((child) => killedAfter(child, 1)));
    expect(await store.journalSize('shop')).toBeGreaterThanOrEqual(3);
  });

  it('give a freeze its turn while another one writes without a pause', async () => {
    const path = temporaryPath();
    const store = await readied(await openEmbeddedStore({ path, lockWait: COMMAND_WAIT }));
    const child = start(path, 'a', '0');
    if (child.stdout === null) throw new Error('the child has no output');
    let lines = 0;
    createInterface(child.stdout).on('line', () => (lines += 1));
    await eventually('the other process writes at its full speed', () => (lines > 500 ? true : undefined));
    for (let round = 0; round < 20; round++) {
      const before = lines;
      const { control } = await store.freeze({ reason: 'drill', by: 'ada' });
      expect(control).toMatchObject({ frozen: [{ by: 'ada' }] });
      expect(await thaw(store)).toMatchObject({ frozen: [] });
      await eventually('the other process goes on', () => (lines > before ? true : undefined));
    }
  });
});
