import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readPolicyDirectory } from '../../../src/release/files.ts';
import { pushRelease } from '../../../src/release/push.ts';
import { keptFiles } from '../../../src/release/sources.ts';
import { describeOnBothStores } from '../../scenarios/on-both-stores.ts';
import { directoryOf } from '../../release/directory.ts';
import { placeIn, reports } from '../terminal.ts';

const limit = (max: number, more = ''): string =>
  `# The limit of ${max}, as the risk team wants it.\npolicy: payments\ncallback: payment\nrules:\n  - amount-limit: { max: ${max} }\n${more}`;
const TEST = `# What must pass.
tests:
  - test: 1 passes
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
`;

describeOnBothStores('policy files that come from an earlier revision', (host) => {
  const running = async () => {
    const service = await host.start({ policies: { 'a.yaml': limit(1000), 'tests/a.test.yaml': TEST } });
    const { run, write } = placeIn(service.folder);
    const inForce = async () => (await service.store.control()).revision;
    /** A push from elsewhere, as the console does it. */
    const pushElsewhere = async (text: string): Promise<void> => {
      const release = await readPolicyDirectory(directoryOf({ 'a.yaml': text }));
      const files = await keptFiles(directoryOf({ 'a.yaml': text }), release.document);
      const expected = await inForce();
      await pushRelease(service.store, { release, files, expected, by: 'console:bob', message: 'tighter' });
    };
    return { service, run, write, inForce, pushElsewhere };
  };

  it('are not pushed over a newer push, and doctor says who pushed it, when and why', async () => {
    const { run, write, inForce, pushElsewhere } = await running();
    await pushElsewhere(limit(500));
    const newer = await inForce();
    const doctor = await run('doctor');
    expect(doctor.out).toMatch(/is in force, 1 policy, 1 rule, pushed 20\S+ by console:bob: tighter/);
    expect(doctor.out).toContain('the policy files have policy payments as an earlier revision had it');
    expect(doctor.out).not.toContain('puts them in force');
    const refused = await run`policy push --message mine`;
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('by console:bob: tighter. This push would undo it.');
    expect(refused.err).toContain(`give --expect ${newer.slice(0, 12)}`);
    expect(await inForce()).toBe(newer);
    // A change beside it does not hide what would be undone.
    write('policies/b.yaml', limit(10).replace('policy: payments', 'policy: others'));
    expect((await run`policy push --message mine`).code).toBe(1);
    const pushed = await run`policy push --message mine --expect ${newer.slice(0, 12)}`;
    expect(pushed.code).toBe(0);
  });

  it('are known by what was pushed from their folder, however they were edited since', async () => {
    const { run, write, inForce, pushElsewhere } = await running();
    write('policies/a.yaml', limit(900));
    expect((await run`policy push --message one`).code).toBe(0);
    const base = await inForce();
    await pushElsewhere(limit(500));
    write('policies/a.yaml', limit(800));
    expect(await run`policy push --message two`).toMatchObject(
      reports(1, `the policy files come from revision ${base.slice(0, 12)}`),
    );
    expect((await run`policy push --message two --dry-run`).code).toBe(1);
  });

  it('and those that go on from what is in force are pushed, back and forth', async () => {
    const { run, write } = await running();
    for (const max of [900, 1000, 900]) {
      write('policies/a.yaml', limit(max));
      expect((await run`policy push --message again`).code).toBe(0);
    }
  });

  it('are written by policy checkout with comments and tests, and then pushed', async () => {
    const { service, run, write, inForce, pushElsewhere } = await running();
    const first = await inForce();
    await pushElsewhere(limit(500));
    const folder = join(service.folder, 'checked-out');
    const out = await run`policy checkout ${folder}`;
    expect(out).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'a.yaml'), 'utf8')).toBe(limit(500));
    expect(existsSync(join(folder, 'tests'))).toBe(false);
    expect(await run`policy checkout ${folder}`).toMatchObject(reports(2, 'is not empty'));
    write('checked-out/a.yaml', limit(400));
    expect((await run`policy push ${folder} --message ${'from there'}`).code).toBe(0);
    const earlier = await run`policy checkout ${folder} ${first.slice(0, 8)} --force --json`;
    expect(earlier.json()).toMatchObject({ revision: first, asWritten: true, same: true });
    expect(readFileSync(join(folder, 'tests/a.test.yaml'), 'utf8')).toBe(TEST);
    rmSync(folder, { recursive: true });
  });
});
