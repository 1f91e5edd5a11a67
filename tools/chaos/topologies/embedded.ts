import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { type SmallDisk, mountSmallDisk } from '../disk.ts';
import { type Fault, HOUR_BACK, clockFault, receiverFaults } from '../faults.ts';
import { revisionOf } from '../policies.ts';
import { type Receiver, createReceiver, startAll } from '../receivers.ts';
import { type Topology, endings, storeOf } from '../topology.ts';

const ANSWER_TIMEOUT_MS = 2000;
/**
 * The store's time is that of the process that decides, and never runs backwards: whoever's clock was set
 * back writes entries of the time at which the others wrote last.
 */
const JOURNAL_LAG_MS = 60_000;
/** Below it no file of the store can be written anywhere. */
const NO_BYTES = 4096;

/** Receivers that share one file, on a disk of its own where one can be mounted. */
export async function startEmbedded(count: number): Promise<Topology> {
  const ending = endings();
  try {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-chaos-'));
    ending.add(() => rmSync(folder, { recursive: true, force: true }));
    const disk = mountSmallDisk(folder);
    if (disk !== undefined) ending.add(() => disk.unmount());
    const file = join(folder, 'store.db');
    const receivers = Array.from({ length: count }, (_, index) =>
      createReceiver({
        name: `receiver ${index + 1}`,
        policies: revisionOf(0).files,
        settings: { answerTimeoutMs: ANSWER_TIMEOUT_MS, store: `embedded:${file}` },
      }),
    );
    ending.add(() => Promise.all(receivers.map((receiver) => receiver.remove())));
    await startAll(receivers);
    const [first] = receivers;
    if (first === undefined) throw new Error('there is no receiver');
    const store = await storeOf(first);
    ending.add(() => store.close());
    return {
      name: 'embedded',
      receivers,
      store,
      faults: [
        ...receiverFaults(receivers),
        clockFault(receivers, HOUR_BACK),
        lockFault(file),
        ...(canLimitFiles() ? [limitFault(receivers)] : []),
        ...(disk === undefined ? [] : [diskFault(disk)]),
      ],
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      journalLagMs: JOURNAL_LAG_MS,
      stop: ending.run,
    };
  } catch (thrown) {
    await ending.run();
    throw thrown;
  }
}

const canLimitFiles = (): boolean => spawnSync('prlimit', ['--version']).status === 0;

const lockFault = (file: string): Fault => ({
  name: 'the store’s file locked by somebody',
  to: 'file',
  harmless: false,
  async begin() {
    const database = new DatabaseSync(file, { timeout: 0 });
    const locked = await isLockedBy(database);
    return () => {
      if (locked) database.exec('ROLLBACK');
      database.close();
      return Promise.resolve();
    };
  },
});

const LOCK_TRIES = 500;
const LOCK_EVERY_MS = 2;

/**
 * False where somebody else keeps it locked all the time, such as a receiver that was stopped in the middle
 * of a commit.
 */
async function isLockedBy(database: DatabaseSync): Promise<boolean> {
  for (let time = 0; time < LOCK_TRIES; time++) {
    try {
      database.exec('BEGIN IMMEDIATE');
      return true;
    } catch {
      await pause(LOCK_EVERY_MS);
    }
  }
  return false;
}

const limitFault = (receivers: readonly Receiver[]): Fault => ({
  name: 'no file may grow any more',
  // Who is killed meanwhile starts without the limit.
  to: 'receivers',
  harmless: false,
  begin() {
    for (const receiver of receivers) receiver.limitFiles(NO_BYTES);
    return Promise.resolve(() => {
      for (const receiver of receivers) receiver.limitFiles(undefined);
      return Promise.resolve();
    });
  },
});

const diskFault = (disk: SmallDisk): Fault => ({
  name: 'the disk full',
  to: 'file',
  harmless: false,
  begin() {
    disk.fill();
    return Promise.resolve(() => {
      disk.free();
      return Promise.resolve();
    });
  },
});
