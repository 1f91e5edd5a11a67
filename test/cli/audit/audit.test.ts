import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type ArchiveTask, archiveSource } from '../../../src/archive/archive.ts';
import { chainLine, unchainLine } from '../../../src/archive/line.ts';
import { recordMove } from '../../../src/archive/records.ts';
import { sha256Hex } from '../../../src/values/canonical.ts';
import { runtimes } from '../../runtimes.ts';
import { describeOnBothStores } from '../../scenarios/on-both-stores.ts';
import { POLICIES, SHOP_SECRET, type TestService, VAULT_TOKEN, transfer } from '../../service.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { newFolder } from '../../archive/stores.ts';
import { type Ran, type Run, placeIn, prints } from '../terminal.ts';

const NODES = runtimes(20);
const LISTED = POLICIES['payments.yaml'].replace(
  'rules:',
  'rules:\n  - deny-list: { of: userId, list: blocked } # who may not pay',
);

const summary = z.object({ sha256: z.string(), complete: z.boolean(), missing: z.array(z.string()) });
const entry = z.looseObject({ id: z.string(), type: z.string(), by: z.string(), because: z.string() });

const linesOf = (path: string): readonly string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);
const rowsOf = <T>(shape: z.ZodType<T>, path: string): readonly T[] =>
  linesOf(path).map((text) => shape.parse(JSON.parse(text)));

/** How the verifier of a bundle ends, the same with each Node. */
function verified(bundle: string, ...hashes: readonly string[]): Pick<Ran, 'out'> & { code: number | null } {
  const [first, ...others] = NODES.map(({ program }) => {
    const argv = ['verify.mjs', ...hashes];
    const { status, stdout, stderr } = spawnSync(program, argv, { cwd: bundle, encoding: 'utf8', env: {} });
    expect(stderr).toBe('');
    return { code: status, out: stdout };
  });
  for (const other of others) expect(other).toEqual(first);
  return first ?? { code: null, out: 'there is no Node' };
}

const archiving = ({ store }: TestService, directory: string, entriesMax: number) => ({
  store,
  directory,
  beforeMs: Number.MAX_SAFE_INTEGER,
  entriesMax,
  onStep: () => undefined,
});

interface Story {
  readonly run: Run;
  readonly service: TestService;
  readonly archive: string;
  /** From the middle of the archive, and past it. */
  readonly period: readonly string[];
  /** An instant after all that was written, and before all that will be. */
  readonly mark: () => Promise<string>;
}

