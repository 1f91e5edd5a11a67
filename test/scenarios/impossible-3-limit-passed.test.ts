import { expect, it } from 'vitest';
import { TO, type TestService, transfer } from '../service.ts';
import { approvedIn, journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import { upTo } from './policies.ts';
import { ASSETS } from '../assets.ts';

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const countSuccess = (answers: readonly string[]): number =>
  answers.filter((answer) => answer === 'SUCCESS').length;

/** Withdrawals of at most 10 to one address within a day, and at most three of them. */
const WITHDRAWALS = {
  'assets.yaml': ASSETS,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - window-limit: { per: [to], window: 24h, max: 10 }
  - velocity-limit: { window: day, max: 3 }
`,
};

describeOnBothStores('no approvals beyond a limit', (host) => {
  it('to the 36th decimal', async () => {
    const service = await host.start({ policies: upTo(1) });
    const third = `0.${'3'.repeat(36)}`;
    const least = `0.${'0'.repeat(35)}1`;
    for (const order of ['a', 'b', 'c'])
      expect(await service.pay({ appOrderId: order, orderAmount: third })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'd', orderAmount: `0.${'0'.repeat(35)}2` })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'e', orderAmount: least })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'f', orderAmount: least })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'g', orderAmount: least, userId: '1' })).toBe('SUCCESS');
  });

  it('at the largest amounts, where sums have 37 digits before the point', async () => {
    const most = `${'9'.repeat(36)}.${'9'.repeat(36)}`;
    const max = { 'payments.yaml': upTo(0)['payments.yaml']?.replace('max: 0', `max: ${most}`) ?? '' };
    const service = await host.start({ policies: max });
    expect(await service.pay({ appOrderId: 'a', orderAmount: most })).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'b', orderAmount: most })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'c', orderAmount: `0.${'0'.repeat(35)}1` })).toBe('FAILURE');
  });

  it('at once, over two replicas, each callback three times', async () => {
    const one = await host.start({ policies: upTo(100) });
    const two = await host.start({ policies: upTo(100) }, one);
    const orders = range(60).flatMap((order) => [order, order, order]);
    const answers = await Promise.all(
      orders.map(async (order, index) => {
        const payment = { appOrderId: `o-${order}`, orderAmount: '5' };
        return { order, answer: await (index % 2 === 0 ? one : two).pay(payment) };
      }),
    );
    const approved = answers.filter(({ answer }) => answer === 'SUCCESS');
    expect(new Set(approved.map(({ order }) => order)).size).toBe(20);
    expect(approved).toHaveLength(60);
    expect(approvedIn(await journalOf(one.store))).toBe(100);
  });

  it('when repeats, other questions and speed-ups come in between, and each subject counts once', async () => {
    const service = await host.start({ policies: WITHDRAWALS });
    const ask = (members: object): Promise<string> =>
      service.cosign('/cosigner/withdraw', transfer({ amount: 4, ...members }));
    const questions = ['sign_prepare', 'sign_start'].flatMap((type) =>
      [false, true].map((pending_round) => ({ type, pending_round })),
    );
    for (const request_id of ['w-1', 'w-2']) {
      const answers = await Promise.all(
        [...questions, ...questions].map((question) => ask({ ...question, request_id })),
      );
      expect(countSuccess(answers)).toBe(8);
    }
    expect(await ask({ request_id: 'w-3' })).toBe('FAILURE');
    expect(await ask({ request_id: 'w-3', pending_round: true })).toBe('FAILURE');
    expect(await ask({ request_id: 'w-4', amount: 2.000_001 })).toBe('FAILURE');
    expect(await ask({ request_id: 'w-5', amount: 2 })).toBe('SUCCESS');
    expect(await ask({ request_id: 'w-6', amount: 1, to: '0x01' })).toBe('FAILURE');
    expect(await ask({ request_id: 'w-1' })).toBe('SUCCESS');
  });

  it('when one withdrawal pays an address in many small outputs, spelt in different cases', async () => {
    const service = await host.start({ policies: WITHDRAWALS });
    const outputs = JSON.stringify([
      { address_to: TO, amount: '6' },
      { address_to: TO.toUpperCase().replace('0X', '0x'), amount: 5 },
    ]);
    expect(await service.cosign('/cosigner/withdraw', transfer({ amount: 11, outputs }))).toBe('FAILURE');
  });

  it('when the service stops and starts under load', async () => {
    const policies = upTo(40);
    const outcome = new Map<string, string>();
    let service = await host.start({ policies });
    const pay = async (from: TestService, order: number): Promise<void> => {
      const answer = await from.pay({ appOrderId: `o-${order}`, orderAmount: '1' }).catch(() => 'none');
      if (outcome.get(`o-${order}`) !== 'SUCCESS') outcome.set(`o-${order}`, answer);
    };
    for (const round of range(3)) {
      const running = service;
      // Each round asks again about half of the orders of the round before.
      const load = range(20).map((order) => pay(running, round * 10 + order));
      await load[0];
      await running.stop({ keep: true });
      await Promise.all(load);
      service = await host.start({ policies }, running);
    }
    for (const order of range(60)) await pay(service, order);
    expect(countSuccess([...outcome.values()])).toBe(40);
    expect(approvedIn(await journalOf(service.store))).toBe(40);
    for (const [appOrderId, answer] of outcome)
      expect(await service.pay({ appOrderId, orderAmount: '1' })).toBe(answer);
  });
});
