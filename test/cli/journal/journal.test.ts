import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { lockDirectory } from '../../../src/archive/folder.ts';
import { readRecordFile } from '../../../src/simulation/record-file.ts';
import { startTestService } from '../../service.ts';
import { placeIn, prints, reports } from '../terminal.ts';
import { DAY_MS, type Filled, filled } from '../filled.ts';

/** Refusals of shop at ten, eight, six, four and two days ago, and one of vault at nine days ago. */
async function withArchive(): Promise<Filled & { readonly archive: string }> {
  const here = await filled();
  for (const daysAgo of [10, 9, 8, 6, 4, 2]) {
    here.at(daysAgo);
    await here.refuse(daysAgo === 9 ? 'vault' : 'shop', { daysAgo }, `payment:${daysAgo}`);
  }
  const archive = join(here.folder, 'archive');
  mkdirSync(archive);
  return { ...here, archive };
}

/** What `archive` and `verify` print for machines, as far as a test asks about it. */
const archived = z.object({ to: z.string(), sources: z.array(z.looseObject({ end: z.string() })) });
const verified = archived.omit({ to: true }).extend({
  ok: z.boolean(),
  faults: z.array(z.object({ file: z.string(), line: z.number(), because: z.string() })),
});
const idsOf = (out: string): readonly string[] =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => z.object({ subject: z.string() }).parse(JSON.parse(line)).subject);

