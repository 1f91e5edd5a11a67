import { expect, it } from 'vitest';
import { z } from 'zod';
import { placeIn, prints, reports } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { DEPLOYMENT, keyFileOf, peopleText } from '../release/signing.ts';
import { type Payment, type TestService, transfer } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const people = (approving: readonly string[]): string =>
  `${peopleText(approving, '[approve]')}${peopleText(['dan']).replace('people:\n', '')}`;
const POLICIES = {
  'people.yaml': `${people(['ada', 'ben', 'cleo'])}groups:\n  treasury: [ada, ben, cleo]\n  one: [cleo]\n`,
  'policies.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
---
policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: 10 }
  - any:
      - amount-limit: { max: 1 }
      - approval: { by: one, quorum: 1, within: 7d }
`,
};
const listed = z.array(z.object({ id: z.string(), needs: z.array(z.unknown()) }));

describeOnBothStores('a freeze except what people approve', (host) => {
  const start = async (policies: Readonly<Record<string, string>> = POLICIES, deployment = DEPLOYMENT) => {
    const settings = deployment === '' ? {} : { deployment };
    const service = await host.start({ policies, settings });
    const { run, write } = placeIn(service.folder);
    const pay = (id: string, more: Partial<Payment> = {}) => service.pay({ appOrderId: id, ...more });
    const sign = (members: object = {}) => service.cosign('/cosigner/withdraw', transfer(members));
    const approve = (name: string, id: string, source = 'shop') =>
      run('approvals', 'approve', id, '--source', source, '--key', keyFileOf(name));
    const freeze = async (): Promise<string> => {
      const frozen = await run`freeze --except approved ${'odd withdrawals'} --by ada`;
      expect(frozen).toMatchObject(
        prints(0, 'Every callback, except what people approve, is answered FAILURE'),
      );
      return /Frozen as (f\d+)\./.exec(frozen.out)?.[1] ?? '';
    };
    const last = async (source = 'shop') => {
      const [entry] = await service.store.entries({ source, newestFirst: true, limit: 1 });
      return entry;
    };
    const codeOf = async (source = 'shop') => (await last(source))?.code;
    const waiting = async () => listed.parse((await run`approvals list --json`).json());
    return { service, run, write, pay, sign, approve, freeze, last, codeOf, waiting };
  };
  const approvalsCheck = async ({ ops }: TestService): Promise<string> => {
    const ready = z.object({ checks: z.array(z.object({ name: z.string(), because: z.string() })) });
    const { checks } = ready.parse(await (await fetch(`${ops}/readyz`)).json());
    return checks.find(({ name }) => name === 'approvals')?.because ?? '';
  };

  it('needs two people for what needed none, also for a repeat, until it is lifted', async () => {
    const { service, run, pay, approve, freeze, last, codeOf, waiting } = await start();
    expect(await pay('yesterday')).toBe('SUCCESS');
    const id = await freeze();
    await eventually('/readyz says so', async () =>
      (await approvalsCheck(service)) === `frozen: ${id} by ada, except what people approve: odd withdrawals`
        ? true
        : undefined,
    );
    expect(await pay('small')).toBe('FAILURE');
    expect(await codeOf()).toBe('AWAITING_APPROVAL');
    const entry = (await last())?.id ?? '';
    const needs = { policy: 'freeze', rule: 'approval#1', group: 'those with the role approve', quorum: 2 };
    expect(await waiting()).toEqual([expect.objectContaining({ id: 'payment:small', needs: [needs] })]);
    expect(await approve('ada', 'payment:small')).toMatchObject(prints(0, 'So far: ada'));
    expect(await approve('ada', 'payment:small')).toMatchObject(reports(1, 'has signed already'));
    expect(await approve('mallory', 'payment:small')).toMatchObject(reports(1, 'is of nobody'));
    expect(await approve('dan', 'payment:small')).toMatchObject(reports(1, 'dan has not the role approve'));
    expect(await pay('small')).toBe('FAILURE');
    expect(await codeOf()).toBe('AWAITING_APPROVAL');
    await approve('ben', 'payment:small');
    // Neither other terms nor another payment are approved with it.
    expect(await pay('small', { orderAmount: '11' })).toBe('FAILURE');
    expect(await codeOf()).toBe('TERMS_CHANGED');
    expect(await pay('other')).toBe('FAILURE');
    expect(await pay('small')).toBe('SUCCESS');
    expect(await pay('small')).toBe('SUCCESS');

    expect(await pay('yesterday')).toBe('FAILURE');
    expect(await codeOf()).toBe('AWAITING_APPROVAL');
    await approve('cleo', 'payment:yesterday');
    expect(await pay('yesterday')).toBe('FAILURE');
    await approve('ben', 'payment:yesterday');
    expect(await pay('yesterday')).toBe('SUCCESS');

    const explained = await run`decisions explain ${entry} --source shop`;
    expect(explained).toMatchObject(prints(0, 'freeze/approval#1'));
    expect(explained.out).toContain('0 of 2 of those with the role approve approved it');
    expect(explained.out).not.toContain('explained it otherwise');
    const simulated = await run`simulate payment userId=12345 amount=100 symbol=USDT1742`;
    expect(simulated).toMatchObject(prints(1, 'AWAITING_APPROVAL'));
    // What was decided is decided so again, from what was kept.
    expect(await run`policy backtest --since 1d`).toMatchObject(
      prints(0, 'SUCCESS -> FAILURE  0\nFAILURE -> SUCCESS  0'),
    );

    expect(await run`unfreeze ${id}`).toMatchObject(prints(0, 'Approvals continue.'));
    for (const each of ['other', 'new', 'yesterday', 'small']) expect(await pay(each)).toBe('SUCCESS');
  });

  it('is nothing beside a full freeze, whatever was approved, and whichever came first', async () => {
    const { run, pay, approve, freeze, codeOf } = await start();
    const except = await freeze();
    await pay('1');
    await approve('ada', 'payment:1');
    await approve('ben', 'payment:1');
    const full = /Frozen as (f\d+)\./.exec((await run`freeze leak --by ben`).out)?.[1] ?? '';
    expect(await pay('1')).toBe('FAILURE');
    expect(await codeOf()).toBe('FROZEN');
    const left = await run`unfreeze ${except}`;
    expect(left).toMatchObject(prints(1, 'Still frozen. Every callback is answered FAILURE:'));
    await freeze();
    expect(await pay('1')).toBe('FAILURE');
    expect(await codeOf()).toBe('FROZEN');
    expect(await run`unfreeze`).toMatchObject(reports(2, 'there are 2 freezes'));
    // What both come to is said, and not what one excepts.
    const both = await run`unfreeze f9999`;
    expect(both).toMatchObject(prints(1, 'Still frozen. Every callback is answered FAILURE:'));
    const lifted = await run`unfreeze ${full}`;
    expect(lifted).toMatchObject(
      prints(1, 'Every callback, except what people approve, is answered FAILURE:'),
    );
    expect(lifted.out).toContain('by ada, except what people approve: odd withdrawals');
    expect(await pay('1')).toBe('SUCCESS');
    expect(await run`freeze --except nothing why`).toMatchObject({ code: 2 });
    expect(await run`unfreeze`).toMatchObject(prints(0, 'Approvals continue.'));
  });

  it('asks nobody about what no policy covers, or what another rule refuses', async () => {
    const { pay, freeze, codeOf, waiting } = await start();
    await freeze();
    expect(await pay('1', { payCoinSymbol: 'BTC' })).toBe('FAILURE');
    expect(await codeOf()).toBe('NO_POLICY');
    expect(await pay('2', { orderAmount: '1001' })).toBe('FAILURE');
    expect(await codeOf()).toBe('RULE_REFUSED');
    expect(await waiting()).toEqual([]);
  });

  it('needs its two people beside those of a policy, whose request they approve', async () => {
    const { run, sign, approve, freeze, codeOf } = await start();
    expect(await sign({ amount: '5' })).toBe('FAILURE');
    const id = await freeze();
    await approve('cleo', 'transfer:w-1', 'vault');
    expect(await sign({ amount: '5' })).toBe('FAILURE');
    expect(await codeOf('vault')).toBe('AWAITING_APPROVAL');
    await approve('ada', 'transfer:w-1', 'vault');
    expect(await sign({ amount: '5' })).toBe('SUCCESS');

    // Two who are not those of the policy are not enough.
    expect(await sign({ amount: '5', request_id: 'w-2' })).toBe('FAILURE');
    for (const name of ['ada', 'ben']) await approve(name, 'transfer:w-2', 'vault');
    expect(await sign({ amount: '5', request_id: 'w-2' })).toBe('FAILURE');
    expect(await sign({ amount: '11', request_id: 'w-3' })).toBe('FAILURE');
    expect(await codeOf('vault')).toBe('RULE_REFUSED');
    await run`unfreeze ${id}`;
    expect(await sign({ amount: '5', request_id: 'w-2' })).toBe('FAILURE');
    await approve('cleo', 'transfer:w-2', 'vault');
    expect(await sign({ amount: '5', request_id: 'w-2' })).toBe('SUCCESS');
  });

  it('refuses what a person has rejected', async () => {
    const { run, pay, approve, freeze, last } = await start();
    await freeze();
    await pay('1');
    await approve('ada', 'payment:1');
    await run`approvals reject payment:1 --source shop --message ${'unknown user'} --by dan`;
    expect(await approve('ben', 'payment:1')).toMatchObject(reports(1, 'is rejected'));
    expect(await pay('1')).toBe('FAILURE');
    expect(JSON.stringify(await last())).toContain('dan has rejected it: unknown user');
  });

  it('counts only people of the revision in force, and says what to do if there are too few', async () => {
    const { run, write, pay, approve, freeze, last, codeOf } = await start();
    const id = await freeze();
    await pay('1');
    await approve('ada', 'payment:1');
    await approve('ben', 'payment:1');
    const push = async (approving: readonly string[]) => {
      write('policies/people.yaml', `${people(approving)}groups:\n  one: [cleo]\n`);
      expect(await run`policy push --message ${'others'}`).toMatchObject(prints(0, 'In force'));
    };
    await push(['ben', 'cleo']);
    expect(await pay('1')).toBe('FAILURE');
    expect(await codeOf()).toBe('AWAITING_APPROVAL');
    await push(['cleo']);
    expect(await pay('1')).toBe('FAILURE');
    expect(await codeOf()).toBe('RULE_REFUSED');
    expect(JSON.stringify(await last())).toContain('people.yaml has 1 of the 2 people');
    expect(await pay('2')).toBe('FAILURE');
    await run`unfreeze ${id}`;
    for (const each of ['1', '2']) expect(await pay(each)).toBe('SUCCESS');
  });

  it('says what to do without a deployment, and nothing of it stays', async () => {
    const { run, pay, freeze, last, waiting } = await start(POLICIES, '');
    const id = await freeze();
    expect(await pay('1')).toBe('FAILURE');
    expect(JSON.stringify(await last())).toContain(
      'the settings have no deployment, so nobody can sign; set',
    );
    expect(await waiting()).toEqual([]);
    await run`unfreeze ${id}`;
    expect(await pay('1')).toBe('SUCCESS');
  });

  it('holds on each replica once it returns, and so does its end', async () => {
    const { service, run, pay, freeze } = await start();
    const other = await host.start({ policies: POLICIES, settings: { deployment: DEPLOYMENT } }, service);
    for (let round = 0; round < 3; round++) {
      const id = await freeze();
      expect(await other.pay({ appOrderId: `${round}` })).toBe('FAILURE');
      expect(await pay(`${round}`)).toBe('FAILURE');
      await run`unfreeze ${id}`;
      expect(await other.pay({ appOrderId: `${round}` })).toBe('SUCCESS');
      expect(await pay(`${round}`)).toBe('SUCCESS');
    }
  });
});
