import { expect, it } from 'vitest';
import { z } from 'zod';
import type { JournalRecord } from '../../../src/store/store.ts';
import { describeOnBothStores } from '../../scenarios/on-both-stores.ts';
import { eventually } from '../../eventually.ts';
import type { TestService } from '../../service.ts';
import { type Place, placeIn } from '../terminal.ts';

const pageShape = z.strictObject({
  entries: z.array(z.looseObject({ id: z.string() })),
  next: z.string().nullable(),
});
type Page = z.output<typeof pageShape>;

const RECORD: Omit<JournalRecord, 'source' | 'subject'> = {
  type: 'refused',
  verdict: 'FAILURE',
  code: 'NOT_JSON',
  of: '',
  detail: '{}',
};

interface Recorded extends Place {
  /** Writes this many entries of each source, one after the other. Resolves with their names, in order. */
  readonly add: (count: number) => Promise<readonly string[]>;
  readonly page: (...options: readonly string[]) => Promise<Page>;
  readonly service: TestService;
}

describeOnBothStores('decisions search by pages', (host) => {
  async function recorded(): Promise<Recorded> {
    const service = await host.start();
    const at = placeIn(service.folder);
    return {
      ...at,
      service,
      async add(more) {
        const names: string[] = [];
        for (let index = 0; index < more; index++) {
          for (const source of ['shop', 'vault']) {
            const subject = source === 'shop' ? 'payment:1' : index % 2 === 0 ? 'transfer:1' : 'web3:1';
            names.push(`${source}/${await service.store.record({ ...RECORD, source, subject })}`);
          }
        }
        return names;
      },
      async page(...options) {
        const { code, json } = await at.run`decisions search --json ${options}`;
        expect(code).toBe(0);
        return pageShape.parse(json());
      },
    };
  }

  const idsOf = ({ entries }: Page): readonly string[] => entries.map(({ id }) => id);

  /** All pages of a search, from the first. `between` runs after each. */
  async function allPages(
    { page }: Recorded,
    options: readonly string[],
    between: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<readonly (readonly string[])[]> {
    const pages: (readonly string[])[] = [];
    let next: string | null = 'start';
    while (next !== null) {
      const found: Page = await page(...options, '--after', next);
      pages.push(idsOf(found));
      ({ next } = found);
      await between();
    }
    return pages;
  }

  const sorted = (ids: readonly string[]): readonly string[] => ids.toSorted();

  it('gives each entry once, in the order of the whole list, and then no cursor', async () => {
    const at = await recorded();
    const names = await at.add(5);
    for (const order of [[], ['--newest']]) {
      const { json } = await at.run`decisions search --json ${order}`;
      const whole = z
        .array(z.looseObject({ id: z.string() }))
        .parse(json())
        .map(({ id }) => id);
      expect(sorted(whole)).toEqual(sorted(names));
      for (const limit of [1, 3, 10, 11]) {
        const pages = await allPages(at, [...order, '--limit', String(limit)]);
        expect(pages.flat()).toEqual(whole);
        expect(pages).toHaveLength(Math.ceil(names.length / limit));
      }
    }
  });

  it('gives no entry twice and leaves none out while others are written, oldest first', async () => {
    const at = await recorded();
    const names = [...(await at.add(3))];
    let more = 3;
    const pages = await allPages(at, ['--limit', '2'], async () => {
      if (more-- > 0) names.push(...(await at.add(1)));
    });
    expect(sorted(pages.flat())).toEqual(sorted(names));
  });

  it('shows nothing that was written after its first page, newest first', async () => {
    const at = await recorded();
    const names = await at.add(3);
    const pages = await allPages(at, ['--newest', '--limit', '1'], async () => {
      const { nowMs } = await at.service.store.health();
      await eventually('a later time of the store', async () => {
        const later = (await at.service.store.health()).nowMs;
        return later > nowMs ? later : undefined;
      });
      await at.add(1);
    });
    expect(sorted(pages.flat())).toEqual(sorted(names));
  });

  it('goes on after entries that are archived meanwhile, also the one of the cursor', async () => {
    const at = await recorded();
    const names = await at.add(4);
    const first = await at.page('--limit', '4', '--after', 'start');
    for (const name of names.slice(0, 6)) {
      const [source = '', id = ''] = name.split('/');
      while ((await at.service.store.dropEntries({ source, upTo: id })) > 0);
    }
    const rest = await at.page('--after', first.next ?? '');
    const passed = new Set(idsOf(first));
    expect(sorted(idsOf(rest))).toEqual(sorted(names.slice(6).filter((name) => !passed.has(name))));
    expect(rest.next).toBeNull();
  });

  it('pages what a filter and a period let through, and keeps the period of the first page', async () => {
    const at = await recorded();
    const names = await at.add(4);
    const web3 = names.filter((_, index) => index % 4 === 3);
    expect((await allPages(at, ['--subject', 'web3:1', '--limit', '1'])).flat()).toEqual(web3);
    expect(sorted((await allPages(at, ['--request', '1', '--limit', '1'])).flat())).toEqual(
      sorted(names.filter((name) => name.startsWith('vault/'))),
    );
    expect((await allPages(at, ['--code', 'APPROVED', '--limit', '1'])).flat()).toEqual([]);
    const later = at.runWith({ clock: () => Date.now() + 3_600_000 });
    const first = await at.page('--since', '30m', '--limit', '1', '--after', 'start');
    const options = ['--since', '30m', '--json', '--after', first.next ?? ''];
    const { json } = await later`decisions search ${options}`;
    expect(idsOf(pageShape.parse(json()))).toHaveLength(names.length - 1);
  });

  it('names the cursor for people too, and keeps the list of a call without --after', async () => {
    const at = await recorded();
    await at.add(2);
    const listed = (limit: string) => at.run`decisions search --json --limit ${limit}`;
    const whole = z.array(z.looseObject({ id: z.string() })).parse((await listed('10')).json());
    expect((await listed('3')).json()).toEqual(whole.slice(0, 3));
    const { out, err } = await at.run`decisions search --limit 3`;
    expect(out.trimEnd().split('\n')).toHaveLength(3);
    const cursor = /^More entries: --after (\S+)\n$/.exec(err)?.[1] ?? '';
    expect((await at.page('--after', cursor)).entries).toEqual(whole.slice(3));
    expect((await at.run`decisions search --limit 4`).err).toBe('');
  });

  it('refuses what is not its cursor: 2, with the cure', async () => {
    const at = await recorded();
    await at.add(2);
    const { next } = await at.page('--limit', '1', '--after', 'start');
    const cursor = next ?? '';
    const forged = (change: (position: Record<string, unknown>) => unknown): string => {
      const position = z
        .record(z.string(), z.unknown())
        .parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
      return Buffer.from(JSON.stringify(change(position))).toString('base64url');
    };
    const NOT_ONE = 'is not a cursor of this store. Give `next` of the page before, or `start`';
    const ANOTHER = 'is a cursor of another search. Give the same options as for the page before';
    const calls: readonly (readonly [options: readonly string[], said: string])[] = [
      [['--after', ''], NOT_ONE],
      [['--after', 'shop/1'], NOT_ONE],
      [['--after', '17'], NOT_ONE],
      [['--after', `${cursor}=`], NOT_ONE],
      [['--after', cursor.slice(1)], NOT_ONE],
      [['--after', forged((position) => ({ ...position, more: 1 }))], NOT_ONE],
      [['--after', forged(() => [])], NOT_ONE],
      [['--after', forged((position) => ({ ...position, after: undefined }))], NOT_ONE],
      [['--after', forged((position) => ({ ...position, after: { shop: 'x', vault: '' } }))], NOT_ONE],
      [['--after', forged((position) => ({ ...position, after: { shop: '1' } }))], ANOTHER],
      [['--after', cursor, '--newest'], ANOTHER],
      [['--after', cursor, '--source', 'shop'], ANOTHER],
      [['--after', cursor, '--order', '1'], ANOTHER],
    ];
    for (const [options, said] of calls) {
      const { code, out, err } = await at.run`decisions search ${options}`;
      expect({ options, code, out }).toEqual({ options, code: 2, out: '' });
      expect(err).toContain(said);
    }
  });
});
