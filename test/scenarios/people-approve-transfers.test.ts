import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Ran, placeIn, prints, reports } from '../cli/terminal.ts';
import { DEPLOYMENT, keyFileOf, peopleText } from '../release/signing.ts';
import { type TestService, transfer } from '../service.ts';
import { eventually } from '../eventually.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const PEOPLE = `${peopleText(['ada', 'ben', 'cleo'], '[operate, approve]')}${peopleText(['dan'], '[approve]').replace('people:\n', '')}groups:
  treasury: [ada, ben, cleo]
`;
const POLICIES = {
  'people.yaml': PEOPLE,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: 10 }
  - any:
      - amount-limit: { max: 1 }
      - approval: { by: treasury, quorum: 2, within: 24h }
`,
};

describeOnBothStores('people approve transfers', (host) => {
  const start = async (policies: Readonly<Record<string, string>> = POLICIES) => {
    const service = await host.start({ policies, settings: { deployment: DEPLOYMENT } });
    const { run, write } = placeIn(service.folder);
    const ask = (members: object = {}): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer({ amount: '5', ...members }));
    const approve = (name: string, id = 'w-1') =>
      run('approvals', 'approve', `transfer:${id}`, '--source', 'vault', '--key', keyFileOf(name));
    return { service, run, write, ask, approve };
  };
  const codeOf = async ({ store }: TestService): Promise<string | undefined> => {
    const [entry] = await store.entries({ source: 'vault', newestFirst: true, limit: 1 });
    return entry?.code;
  };
  const listed = z.array(z.object({ id: z.string(), source: z.string(), needs: z.array(z.unknown()) }));

  it('takes two of three, and then approves each repeat and later question of this transfer alone', async () => {
    const { service, run, ask, approve } = await start();
    expect(await ask({ amount: '1', request_id: 'small' })).toBe('SUCCESS');
    expect(await ask()).toBe('FAILURE');
    expect(await codeOf(service)).toBe('AWAITING_APPROVAL');
    const requests = listed.parse((await run`approvals list --json`).json());
    expect(requests).toMatchObject([
      { id: 'transfer:w-1', source: 'vault', needs: [{ group: 'treasury', quorum: 2, policy: 'transfers' }] },
    ]);
    // It is asked once, however often the callback comes.
    expect(await ask()).toBe('FAILURE');
    expect(listed.parse((await run`approvals list --json`).json())).toHaveLength(1);

    const first = await approve('ada');
    expect(first).toMatchObject(prints(0, 'So far: ada'));
    expect(first.err).toContain('term amount 5\n');
    expect(await ask()).toBe('FAILURE');
    expect(await approve('ada')).toMatchObject(reports(1, 'has signed already'));
    expect(await approve('mallory')).toMatchObject(reports(1, 'is of nobody in people.yaml'));
    expect(await approve('ben')).toMatchObject(prints(0, 'So far: ada, ben'));
    // Other terms of the same transfer are refused whatever was approved, and another transfer needs approval of its own.
    expect(await ask({ amount: '6' })).toBe('FAILURE');
    expect(await codeOf(service)).toBe('TERMS_CHANGED');
    expect(await ask({ request_id: 'w-2' })).toBe('FAILURE');
    expect(await ask()).toBe('SUCCESS');
    expect(await ask()).toBe('SUCCESS');
    expect(await ask({ type: 'sign_prepare' })).toBe('SUCCESS');
    expect((await run`approvals list`).out).not.toContain('transfer:w-1 ');
    expect(await run`approvals show transfer:w-1 --source vault`).toMatchObject(prints(0, 'done'));

    const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
    const people = entries.filter(({ type }) => type === 'approval');
    expect(
      people.map(({ code, detail }) => [code, z.object({ by: z.string() }).parse(JSON.parse(detail)).by]),
    ).toEqual([
      ['APPROVED_BY_PERSON', 'ada'],
      ['APPROVED_BY_PERSON', 'ben'],
    ]);
  });

  it('keeps why a person approved it, which nobody signs', async () => {
    const { service, run, ask } = await start();
    await ask();
    const approve = (...words: readonly string[]): Promise<Ran> =>
      run('approvals', 'approve', 'transfer:w-1', '--source', 'vault', '--key', keyFileOf('ada'), ...words);
    expect(await approve('--message', ' ')).toMatchObject(reports(2, '--message is missing or empty'));
    expect(await approve('--message', 'x'.repeat(1001))).toMatchObject({ code: 2 });
    expect(await approve('--message', 'known customer')).toMatchObject(prints(0, 'So far: ada'));
    const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
    const [entry, ...others] = entries.filter(({ type }) => type === 'approval');
    expect(others).toEqual([]);
    const kept = z
      .object({ message: z.string(), statement: z.string() })
      .parse(JSON.parse(entry?.detail ?? ''));
    expect([kept.message, kept.statement.includes('known')]).toEqual(['known customer', false]);
    expect(await run`decisions search --subject transfer:w-1`).toMatchObject(prints(0, 'approval'));
  });

  it('approves once, however many ask at the same time', async () => {
    const { service, ask, approve } = await start();
    await ask();
    await Promise.all([approve('ada'), approve('ben'), approve('cleo')]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(new Set(answers)).toEqual(new Set(['SUCCESS']));
    const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
    expect(entries.filter(({ type, verdict }) => type === 'decision' && verdict === 'SUCCESS')).toHaveLength(
      1,
    );
  });

  it('does not ask people about what they can’t approve', async () => {
    const { service, run, ask } = await start();
    expect(await ask({ amount: '11' })).toBe('FAILURE');
    expect(await codeOf(service)).toBe('RULE_REFUSED');
    expect(await run`approvals list`).toMatchObject(prints(0, 'Nothing waits'));
  });

  it('ends with a rejection', async () => {
    const { service, run, ask, approve } = await start();
    await ask();
    await approve('ada');
    const rejected =
      await run`approvals reject transfer:w-1 --source vault --message ${'unknown recipient'} --by ben`;
    expect(rejected).toMatchObject(prints(0, 'Rejected'));
    expect(await approve('cleo')).toMatchObject(reports(1, 'is rejected, by ben: unknown recipient'));
    expect(await ask()).toBe('FAILURE');
    const [entry] = await service.store.entries({ source: 'vault', newestFirst: true, limit: 1 });
    expect(JSON.stringify(entry)).toContain('ben has rejected it: unknown recipient');
    expect(await run`approvals list`).toMatchObject(prints(0, 'Nothing waits'));
  });

  it('counts only the members that the revision in force names', async () => {
    const { service, run, write, ask, approve } = await start();
    await ask();
    await approve('ada');
    expect(await approve('dan')).toMatchObject(prints(0, 'So far: ada, dan'));
    expect(await ask()).toBe('FAILURE');
    await approve('ben');
    write('policies/people.yaml', PEOPLE.replace('treasury: [ada, ben, cleo]', 'treasury: [ada, cleo]'));
    expect(await run`policy push --message ${'ben has left'}`).toMatchObject(prints(0, 'In force'));
    await eventually('it is in force', async () => ((await ask()) === 'FAILURE' ? true : undefined));
    expect(await codeOf(service)).toBe('AWAITING_APPROVAL');
    await approve('cleo');
    expect(await ask()).toBe('SUCCESS');

    // Nor does who has left stop the others.
    await ask({ request_id: 'w-2' });
    await approve('ada', 'w-2');
    write('policies/people.yaml', PEOPLE.replace(/ {2}ada:\n.*\n.*\n/, '').replace('[ada, ben', '[ben'));
    expect(await run`policy push --message ${'ada has left'}`).toMatchObject(prints(0, 'In force'));
    expect(await approve('ben', 'w-2')).toMatchObject(prints(0, 'So far: ben'));
    expect(await approve('cleo', 'w-2')).toMatchObject(prints(0, 'So far: ben, cleo'));
  });

  it('says what is missing without a deployment', async () => {
    const service = await host.start({ policies: POLICIES });
    const answer = await service.cosign('/cosigner/withdraw', transfer({ amount: '5' }));
    expect(answer).toBe('FAILURE');
    const { run } = placeIn(service.folder);
    expect(await run`approvals list`).toMatchObject(prints(0, 'Nothing waits'));
  });
});