describeOnBothStores('audit export', (host) => {
  /** Callbacks and acts before, in and after a period; what came before the fourth payment is archived. */
  async function story(): Promise<Story> {
    const service = await host.start({ policies: { ...POLICIES, 'payments.yaml': LISTED } });
    const { runWith, write } = placeIn(service.folder);
    const run = runWith({ clock: Date.now });
    const act = async (line: string): Promise<void> => {
      const { code, err } = await run(...line.split(' '));
      expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('USAGE') });
    };
    const nowMs = async (): Promise<number> => (await service.store.health()).nowMs;
    const mark = async (): Promise<string> => {
      const atMs = (await nowMs()) + 1;
      await expect.poll(nowMs, { interval: 1 }).toBeGreaterThan(atMs);
      return new Date(atMs).toISOString();
    };
    await act('list add blocked 1 2 3 --source shop --by ada');
    await act('prices set BTC=1 --by ada');
    expect(await service.pay({ appOrderId: 'o-1' })).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
    const from = await mark();
    expect(await service.pay({ appOrderId: 'o-2' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'o-3' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'o-4', orderAmount: '5000' })).toBe('FAILURE');
    const archive = newFolder();
    archives.push(archive);
    const moved = await archiveSource({ ...archiving(service, archive, 3), source: 'shop' });
    await recordMove(service.store, moved, { by: 'ada', directory: archive });
    await act('list remove blocked 1 --source shop --by bob');
    await act('list add blocked 4 2 --source shop --by bob');
    await act('orders expect payment o-9 --user 1 --symbol USDT1742 --amount 1 --scheme md5 --by ada');
    await act('freeze drill --by ada');
    await act('unfreeze --by bob');
    await act('prices set BTC=2 --by ada');
    write('policies/payments.yaml', LISTED.replace('max: 1000 ', 'max: 2000 '));
    await act('policy push --message raised --by ada');
    expect(await service.pay({ appOrderId: 'o-1' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'o-5' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'o-5' })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'o-6', userId: '4' })).toBe('FAILURE');
    await act('decisions release payment o-5 --message failed --by ada');
    const to = await mark();
    await act('list add blocked 9 --source shop --by ada');
    return { run, service, archive, mark, period: ['--from', from, '--to', to] };
  }

  const archives: string[] = [];
  afterAll(() => {
    for (const folder of archives) rmSync(folder, { recursive: true, force: true });
  });

  it('has entries, acts, revisions, lists and prices of a period that begins in the archive', async () => {
    const { run, archive, period } = await story();
    const bundle = join(temporaryFolder(), 'bundle');
    const ran = await run`audit export ${period} --archive ${archive} --out ${bundle} --json`;
    const { sha256, ...said } = summary.parse(ran.json());
    expect({ code: ran.code, ...said }).toEqual({ code: 0, complete: true, missing: [] });
    const explained = rowsOf(entry, join(bundle, 'explained/shop.jsonl'));
    expect(explained.map(({ type, by, because }) => `${type} ${by.split(' ')[0]}: ${because}`)).toEqual([
      'decision md5: approved: all 3 rules that enforce pass',
      'decision md5: approved: all 3 rules that enforce pass',
      'decision md5: payments/amount-limit#2 refuses: the amount 5000 is above the maximum 1000',
      expect.stringMatching(/^archive ada: ada moved 4 entries in 2 files to the archive in /),
      'list bob: the list blocked was changed by bob: 0 to add, 1 to remove',
      'list bob: the list blocked was changed by bob: 2 to add, 0 to remove',
      'order ada: the order was announced by ada',
      expect.stringMatching(/^freeze ada: frozen by ada as f\d+: drill$/),
      expect.stringMatching(/^freeze bob: bob lifted f\d+ of ada: drill; no freeze is left$/),
      expect.stringMatching(/^repeat md5: approved: all 3 rules that enforce pass \(decided before, as shop/),
      'decision md5: approved: all 3 rules that enforce pass',
      expect.stringMatching(/^repeat md5: approved: all 3 rules that enforce pass/),
      'decision md5: payments/deny-list#1 refuses: userId 4 is on the list blocked',
      expect.stringMatching(/^release ada: released by ada: failed; given back: 100 in payments/),
    ]);
    const listed = z.object({ value: z.string(), atBegin: z.boolean(), atEnd: z.boolean() });
    expect(rowsOf(listed, join(bundle, 'lists.jsonl'))).toEqual([
      { value: '1', atBegin: true, atEnd: false },
      { value: '2', atBegin: true, atEnd: true },
      { value: '3', atBegin: true, atEnd: true },
      { value: '4', atBegin: false, atEnd: true },
    ]);
    const pushes = rowsOf(z.looseObject({ revision: z.string() }), join(bundle, 'revisions.jsonl'));
    expect(pushes).toMatchObject([{ by: 'countersign serve' }, { by: 'ada', message: 'raised' }]);
    const sources = pushes.map(({ revision }) =>
      readFileSync(join(bundle, 'revisions', revision, 'files/payments.yaml'), 'utf8'),
    );
    expect(sources).toEqual([LISTED, LISTED.replace('max: 1000 ', 'max: 2000 ')]);
    expect(rowsOf(z.looseObject({ detail: z.unknown() }), join(bundle, 'prices.jsonl'))).toMatchObject([
      { detail: { set: [{ asset: 'BTC', price: '1' }], by: 'ada' } },
      { detail: { set: [{ asset: 'BTC', price: '2' }], by: 'ada' } },
    ]);
    for (const file of readdirSync(bundle, { recursive: true, withFileTypes: true })) {
      const path = join(file.parentPath, file.name);
      expect(statSync(path).mode & 0o777).toBe(file.isDirectory() ? 0o700 : 0o600);
      if (file.isDirectory()) continue;
      for (const secret of [SHOP_SECRET, VAULT_TOKEN])
        expect(readFileSync(path, 'utf8')).not.toContain(secret);
    }

    expect(NODES.map(({ version }) => version)).toContain(process.version.split('.', 2).join('.'));
    const { code, out } = verified(bundle);
    expect({ code, lines: out.split('\n') }).toEqual({
      code: 0,
      lines: [
        `${period[1]} to ${period[3]}, manifest ${sha256}`,
        'shop: 14 entries, 2 archived; 5 SUCCESS, 2 FAILURE',
        'shop: 1 references to entries before the period',
        'vault: 2 entries, 0 archived; 0 SUCCESS, 0 FAILURE',
        '16 files, 2 revisions, 0 faults',
        '',
      ],
    });
    const end = z
      .object({ sources: z.array(z.object({ source: z.string(), archiveEnd: z.string() })) })
      .parse(JSON.parse(readFileSync(join(bundle, 'manifest.json'), 'utf8')))
      .sources.find(({ source }) => source === 'shop')?.archiveEnd;
    expect(verified(bundle, sha256, end ?? '').code).toBe(0);
    const other = '5'.repeat(64);
    expect(verified(bundle, other)).toMatchObject(prints(1, `${other}: neither the manifest nor a line has`));
    rmSync(join(bundle, 'manifest.json'));
    expect(verified(bundle)).toMatchObject(prints(2, 'is not a bundle that can be read'));
  });

  it('says what is missing where the archive is not given, and the verifier repeats it: 1', async () => {
    const { run, archive, period } = await story();
    const bundle = join(temporaryFolder(), 'bundle');
    const { code, out } = await run`audit export ${period} --out ${bundle}`;
    expect(code).toBe(1);
    expect(out).toMatch(
      /missing: entries of shop before \S+ are archived in .*, which ended with [0-9a-f]{64}/,
    );
    expect(out).toContain(archive);
    expect(out).toContain('missing: when lists of shop had 1 value: null in lists.jsonl');
    const { code: ended, out: said } = verified(bundle);
    expect(ended).toBe(1);
    expect(said.split('\n').filter((each) => each.startsWith('missing: '))).toEqual(
      out.split('\n').filter((each) => each.startsWith('missing: ')),
    );
    expect(said).toMatch(/ 0 faults\n$/);
    expect(await run`audit export ${period} --archive ${archive} --out ${bundle}`).toMatchObject({
      code: 2,
      err: expect.stringContaining(`${bundle} is not empty. Name a new directory`),
    });
  });

  it('has each entry once where an interrupted archiver left it in the store', async () => {
    const { run, service, archive, period } = await story();
    const { store, ...task } = archiving(service, archive, 3);
    const dropping: ArchiveTask = {
      ...task,
      source: 'vault',
      store: { entries: (query) => store.entries(query), dropEntries: () => Promise.resolve(0) },
    };
    await archiveSource(dropping);
    const bundle = join(temporaryFolder(), 'bundle');
    expect((await run`audit export ${period} --archive ${archive} --out ${bundle}`).code).toBe(0);
    expect(verified(bundle).code).toBe(0);
    const ids = rowsOf(entry, join(bundle, 'explained/vault.jsonl')).map(({ id }) => id);
    expect(ids.length).toBe(new Set(ids).size);
  });

  it('has empty journals and what was in force for a period without entries', async () => {
    const { run, archive, mark } = await story();
    const [from, to] = [await mark(), await mark()];
    const bundle = join(temporaryFolder(), 'bundle');
    const ran = await run`audit export --from ${from} --to ${to} --archive ${archive} --out ${bundle}`;
    expect(ran).toMatchObject(prints(0, `${bundle}: 0 entries`));
    expect(verified(bundle)).toMatchObject(prints(0, '1 revisions, 0 faults'));
    expect(linesOf(join(bundle, 'revisions.jsonl'))).toHaveLength(1);
  });

  it('is verified by a program that finds each tampering, with its place', { timeout: 120_000 }, async () => {
    const { run, archive, period } = await story();
    const whole = join(temporaryFolder(), 'bundle');
    const ran = await run`audit export ${period} --archive ${archive} --out ${whole} --json`;
    const { sha256 } = summary.parse(ran.json());
    for (const [name, tamper, ...faults] of TAMPERINGS) {
      const bundle = join(temporaryFolder(), 'bundle');
      cpSync(whole, bundle, { recursive: true });
      tamper(bundle);
      const { code, out } = verified(bundle);
      const found = out.split('\n').map((text) => placed(bundle, text));
      expect({ name, code, found }).toEqual({ name, code: 1, found: expect.arrayContaining(faults) });
    }
    const forged = join(temporaryFolder(), 'bundle');
    cpSync(whole, forged, { recursive: true });
    forge(forged, (text) => text.includes('"type":"release"'));
    expect(verified(forged)).toMatchObject(prints(0, ' 0 faults\n'));
    expect(verified(forged, sha256)).toMatchObject(
      prints(1, 'neither the manifest nor a line has this hash'),
    );
  });
});

