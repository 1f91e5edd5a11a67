import { expect, it } from 'vitest';
import { searchJournal } from '../../src/journal/search.ts';
import { START } from '../../src/journal/cursor.ts';
import { announceOrder } from '../../src/orders/orders.ts';
import { placeIn } from '../cli/terminal.ts';
import type { TestService } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const SYMBOL = 'USDT1742';
const policies = (rules: string): Readonly<Record<string, string>> => ({
  'payments.yaml': `policy: payments\ncallback: payment\nwhen: { symbol: ${SYMBOL} }\nrules:\n${rules}`,
  'users.txt': '0012345\n',
});
const SPELLINGS = ['60003', '060003', '0000060003'] as const;

describeOnBothStores('zeros at the beginning of a userId make no other user', (host) => {
  let count = 0;
  const pay = (service: TestService, userId: string, orderAmount = '6'): Promise<string> =>
    service.pay({ appOrderId: `o-${count++}`, userId, payCoinSymbol: SYMBOL, orderAmount });
  const payAll = async (service: TestService): Promise<readonly string[]> => {
    const answers: string[] = [];
    for (const userId of SPELLINGS) answers.push(await pay(service, userId));
    return answers;
  };

  it.each([
    ['window-limit: { per: [userId], window: 24h, max: 10 }', ['SUCCESS', 'FAILURE', 'FAILURE']],
    ['velocity-limit: { per: [userId], window: 24h, max: 1 }', ['SUCCESS', 'FAILURE', 'FAILURE']],
    ['distinct-limit: { of: userId, window: 24h, max: 1 }', ['SUCCESS', 'SUCCESS', 'SUCCESS']],
    ['deny-list: { of: userId, values: ["60003"] }', ['FAILURE', 'FAILURE', 'FAILURE']],
    ['deny-list: { of: userId, values: ["00060003"] }', ['FAILURE', 'FAILURE', 'FAILURE']],
    ['allow-list: { of: userId, values: ["00060003"] }', ['SUCCESS', 'SUCCESS', 'SUCCESS']],
    ['expression: { require: "userId != \'0060003\'" }', ['FAILURE', 'FAILURE', 'FAILURE']],
  ])('for %s', async (rule, answers) => {
    const service = await host.start({ policies: policies(`  - ${rule}\n`) });
    expect(await payAll(service)).toEqual(answers);
  });

  it('for a value that becomes known', async () => {
    const rule = '  - first-use-limit: { of: userId, max: 1 }\n';
    const service = await host.start({ policies: policies(rule) });
    expect(await pay(service, '060003', '1')).toBe('SUCCESS');
    expect(await pay(service, '60003', '6')).toBe('SUCCESS');
    expect(await pay(service, '60004', '6')).toBe('FAILURE');
  });

  it('for a file, a list in the store, and removing from it', async () => {
    const rules =
      '  - deny-list: { of: userId, file: users.txt }\n  - deny-list: { of: userId, list: blocked }\n';
    const service = await host.start({ policies: policies(rules) });
    const { run } = placeIn(service.folder);
    expect((await run('list', 'add', 'blocked', '0060003', '--source', 'shop')).code).toBe(0);
    expect(await payAll(service)).toEqual(['FAILURE', 'FAILURE', 'FAILURE']);
    expect([await pay(service, '12345'), await pay(service, '00012345')]).toEqual(['FAILURE', 'FAILURE']);
    expect(await pay(service, '7')).toBe('SUCCESS');
    const removed = await run('list', 'remove', 'blocked', '000060003', '--source', 'shop');
    expect(removed.out).toContain('1 removed');
    expect(await payAll(service)).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
  });

  it('for a lock-out', async () => {
    const rules =
      '  - amount-limit: { max: 10 }\n  - lock-out: { per: [userId], after: 2, within: 1h, for: 24h }\n';
    const service = await host.start({ policies: policies(rules) });
    expect([await pay(service, '060003', '11'), await pay(service, '60003', '11')]).toEqual([
      'FAILURE',
      'FAILURE',
    ]);
    expect(await payAll(service)).toEqual(['FAILURE', 'FAILURE', 'FAILURE']);
    expect(await pay(service, '7')).toBe('SUCCESS');
  });

  it('for the terms of an order, and a search', async () => {
    const service = await host.start({ policies: policies('  - amount-limit: { max: 10 }\n') });
    const order = { appOrderId: 'same', payCoinSymbol: SYMBOL, orderAmount: '6' };
    expect(await service.pay({ ...order, userId: '060003' })).toBe('SUCCESS');
    expect(await service.pay({ ...order, userId: '60003' })).toBe('SUCCESS');
    expect(await service.pay({ ...order, userId: '600030' })).toBe('FAILURE');
    const codes = (await journalOf(service.store, 'shop')).map(({ code }) => code);
    expect(codes).toContain('TERMS_CHANGED');
    for (const user of ['60003', '0060003']) {
      const { entries } = await searchJournal(service.store, {
        streams: [{ source: 'shop' }],
        newestFirst: false,
        period: {},
        cursor: START,
        filter: { user },
        limit: 10,
      });
      expect(entries.length).toBeGreaterThan(0);
    }
  });

  it('for an announced order', async () => {
    const service = await host.start({ policies: policies('  - expected-order: {}\n') });
    const announce = (id: string, userId: string) =>
      announceOrder(
        service.store,
        [{ name: 'shop', kinds: ['payment'], schemes: ['md5'] }],
        {
          source: 'shop',
          kind: 'payment',
          id,
          members: { userId, symbol: SYMBOL, amount: '6', scheme: 'md5' },
          expires: '1h',
          by: 'ada',
        },
        Date.now(),
      );
    await announce('o-a', '060003');
    await announce('o-b', '60003');
    const order = { payCoinSymbol: SYMBOL, orderAmount: '6' };
    expect(await service.pay({ ...order, appOrderId: 'o-a', userId: '60003' })).toBe('SUCCESS');
    expect(await service.pay({ ...order, appOrderId: 'o-b', userId: '060003' })).toBe('SUCCESS');
  });
});