describe('journal archive', () => {
  it('moves what is older, source by source, and prints what to note', async () => {
    const { run, archive } = await withArchive();
    const { code, json } = await run`journal archive --to ${archive} --older-than 5d --json`;
    expect(code).toBe(0);
    expect(archived.parse(json())).toEqual({
      to: archive,
      sources: [
        { source: 'shop', files: 1, entries: 3, resumed: 0, end: expect.stringMatching(/^[0-9a-f]{64}$/) },
        { source: 'vault', files: 0, entries: 0, resumed: 0, end: '' },
      ],
    });
    const again = await run`journal archive --to ${archive} --older-than 72h --source shop`;
    expect(again.out).toMatch(/^shop {2}1 entry moved to 1 file {2}the archive ends with [0-9a-f]{64}\n$/);
    const left = await run`decisions search --source shop --type refused --json`;
    expect(z.array(z.object({ subject: z.string() })).parse(left.json())).toEqual([{ subject: 'payment:2' }]);
  });

  it('journals who moved what, and the end of the archive, once for each end', async () => {
    const { run, archive } = await withArchive();
    const options = ['--to', archive, '--older-than', '5d', '--by', 'ada'] as const;
    const moved = archived.parse((await run`journal archive ${options} --json`).json());
    expect((await run`journal archive ${options}`).code).toBe(0);
    const [end = ''] = moved.sources.map((each) => each.end);
    const found = await run`decisions search --type archive --json`;
    expect(found.json()).toMatchObject([
      {
        id: expect.stringMatching(/^shop\//),
        code: 'MOVED',
        verdict: '',
        because: `ada moved 3 entries in 1 file to the archive in ${archive}, which ends with ${end}`,
      },
    ]);
  });

  it('refuses a directory that is not there, and one that another archiver holds: 2', async () => {
    const { run, archive, folder } = await withArchive();
    const nowhere = await run`journal archive --to ${join(folder, 'no')} --older-than 5d`;
    expect(nowhere).toMatchObject({
      code: 2,
      err: expect.stringMatching(/there is no such directory\. Make the directory, or mount/),
    });
    const lock = lockDirectory(archive);
    const held = await run`journal archive --to ${archive} --older-than 5d`;
    expect(held).toMatchObject(reports(2, 'another archiver is running'));
    lock.release();
    expect((await run`journal archive --to ${archive} --older-than 5d`).code).toBe(0);
  });
});

describe('journal verify', () => {
  async function archivedPlace() {
    const at = await withArchive();
    await at.run`journal archive --to ${at.archive} --older-than 7d`;
    await at.run`journal archive --to ${at.archive} --older-than 3d`;
    const files = readdirSync(join(at.archive, 'shop')).sort();
    return { ...at, files: files.map((file) => join(at.archive, 'shop', file)) };
  }

  it.each([
    ['written twice', (archive: string) => archive],
    ['by another spelling', (archive: string) => `${archive}/../${basename(archive)}/.//`],
    ['relative to where the command is called', (archive: string) => relative(process.cwd(), archive)],
    [
      'through a link',
      (archive: string) => {
        symlinkSync(archive, `${archive}-linked`);
        onTestFinished(() => rmSync(`${archive}-linked`));
        return `${archive}-linked`;
      },
    ],
  ])('a directory that is given twice is verified once: %s', async (_, again) => {
    const { run, archive } = await archivedPlace();
    const other = again(archive);
    const { code, out, err } = await run`journal verify ${archive}`;
    expect(code).toBe(0);
    expect(await run`journal verify ${archive} ${other}`).toMatchObject({ code, out, err });
    const exported = await run`journal export ${archive}`;
    expect((await run`journal export ${other} ${archive}`).out).toBe(exported.out);
  });

  it('0, with counts, first and last instant and the end of each source', async () => {
    const { run, archive } = await archivedPlace();
    const { code, json } = await run`journal verify ${archive} --json`;
    expect(code).toBe(0);
    const { ok, sources, faults } = verified.parse(json());
    expect({ ok, faults }).toEqual({ ok: true, faults: [] });
    expect(sources[0]).toMatchObject({
      source: 'shop',
      files: 2,
      entries: 4,
      firstAt: '2025-06-05T12:00:00.000Z',
      lastAt: '2025-06-11T12:00:00.000Z',
    });
    const { out } = await run`journal verify ${archive}`;
    expect(out).toContain(
      `shop  4 entries in 2 files, 2025-06-05T12:00:00.000Z to 2025-06-11T12:00:00.000Z, ends with ${sources[0]?.end}`,
    );
  });

  it('takes an end that was noted, then or now, and says 1 if it is no end any more', async () => {
    const { run, archive, files } = await archivedPlace();
    const { sources } = verified.parse((await run`journal verify ${archive} --json`).json());
    const end = sources[0]?.end ?? '';
    expect((await run`journal verify ${archive} --expect ${end.toUpperCase()}`).code).toBe(0);
    rmSync(files[1] ?? '');
    expect((await run`journal verify ${archive}`).code).toBe(0);
    const shorter = await run`journal verify ${archive} --expect ${end}`;
    expect(shorter).toMatchObject(prints(1, `${end}: no undamaged file ends with this hash`));
    const { sources: now } = verified.parse((await run`journal verify ${archive} --json`).json());
    const both = await run('journal', 'verify', archive, '--expect', `${now[0]?.end},${end}`, '--json');
    expect(both.code).toBe(1);
    expect(verified.parse(both.json()).faults).toHaveLength(1);
  });

  it('1, with file and line, where a byte was changed', async () => {
    const { run, archive, files } = await archivedPlace();
    const [file = ''] = files;
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 0x10;
    writeFileSync(file, bytes);
    const { code, json } = await run`journal verify ${archive} --json`;
    expect(code).toBe(1);
    expect(verified.parse(json())).toMatchObject({ ok: false, faults: [{ file }] });
    expect((await run`journal verify ${archive}`).out).toContain(file);
  });

  it('--record journals the result for each source, and expects the ends that the journal has', async () => {
    const { run, archive, files } = await archivedPlace();
    const sound = await run`journal verify ${archive} --record --by ada`;
    expect(sound).toMatchObject({ code: 0, out: (await run`journal verify ${archive}`).out });
    rmSync(files[1] ?? '');
    expect((await run`journal verify ${archive}`).code).toBe(0);
    const { code, out } = await run`journal verify ${archive} --record --by bob`;
    expect(code).toBe(1);
    expect(out).toMatch(
      /[0-9a-f]{64}: no undamaged file ends with this hash: files were removed or replaced/,
    );
    const found = await run`decisions search --type archive --source shop --json`;
    const entries = z.array(z.object({ code: z.string(), because: z.string() })).parse(found.json());
    expect(entries.map((entry) => entry.code)).toEqual(['MOVED', 'MOVED', 'VERIFIED', 'FAULTS_FOUND']);
    expect(entries[3]?.because).toBe(
      `bob verified the archive in ${archive}, 2 entries in 1 file: 1 fault, the first: no undamaged file ends ` +
        'with this hash: files were removed or replaced since then',
    );
    expect(entries[2]?.because).toBe(
      `ada verified the archive in ${archive}, 4 entries in 2 files: no fault`,
    );
  });

  it('--record journals a fault where a source has lost its folder', async () => {
    const { run, archive } = await archivedPlace();
    rmSync(join(archive, 'shop'), { recursive: true });
    expect((await run`journal verify ${archive} --record`).code).toBe(1);
    const found = await run`decisions search --type archive --json`;
    expect(found.json()).toContainEqual(
      expect.objectContaining({ id: expect.stringMatching(/^shop\//), code: 'FAULTS_FOUND' }),
    );
  });

  it('1 for a directory without an archive; 2 for none, for no directory, and for an end that can be none', async () => {
    const { run, archive, folder } = await withArchive();
    expect(await run`journal verify ${archive}`).toMatchObject(prints(1, 'there are no files of an archive'));
    expect((await run`journal verify`).code).toBe(2);
    expect((await run`journal verify ${join(folder, 'no')}`).code).toBe(2);
    expect((await run`journal verify ${archive} --expect abc`).code).toBe(2);
  });
});

describe('journal export', () => {
  it('has what was archived, as `decisions export` had it before', async () => {
    const { run, archive } = await withArchive();
    const before = (await run`decisions export --source shop`).out.split('\n').slice(0, 3);
    await run`journal archive --to ${archive} --older-than 5d`;
    const { code, out } = await run`journal export ${archive}`;
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toEqual(before);
  });

  it('finds by subject, id, source and period', async () => {
    const { run, archive } = await withArchive();
    await run`journal archive --to ${archive} --older-than 1d`;
    const found = async (...options: string[]) =>
      idsOf((await run`journal export ${archive} ${options}`).out);
    expect(await found()).toEqual(['payment:10', 'payment:8', 'payment:6', 'payment:4']);
    expect(await found('--subject', 'payment:8')).toEqual(['payment:8']);
    expect(await found('--id', 'shop/3')).toEqual(['payment:8']);
    expect(await found('--id', 'vault/3')).toEqual([]);
    expect(await found('--source', 'vault')).toEqual([]);
    expect(await found('--since', '7d', '--until', '5d')).toEqual(['payment:6']);
  });

  it('fails where the archive is damaged, after what it could read', async () => {
    const { run, archive } = await withArchive();
    await run`journal archive --to ${archive} --older-than 1d`;
    const folder = join(archive, 'shop');
    const [file = ''] = readdirSync(folder);
    const bytes = readFileSync(join(folder, file));
    writeFileSync(join(folder, file), bytes.subarray(0, -4));
    const { code, err } = await run`journal export ${archive}`;
    expect(code).toBe(2);
    expect(err).toMatch(/STORE_CORRUPT: the archive is damaged: .*Restore the file from a copy/);
  });

  it('is a record that backtests and replays read', async () => {
    const service = await startTestService({ clock: Date.now });
    onTestFinished(() => service.stop());
    expect(await service.pay({ appOrderId: 'o-1', orderAmount: '100.50' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'o-2', orderAmount: '5000' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'o-3' })).toBe('SUCCESS');
    const { run, runWith, write, folder } = placeIn(service.folder);
    const archive = join(folder, 'archive');
    mkdirSync(archive);
    const later = runWith({ clock: () => Date.now() + 2 * DAY_MS });
    expect((await later`journal archive --to ${archive} --older-than 1d`).code).toBe(0);
    const { out } = await run`journal export ${archive}`;
    const file = write('record.jsonl', out);
    expect([...readRecordFile(file)].map((item) => 'type' in item && item.type)).toEqual([
      'decision',
      'decision',
    ]);
    const backtest = await run`policy backtest --from-file ${file} --json`;
    expect({ code: backtest.code, err: backtest.err }).toEqual({ code: 0, err: '' });
    expect(backtest.json()).toMatchObject({ callbacks: 2, unchanged: 2 });
  });
});