const [SHOP, VAULT] = ['journal/shop.jsonl', 'journal/vault.jsonl'];
const edit = (bundle: string, file: string, change: (text: string) => string): void =>
  writeFileSync(join(bundle, file), change(readFileSync(join(bundle, file), 'utf8')));
const editLines = (bundle: string, file: string, change: (lines: string[]) => readonly string[]): void =>
  edit(bundle, file, (text) => `${change(text.split('\n').slice(0, -1)).join('\n')}\n`);
const revisionIn = (bundle: string): string => `revisions/${readdirSync(join(bundle, 'revisions'))[0]}`;

/** Removes a line and computes all hashes again, as somebody with all files can. */
function forge(bundle: string, isRemoved: (line: string) => boolean): void {
  for (const file of [SHOP, 'explained/shop.jsonl']) {
    editLines(bundle, file, (lines) => {
      let previous = unchainLine(lines[0] ?? '')?.previous ?? '';
      return lines.flatMap((text) => {
        if (isRemoved(text)) return [];
        const { line, hash } = chainLine(JSON.parse(unchainLine(text)?.text ?? '') as object, previous);
        previous = hash;
        return [line];
      });
    });
    const hash = sha256Hex(readFileSync(join(bundle, file)));
    edit(bundle, 'manifest.json', (text) => text.replace(new RegExp(`("${file}": ")[^"]+`), `$1${hash}`));
  }
}

