import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type ArchiveStep, archiveSource } from '../../src/archive/archive.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { type ArchiveUnderTest, journalOf, onBothStores } from './stores.ts';

const CHILD = fileURLToPath(new URL('./archiver-child.ts', import.meta.url));
/** What the journal holds when a run begins. */
const ENTRIES = 60;
/** More points than any run has. */
const POINTS_MAX = 100;

/** Runs the archiver up to a point of the number given; true if it came to its end before. */
type RunUpTo = (under: ArchiveUnderTest, point: number) => Promise<boolean>;

/** In a process that kills itself there with SIGKILL. */
const killed: RunUpTo = async ({ place, directory, clock }, point) => {
  const args = [CHILD, JSON.stringify(place), directory, String(point), String(clock.nowMs)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (signal === 'SIGKILL') return false;
  expect(code).toBe(0);
  return true;
};

/** In this process, by a fault there; in several files, so that there are more points. */
const broken: RunUpTo = async ({ store, directory }, point) => {
  let points = 0;
  const reached = (): void => {
    if (++points === point) throw new Error('as far as here');
  };
  const task = {
    store: {
      entries: async (query: Parameters<typeof store.entries>[0]) => {
        const found = await store.entries(query);
        reached();
        return found;
      },
      dropEntries: async (drop: Parameters<typeof store.dropEntries>[0]) => {
        reached();
        const dropped = await store.dropEntries(drop);
        reached();
        return dropped;
      },
    },
    directory,
    source: 'shop',
    beforeMs: Number.MAX_SAFE_INTEGER,
    entriesMax: 20,
    onStep: (_step: ArchiveStep) => reached(),
  };
  try {
    await archiveSource(task);
    return true;
  } catch (thrown) {
    expect(thrown).toMatchObject({ message: 'as far as here' });
    return false;
  }
};

/** The ids of the archive, which must be whole, and of the journal. */
async function idsIn({ store, directory }: ArchiveUnderTest): Promise<{
  readonly archived: readonly string[];
  readonly kept: readonly string[];
}> {
  const archived: string[] = [];
  const { faults } = await verifyArchive([directory], ({ id }) => void archived.push(id));
  expect(faults).toEqual([]);
  return { archived, kept: (await journalOf(store)).map(({ id }) => id) };
}

/**
 * One run after the other, each to a later point than the one before, on what that left; and all ids that
 * there ever were.
 */
async function endedEverywhere(
  under: ArchiveUnderTest,
  runUpTo: RunUpTo,
): Promise<{ readonly point: number; readonly all: readonly string[] }> {
  const all: string[] = [...(await under.settle(ENTRIES))];
  for (let point = 1; point < POINTS_MAX; point++) {
    const ended = await runUpTo(under, point);
    const { archived, kept } = await idsIn(under);
    // In the archive, in the journal, or in both: each once, in order, and none is lost.
    expect(archived).toEqual(all.slice(0, archived.length));
    expect(kept).toEqual(all.slice(all.length - kept.length));
    expect(archived.length + kept.length).toBeGreaterThanOrEqual(all.length);
    if (ended) return { point, all };
    all.push(...(await under.settle(Math.max(5, ENTRIES - kept.length))));
  }
  throw new Error(`it was not at its end after ${POINTS_MAX} points`);
}

/** What is in the archive and in the journal is in the end all that there ever was, once. */
async function expectEach(under: ArchiveUnderTest, all: readonly string[]): Promise<void> {
  const { archived, kept } = await idsIn(under);
  expect([...archived, ...kept]).toEqual(all);
  expect(kept).toHaveLength(1);
}

onBothStores((open) => {
  it('an archiver that is killed at any point loses no entry and writes none twice', async () => {
    const under = await open();
    const { point, all } = await endedEverywhere(under, killed);
    await expectEach(under, all);
    expect(point).toBeGreaterThan(8);
  });

  it('nor does one that meets a fault at any point, in the midst of several files', async () => {
    const under = await open();
    const { point, all } = await endedEverywhere(under, broken);
    await expectEach(under, all);
    expect(point).toBeGreaterThan(30);
  });
});
