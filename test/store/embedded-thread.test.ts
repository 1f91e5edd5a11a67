import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Committer, createCommitter, startWriter } from '../../src/store/embedded/committer.ts';
import { createFileGuard, openDatabase } from '../../src/store/embedded/database.ts';
import { DEFAULT_RETENTION } from '../../src/store/retention.ts';
import { SERVICE_WAIT } from '../../src/store/embedded/lock.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { settleStepOf } from '../../src/store/settle-step.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { REVISION, START_MS, change, push, request, usedOf, windowClaim } from './requests.ts';

const LEFT_OPEN = fileURLToPath(new URL('./embedded-left-open.ts', import.meta.url));
const DYING = new URL('./embedded-writer-that-dies.ts', import.meta.url);
const unreachable = { code: 'STORE_UNREACHABLE' };
const nothing = (): void => undefined;

const opened = async (path = temporaryPath()): Promise<Store> =>
  readied(await openEmbeddedStore({ path, threadAfterWrites: 0 }));

describe('the writer thread of the embedded store', () => {
  it('is started by load, with no decision lost or made twice', async () => {
    const store = await readied(await openEmbeddedStore({ path: temporaryPath() }));
    const claims = [windowClaim('1', '1000000')];
    for (let from = 0; from < 400; from += 8) {
      const settling = Array.from({ length: 8 }, (_, index) =>
        store.settle(request({ subject: `payment:${from + index}`, claims })),
      );
      for (const result of await Promise.all(settling)) {
        expect(result).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      }
    }
    expect(await store.settle(request({ subject: 'payment:0' }))).toMatchObject({ outcome: 'repeated' });
    expect(await store.journalSize('shop')).toBe(401);
    expect(await usedOf(store)).toBe(400n * 10n ** 36n);
  });

  it('waits for another process while the caller goes on', async () => {
    const path = temporaryPath();
    const store = await opened(path);
    const other = new DatabaseSync(path);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    const settling = store.settle(request());
    // Were the wait in this thread, nobody could end it in time.
    setImmediate(() => setImmediate(() => other.exec('ROLLBACK')));
    expect(await settling).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
  });

  it('rejects with the cure when the wait was too long', async () => {
    const path = temporaryPath();
    const store = await opened(path);
    const other = new DatabaseSync(path);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    await expect(store.settle(request())).rejects.toMatchObject({
      ...unreachable,
      message: expect.stringContaining('locked by another process'),
      data: { errcode: 5 },
    });
    expect(await store.control()).toMatchObject({ revision: REVISION });
  });

  it('passes on what a verb threw, with its code and its values', async () => {
    const store = await opened();
    const removal = store.changeList(change('missing', [], ['x']));
    await expect(removal).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'the source shop has no list missing; create it with `countersign list add`',
      data: { source: 'shop', list: 'missing' },
    });
    await expect(removal).rejects.toBeInstanceOf(Error);
  });

  it('never lets the time run backwards', async () => {
    const clock = { nowMs: START_MS };
    const path = temporaryPath();
    const store = await openEmbeddedStore({ path, clock: () => clock.nowMs, threadAfterWrites: 0 });
    onTestFinished(() => store.close());
    await store.push(push('first', ''));
    clock.nowMs += 5000;
    expect(await store.settle(request({ revision: 'another' }))).toMatchObject({ nowMs: START_MS + 5000 });
    clock.nowMs -= 4000;
    expect(await store.settle(request({ revision: 'another' }))).toMatchObject({ nowMs: START_MS + 5000 });
    expect(await store.settle(request())).toMatchObject({ atMs: START_MS + 5000 });
    expect(await store.health()).toMatchObject({ nowMs: START_MS + 5000 });
  });

  it('has ended, its connection closed, when the store is closed; earlier writes are done', async () => {
    const path = temporaryPath();
    const store = await opened(path);
    const settling = store.settle(request());
    await Promise.all([store.close(), store.close()]);
    expect(await settling).toMatchObject({ verdict: 'SUCCESS' });
    // SQLite removes the log with the last connection.
    expect(existsSync(`${path}-wal`)).toBe(false);
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    await expect(store.control()).rejects.toMatchObject(unreachable);
  });

  it('keeps a process alive only while a write is in flight', async () => {
    const path = temporaryPath();
    await (await opened(path)).close();
    const child = spawn(process.execPath, [LEFT_OPEN, path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(printed).toBe('decided\n');
    expect(code).toBe(0);
  });
});

