import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { request } from './requests.ts';

const opened = async (path: string, threadAfterWrites: number): Promise<Store> =>
  readied(await openEmbeddedStore({ path, threadAfterWrites }));

/** What happens to the files of a store that is open. */
const MOVES: readonly (readonly [name: string, file: string, move: (path: string) => void])[] = [
  ['whose folder was moved', '', (path) => renameSync(dirname(path), movedAway(dirname(path)))],
  ['whose file was moved', '', (path) => renameSync(path, `${path}.old`)],
  ['whose file was deleted', '', (path) => rmSync(path)],
  [
    'whose file was restored from a copy',
    '',
    (path) => {
      copyFileSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  ],
  [
    'whose folder was restored',
    '',
    (path) => {
      renameSync(dirname(path), movedAway(dirname(path)));
      mkdirSync(dirname(path));
      writeFileSync(path, '');
    },
  ],
  ['whose log was deleted', '-wal', (path) => rmSync(`${path}-wal`)],
  ['whose shared memory was deleted', '-shm', (path) => rmSync(`${path}-shm`)],
];

function movedAway(folder: string): string {
  onTestFinished(() => rmSync(`${folder}.old`, { recursive: true, force: true }));
  return `${folder}.old`;
}

describe.each([
  ['caller', Infinity],
  ['writer thread', 0],
])('an embedded store that writes in the %s', (_place, threadAfterWrites) => {
  it.each(MOVES)('%s decides nothing any more, and says which file it was', async (_name, suffix, move) => {
    const path = temporaryPath('data', 'store.db');
    const store = await opened(path, threadAfterWrites);
    expect(await store.settle(request({ subject: 'payment:1' }))).toMatchObject({ verdict: 'SUCCESS' });
    move(path);
    const moved = { code: 'STORE_MOVED', message: expect.stringContaining(`${path}${suffix} is `) };
    await expect(store.settle(request({ subject: 'payment:2' }))).rejects.toMatchObject(moved);
    await expect(store.health()).rejects.toMatchObject(moved);
    await expect(store.control()).rejects.toMatchObject(moved);
    await expect(store.freeze({ reason: 'x', by: 'ada' })).rejects.toMatchObject(moved);
  });

  it('stays so once its files are back: what was decided meanwhile may be elsewhere', async () => {
    const path = temporaryPath();
    const store = await opened(path, threadAfterWrites);
    renameSync(path, `${path}.old`);
    await expect(store.settle(request())).rejects.toMatchObject({ code: 'STORE_MOVED' });
    renameSync(`${path}.old`, path);
    await expect(store.settle(request())).rejects.toMatchObject({ code: 'STORE_MOVED' });
    await expect(store.health()).rejects.toMatchObject({ code: 'STORE_MOVED' });
    const again = await openEmbeddedStore({ path });
    onTestFinished(() => again.close());
    expect(await again.settle(request())).toMatchObject({ verdict: 'SUCCESS' });
  });
});

describe('a store that is moved before its writer has a thread', () => {
  it('gets no new file from it', async () => {
    const path = temporaryPath();
    const store = await readied(await openEmbeddedStore({ path }));
    renameSync(path, `${path}.old`);
    const settling = Array.from({ length: 100 }, (_, at) =>
      store.settle(request({ subject: `payment:${at}` })),
    );
    for (const settled of await Promise.allSettled(settling)) {
      expect(settled).toMatchObject({ status: 'rejected', reason: { code: 'STORE_MOVED' } });
    }
    expect(existsSync(path)).toBe(false);
  });
});

describe('whoever makes no store', () => {
  const open = (path: string) => openEmbeddedStore({ path, create: false });

  it('is refused where there is none, by its absolute path, and makes neither file nor folder', async () => {
    const path = temporaryPath('data', 'store.db');
    await expect(open(path)).rejects.toMatchObject({
      code: 'STORE_MISSING',
      message: expect.stringContaining(`the store ${path} does not exist; `),
    });
    expect(existsSync(dirname(path))).toBe(false);
  });

  it('is refused an empty file, and leaves it empty', async () => {
    const path = temporaryPath();
    writeFileSync(path, '');
    await expect(open(path)).rejects.toMatchObject({ code: 'STORE_MISSING' });
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  it('opens one that is there, whatever its name', async () => {
    const path = temporaryPath('a folder', '100% #1?.db');
    await (await openEmbeddedStore({ path })).close();
    expect(existsSync(path)).toBe(true);
    await (await open(path)).close();
  });
});

describe('whoever makes stores', () => {
  it('makes none beside the log of one that is gone, which would delete it', async () => {
    const path = temporaryPath();
    await opened(path, Infinity);
    copyFileSync(`${path}-wal`, join(dirname(path), 'kept'));
    rmSync(path);
    await expect(openEmbeddedStore({ path })).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringContaining(`${path}-wal does; `),
    });
    expect(existsSync(`${path}-wal`)).toBe(true);
  });
});
