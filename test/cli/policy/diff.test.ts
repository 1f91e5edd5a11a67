import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { POLICIES } from '../../service.ts';
import { type Place, place, reports } from '../terminal.ts';

const changed = (max: number): string => POLICIES['payments.yaml'].replace('max: 1000 ', `max: ${max} `);

async function pushed(): Promise<Place & { readonly revision: string }> {
  const at = place();
  const { json } = await at.run`policy push --message first --json`;
  return { ...at, revision: z.object({ revision: z.string() }).parse(json()).revision };
}

describe('policy diff', () => {
  it('says what the files change in what is in force', async () => {
    const { run, write, revision } = await pushed();
    expect((await run`policy diff`).out).toContain('Nothing differs.');
    write('policies/payments.yaml', changed(500));
    write(
      'policies/more.yaml',
      'policy: more\ncallback: payment\nwhen: { source: shop }\nrules:\n  - { deny-list: { of: userId, file: users.txt }, mode: observe }\n',
    );
    write('policies/users.txt', '1\n2\n');
    const { code, out } = await run`policy diff`;
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^${revision.slice(0, 12)} → [0-9a-f]{12}\n`));
    expect(out.slice(out.indexOf('\n') + 1)).toBe(`+ policy more (payment, 1 rule)
    + deny-list#1 { file: users.txt, of: userId } (only observes)
~ policy payments
    ~ amount-limit#1 max 1000 -> 500 (stricter)
+ list file users.txt: 2 added (1, 2)
`);
  });

  it('with --exit-code tells by it whether anything differs', async () => {
    const { run, write } = await pushed();
    expect(await run`policy diff --exit-code`).toMatchObject({ code: 0 });
    write('policies/payments.yaml', changed(500));
    expect(await run`policy diff --exit-code`).toMatchObject({ code: 1 });
  });

  it('compares two revisions of old, or an old one with files', async () => {
    const { run, write, revision } = await pushed();
    write('policies/payments.yaml', changed(500));
    const { json } = await run`policy push --message second --json`;
    const second = z.object({ revision: z.string() }).parse(json()).revision;
    const both = await run`policy diff --from ${second.slice(0, 8)} --to ${revision.slice(0, 8)} --json`;
    expect(both.json()).toMatchObject({
      from: second,
      to: revision,
      same: false,
      policies: [
        {
          policy: 'payments',
          rules: [{ parameters: [{ name: 'max', before: '500', after: '1000', direction: 'looser' }] }],
        },
      ],
    });
    expect((await run`policy diff --from ${revision.slice(0, 8)} --json`).json()).toMatchObject({
      from: revision,
      to: second,
    });
    expect((await run`policy diff --to ${second.slice(0, 8)} --json`).json()).toMatchObject({
      same: true,
    });
  });

  it('where nothing is in force shows all as new', async () => {
    const { code, out } = await place().run`policy diff`;
    expect(code).toBe(0);
    expect(out).toMatch(
      /^no revision → [0-9a-f]{12}\n\+ policy payments \(payment, 2 rules\) \(looser: no other policy decided its callbacks\)\n/,
    );
  });

  it('refuses faulty files with every fault: 1', async () => {
    const { run, write, folder } = await pushed();
    write('other/a.yaml', 'policy: a\ncallback: payment\nrules:\n  - amount-limt: { max: 1 }\n');
    expect(await run`policy diff ${join(folder, 'other')}`).toMatchObject(
      reports(1, 'did you mean amount-limit?'),
    );
  });
});