const pushing = [{ verb: 'push', argument: push('first', '') }] as const;
const settling = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const subject = `payment:${from + index}`;
    return { verb: 'settle', argument: settleStepOf(request({ subject })) } as const;
  });

function committerWith(threadAfterWrites: number, startThread: typeof startWriter = startWriter): Committer {
  const database = openDatabase(temporaryPath());
  const committer = createCommitter({
    database,
    retention: DEFAULT_RETENTION,
    clock: () => START_MS,
    guard: createFileGuard(database.file, database.identity),
    threadAfterWrites,
    startWriter: startThread,
  });
  onTestFinished(async () => {
    await committer.close();
    database.connection.close();
  });
  return committer;
}

const inThread = ({ concurrency }: Committer): boolean => concurrency > 1;

describe('a committer of the embedded store', () => {
  it('starts no thread for a few writes, and one for many', async () => {
    let started = 0;
    const committer = committerWith(32, (data, onEnd) => {
      started += 1;
      return startWriter(data, onEnd);
    });
    await committer.commit(pushing);
    await committer.commit(settling(0, 30));
    expect(started).toBe(0);
    await committer.commit(settling(30, 1));
    expect(started).toBe(1);
    await eventually('a thread writes', () => (inThread(committer) ? true : undefined));
    expect(await committer.commit(settling(0, 1))).toMatchObject({
      outcomes: [{ value: { outcome: 'repeated' } }],
    });
    expect(started).toBe(1);
  });
});

describe('a writer thread of the embedded store that dies', () => {
  it('rejects all batches that it was given, and those that it is given later', async () => {
    const path = temporaryPath();
    const { connection, identity } = openDatabase(path);
    connection.close();
    let ends = 0;
    const data = { file: path, identity, retention: DEFAULT_RETENTION, lockWait: SERVICE_WAIT };
    const thread = startWriter(data, () => (ends += 1), DYING);
    onTestFinished(() => thread.stop());
    await thread.ready;
    const batch = { clockMs: START_MS, writes: pushing };
    const results = await Promise.allSettled([thread.ask(batch), thread.ask(batch)]);
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { message: 'its writer ended with 7' } });
    }
    await expect(thread.ask(batch)).rejects.toThrow('its writer ended with 7');
    expect(ends).toBe(1);
  });

  it('rejects with the reason if it can not open the file', async () => {
    const broken = startWriter(
      { file: ':memory:', identity: [], retention: DEFAULT_RETENTION, lockWait: SERVICE_WAIT },
      nothing,
    );
    onTestFinished(() => broken.stop());
    await expect(broken.ready).rejects.toThrow("its writer can't start: the embedded store needs a file");
    await expect(broken.ask({ clockMs: 0, writes: [] })).rejects.toThrow("its writer can't start");
  });

  it('is followed by another one, and until that is ready batches are committed here', async () => {
    let started = 0;
    const committer = committerWith(0, (data, onEnd) =>
      startWriter(data, onEnd, started++ === 0 ? DYING : undefined),
    );
    await committer.ready;
    expect(inThread(committer)).toBe(true);
    await expect(committer.commit(pushing)).rejects.toThrow('its writer ended with 7');
    expect(inThread(committer)).toBe(false);
    expect(await committer.commit(pushing)).toMatchObject({ outcomes: [{ value: { outcome: 'in-force' } }] });
    await eventually('another thread writes', () => (inThread(committer) ? true : undefined));
    expect(started).toBe(2);
    expect(await committer.commit(settling(0, 1))).toMatchObject({
      outcomes: [{ value: { outcome: 'decided' } }],
    });
  });

  it('rejects the batch in flight when it is ended', async () => {
    const committer = committerWith(0);
    await committer.ready;
    const committing = committer.commit(pushing);
    const [closed, committed] = await Promise.allSettled([committer.close(), committing]);
    expect(closed).toMatchObject({ status: 'fulfilled' });
    expect(committed).toMatchObject({ status: 'rejected', reason: { message: 'its writer was stopped' } });
  });
});
