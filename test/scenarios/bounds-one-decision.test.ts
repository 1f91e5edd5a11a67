import { expect, it } from 'vitest';
import { call } from '../policy/calls/transactions.ts';
import { TO, type TestService, transfer, web3 } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import { ASSETS } from '../assets.ts';

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

/** A withdrawal of 1 to each of so many addresses. */
function withdrawal(id: string, count: number): object {
  const to = (index: number): string => (index === 0 ? TO : address(index));
  const outputs = Array.from({ length: count }, (_, index) => ({ address_to: to(index), amount: '1' }));
  return transfer({ request_id: id, amount: String(count), outputs: JSON.stringify(outputs) });
}

/** So many limits by address; each has its own length, so that each counts. */
const limits = (count: number): string =>
  Array.from(
    { length: count },
    (_, index) => `  - window-limit: { per: [to], window: ${index + 1}h, max: 10 }\n`,
  ).join('');
const policies = (rules: string): Readonly<Record<string, string>> => ({
  'assets.yaml': ASSETS,
  'transfers.yaml': `policy: transfers\ncallback: transfer\nwhen: { symbol: ETH }\nrules:\n${rules}`,
});

const codes = async ({ store }: TestService): Promise<readonly string[]> =>
  (await journalOf(store, 'vault')).map(({ type, verdict, code }) => `${type} ${verdict} ${code}`);
const lastBecause = (service: TestService): unknown =>
  service.log.findLast((line) => 'subject' in line)?.['because'];

describeOnBothStores('one callback asks the store for no more than so much', (host) => {
  it('a withdrawal to more than 200 addresses is refused as it is read, by name and with the cure', async () => {
    const service = await host.start({ policies: policies(limits(2)) });
    expect(await service.cosign('/cosigner/withdraw', withdrawal('w-200', 200))).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', withdrawal('w-201', 201))).toBe('FAILURE');
    expect(await codes(service)).toEqual(['decision SUCCESS APPROVED', 'refused FAILURE TOO_MANY_OUTPUTS']);
    const [, refused] = await journalOf(service.store, 'vault');
    expect(JSON.parse(refused?.detail ?? '{}')).toMatchObject({
      because:
        'the withdrawal has 201 outputs; at most 200 are read (public.limits.outputs); split it, or raise the setting',
    });
  });

  it('or to more than the settings say', async () => {
    const settings = { public: { port: '0', limits: { outputs: '3' } } };
    const service = await host.start({ policies: policies(limits(1)), settings });
    expect(await service.cosign('/cosigner/withdraw', withdrawal('w-3', 3))).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', withdrawal('w-4', 4))).toBe('FAILURE');
    expect((await codes(service))[1]).toBe('refused FAILURE TOO_MANY_OUTPUTS');
  });

  it('a decision with more than 1000 claims is a refusal that says so, and one with 1000 is none', async () => {
    const service = await host.start({ policies: policies(limits(5)) });
    expect(await service.cosign('/cosigner/withdraw', withdrawal('w-1', 200))).toBe('SUCCESS');
    const more = await host.start({
      policies: policies(`${limits(5)}  - window-limit: { window: 9h, max: 100000 }\n`),
    });
    expect(await more.cosign('/cosigner/withdraw', withdrawal('w-1', 200))).toBe('FAILURE');
    expect(await more.cosign('/cosigner/withdraw', withdrawal('w-1', 200))).toBe('FAILURE');
    expect(await codes(more)).toEqual(['decision FAILURE TOO_MANY_CLAIMS', 'repeat FAILURE TOO_MANY_CLAIMS']);
    expect(lastBecause(more)).toContain(
      'the rules ask the store for more than 1000 claims or 4000 values of lists at once; send fewer outputs or calls in one callback, or use fewer rules that count or look up lists',
    );
    expect(await more.cosign('/cosigner/withdraw', withdrawal('w-2', 199))).toBe('SUCCESS');
  });

  it('and so is one with more than 4000 values of lists, as call data may have', async () => {
    const rule = (list: string): string =>
      `  - contract-calls: { abis: own.abi, calls: [{ contract: '${TO}', method: 'pay(address[])', where: { to: { not-list: ${list} } } }] }\n`;
    const service = await host.start({
      policies: {
        'own.abi': 'pay(address[] to)',
        'web3.yaml': `policy: web3\ncallback: web3\nwhen: { main_chain_symbol: ETH }\nrules:\n${['a', 'b', 'c', 'd', 'e'].map(rule).join('')}`,
      },
    });
    for (const list of ['a', 'b', 'c', 'd', 'e']) {
      const change = { source: 'vault', list, add: ['x'], remove: [], by: 'ada', message: '' };
      await service.store.changeList(change);
    }
    const pay = (id: string, count: number): Promise<string> => {
      const data = call(
        'pay(address[])',
        Array.from({ length: count }, (_, index) => address(index)),
      );
      return service.cosign('/cosigner/web3', web3({ request_id: id, input_data: data }));
    };
    expect(await pay('c-1', 800)).toBe('SUCCESS');
    expect(await pay('c-2', 801)).toBe('FAILURE');
    expect((await codes(service)).at(-1)).toBe('decision FAILURE TOO_MANY_CLAIMS');
  });
});
