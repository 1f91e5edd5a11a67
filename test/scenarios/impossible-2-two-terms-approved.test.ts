import { expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { TO, transfer, web3 } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const OTHER = '0x27b1fdb04752bbc536007a920d24acb045561c26';

/** Approves whatever is asked, so that only the subject's terms stand in the way. */
const PERMISSIVE = {
  'payments.yaml': `policy: payments
callback: payment
rules: [{ amount-limit: { max: 1000000 } }]
`,
  'transfers.yaml': `policy: transfers
callback: transfer
rules: [{ amount-limit: { max: 1000000 } }]
`,
  'web3.yaml': `policy: web3
callback: web3
rules: [{ amount-limit: { max: 1000000 } }]
`,
};

/** In the whole journal no subject has two terms that were answered SUCCESS. */
async function expectOneTermsEach(store: Store, source: string): Promise<void> {
  const approved = (await journalOf(store, source)).filter(({ verdict }) => verdict === 'SUCCESS');
  const termsOf = new Map<string, Set<string>>();
  for (const { subject, detail } of approved) {
    const { terms }: { readonly terms: object } = JSON.parse(detail);
    termsOf.set(subject, (termsOf.get(subject) ?? new Set()).add(JSON.stringify(terms)));
  }
  expect([...termsOf].filter(([, terms]) => terms.size > 1)).toEqual([]);
}

describeOnBothStores('no SUCCESS for two terms of one subject', (host) => {
  it('of a payment', async () => {
    const service = await host.start({ policies: PERMISSIVE });
    for (const changed of [
      { userId: '54321' },
      { payCoinSymbol: 'USDT1743' },
      { orderAmount: '100.000000000000000000000000000000000001' },
      { orderAmount: '1' },
    ]) {
      const appOrderId = JSON.stringify(changed);
      expect(await service.pay({ appOrderId })).toBe('SUCCESS');
      for (const scheme of ['md5', 'rsa', 'rsa-envelope'] as const) {
        expect([scheme, await service.pay({ appOrderId, ...changed }, scheme)]).toEqual([scheme, 'FAILURE']);
        expect(await service.pay({ appOrderId, orderAmount: '100.00' })).toBe('SUCCESS');
      }
      const entries = await service.store.entries({
        source: 'shop',
        subject: `payment:${appOrderId}`,
        limit: 10,
      });
      expect(entries.map(({ type, verdict, code }) => `${type} ${verdict} ${code}`)).toEqual([
        'decision SUCCESS APPROVED',
        ...Array.from({ length: 3 }, () => [
          'decision FAILURE TERMS_CHANGED',
          'repeat SUCCESS APPROVED',
        ]).flat(),
      ]);
      const subject = `payment:${appOrderId}`;
      expect(service.log).toContainEqual(
        expect.objectContaining({ event: 'alarm', code: 'TERMS_CHANGED', subject }),
      );
    }
    await expectOneTermsEach(service.store, 'shop');
  });

  it('of a withdrawal, also as another question and a speed-up', async () => {
    const service = await host.start({ policies: PERMISSIVE });
    for (const [index, changed] of [
      { from: TO },
      { to: OTHER },
      { memo: '1' },
      { amount: 1.51 },
      { symbol: 'eth' },
      { transfer_id: 2 },
      { transfer_id: '' },
      {
        outputs: JSON.stringify([
          { address_to: TO, amount: '1' },
          { address_to: OTHER, amount: '0.5' },
        ]),
      },
    ].entries()) {
      const ask = (members: object): Promise<string> =>
        service.cosign('/cosigner/withdraw', transfer({ request_id: `r-${index}`, ...members }));
      expect(await ask({ type: 'sign_prepare' })).toBe('SUCCESS');
      for (const question of [
        { type: 'sign_prepare' },
        { type: 'sign_start' },
        { type: 'sign_start', pending_round: true },
        { type: 'sign_success', txid: '0xaa' },
      ]) {
        expect([question, await ask({ ...question, ...changed })]).toEqual([question, 'FAILURE']);
        expect([question, await ask({ ...question, amount: '1.50' })]).toEqual([question, 'SUCCESS']);
      }
    }
    await expectOneTermsEach(service.store, 'vault');
  });

  it('of a web3 transaction', async () => {
    const service = await host.start({ policies: PERMISSIVE });
    for (const [index, changed] of [
      { trans_id: 2 },
      { from: TO },
      { to: OTHER },
      { amount: 1 },
      { main_chain_symbol: 'BSC' },
      { input_data: '0xa9059cbc' },
      { input_data: '' },
      { interactive_contract: OTHER },
    ].entries()) {
      const ask = (members: object): Promise<string> =>
        service.cosign('/cosigner/web3', web3({ request_id: `r-${index}`, ...members }));
      expect(await ask({})).toBe('SUCCESS');
      expect(await ask(changed)).toBe('FAILURE');
      expect(await ask({ ...changed, pending_round: true })).toBe('FAILURE');
      expect(await ask({ ...changed, type: 'sign_success', txid: '0xaa' })).toBe('FAILURE');
      expect(await ask({ input_data: '0xA9059CBB', pending_round: true })).toBe('SUCCESS');
    }
    await expectOneTermsEach(service.store, 'vault');
  });

  it('at once, over two replicas: one of them always, the others never', async () => {
    const one = await host.start({ policies: PERMISSIVE });
    const two = await host.start({ policies: PERMISSIVE }, one);
    const amounts = Array.from({ length: 12 }, (_, index) => `${index + 1}`);
    const sent = Array.from({ length: 5 }, () => amounts).flat();
    const answers = await Promise.all(
      sent.map(async (orderAmount, index) => {
        const replica = index % 2 === 0 ? one : two;
        const scheme = index % 3 === 0 ? 'rsa' : 'md5';
        return { orderAmount, answer: await replica.pay({ appOrderId: 'race', orderAmount }, scheme) };
      }),
    );
    const approved = answers.filter(({ answer }) => answer === 'SUCCESS');
    expect(new Set(approved.map(({ orderAmount }) => orderAmount)).size).toBe(1);
    expect(approved).toHaveLength(5);
    await expectOneTermsEach(one.store, 'shop');
  });

  it('at once, as sign_prepare, sign_start and speed-up', async () => {
    const service = await host.start({ policies: PERMISSIVE });
    const questions = ['sign_prepare', 'sign_start'].flatMap((type) =>
      [false, true].flatMap((pending_round) => [TO, OTHER].map((to) => ({ type, pending_round, to }))),
    );
    const answers = await Promise.all(
      [...questions, ...questions].map(async (members) => ({
        to: members.to,
        answer: await service.cosign('/cosigner/withdraw', transfer(members)),
      })),
    );
    const approved = answers.filter(({ answer }) => answer === 'SUCCESS');
    expect(new Set(approved.map(({ to }) => to)).size).toBe(1);
    expect(approved).toHaveLength(8);
    await expectOneTermsEach(service.store, 'vault');
  });

  it('after a restart, and after a refusal', async () => {
    const first = await host.start();
    expect(await first.pay({ appOrderId: 'kept' })).toBe('SUCCESS');
    expect(await first.pay({ appOrderId: 'refused', orderAmount: '1001' })).toBe('FAILURE');
    expect(await first.pay({ appOrderId: 'refused', orderAmount: '1000' })).toBe('FAILURE');
    await first.stop({ keep: true });
    const second = await host.start({}, first);
    expect(await second.pay({ appOrderId: 'kept', orderAmount: '99' })).toBe('FAILURE');
    expect(await second.pay({ appOrderId: 'kept' })).toBe('SUCCESS');
    expect(await second.pay({ appOrderId: 'refused', orderAmount: '1000' })).toBe('FAILURE');
    await expectOneTermsEach(second.store, 'shop');
  });

  it('but one id in three kinds is three subjects', async () => {
    const service = await host.start();
    expect(await service.pay({ appOrderId: 'shared' })).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', transfer({ request_id: 'shared' }))).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/web3', web3({ request_id: 'shared' }))).toBe('SUCCESS');
  });
});
