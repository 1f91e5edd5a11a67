import { describe, expect, it, onTestFinished } from 'vitest';
import { readFaults } from '../../src/sandbox/faults.ts';
import { TO, startTestService } from '../service.ts';
import { SCHEMES, balanceOf, receiverSources, sharedCredentials, startTestSandbox } from './sandbox.ts';

const folder = sharedCredentials();
const SOURCES = receiverSources(folder);
/** The longest that settings allow, so that no answer is a time-out. */
const ANSWER_TIMEOUT_MS = 10_000;
const UNIT = 10n ** 18n;

/** An amount with at most 18 decimal places, in units of 10^-18. */
function units(text: string): bigint {
  const [whole = '', places = ''] = text.split('.');
  return BigInt(whole) * UNIT + BigInt(places.padEnd(18, '0'));
}

describe('payments, withdrawals and transactions with faults of all kinds', () => {
  it.each([
    ['honest', ''],
    ['late, repeated, reordered and in other forms', 'late=30,repeat=30,reorder=30,wire=30'],
    ['tampering', 'tamper=8,wire=20,repeat=20'],
  ])('%s: balances, bill and journal agree to the last digit', async (_, faults) => {
    const service = await startTestService({
      settings: { sources: SOURCES, answerTimeoutMs: ANSWER_TIMEOUT_MS },
    });
    onTestFinished(() => service.stop());
    const sandbox = await startTestSandbox({ receiver: service.url, faults: readFaults(faults) });

    // The policy allows up to 1000. Users differ, so that no window is full.
    const orders = Array.from({ length: 50 }, (__, at) => ({
      appOrderId: `order-${at}`,
      userId: String(12_345 + (at % 20)),
      orderAmount: at % 7 === 3 ? '1000.01' : `${at * 3}.${String(at + 1).padStart(4, '0')}`,
      payCoinSymbol: 'USDT1742',
    }));
    const paid = new Map<string, string>();
    for (const [at, order] of orders.entries()) {
      const scheme = SCHEMES[at % 2] ?? 'md5';
      const { code } = await sandbox.call('opay/transferToMerchantAuth', order, scheme);
      expect(['0', '10015']).toContain(code);
      if (code === '0') paid.set(order.appOrderId, order.orderAmount);
    }
    const tampered = sandbox.log.filter(({ faults: kinds }) =>
      kinds.some((kind) => kind.startsWith('tamper-')),
    );
    expect(tampered.map(({ outcome }) => outcome)).toEqual(tampered.map(() => '"FAILURE"'));
    expect(tampered.length > 0).toBe(faults.includes('tamper'));
    const spoilt = new Set(tampered.map(({ about }) => about));
    const expected = orders.filter(
      ({ orderAmount, appOrderId }) => orderAmount !== '1000.01' && !spoilt.has(appOrderId),
    );
    expect([...paid.keys()]).toEqual(expected.map(({ appOrderId }) => appOrderId));

    const { dataText } = await sandbox.call('opay/merchantBillingDay', { day: '2026-01-15' });
    const billed = [...dataText.matchAll(/"appOrderId":"([^"]+)".*?"orderAmount":([\d.]+)/g)].map(
      ([, id = '', amount = '']): [string, string] => [id, amount],
    );
    const inUnits = (amounts: Iterable<readonly [string, string]>) =>
      new Map(Array.from(amounts, ([id, amount]) => [id, units(amount)]));
    expect(inUnits(billed)).toEqual(inUnits(paid));
    expect(billed.length).toBe(paid.size);

    const entries = await service.store.entries({ source: 'shop', limit: 1000 });
    const approved = entries.filter(({ verdict }) => verdict === 'SUCCESS').map(({ subject }) => subject);
    expect(new Set(approved)).toEqual(new Set([...paid.keys()].map((id) => `payment:${id}`)));

    let left = 0n;
    for (let uid = 12_345; uid < 12_365; uid++) left += units(await balanceOf(sandbox, uid, 'USDT1742'));
    const debited = [...paid.values()].reduce((sum, amount) => sum + units(amount), 0n);
    expect(left + debited).toBe(20n * 100_000n * UNIT);
  });

  it('each withdrawal and transaction ends as the policies say', async () => {
    const service = await startTestService({
      settings: { sources: SOURCES, answerTimeoutMs: ANSWER_TIMEOUT_MS },
    });
    onTestFinished(() => service.stop());
    const faults = readFaults('late=30,repeat=30,reorder=30,wire=30,tamper=10');
    const sandbox = await startTestSandbox({ receiver: service.url, faults });
    const ends = new Map<string, string>();
    for (let at = 0; at < 30; at++) {
      const isAllowed = at % 5 !== 0;
      const speedUps = at % 3;
      await sandbox.steer({
        command: 'withdraw',
        request: `w-${at}`,
        from: TO,
        to: TO,
        symbol: 'ETH',
        memo: '',
        outputs: [],
        speedUps,
        amount: isAllowed ? `0.${at + 1}` : '10.1',
      });
      ends.set(`w-${at}`, isAllowed ? `signed ${speedUps + 1}` : 'ignored 0');
    }
    for (let at = 0; at < 20; at++) {
      const contract = at % 4 === 0 ? '0x0000000000000000000000000000000000000001' : TO;
      await sandbox.steer({
        command: 'web3',
        request: `c-${at}`,
        from: TO,
        to: TO,
        symbol: 'ETH',
        amount: '0',
        data: '0xa9059cbb',
        contract,
        speedUps: at % 2,
      });
      ends.set(`c-${at}`, contract === TO ? `signed ${1 + (at % 2)}` : 'ignored 0');
    }
    for (let polls = 0; polls < 4; polls++) await sandbox.steer({ command: 'poll' });
    const signings = (await sandbox.steer({ command: 'signings' })) as readonly {
      readonly requestId: string;
      readonly status: string;
      readonly signed: number;
    }[];
    expect(new Map(signings.map((each) => [each.requestId, `${each.status} ${each.signed}`]))).toEqual(ends);
    const tampered = sandbox.log.filter(({ faults: kinds }) =>
      kinds.some((kind) => kind.startsWith('tamper-')),
    );
    expect(tampered.length).toBeGreaterThan(0);
    expect(tampered.map(({ outcome }) => outcome)).toEqual(tampered.map(() => '"FAILURE"'));
  });
});
