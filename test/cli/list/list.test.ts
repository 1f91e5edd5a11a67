import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TO } from '../../service.ts';
import { NOBODY_NOTED, place, reports } from '../terminal.ts';

const R = 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh';

const shown = z.array(
  z.object({
    source: z.string(),
    values: z.array(z.object({ value: z.string(), addedAt: z.iso.datetime() })),
  }),
);

/** The values that `list show NAME --json` printed, by source. */
const valuesIn = (json: unknown): Record<string, readonly string[]> =>
  Object.fromEntries(
    shown.parse(json).map(({ source, values }) => [source, values.map(({ value }) => value)]),
  );

describe('list add', () => {
  it('says so where no rule in force looks into the list', async () => {
    const deny = 'policy: a\ncallback: payment\nrules:\n  - deny-list: { of: userId, list: blocked }\n';
    const { run } = place({ policies: { 'a.yaml': deny } });
    expect((await run`list add --create blocked 7 --source shop`).err).toEqual(NOBODY_NOTED);
    await run`policy push --message x`;
    expect((await run`list add --create blocked 8 --source shop`).err).toEqual(NOBODY_NOTED);
    expect((await run`list add --create blokked 8 --source shop`).err).toContain(
      'No rule in force uses the list blokked',
    );
  });

  it('puts values on the list of every source, and says which', async () => {
    const { run } = place();
    const { code, out } = await run`list add --create blocked 7 8 7`;
    expect(code).toBe(0);
    expect(out).toBe(
      'shop/blocked: 2 added, 2 entries now (version 1)\nvault/blocked: 2 added, 2 entries now (version 1)\n',
    );
  });

  it('of one source leaves the others alone, and counts only what is new', async () => {
    const { run } = place();
    await run`list add --create blocked 7 --source shop`;
    const { out, json } = await run`list add --create blocked 7 9 --source shop --json`;
    const services = { noted: [], silent: [] };
    expect(json()).toEqual([
      { source: 'shop', list: 'blocked', changed: 1, entries: 2, version: 2, services },
    ]);
    expect(out).not.toContain('vault');
  });

  it('keeps values comparable and trimmed, from arguments and a file alike', async () => {
    const { run, write } = place();
    const file = write('more.txt', `# ours\n${TO} # cold\n\n  5 \n`);
    const upper = `0x${TO.slice(2).toUpperCase()}`;
    await run`list add --create ours ${` ${upper} `} bc1qAbC --file ${file} --source vault`;
    const { json } = await run`list show ours --json`;
    expect(valuesIn(json())).toEqual({ vault: [TO, '5', 'bc1qAbC'].sort() });
  });

  it('keeps a value of several parts, each part comparable', async () => {
    const { run, write } = place();
    const upper = `0x${TO.slice(2).toUpperCase()}`;
    const file = write('more.txt', `${upper} ETH # cold\n"${R} XRP order #7" # sales\n`);
    await run('list', 'add', '--create', 'partners', `${R} XRP 12345`, '--file', file, '--source', 'vault');
    await run`list add --create partners ${'x'.repeat(1024)} --source vault`;
    const { json } = await run`list show partners --json`;
    expect(valuesIn(json())).toEqual({
      vault: [`${TO} ETH`, `${R} XRP 12345`, `${R} XRP order #7`, 'x'.repeat(1024)].sort(),
    });
    const removed = await run('list', 'remove', 'partners', `${upper} ETH`, `${R} XRP order #7`);
    expect(removed.out).toContain('2 removed, 2 entries now');
  });

  it('is in the journal with who and why', async () => {
    const { run } = place();
    await run`list add --create blocked 7 --source shop --by grace --message ${'fraud 12'}`;
    const { out } = await run`decisions search`;
    expect(out).toContain('the list blocked was changed by grace: 1 to add, 0 to remove; fraud 12');
    expect((await run`decisions show shop/1`).out).toMatch(/^added +7$/m);
  });

  it('takes 100,000 values, and shows how far it is where somebody watches', async () => {
    const { write, runWith, run } = place();
    const file = write('many.txt', Array.from({ length: 100_000 }, (_, n) => `user-${n}\n`).join(''));
    const progress: string[] = [];
    const watched = runWith({ progress: (line) => void progress.push(line) });
    const { code, err } = await watched`list add --create many --file ${file} --source shop`;
    expect({ code, err }).toEqual({ code: 0, err: NOBODY_NOTED });
    expect(progress).toContain('shop/many: 10000 of 100000');
    expect(progress.at(-1)).toBe('');
    progress.length = 0;
    await watched`list add --create few 1 --source shop --json`;
    expect(progress).toEqual([]);
    expect((await run`list show --json`).json()).toMatchObject([{}, { list: 'many', entries: 100_000 }]);
    const lines = (await run`list show many`).out.split('\n');
    expect(lines).toHaveLength(100_002);
    const removed = await run`list remove many --file ${file} --source shop --json`;
    expect(removed.json()).toMatchObject([{ changed: 100_000, entries: 0 }]);
  });
});

