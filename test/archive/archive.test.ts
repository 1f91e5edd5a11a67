import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ArchiveTask, type Archived, archiveSource } from '../../src/archive/archive.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { parseAmount } from '../../src/values/amount.ts';
import { sha256Hex } from '../../src/values/canonical.ts';
import { HOUR_MS, START_MS, listClaim, request, windowClaim } from '../store/requests.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type ArchiveUnderTest, journalOf, onBothStores } from './stores.ts';
import { openPlace } from './place.ts';

const archive = (
  { store, directory }: Pick<ArchiveUnderTest, 'store' | 'directory'>,
  over: Partial<ArchiveTask> = {},
): Promise<Archived> =>
  archiveSource({
    store,
    directory,
    source: 'shop',
    beforeMs: Number.MAX_SAFE_INTEGER,
    entriesMax: 100,
    onStep: () => undefined,
    ...over,
  });

async function archivedIn(directory: string): Promise<readonly JournalEntry[]> {
  const entries: JournalEntry[] = [];
  const { faults } = await verifyArchive([directory], (entry) => void entries.push(entry));
  expect(faults).toEqual([]);
  return entries;
}

const filesOf = (directory: string): readonly string[] => readdirSync(join(directory, 'shop')).sort();
const linesOf = (directory: string, file: string): readonly string[] =>
  gunzipSync(readFileSync(join(directory, 'shop', file)))
    .toString('utf8')
    .split('\n');

