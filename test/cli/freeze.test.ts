import { expect, it } from 'vitest';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { type Run, placeIn } from './terminal.ts';

interface Freeze {
  readonly id: string;
}

/** What `--json` prints, as far as these tests look at it. */
interface Said {
  readonly freeze: Freeze;
  readonly approving: boolean;
  readonly frozen: readonly Freeze[];
  readonly lifted: readonly Freeze[];
}

const said = async (run: Run, ...argv: readonly string[]): Promise<Said & { readonly code: number }> => {
  const ran = await run(...argv, '--json');
  return { ...(ran.json() as Said), code: ran.code };
};

const freezeBy = async (run: Run, by: string, reason: string): Promise<string> =>
  (await said(run, 'freeze', reason, '--by', by)).freeze.id;

const ids = (freezes: readonly Freeze[]): readonly string[] => freezes.map(({ id }) => id);

describeOnBothStores('freeze and unfreeze', (host) => {
  const here = async () => placeIn((await host.start()).folder);

  it('an unfreeze lifts the one that it names, and shows who stands against approvals still', async () => {
    const { run } = await here();
    const drill = await freezeBy(run, 'ada', 'drill');
    const leak = await freezeBy(run, 'bob', 'keys may have leaked');
    const again = await run`freeze again`;
    expect(again.out).toMatch(/^Frozen as f\d+\. .*`countersign unfreeze f\d+`/);
    expect(again.out).toMatch(/Also frozen:\n {2}f\d+ {2}since .* by ada: drill$/m);
    const lifted = await run`unfreeze ${drill} --by carol`;
    expect(lifted).toMatchObject({ code: 1 });
    expect(lifted.out).toContain(`Lifted ${drill} of ada: drill`);
    expect(lifted.out).toMatch(
      new RegExp(`Still frozen.*\n {2}${leak} {2}since .* by bob: keys may have leaked`),
    );
    expect(await said(run, 'unfreeze', leak)).toMatchObject({ code: 1, lifted: [{ id: leak }] });
    const both = [await freezeBy(run, 'ada', 'drill'), await freezeBy(run, 'bob', 'leak')];
    const last = await said(run, 'unfreeze', '--all');
    expect(last).toMatchObject({ code: 0, approving: true, frozen: [] });
    expect(ids(last.lifted).slice(-2)).toEqual(both);
  });

  it('an unfreeze without an id lifts the only one, and asks which of several', async () => {
    const { run } = await here();
    const drill = await freezeBy(run, 'ada', 'drill');
    expect(await said(run, 'unfreeze')).toMatchObject({ code: 0, approving: true });
    const again = await freezeBy(run, 'ada', 'drill');
    const leak = await freezeBy(run, 'bob', 'leak');
    expect(new Set([drill, again, leak]).size).toBe(3);
    const asked = await run('unfreeze');
    expect(asked.code).toBe(2);
    for (const part of [again, leak, 'ada: drill', 'bob: leak', '--all']) expect(asked.err).toContain(part);
    const { frozen } = await said(run, 'unfreeze', again);
    expect(ids(frozen)).toEqual([leak]);
  });

  it('an unfreeze of what does not stand lifts nothing, and says so', async () => {
    const { run } = await here();
    const drill = await freezeBy(run, 'ada', 'drill');
    const other = await run`unfreeze f9999`;
    expect(other.code).toBe(1);
    expect(other.out).toMatch(/There is no freeze f9999/);
    expect(other.out).toContain(drill);
    expect(await run`unfreeze drill`).toMatchObject({ code: 2 });
    expect(await run`unfreeze ${drill} --all`).toMatchObject({ code: 2 });
    expect(await said(run, 'unfreeze', drill)).toMatchObject({ code: 0 });
    expect(await said(run, 'unfreeze')).toMatchObject({ code: 0, approving: true, lifted: [] });
  });

  it('a freeze excepts what people approve, or nothing, and says which everywhere', async () => {
    const { run } = await here();
    for (const except of ['', 'all', 'Approved', 'unapproved']) {
      expect(await run('freeze', '--except', except, 'drill')).toMatchObject({ code: 2 });
    }
    expect(await run`freeze --except approved`).toMatchObject({ code: 2 });
    expect((await said(run, 'unfreeze')).lifted).toEqual([]);
    const frozen = await said(run, 'freeze', '--except', 'approved', 'odd', '--by', 'ada');
    expect(frozen).toMatchObject({ freeze: { kind: 'except-approved' } });
    const { id } = frozen.freeze;
    const full = await run`freeze leak --by bob`;
    expect(full.out).toMatch(/^Frozen as f\d+\. Every callback is answered FAILURE until/);
    expect(full.out).toMatch(/Also frozen:\n {2}f\d+ {2}since .* by ada, except what people approve: odd$/m);
    const found = await run`decisions search --source shop --type freeze`;
    expect(found.out).toContain(`frozen by ada as ${id}, except what people approve: odd`);
    expect((await run`policy show`).out).toContain(`as ${id} by ada, except what people approve: odd`);
    const lifted = await said(run, 'unfreeze', '--all');
    expect(lifted).toMatchObject({ code: 0, approving: true, frozen: [] });
    expect(lifted.lifted).toHaveLength(2);
  });

  it('each freeze and each unfreeze is in the journal of every source, with its author', async () => {
    const { run } = await here();
    const drill = await freezeBy(run, 'ada', 'drill');
    const leak = await freezeBy(run, 'bob', 'leak');
    await run`unfreeze ${drill} --by carol --message ${'keys rotated'}`;
    for (const source of ['shop', 'vault']) {
      const found = await run`decisions search --source ${source} --type freeze`;
      const lines = found.out.trimEnd().split('\n');
      expect(lines).toHaveLength(3);
      expect(lines[0]).toContain(`frozen by ada as ${drill}: drill`);
      expect(lines[1]).toContain(`frozen by bob as ${leak}: leak`);
      expect(lines[2]).toContain(
        `carol lifted ${drill} of ada: drill; still frozen by ${leak}; reason: keys rotated`,
      );
    }
    const [entry] = (await run`decisions search --newest --limit 1 --json`).json() as {
      readonly id: string;
    }[];
    const shown = await run`decisions show ${entry?.id ?? ''}`;
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.out).toContain('carol lifted');
    const exported = (await run`decisions export`).out.trimEnd().split('\n');
    expect(exported.filter((line) => line.includes('"type":"freeze"'))).toHaveLength(6);
  });
});