/** A fault without hashes, and with LINE for a line of the manifest that is about its file. */
function placed(bundle: string, text: string): string {
  const [, file = '', number = ''] = /^(.*?): .*manifest\.json:(\d+)/.exec(text) ?? [];
  const line = readFileSync(join(bundle, 'manifest.json'), 'utf8').split('\n')[Number(number) - 1] ?? '';
  const named = line.includes(`"${file}": "`) ? text.replace(`manifest.json:${number}`, 'LINE') : text;
  return named.replaceAll(/[0-9a-f]{64}/g, 'HASH');
}

const CHANGED = 'its hash is not the hash of its content: it was changed';
const MOVED = 'it does not follow the line before: lines were removed, added, moved or repeated';
const OTHER = 'its SHA-256 is not that of LINE';

type Tampering = readonly [name: string, tamper: (bundle: string) => void, ...faults: readonly string[]];
const TAMPERINGS: readonly Tampering[] = [
  [
    'a changed word',
    (bundle) =>
      editLines(bundle, SHOP, (lines) => lines.with(5, (lines[5] ?? '').replace('FAILURE', 'SUCCESS'))),
    `${SHOP}: ${OTHER}`,
    `${SHOP}:6: ${CHANGED}`,
  ],
  [
    'a changed archived line',
    (bundle) => editLines(bundle, SHOP, (lines) => lines.with(0, (lines[0] ?? '').replace('o-2', 'o-8'))),
    `${SHOP}:1: ${CHANGED}`,
  ],
  [
    'a removed line',
    (bundle) => editLines(bundle, SHOP, (lines) => lines.toSpliced(6, 1)),
    `${SHOP}:7: ${MOVED}`,
  ],
  [
    'reordered lines',
    (bundle) => editLines(bundle, SHOP, (lines) => lines.toSpliced(6, 2, ...lines.slice(6, 8).toReversed())),
    `${SHOP}:7: ${MOVED}`,
    `${SHOP}:8: ${MOVED}`,
  ],
  [
    'a duplicated entry',
    (bundle) => editLines(bundle, SHOP, (lines) => lines.toSpliced(7, 0, lines[6] ?? '')),
    `${SHOP}:8: ${MOVED}`,
  ],
  [
    'a removed last line',
    (bundle) => editLines(bundle, SHOP, (lines) => lines.slice(0, -1)),
    `${SHOP}: ${OTHER}`,
    'explained/shop.jsonl:14: it explains no entry',
  ],
  [
    'a truncated file',
    (bundle) => edit(bundle, SHOP, (text) => text.slice(0, -20)),
    `${SHOP}:17: it has no line break: the file was cut off here`,
  ],
  [
    'swapped files',
    (bundle) => {
      const [shop = '', vault = ''] = [SHOP, VAULT].map((file) => readFileSync(join(bundle, file), 'utf8'));
      edit(bundle, SHOP, () => vault);
      edit(bundle, VAULT, () => shop);
    },
    `${SHOP}:1: it is an entry of vault`,
    `${VAULT}:1: it is an entry of shop`,
  ],
  [
    'a changed explanation',
    (bundle) => edit(bundle, 'explained/shop.jsonl', (text) => text.replace('announced by ada', 'by eve')),
    `explained/shop.jsonl:7: ${CHANGED}`,
  ],
  [
    'a changed list',
    (bundle) => edit(bundle, 'lists.jsonl', (text) => text.replace('"atBegin":true', '"atBegin":false')),
    `lists.jsonl:1: ${CHANGED}`,
  ],
  [
    'a changed push',
    (bundle) => edit(bundle, 'revisions.jsonl', (text) => text.replace('"by":"ada"', '"by":"eve"')),
    `revisions.jsonl:2: ${CHANGED}`,
  ],
  [
    'an edited source of a revision',
    (bundle) => edit(bundle, `${revisionIn(bundle)}/files/payments.yaml`, (text) => `${text}# as it was\n`),
    `revisions/HASH/files/payments.yaml: ${OTHER}`,
  ],
  [
    'an edited document of a revision',
    (bundle) =>
      edit(bundle, `${revisionIn(bundle)}/document.json`, (text) => text.replace('"10000"', '"90000"')),
    'revisions/HASH/document.json:1: its canonical form has another SHA-256 than its name',
    `${SHOP}:1: its revision HASH is not in the bundle`,
  ],
  [
    'a removed revision',
    (bundle) => rmSync(join(bundle, revisionIn(bundle)), { recursive: true }),
    'revisions/HASH/document.json: it is missing, but LINE has it',
    'revisions.jsonl:1: HASH is not in the bundle',
    `${SHOP}:1: its revision HASH is not in the bundle`,
  ],
  [
    'an edited hash of the manifest',
    (bundle) => edit(bundle, 'manifest.json', (text) => text.replace(/("verify.mjs": ")./, '$1x')),
    `verify.mjs: ${OTHER}`,
  ],
  [
    'an extra file',
    (bundle) => writeFileSync(join(bundle, 'journal/notes.txt'), 'nothing\n'),
    'journal/notes.txt: the manifest does not have it',
  ],
  [
    'a removed decision that is repeated and released, with all hashes computed again',
    (bundle) => forge(bundle, (text) => text.includes('"type":"decision","subject":"payment:o-5"')),
    expect.stringMatching(/^journal\/shop\.jsonl:14: it refers to \S+, which is not before it$/) as string,
    expect.stringMatching(/^journal\/shop\.jsonl:16: it refers to \S+, which is not before it$/) as string,
  ],
];