describe('journal archive', () => {
  onBothStores((open) => {
    it('moves what is old enough, exactly as it was, and drops no more', async () => {
      const under = await open();
      const detail = '{ "é": "\u{1f512}\\u0000",\t"amount": 1.50,\r\n "x":"\u2028\uFFFD" }';
      const claims = [
        windowClaim('4.000000000000000000000000000000000001', '10'),
        listClaim('no', 'hold-all', ['a']),
      ];
      await under.store.settle(request({ claims: claims.slice(0, 1), detail }));
      await under.store.settle(request({ subject: 'payment:x', claims, detail: 'no JSON at all' }));
      await under.settle(3);
      const before = await journalOf(under.store);
      expect(await archive(under, { beforeMs: under.clock.nowMs })).toMatchObject({ files: 1, entries: 4 });
      expect(await journalOf(under.store)).toEqual(before.slice(4));
      const archived = await archivedIn(under.directory);
      expect(archived).toEqual(before.slice(0, 4));
      expect(archived[1]?.claims).toEqual([
        {
          type: 'window',
          holds: true,
          reserved: 0n,
          used: parseAmount('4.000000000000000000000000000000000001'),
        },
        { type: 'list', holds: false, missing: true, present: [] },
      ]);
    });

    it('keeps the newest entry, however old', async () => {
      const under = await open();
      const ids = await under.settle(3);
      under.clock.nowMs += 1000 * HOUR_MS;
      expect(await archive(under)).toMatchObject({ entries: 2 });
      expect((await journalOf(under.store)).map(({ id }) => id)).toEqual(ids.slice(2));
      expect(await archive(under)).toMatchObject({ entries: 0, files: 0 });
      expect(await under.store.journalSize('shop')).toBe(1);
    });

    it('writes nothing of a journal that is empty or young', async () => {
      const under = await open();
      expect(await archive(under)).toMatchObject({ entries: 0, files: 0, end: undefined });
      await under.settle(3);
      expect(await archive(under, { beforeMs: START_MS })).toMatchObject({ entries: 0, end: undefined });
      expect(filesOf(under.directory)).toEqual([]);
      expect(await under.store.journalSize('shop')).toBe(3);
    });

    it('goes on in the next file, within one run and over runs, as one chain', async () => {
      const under = await open();
      const first = await under.settle(23);
      expect(await archive(under, { entriesMax: 10 })).toMatchObject({ files: 3, entries: 22 });
      const ids = [...first, ...(await under.settle(5))];
      const { end } = await archive(under, { entriesMax: 10 });
      const files = filesOf(under.directory);
      expect(files.map((name) => name.slice(0, 8))).toEqual(['00000001', '00000002', '00000003', '00000004']);
      expect((await archivedIn(under.directory)).map(({ id }) => id)).toEqual(ids.slice(0, -1));
      const lines = files.flatMap((file) => linesOf(under.directory, file).slice(0, -1));
      let previous = '0'.repeat(64);
      for (const line of lines) {
        const [, members = '', hash] = /^(.*),"hash":"([0-9a-f]{64})"\}$/s.exec(line) ?? [];
        expect(members.endsWith(`,"previous":"${previous}"`)).toBe(true);
        expect(hash).toBe(sha256Hex(`${members}}`));
        previous = hash ?? '';
      }
      expect(previous).toBe(end);
    });

    it('moves each source by itself', async () => {
      const under = await open();
      await under.settle(3, 'shop');
      await under.settle(4, 'vault');
      await under.settle(3, 'shop');
      await archive(under, { source: 'vault' });
      expect(await under.store.journalSize('shop')).toBe(6);
      expect(await under.store.journalSize('vault')).toBe(1);
      await archive(under);
      const { sources, faults } = await verifyArchive([under.directory]);
      expect(faults).toEqual([]);
      expect(sources.map(({ source, entries }) => [source, entries])).toEqual([
        ['shop', 5],
        ['vault', 3],
      ]);
    });

    it('refuses the archive of another store, and drops nothing', async () => {
      const [mine, other] = [await open(), await open()];
      await other.settle(5);
      await archive(other);
      mine.clock.nowMs += 2;
      await mine.settle(5);
      const before = await journalOf(mine.store);
      await expect(archive({ ...mine, directory: other.directory })).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringContaining('Nothing was dropped'),
      });
      expect(await journalOf(mine.store)).toEqual(before);
      expect(filesOf(other.directory)).toHaveLength(1);
    });

    it('refuses to drop an entry that differs in one character from the archived one', async () => {
      const [mine, other] = [await open(), await open()];
      for (const [{ store, clock }, detail] of [
        [mine, 'mine'],
        [other, 'mime'],
      ] as const) {
        for (const subject of ['payment:1', 'payment:2', 'payment:3']) {
          clock.nowMs++;
          await store.settle(request({ subject, detail: subject === 'payment:2' ? detail : '' }));
        }
      }
      await archive(other);
      await expect(archive({ ...mine, directory: other.directory })).rejects.toThrow('has another detail');
      expect(await mine.store.journalSize('shop')).toBe(3);
    });

    it('refuses to go on after a last file that is damaged, cut off, missing in part, or there twice', async () => {
      const under = await open();
      await under.settle(9);
      await archive(under, { entriesMax: 4 });
      await under.settle(3);
      const before = await journalOf(under.store);
      const last = join(under.directory, 'shop', filesOf(under.directory).at(-1) ?? '');
      const bytes = readFileSync(last);
      const flipped = Buffer.from(bytes);
      flipped[40] = (flipped[40] ?? 0) ^ 1;
      for (const damaged of [
        flipped,
        bytes.subarray(0, -9),
        Buffer.alloc(0),
        Buffer.concat([bytes, bytes]),
      ]) {
        writeFileSync(last, damaged);
        await expect(archive(under)).rejects.toMatchObject({ code: 'STORE_CORRUPT', data: { file: last } });
      }
      writeFileSync(last, bytes);
      const twin = last.replace(/-[0-9a-f]{16}/, '-0123456789abcdef');
      writeFileSync(twin, bytes);
      await expect(archive(under)).rejects.toThrow('has the same number. Remove one of them');
      rmSync(twin);
      expect(await journalOf(under.store)).toEqual(before);
      expect(await archive(under)).toMatchObject({ entries: 3 });
    });

    it('clears what an archiver left that was killed while it wrote', async () => {
      const under = await open();
      await under.settle(5);
      await archive(under);
      const left = join(under.directory, 'shop', 'unfinished.tmp');
      writeFileSync(left, 'half a file');
      await under.settle(5);
      expect(await archive(under)).toMatchObject({ entries: 5 });
      expect(filesOf(under.directory)).toHaveLength(2);
      expect(await archivedIn(under.directory)).toHaveLength(9);
    });

    it('says what to do where it can not write, and drops nothing', async () => {
      const under = await open();
      await under.settle(5);
      mkdirSync(join(under.directory, 'shop', 'unfinished.tmp'), { recursive: true });
      await expect(archive(under)).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringMatching(/can't be used: .*let this user write to it/),
      });
      rmSync(join(under.directory, 'shop'), { recursive: true });
      const onStep = (step: string): void => {
        if (step === 'synced') rmSync(join(under.directory, 'shop'), { recursive: true });
      };
      await expect(archive(under, { onStep })).rejects.toMatchObject({
        code: 'USAGE',
        message: expect.stringMatching(
          /can't be written: ENOENT.*The store still has the entries of this file/,
        ),
      });
      expect(await under.store.journalSize('shop')).toBe(5);
    });

    it('drops, and does not write again, what it had written before it was killed', async () => {
      const under = await open();
      await under.settle(8);
      const killed = { ...under.store, dropEntries: () => Promise.reject(new Error('killed')) };
      await expect(archive({ ...under, store: killed }, { entriesMax: 5 })).rejects.toThrow('killed');
      expect(await under.store.journalSize('shop')).toBe(8);
      const [first] = await journalOf(under.store);
      expect(await archive(under, { entriesMax: 5 })).toMatchObject({ resumed: 5, entries: 2, files: 1 });
      expect((await archivedIn(under.directory))[0]?.id).toBe(first?.id);
      expect(await archivedIn(under.directory)).toHaveLength(7);
      expect(await under.store.journalSize('shop')).toBe(1);
    });
  });

  it('writes files that only their owner can read', async () => {
    const store = await openPlace({ embedded: join(temporaryFolder(), 'store.db') });
    onTestFinished(() => store.close());
    const nothing = { verdict: 'FAILURE', code: 'X', of: '', detail: '' } as const;
    for (const subject of ['a', 'b'])
      await store.record({ source: 'shop', type: 'refused', subject, ...nothing });
    const directory = temporaryFolder();
    await archive({ store, directory });
    const [file = ''] = filesOf(directory);
    expect(statSync(join(directory, 'shop')).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'shop', file)).mode & 0o777).toBe(0o600);
  });
});
