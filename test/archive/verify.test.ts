import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { archiveSource } from '../../src/archive/archive.ts';
import { fileName } from '../../src/archive/folder.ts';
import { chainLine } from '../../src/archive/line.ts';
import { type Verified, verifyArchive } from '../../src/archive/verify.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { sha256Hex } from '../../src/values/canonical.ts';
import { entryOf } from '../journal/entries.ts';
import { START_MS } from '../store/requests.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { newFolder } from './stores.ts';

const SOURCES = ['shop', 'vault'] as const;
const FILES = 3;
const PER_FILE = 5;

const entry = (source: string, number: number): JournalEntry =>
  entryOf({
    id: `${START_MS + number}-${number % 3}`,
    source,
    atMs: START_MS + number,
    subject: `payment:${number}`,
    verdict: number % 2 === 0 ? 'SUCCESS' : 'FAILURE',
    claims: [{ type: 'window', holds: true, reserved: 0n, used: BigInt(number) }],
    detail: `{"body":"é \u{1f512} ${number}"}`,
  });

/** The journal as the archiver asks for it: pages in order, and what is dropped goes. */
function journal(entries: readonly JournalEntry[]) {
  let kept = [...entries];
  const at = (id: string): number => entries.findIndex((each) => each.id === id);
  return {
    entries: (query: { after?: string; newestFirst?: boolean; limit: number }) => {
      const after = kept.filter((each) => query.after === undefined || at(each.id) > at(query.after));
      return Promise.resolve((query.newestFirst === true ? after.toReversed() : after).slice(0, query.limit));
    },
    dropEntries: ({ upTo }: { upTo: string }) => {
      const before = kept.length;
      kept = kept.filter((each) => at(each.id) > at(upTo));
      return Promise.resolve(before - kept.length);
    },
  };
}

let whole: string;
let ends: readonly string[];
beforeAll(async () => {
  whole = newFolder();
  for (const source of SOURCES) {
    await archiveSource({
      store: journal(Array.from({ length: FILES * PER_FILE + 1 }, (_, number) => entry(source, number))),
      directory: whole,
      source,
      beforeMs: Number.MAX_SAFE_INTEGER,
      entriesMax: PER_FILE,
      onStep: () => undefined,
    });
  }
  ends = (await verifyArchive([whole])).sources.map((source) => source.ends.at(-1) ?? '');
});

afterAll(() => rmSync(whole, { recursive: true, force: true }));

/** A copy that a test may damage. */
function copy(): string {
  const folder = temporaryFolder();
  cpSync(whole, folder, { recursive: true });
  return folder;
}

const filesOf = (directory: string, source = 'shop'): readonly string[] =>
  readdirSync(join(directory, source))
    .sort()
    .map((name) => join(directory, source, name));
const linesOf = (file: string): string[] =>
  gunzipSync(readFileSync(file)).toString('utf8').split('\n').slice(0, -1);

/** Puts other text in a file, and gives it the name that its bytes then want: only the chain can tell. */
function repack(file: string, text: string | Buffer): string {
  const bytes = gzipSync(text);
  const number = Number(/(\d{8})-/.exec(file)?.[1]);
  const renamed = join(file, '..', fileName(number, sha256Hex(bytes).slice(0, 16)));
  rmSync(file);
  writeFileSync(renamed, bytes);
  return renamed;
}
const rewrite = (file: string, lines: readonly string[]): string =>
  repack(file, lines.map((line) => `${line}\n`).join(''));

const told = ({ faults }: Verified): readonly string[] => faults.map(({ because }) => because);

