import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { type TestService, TO, signedPayment, transfer, web3 } from '../service.ts';
import { placeIn, prints, reports } from './terminal.ts';

const PAYMENT = ['payment', 'userId=12345', 'amount=100', 'symbol=USDT1742'];
const FROM = '0x27b1fdb04752bbc536007a920d24acb045561c26';

interface Shown {
  readonly verdict: string;
  readonly code: string;
  readonly because: string;
  readonly of: string;
  readonly deciding: { readonly rule: string } | null;
}

describeOnBothStores('simulate', (host) => {
  const started = async () => {
    const service = await host.start();
    const { run } = placeIn(service.folder);
    const shown = async (...words: readonly string[]): Promise<Shown> =>
      (await run`simulate ${words} --json`).json() as Shown;
    const entries = async (): Promise<number> =>
      (await service.store.journalSize('shop')) + (await service.store.journalSize('vault'));
    return { service, run, shown, entries };
  };
  const written = (service: TestService, body: string): string => {
    const file = join(service.folder, 'callback.json');
    writeFileSync(file, body);
    return file;
  };

  it('says SUCCESS with every rule, as often as it is asked, and leaves nothing behind', async () => {
    const { run, service, entries } = await started();
    for (let time = 0; time < 3; time++) {
      const { code, out } = await run`simulate ${PAYMENT}`;
      expect(code).toBe(0);
      expect(out).toContain('SUCCESS  APPROVED  (simulated)');
      expect(out).toContain('0 used and 100 requested are within the limit of 10000');
    }
    expect(await entries()).toBe(0);
    expect(await service.store.subject('shop', 'payment:simulated')).toBeUndefined();
  });

  it('says what a real callback then gets, from the limits as they are', async () => {
    const { service, shown } = await started();
    for (let order = 0; order < 10; order++) {
      expect(await service.pay({ appOrderId: `o-${order}`, orderAmount: '1000' })).toBe('SUCCESS');
    }
    expect(await shown(...PAYMENT)).toMatchObject({
      verdict: 'FAILURE',
      code: 'RULE_REFUSED',
      deciding: { rule: 'window-limit#2' },
    });
    expect((await shown(...PAYMENT)).because).toContain('10000 used and 100 requested are above the limit');
    expect(await shown('payment', 'userId=1', ...PAYMENT.slice(2))).toMatchObject({ verdict: 'SUCCESS' });
    expect(await service.pay({ appOrderId: 'next', orderAmount: '100' })).toBe('FAILURE');
  });

  it('says that a decision would be repeated, or that its terms are others', async () => {
    const { service, shown } = await started();
    await service.pay({ appOrderId: 'o-1' });
    const [first] = await service.store.entries({ source: 'shop', limit: 1 });
    expect(await shown(...PAYMENT, 'appOrderId=o-1')).toMatchObject({ verdict: 'SUCCESS', of: first?.id });
    expect(await shown(...PAYMENT, 'appOrderId=o-1', 'amount=101')).toMatchObject({
      verdict: 'FAILURE',
      code: 'TERMS_CHANGED',
    });
    expect(await shown(...PAYMENT, 'appOrderId=o-1', '--scheme', 'rsa')).toMatchObject({
      code: 'SCHEME_CHANGED',
    });
  });

  it('says FROZEN while approvals are frozen', async () => {
    const { service, shown } = await started();
    await service.store.freeze({ by: 'ada', reason: 'drill' });
    expect(await shown(...PAYMENT)).toMatchObject({ verdict: 'FAILURE', code: 'FROZEN' });
  });

  it('reads a body from a file and from standard input, with members set over it', async () => {
    const { service, run } = await started();
    const file = written(service, signedPayment({ appOrderId: 'from-file' }));
    expect(await run`simulate payment ${file}`).toMatchObject({ code: 0 });
    expect(await run`simulate payment ${file} orderAmount=1000.000001`).toMatchObject({ code: 1 });
    for (const [kind, body] of [
      ['transfer', transfer()],
      ['web3', web3()],
    ] as const) {
      const { code, out } = await run`simulate ${kind} ${written(service, JSON.stringify(body))}`;
      expect({ code, out }).toMatchObject(prints(0, 'SUCCESS'));
    }
  });

  it('reads an entry of the journal, and says what its callback would be answered now', async () => {
    const { service, run, shown } = await started();
    await service.pay({ appOrderId: 'o-1', orderAmount: '100' });
    const [first] = await service.store.entries({ source: 'shop', limit: 1 });
    const exported = (await run`decisions export --end-line`).out;
    const entry = exported.split('\n').find((line) => line.includes('"type":"decision"'));
    const file = written(service, `${entry}\n${exported.split('\n').at(-2)}\n`);
    expect(await shown('payment', file)).toMatchObject({ verdict: 'SUCCESS', of: first?.id });
    expect(await shown('payment', file, 'orderAmount=101')).toMatchObject({ code: 'TERMS_CHANGED' });
    expect(await run`simulate web3 ${file}`).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        `the entry shop/${first?.id} is about a payment. Run \`simulate payment\``,
      ),
    });
    expect(await run('simulate', 'payment', written(service, `${entry}\n${entry}`))).toMatchObject(
      reports(2, 'it has 2 lines. Give one line of an export'),
    );
  });

  it('explains that an entry of the journal has no callback', async () => {
    const { service, run } = await started();
    const change = { source: 'shop', list: 'vips', add: ['1'], remove: [], by: 'ada', message: '' };
    await service.store.changeList(change);
    const exported = (await run`decisions export`).out;
    expect(exported).toContain('"type":"list"');
    const { code, err } = await run`simulate payment ${written(service, exported)}`;
    expect({ code, err }).toMatchObject(reports(2, '(list) has no callback'));
  });

  it('knows no other members than the callback has, so that a misspelt one is not left out', async () => {
    const { run } = await started();
    const withdrawal = ['transfer', `from=${FROM}`, `to=${TO}`, 'symbol=ETH', 'amount=1'];
    for (const [call, member, known] of [
      [[...PAYMENT, 'order=A-1'], 'order', 'userId, appOrderId, amount, symbol'],
      [[...withdrawal, 'memmo=7'], 'memmo', 'memo'],
      [['web3', `from=${FROM}`, `to=${TO}`, 'symbol=ETH', 'data=0x'], 'data', 'input_data'],
    ] as const) {
      const { code, err } = await run`simulate ${call}`;
      expect([call, code, err]).toEqual([
        call,
        2,
        expect.stringContaining(`no member "${member}". Known here`),
      ]);
      expect(err).toContain(known);
    }
  });

  it('simulates a withdrawal from its members', async () => {
    const { shown } = await started();
    const members = [`from=${FROM}`, `to=${TO}`, 'symbol=ETH'];
    expect(await shown('transfer', ...members, 'amount=10')).toMatchObject({ verdict: 'SUCCESS' });
    expect(await shown('transfer', ...members, 'amount=10.000000000000000001')).toMatchObject({
      verdict: 'FAILURE',
      deciding: { rule: 'amount-limit#1' },
    });
  });

  it('shows a hostile member as text', async () => {
    const { run } = await started();
    const { out, err } = await run`simulate ${PAYMENT} ${'symbol=\u001b[31mUSDT'}`;
    expect(out + err).not.toContain('\u001b');
  });
});
