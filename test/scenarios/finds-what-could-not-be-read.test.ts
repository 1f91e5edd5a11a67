import { expect, it } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { transfer, web3 } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

describeOnBothStores('a callback that can not be read is found by its id', (host) => {
  it.each([
    ['a withdrawal', '/cosigner/withdraw', transfer({ amount: '1,5' }), 'transfer:w-1'],
    ['one of an unknown type', '/cosigner/withdraw', transfer({ type: 'sign' }), 'transfer:w-1'],
    ['one with the members of both kinds', '/cosigner/withdraw', web3({ transfer_id: 1 }), 'transfer:c-1'],
    ['one at the other URL', '/cosigner/web3', transfer(), 'web3:w-1'],
    ['a web3 transaction', '/cosigner/web3', web3({ amount: '-2' }), 'web3:c-1'],
  ] as const)('%s, with --request', async (_, path, body, subject) => {
    const service = await host.start();
    const id = subject.slice(subject.indexOf(':') + 1);
    expect(await service.cosign(path, body)).toBe('FAILURE');
    const { run } = placeIn(service.folder);
    const { code, json } = await run('decisions', 'search', '--request', id, '--json');
    expect(code).toBe(0);
    expect(json()).toEqual([expect.objectContaining({ type: 'refused', verdict: 'FAILURE', subject })]);
    expect((await run('decisions', 'search', '--request', 'other', '--json')).json()).toEqual([]);
  });

  it('a payment, with --order, and the right one afterwards is decided as ever', async () => {
    const service = await host.start();
    const { run } = placeIn(service.folder);
    expect(await service.pay({ orderAmount: '0' })).toBe('FAILURE');
    expect(await service.pay({})).toBe('SUCCESS');
    expect(await service.pay({ orderAmount: '0' })).toBe('FAILURE');
    expect(await service.pay({})).toBe('SUCCESS');
    const found = (await run('decisions', 'search', '--order', 'o-1', '--json')).json();
    expect(found).toMatchObject([
      { type: 'refused', code: 'MEMBER_INVALID' },
      { type: 'decision', verdict: 'SUCCESS' },
      { type: 'refused' },
      { verdict: 'SUCCESS' },
    ]);
  });

  it.each(['', 'w 1', 'w\u200b', 'w'.repeat(129)])(
    'an id that can not be read is no subject: %j',
    async (id) => {
      const service = await host.start();
      expect(await service.cosign('/cosigner/withdraw', transfer({ request_id: id }))).toBe('FAILURE');
      const [entry] = await service.store.entries({ source: 'vault', limit: 1 });
      expect(entry).toMatchObject({ type: 'refused', subject: '' });
    },
  );
});