describe('list add --asset', () => {
  const assets = 'assets:\n  XRP: { chain: ripple, decimals: 6 }\n  ETH: { chain: evm, decimals: 18 }\n';
  const CHECKED = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';

  it('puts values on the list that begin with an address of the asset', async () => {
    const { run, write } = place();
    write('policies/assets.yaml', assets);
    const file = write('more.txt', `${R} XRP 7 # sales\n`);
    const values = [`${R} XRP 1`, R, '--file', file];
    const added = await run`list add --create p ${values} --asset XRP --source vault`;
    expect(added).toMatchObject({ code: 0, err: NOBODY_NOTED });
    expect(added.out).toContain('3 added');
    expect((await run`list add --create p ${CHECKED} --asset ETH --source vault`).code).toBe(0);
    expect((await run`list add --create p ${CHECKED.toLowerCase()} --asset ETH`).code).toBe(0);
    expect((await run`list add --create empty --asset ETH`).code).toBe(0);
  });

  it('a value of the file whose capitals are not its checksum: 2, and nothing is added', async () => {
    const { run, write } = place();
    write('policies/assets.yaml', assets);
    const file = write('more.txt', `${CHECKED}\n${CHECKED.replace('5aA', '5aa')}\n`);
    const { code, err } = await run`list add --create p --file ${file} --asset ETH`;
    expect(code).toBe(2);
    expect(err).toContain(`${file}:2: "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed" does not begin`);
    expect((await run`list show --json`).json()).toEqual([]);
    write('more.txt', `0x1\n${CHECKED}\n\nev\u200bil\n`);
    const both = await run`list add --create p ${'a\u00a0b'} --file ${file} --asset ETH`;
    expect(both.err).toMatch(
      /"a⟨a no-break space \(U\+00A0\)⟩b".*\n.*more\.txt:1: "0x1" .*\n.*more\.txt:4: the value "ev⟨/,
    );
    expect((await run`list show --json`).json()).toEqual([]);
  });

  it.each([
    ['is not there', undefined, 'write one, or leave --asset out'],
    ['has faults', 'assets: { ETH: { chain: evn, decimals: 18 } }', 'assets.yaml:1:25: assets.ETH.chain'],
    ['is not YAML', 'assets: {', 'the asset table has faults'],
    ['is empty', '', 'the asset table has faults'],
    ['is two', `${assets}---\n${assets}`, 'more than one table'],
  ])('where the asset table %s: 2, with the cure', async (_, table, said) => {
    const { run, write } = place();
    if (table !== undefined) write('policies/assets.yaml', table);
    expect(await run`list add --create p ${CHECKED} --asset ETH`).toMatchObject(reports(2, said));
    expect((await run`list show --json`).json()).toEqual([]);
  });
});

describe('list remove', () => {
  it('takes off a value with two blanks in a row as well, which an earlier version may have kept', async () => {
    const { run } = place();
    await run`list add --create memos ${'a b'} --source vault`;
    expect((await run`list remove memos ${'a  b'}`).out).toContain('0 removed, 1 entry now');
  });

  it('takes values off where the list is, and leaves an empty list', async () => {
    const { run } = place();
    await run`list add --create blocked 7 8 --source shop`;
    const { code, out } = await run`list remove blocked 7 8 9`;
    expect(code).toBe(0);
    expect(out).toBe('shop/blocked: 2 removed, 0 entries now (version 2)\n');
  });

  it('of a list that is nowhere: 1, and makes none', async () => {
    const { run } = place();
    await run`list add --create blocked 7 --source vault`;
    for (const call of [
      ['blokced', '7'],
      ['blocked', '7', '--source', 'shop'],
    ]) {
      const { code, err } = await run`list remove ${call}`;
      expect(code).toBe(1);
      expect(err).toContain('countersign list show');
    }
    expect((await run`list show --json`).json()).toMatchObject([{ source: 'vault', entries: 1 }]);
  });

  it('of nothing: 2', async () => {
    const { run } = place();
    await run`list add --create blocked 7`;
    expect(await run`list remove blocked`).toMatchObject(reports(2, 'Give values, or a --file'));
  });
});

describe('list show', () => {
  it('names the lists of a source with entries, version and time', async () => {
    const { run } = place();
    await run`list add --create blocked 7 --source shop`;
    await run`list add --create ours ${TO} 5 --source vault`;
    expect((await run`list show --source vault --json`).json()).toEqual([
      {
        source: 'vault',
        list: 'ours',
        entries: 2,
        version: 1,
        changedAt: '2025-06-15T12:00:00.000Z',
      },
    ]);
  });

  it('prints a list as a file that can be added again', async () => {
    const { run, write } = place();
    await run`list add --create blocked 7 8 --source shop`;
    const { out } = await run`list show blocked`;
    const file = write('copy.txt', out);
    await run`list add --create copy --file ${file} --source vault`;
    expect(valuesIn((await run`list show copy --json`).json())).toEqual({ vault: ['7', '8'] });
  });

  it('prints values that look like comments so that they can be added again as well', async () => {
    const { run, write } = place();
    const values = [`${R} XRP order #7`, '#7', '"quoted"', 'a#b'];
    await run`list add --create memos ${values} --source vault`;
    const { out } = await run`list show memos`;
    await run`list add --create copy --file ${write('copy.txt', out)} --source vault`;
    expect(valuesIn((await run`list show copy --json`).json())).toEqual({ vault: values.sort() });
  });
});
