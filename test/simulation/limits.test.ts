import { expect, it } from 'vitest';
import { startTestConsole } from '../console/console.ts';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { TO, transfer, web3 } from '../service.ts';
import { placeIn } from '../cli/terminal.ts';

const USDT = '0xdac17f958d2ee523a2206206994597c13d831ec7';
const OTHER = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const policies = {
  'assets.yaml': `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${USDT}' } }
`,
  'limits.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - window-limit: { per: [userId], window: 24h, max: 1000 }
  - velocity-limit: { window: 1h, max: 10 }
  - any:
      - window-limit: { window: day, max: 5 }
      - amount-limit: { max: 100000 }
---
policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - window-limit: { per: [to], window: 24h, max: 10 }
---
policy: contracts
callback: web3
when: { source: vault, main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - window-limit: { by: asset, window: 24h, max: { USDT: 50, ETH: 2 } }
`,
};

interface Limit {
  readonly source: string;
  readonly rule: string;
  readonly by: Readonly<Record<string, string>>;
  readonly percent: number;
  readonly used: string;
  readonly left: string;
  readonly next: { readonly at: string; readonly amount: string } | null;
}

describeOnBothStores('limits in use', (host) => {
  const started = () => startTestConsole({ policies }, (options) => host.start(options));
  type Started = Awaited<ReturnType<typeof started>>;
  const shown = async ({ folder }: Started, ...argv: readonly string[]): Promise<readonly Limit[]> =>
    (await placeIn(folder).run('limits', 'show', '--json', ...argv)).json() as readonly Limit[];

  it('are those that callbacks count in, the fullest first, to the last digit', async () => {
    const service = await started();
    await service.pay({ appOrderId: '1', userId: '7', orderAmount: '900' });
    await service.pay({
      appOrderId: '2',
      userId: '8',
      orderAmount: '0.000000000000000000000000000000000001',
    });
    await service.pay({ appOrderId: '3', userId: '7', orderAmount: '100.01' });
    const least = '0.000000000000000000000000000000000001';
    expect(await shown(service, '--source', 'shop')).toMatchObject([
      { rule: 'window-limit#1', by: { userId: '7' }, percent: 90, used: '900', left: '100' },
      { rule: 'velocity-limit#2', by: {}, percent: 20, used: '2', left: '8' },
      { rule: 'window-limit#3.1', mode: 'alternative', by: {}, percent: 0, used: least },
      { rule: 'window-limit#1', by: { userId: '8' }, percent: 0, used: least },
    ]);
  });

  it('say whose they are where a callback counts for several', async () => {
    const service = await started();
    const outputs = [
      { address_to: TO, memo: '', amount: '4' },
      { address_to: OTHER, memo: '', amount: '3' },
    ];
    await service.cosign('/cosigner/withdraw', transfer({ amount: '7', outputs: JSON.stringify(outputs) }));
    const data = `0xa9059cbb${OTHER.slice(2).padStart(64, '0')}${20_000_000n.toString(16).padStart(64, '0')}`;
    const call = { main_chain_symbol: 'ETH', to: USDT, interactive_contract: USDT, input_data: data };
    await service.cosign('/cosigner/web3', web3({ ...call, amount: '1' }));
    const limits = await shown(service);
    expect(limits.map(({ rule, by, used }) => [rule, by, used])).toEqual([
      ['window-limit#1', { symbol: 'ETH' }, '1'],
      ['window-limit#1', { symbol: 'USDT' }, '20'],
      ['window-limit#1', { to: TO.toLowerCase() }, '4'],
      ['window-limit#1', { to: OTHER }, '3'],
    ]);
  });

  it('that nothing uses are empty, and only those of the policies in force are there', async () => {
    const service = await started();
    await service.pay({ appOrderId: '1', userId: '7', orderAmount: '1001' });
    const [limit] = await shown(service, '--rule', 'payments/window-limit#1');
    expect(limit).toMatchObject({ percent: 0, used: '0', left: '1000', next: null });
    expect(await shown(service, '--rule', 'transfers')).toEqual([]);
  });

  it('are on a page, where lock-outs are lifted with a reason', async () => {
    const lockingOut = `policy: locked
callback: payment
when: { source: shop }
rules:
  - amount-limit: { max: 10 }
  - window-limit: { per: [userId, symbol], window: 1h, max: 20 }
  - lock-out: { per: [userId], after: 1, within: 1h, for: 1h }
---
policy: memos
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - window-limit: { per: [memo], window: 1h, max: 20 }
`;
    const service = await startTestConsole({ policies: { 'locked.yaml': lockingOut } }, (options) =>
      host.start(options),
    );
    await service.pay({ appOrderId: '1', userId: '7', orderAmount: '5' });
    await service.pay({ appOrderId: '2', userId: '7', orderAmount: '11' });
    await service.cosign('/cosigner/withdraw', transfer({ amount: '1', memo: `"'<b>7` }));
    const page = await service.get('/console/limits');
    expect(page.text).toContain('25%');
    expect(page.text).toContain('&quot;&#39;&lt;b&gt;7');
    expect(page.text).not.toContain('<b>');
    const [, id = ''] = /name="id" value="([0-9a-f]+)"/.exec(page.text) ?? [];
    const lift = (message: string) => service.send('/console/limits/lift', { source: 'shop', id, message });
    expect((await lift(' ')).status).toBe(422);
    expect((await lift('called the user')).status).toBe(303);
    expect((await service.get('/console/limits')).text).not.toContain('Locked out');
    const [entry] = await service.store.entries({ source: 'shop', newestFirst: true, limit: 1 });
    expect(entry).toMatchObject({ type: 'lockout' });
    expect(entry?.detail).toMatch(/"by":"console:/);
  });
});
