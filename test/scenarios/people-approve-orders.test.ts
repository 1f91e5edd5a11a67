import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Ran, placeIn, prints, reports } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { createRequests } from '../../src/approvals/requests.ts';
import { DEPLOYMENT, keyFileOf, peopleText, signedBy } from '../release/signing.ts';
import { type TestService, transfer } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const TOKEN = 'ops-token-of-the-tests';
const PEOPLE = `${peopleText(['ada', 'ben', 'cleo'], '[operate, approve]')}groups:
  treasury: [ada, ben, cleo]
`;
const POLICIES = {
  'people.yaml': PEOPLE,
  'assets.yaml': 'assets:\n  ETH: { decimals: 18, chain: evm }\n',
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - any:
      - amount-limit: { max: 1 }
      - approval: { by: treasury, quorum: 2, within: 24h }
---
policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - approval: { by: treasury, quorum: 1, within: 1h }
---
policy: small
callback: payment
when: { source: shop, symbol: SMALL }
rules:
  - amount-limit: { max: 1 }
`,
};
const TO = '0x52908400098527886E0F7030069857D2E4169EE7';
const outputs = (...paid: readonly (readonly [string, string])[]): string =>
  JSON.stringify(paid.map(([to, amount]) => ({ address_to: to, amount })));
const OTHER = '0x8617E340B3D01FA5F11F306F4090FD50E238070D';

describeOnBothStores('people approve announced orders', (host) => {
  const start = async (settings: object = {}, startedMs = Date.now()) => {
    let nowMs = startedMs;
    const clock = (): number => nowMs;
    const service = await host.start({
      policies: POLICIES,
      clock,
      env: { OPS_TOKEN: TOKEN },
      settings: { deployment: DEPLOYMENT, ops: { port: '0', token: { env: 'OPS_TOKEN' } }, ...settings },
    });
    const { runWith, write } = placeIn(service.folder);
    const run = runWith({ clock });
    const expectOrder = (...more: readonly string[]): Promise<Ran> =>
      run(
        ...['orders', 'expect', 'transfer', 'w-1', '--source', 'vault', '--to-address', TO].concat(
          ['--symbol', 'ETH', '--amount', '5', '--ask'],
          more,
        ),
      );
    const approve = (name: string, id = 'transfer:w-1', source = 'vault'): Promise<Ran> =>
      run('approvals', 'approve', id, '--source', source, '--key', keyFileOf(name));
    const ask = (members: object = {}): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer({ amount: '5', to: TO, ...members }));
    return { service, run, write, expectOrder, approve, ask, at: (ms: number) => (nowMs = startedMs + ms) };
  };
  const last = async ({ store }: TestService, source = 'vault') => {
    const [entry] = await store.entries({ source, newestFirst: true, limit: 1 });
    return entry;
  };
  const codeOf = async (service: TestService): Promise<string | undefined> => (await last(service))?.code;

  it('before their callbacks come, which are then approved at once, each once', async () => {
    const { service, run, expectOrder, approve, ask } = await start();
    expect(await expectOrder()).toMatchObject(prints(0, '`countersign approvals approve transfer:w-1'));
    const shown = await run`approvals show transfer:w-1 --source vault`;
    for (const line of [
      'countersign-order/1',
      'member amount 5',
      'member memo ""',
      'any from',
      'any transfer_id',
    ])
      expect(shown.out).toContain(`${line}\n`);
    expect(shown.out).toContain('transfers/any#1.approval#1 needs 2 of treasury'.slice(-19));
    // Who has announced it doesn't count.
    expect(await approve('ada')).toMatchObject(reports(1, 'another person must approve it'));
    expect(await approve('ben')).toMatchObject(prints(0, 'So far: ben'));
    expect(await approve('cleo')).toMatchObject(prints(0, 'So far: ben, cleo'));
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask()));
    expect(new Set(answers)).toEqual(new Set(['SUCCESS']));
    const entries = await service.store.entries({ source: 'vault', subject: 'transfer:w-1', limit: 100 });
    expect(entries.filter(({ type, verdict }) => type === 'decision' && verdict === 'SUCCESS')).toHaveLength(
      1,
    );
    expect(await ask({ type: 'sign_prepare' })).toBe('SUCCESS');
    expect((await run`orders show transfer w-1 --source vault --json`).json()).toMatchObject({
      state: 'used',
    });
    expect(await run`approvals show transfer:w-1 --source vault`).toMatchObject(prints(0, 'done'));
    const explained = await run('decisions', 'explain', `vault/${(await last(service))?.id}`);
    expect(explained.out).toContain('approvers ben cleo');
  });

  it('with any value of what the order leaves open, and addresses in any spelling', async () => {
    const { expectOrder, approve, ask } = await start();
    await expectOrder();
    await approve('ben');
    await approve('cleo');
    expect(await ask({ from: OTHER, transfer_id: 99, to: TO.toLowerCase() })).toBe('SUCCESS');
  });

  it.each<[string, object]>([
    ['another amount', { amount: '5.000000000000000001' }],
    ['another address', { to: OTHER }],
    ['a memo', { memo: 'x' }],
    ['one more output', { outputs: outputs([TO, '4'], [OTHER, '1']) }],
    [
      'members of outputs that no order names',
      { outputs: JSON.stringify([{ address_to: TO, amount: '5', tag: '7' }]) },
    ],
    ['another id', { request_id: 'w-2' }],
  ])('and no callback with %s', async (_, members) => {
    const { service, expectOrder, approve, ask } = await start();
    await expectOrder();
    await approve('ben');
    await approve('cleo');
    expect(await ask(members)).toBe('FAILURE');
    expect(await codeOf(service)).toBe('AWAITING_APPROVAL');
  });

  it('says in what a callback differs, and asks about it once the order is cancelled', async () => {
    const { service, run, expectOrder, approve, ask } = await start();
    await expectOrder();
    await approve('ben');
    await approve('cleo');
    expect(await ask({ amount: '6' })).toBe('FAILURE');
    const detail = JSON.stringify(await last(service));
    expect(detail).toContain('from which it differs in amount; cancel the order');
    expect(await run`orders cancel transfer w-1 --source vault --by ben`).toMatchObject(
      prints(0, 'cancelled'),
    );
    expect(await run`approvals show transfer:w-1 --source vault`).toMatchObject(
      prints(0, 'ended by ben: the order was cancelled'),
    );
    expect(await approve('ada')).toMatchObject(reports(1, 'is superseded'));
    expect(await ask({ amount: '6' })).toBe('FAILURE');
    const request = await run`approvals show transfer:w-1 --source vault`;
    expect(request.out).toContain('pending, 0 signed');
    expect(request.out).toContain('term amount 6\n');
    await approve('ben');
    expect(await ask({ amount: '6' })).toBe('FAILURE');
    await approve('cleo');
    expect(await ask({ amount: '6' })).toBe('SUCCESS');
  });

  it('not once it was cancelled, has expired, or was rejected', async () => {
    const { service, run, expectOrder, approve, ask, at } = await start();
    await expectOrder();
    await approve('ben');
    await approve('cleo');
    await run`orders cancel transfer w-1 --source vault`;
    expect(await ask()).toBe('FAILURE');
    expect(await codeOf(service)).toBe('AWAITING_APPROVAL');
    const two = ['--source', 'vault', '--to-address', TO, '--symbol', 'ETH', '--amount', '5', '--ask'];
    await run('orders', 'expect', 'transfer', 'w-2', ...two);
    await approve('ben', 'transfer:w-2');
    await run`approvals reject transfer:w-2 --source vault --message ${'not ours'} --by cleo`;
    expect(await ask({ request_id: 'w-2' })).toBe('FAILURE');
    expect(JSON.stringify(await last(service))).toContain('cleo has rejected it: not ours');
    // It can be announced again, but people have said no about this id.
    await run`orders cancel transfer w-2 --source vault`;
    expect(await run('orders', 'expect', 'transfer', 'w-2', ...two)).toMatchObject(prints(0, 'is rejected'));
    await run('orders', 'expect', 'transfer', 'w-3', ...two, '--expires', '1h');
    await approve('ben', 'transfer:w-3');
    await approve('cleo', 'transfer:w-3');
    at(3_600_000);
    expect(await ask({ request_id: 'w-3' })).toBe('FAILURE');
    expect(await codeOf(service)).toBe('AWAITING_APPROVAL');
  });

  it('binds who has announced it, so that nobody makes the announcer count', async () => {
    const { service, expectOrder, approve, ask } = await start();
    await expectOrder();
    await approve('ben');
    const requests = createRequests(service.store, Date.now, 'vault');
    // As somebody would who can write to the store.
    await requests.change('transfer:w-1', ({ statement, signatures }) => ({
      by: 'mallory',
      signatures: [...signatures, signedBy('ada', statement)],
    }));
    expect(await ask()).toBe('FAILURE');
    expect(JSON.stringify(await last(service))).toContain('about other terms');
    expect(await approve('cleo')).toMatchObject({ code: 1 });
  });

  it.each<[string, string]>([
    ['that nobody can read', '{'],
    ['about something else', JSON.stringify({ kind: 'act' })],
  ])('cancels an order beside a request %s', async (_, forged) => {
    const { service, run, expectOrder, ask } = await start();
    await expectOrder();
    const record = await service.store.approvalRequest('vault', 'transfer:w-1');
    const value =
      forged === '{' ? forged : JSON.stringify({ ...JSON.parse(record?.value ?? ''), ...JSON.parse(forged) });
    const change = {
      scope: 'vault',
      id: 'transfer:w-1',
      expected: 1,
      value,
      isOpen: true,
      keepMs: 3_600_000,
    };
    expect(await service.store.changeApprovalRequest(change)).toMatchObject({ done: true });
    expect(await run`orders cancel transfer w-1 --source vault`).toMatchObject(prints(0, 'was cancelled'));
    expect(await ask()).toBe('FAILURE');
  });

  it('not if the store has another order by then, whatever people signed', async () => {
    const { service, run, expectOrder, approve, ask } = await start();
    await expectOrder();
    await approve('ben');
    await approve('cleo');
    // As if the program that cancels ended between its two steps.
    await service.store.cancelOrder({ source: 'vault', subject: 'transfer:w-1', by: 'ben' });
    expect(await ask()).toBe('FAILURE');
    const { out } = await run('decisions', 'explain', `vault/${(await last(service))?.id}`);
    expect(out).toContain('the announced order was cancelled');
  });

  it('counts only the members of the group in force', async () => {
    const { run, write, expectOrder, approve, ask } = await start();
    await expectOrder();
    await approve('ben');
    await approve('cleo');
    write('policies/people.yaml', PEOPLE.replace('treasury: [ada, ben, cleo]', 'treasury: [ada, cleo]'));
    expect(await run`policy push --message ${'ben has left'}`).toMatchObject(prints(0, 'In force'));
    await eventually('it is in force', async () => ((await ask()) === 'FAILURE' ? true : undefined));
  });

  it('binds the scheme of a payment', async () => {
    const { service, run, approve } = await start();
    const order = ['--source', 'shop', '--user', '12345', '--symbol', 'USDT1742', '--amount', '100', '--ask'];
    expect(await run('orders', 'expect', 'payment', '1', ...order, '--scheme', 'rsa')).toMatchObject(
      prints(0, ''),
    );
    await run('orders', 'expect', 'payment', '2', ...order, '--scheme', 'rsa');
    await approve('ben', 'payment:1', 'shop');
    await approve('ben', 'payment:2', 'shop');
    const payment = { userId: '12345', payCoinSymbol: 'USDT1742', orderAmount: '100' };
    expect(await service.pay({ ...payment, appOrderId: '1' }, 'md5')).toBe('FAILURE');
    expect(JSON.stringify(await last(service, 'shop'))).toContain('differs in scheme');
    expect(await service.pay({ ...payment, appOrderId: '2' }, 'rsa')).toBe('SUCCESS');
  });

  it('asks over the API, and again if a call is repeated', async () => {
    const { service, run, approve, ask } = await start();
    const call = async (body: object) => {
      const answer = await fetch(`${service.ops}/api/orders`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, body: z.record(z.string(), z.unknown()).parse(await answer.json()) };
    };
    const members = { to: TO, symbol: 'ETH', amount: '5' };
    const order = { source: 'vault', kind: 'transfer', id: 'w-1', members, ask: true };
    expect(await call({ ...order, ask: false })).toMatchObject({ status: 201 });
    expect(await run`approvals list`).toMatchObject(prints(0, 'Nothing waits'));
    const asked = { request: { id: 'transfer:w-1', state: 'pending' } };
    expect(await call(order)).toMatchObject({ status: 200, body: { outcome: 'unchanged', ...asked } });
    await approve('ada');
    expect(await call(order)).toMatchObject({ status: 200, body: asked });
    await approve('ben');
    expect(await ask()).toBe('SUCCESS');
  });

  it('announces nothing if nobody could be asked', async () => {
    const { run } = await start();
    const small = [
      '--source',
      'shop',
      '--user',
      '1',
      '--symbol',
      'SMALL',
      '--amount',
      '1',
      '--scheme',
      'rsa',
      '--ask',
    ];
    expect(await run('orders', 'expect', 'payment', '1', ...small)).toMatchObject(
      reports(
        2,
        'no policy in force has the rule approval for SMALL in payment callbacks of shop; leave ask out',
      ),
    );
    expect(await run`orders show payment 1 --source shop`).toMatchObject(reports(1, 'no order'));
    const without = await start({ deployment: undefined });
    expect(await without.expectOrder()).toMatchObject(reports(2, 'the settings have no `deployment`'));
  });

  it('takes two to announce, who are shown that people are asked', async () => {
    const { run, expectOrder, approve, ask } = await start({ fourEyes: ['orders'] });
    const waiting = z.object({ request: z.string() });
    const asked = await expectOrder('--key', keyFileOf('ada'), '--json');
    const { request } = waiting.parse(asked.json());
    expect((await run`approvals show ${request}`).out).toContain('value ask true\n');
    expect(await run('approvals', 'approve', request, '--key', keyFileOf('ben'))).toMatchObject(
      prints(0, 'People approve it until'),
    );
    // Ada has proposed it, ben has only agreed that it is announced.
    expect(await approve('ada')).toMatchObject(reports(1, 'another person must approve it'));
    await approve('ben');
    await approve('cleo');
    expect(await ask()).toBe('SUCCESS');
  });
});