describe('journal verify', () => {
  it('finds nothing wrong with what the archiver wrote', async () => {
    const verified = await verifyArchive([copy()]);
    expect(verified.faults).toEqual([]);
    expect(verified.sources).toEqual(
      SOURCES.map((source, at) => ({
        source,
        files: FILES,
        entries: FILES * PER_FILE,
        firstAtMs: START_MS,
        lastAtMs: START_MS + FILES * PER_FILE - 1,
        ends: [expect.any(String), expect.any(String), ends[at]],
      })),
    );
  });

  it('takes several directories for one archive, in whatever order they are named', async () => {
    const [young, old] = [copy(), temporaryFolder()];
    mkdirSync(join(old, 'shop'));
    const [first = '', second = ''] = filesOf(young);
    for (const file of [first, second]) {
      cpSync(file, file.replace(young, old));
      rmSync(file);
    }
    expect((await verifyArchive([young, old])).faults).toEqual([]);
    expect((await verifyArchive([old, young, old])).faults).toEqual([]);
    expect(told(await verifyArchive([young]))).toEqual([
      'the files 1 to 2 of shop, before this one, are missing. Name the directory that has them as well',
    ]);
  });

  it('finds any byte that was flipped, cut off or added', async () => {
    const name = fc.record({ source: fc.constantFrom(...SOURCES), file: fc.nat(FILES - 1) });
    const damage = fc.oneof(
      fc.record({
        kind: fc.constant('flip' as const),
        at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        bit: fc.nat(7),
      }),
      fc.record({
        kind: fc.constant('cut' as const),
        at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      }),
      fc.record({ kind: fc.constant('add' as const), bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }) }),
    );
    await fc.assert(
      fc.asyncProperty(name, damage, async ({ source, file }, how) => {
        const path = filesOf(whole, source)[file] ?? '';
        const bytes = readFileSync(path);
        const directory = newFolder();
        cpSync(whole, directory, { recursive: true });
        const target = path.replace(whole, directory);
        if (how.kind === 'flip') {
          const at = Math.floor(how.at * bytes.length);
          bytes[at] = (bytes[at] ?? 0) ^ (1 << how.bit);
          writeFileSync(target, bytes);
        } else if (how.kind === 'cut')
          writeFileSync(target, bytes.subarray(0, Math.floor(how.at * bytes.length)));
        else writeFileSync(target, Buffer.concat([bytes, how.bytes]));
        const { faults } = await verifyArchive([directory]);
        rmSync(directory, { recursive: true });
        expect(faults.map((fault) => fault.file)).toContain(target);
      }),
      { numRuns: 150 },
    );
  });

  it.each([1, 100, 1_000_000])(
    'finds %i zero bytes after the compressed data, and goes on',
    async (count) => {
      const directory = newFolder();
      cpSync(whole, directory, { recursive: true });
      const [target = ''] = filesOf(directory, 'shop');
      writeFileSync(target, Buffer.concat([readFileSync(target), Buffer.alloc(count)]));
      const { faults, sources } = await verifyArchive([directory]);
      expect(faults.map((fault) => fault.file)).toContain(target);
      expect(sources).toHaveLength(SOURCES.length);
    },
  );

  type LineDamage = (lines: string[], at: number, other: number) => readonly string[];
  const lineDamages: Readonly<Record<string, LineDamage>> = {
    dropped: (lines, at) => lines.toSpliced(at, 1),
    'there twice': (lines, at) => lines.toSpliced(at, 0, lines[at] ?? ''),
    moved: (lines, at, other) => {
      const without = lines.toSpliced(at, 1);
      return without.toSpliced(other % without.length, 0, lines[at] ?? '');
    },
    swapped: (lines, at, other) => lines.with(at, lines[other] ?? '').with(other, lines[at] ?? ''),
    truncated: (lines, at) => lines.slice(0, at),
    'cut short': (lines, at) => lines.with(at, (lines[at] ?? '').slice(0, -1)),
    empty: (lines, at) => lines.toSpliced(at, 0, ''),
    'of another source': (lines, at) => lines.with(at, linesOf(filesOf(whole, 'vault')[0] ?? '')[at] ?? ''),
    'of another file': (lines, at) => lines.with(at, linesOf(filesOf(whole)[2] ?? '')[at] ?? ''),
    'changed in a letter': (lines, at) => lines.with(at, (lines[at] ?? '').replace(/[A-Za-z]/, 'X')),
  };

  it.each(Object.entries(lineDamages))(
    'finds a line that is %s, in a file that was packed and named anew',
    async (_, damage) => {
      const [first = ''] = filesOf(whole);
      const lines = linesOf(first);
      const place = fc.nat(lines.length - 1);
      await fc.assert(
        fc.asyncProperty(place, place, async (at, other) => {
          const damaged = damage(lines, at, other);
          fc.pre(damaged.join('\n') !== lines.join('\n'));
          const directory = newFolder();
          cpSync(whole, directory, { recursive: true });
          const file = rewrite(first.replace(whole, directory), damaged);
          const { faults } = await verifyArchive([directory]);
          rmSync(directory, { recursive: true });
          const fault = faults.find((each) => each.file === file);
          expect(fault?.line).toBeGreaterThan(0);
          expect(fault?.line).toBeLessThanOrEqual(Math.max(1, damaged.length + 1));
        }),
        { numRuns: 25 },
      );
    },
  );

  it('names the line of an entry whose amount was changed', async () => {
    const directory = copy();
    const [, second = ''] = filesOf(directory);
    const lines = linesOf(second);
    const file = rewrite(
      second,
      lines.with(3, (lines[3] ?? '').replace('"verdict":"FAILURE"', '"verdict":"SUCCESS"')),
    );
    expect((await verifyArchive([directory])).faults).toEqual([
      { file, line: 4, because: 'its hash is not the hash of its content' },
    ]);
  });

  it('finds a line that was changed and hashed anew, by the line after it', async () => {
    const directory = copy();
    const [first = ''] = filesOf(directory);
    const lines = linesOf(first);
    const { hash: _, previous, ...members } = JSON.parse(lines[2] ?? '') as Record<string, unknown>;
    const forged = chainLine({ ...members, code: 'FORGED' }, String(previous));
    const file = rewrite(first, lines.with(2, forged.line));
    expect((await verifyArchive([directory])).faults[0]).toMatchObject({ file, line: 4 });
  });

  it('finds a file that was made anew, whole, by the file after it, and the last one by the end that was noted', async () => {
    const forge = (file: string): string => {
      let previous = '0'.repeat(64);
      const lines = linesOf(file).map((line, at) => {
        const { hash: _, previous: before, ...members } = JSON.parse(line) as Record<string, unknown>;
        if (at === 0) previous = String(before);
        const next = chainLine(at === 2 ? { ...members, code: 'FORGED' } : members, previous);
        previous = next.hash;
        return next.line;
      });
      return rewrite(file, lines);
    };
    const directory = copy();
    forge(filesOf(directory)[1] ?? '');
    expect(told(await verifyArchive([directory]))).toEqual([
      'it does not continue the file before: one of them was replaced',
    ]);
    const last = copy();
    forge(filesOf(last)[2] ?? '');
    const verified = await verifyArchive([last]);
    expect(verified.faults).toEqual([]);
    expect(verified.sources[0]?.ends).not.toContain(ends[0]);
  });

  it.each<[string, (text: string) => string]>([
    ['has one more member', (text) => text.replace(',"previous"', ',"note":"hidden","previous"')],
    ['has a member twice', (text) => text.replace('"verdict":', '"verdict":"FAILURE","verdict":')],
    [
      'has its members in another order',
      (text) => text.replace(/^\{("id":"[^"]*"),("source":"[^"]*")/, '{$2,$1'),
    ],
    ['has a blank', (text) => text.replace('"atMs":', '"atMs": ')],
    ['has the detail as JSON', (text) => text.replace(/"detail":"(?:[^"\\]|\\.)*"/, '"detail":{}')],
  ])('refuses a line that %s, although its hash is right', async (_, edit) => {
    const directory = copy();
    const last = filesOf(directory)[2] ?? '';
    const lines = linesOf(last);
    const written = (lines[2] ?? '').replace(/,"hash":"[0-9a-f]*"\}$/, '}');
    const text = edit(written);
    expect(text).not.toBe(written);
    const hash = createHash('sha256').update(text).digest('hex');
    const file = rewrite(last, lines.with(2, `${text.slice(0, -1)},"hash":"${hash}"}`));
    expect((await verifyArchive([directory])).faults[0]).toMatchObject({ file, line: 3 });
  });

  it.each([0, 1])('finds that file %d is missing', async (index) => {
    const directory = copy();
    const files = filesOf(directory);
    rmSync(files[index] ?? '');
    expect((await verifyArchive([directory])).faults).toMatchObject([
      { file: files[index + 1], line: 0, because: expect.stringContaining('missing') },
    ]);
  });

  it('can only tell by its end that the last file is missing', async () => {
    const directory = copy();
    rmSync(filesOf(directory)[2] ?? '');
    const verified = await verifyArchive([directory]);
    expect(verified.faults).toEqual([]);
    expect(verified.sources[0]?.ends).not.toContain(ends[0]);
    expect(verified.sources[1]?.ends).toContain(ends[1]);
  });

  it('finds files that were swapped, are there twice, or are of another source', async () => {
    const swapped = copy();
    const [first = '', second = ''] = filesOf(swapped);
    const bytes = [first, second].map((file) => readFileSync(file));
    const numbered = (file: string, number: string): string => file.replace(/\d{8}-/, `${number}-`);
    rmSync(first);
    rmSync(second);
    writeFileSync(numbered(first, '00000002'), bytes[0] ?? '');
    writeFileSync(numbered(second, '00000001'), bytes[1] ?? '');
    expect(told(await verifyArchive([swapped])).slice(0, 2)).toEqual([
      'it begins file 2 of shop, not file 1 of shop',
      'it begins file 1 of shop, not file 2 of shop',
    ]);

    const twice = copy();
    const [once = ''] = filesOf(twice);
    cpSync(once, once.replace(/-[0-9a-f]{16}/, '-0123456789abcdef'));
    expect(told(await verifyArchive([twice])).join()).toContain('two files with this number');

    const foreign = copy();
    const third = filesOf(foreign, 'vault')[2] ?? '';
    cpSync(third, filesOf(foreign)[2]?.replace(/[^/]*$/, third.slice(-33)) ?? '');
    expect((await verifyArchive([foreign])).faults.length).toBeGreaterThan(0);

    const renamed = copy();
    renameSync(join(renamed, 'vault'), join(renamed, 'bank'));
    expect(told(await verifyArchive([renamed]))[0]).toBe('it begins file 1 of vault, not file 1 of bank');
  });

  it('finds what is no file of an archive, but for the lock and what an archiver at work has not finished', async () => {
    const directory = copy();
    writeFileSync(join(directory, 'shop', 'unfinished.tmp'), '');
    mkdirSync(join(directory, 'lost+found'));
    expect((await verifyArchive([directory])).faults).toEqual([]);
    writeFileSync(join(directory, 'shop', '00000004-0123456789abcdef.jsonl'), '');
    writeFileSync(join(directory, 'note.txt'), '');
    symlinkSync('/nowhere', join(directory, 'bank'));
    const { faults } = await verifyArchive([directory]);
    expect(faults.map(({ file }) => file).sort()).toEqual([
      join(directory, 'bank'),
      join(directory, 'note.txt'),
      join(directory, 'shop', '00000004-0123456789abcdef.jsonl'),
    ]);
  });

  it.each([
    ['a header alone', (lines: readonly string[]) => lines.slice(0, 1)],
    ['no entry', (lines: readonly string[]) => [lines[0] ?? '', lines.at(-1) ?? '']],
    ['nothing', () => []],
    ['a line of no JSON', () => ['{"id":']],
    [
      'a line that says too much',
      (lines: readonly string[]) => lines.with(1, (lines[1] ?? '').replace('{', '{"x":1,')),
    ],
  ])('finds a file with %s', async (_, damage) => {
    const directory = copy();
    const file = filesOf(directory)[2] ?? '';
    const renamed = rewrite(file, damage(linesOf(file)));
    expect((await verifyArchive([directory])).faults).toMatchObject([{ file: renamed }]);
  });

  it('finds bytes that are no UTF-8, and a line without an end that would fill the memory', async () => {
    const directory = copy();
    const [first = '', second = ''] = filesOf(directory);
    const bytes = gunzipSync(readFileSync(first));
    bytes[bytes.indexOf('é')] = 0xff;
    repack(first, bytes);
    repack(second, Buffer.alloc(40_000_000, 'x'));
    expect(told(await verifyArchive([directory]))).toEqual([
      'it is not UTF-8',
      'it has more than 33554432 bytes',
    ]);
  });

  it('rejects what is no directory', async () => {
    await expect(verifyArchive(['/nowhere/at/all'])).rejects.toMatchObject({ code: 'USAGE' });
    await expect(verifyArchive([filesOf(whole)[0] ?? ''])).rejects.toMatchObject({ code: 'USAGE' });
  });
});
