import { describe, expect, it } from 'vitest';
import { NOBODY_NOTED, place, prints, reports } from '../terminal.ts';

const ANNOUNCE = ['--user', '12345', '--symbol', 'USDT1742', '--amount', '100.50', '--scheme', 'rsa'];
const TO = '0x52908400098527886E0F7030069857D2E4169EE7';
const OTHER = '0xde709f2102306220921060314715629080e2fb77';

describe('orders expect', () => {
  it('announces a payment, and says until when it is expected', async () => {
    const { run } = place();
    const ran = await run`orders expect payment 11321 ${ANNOUNCE} --expires 2h`;
    expect(ran).toMatchObject({ code: 0, err: NOBODY_NOTED });
    expect(ran.out).toContain(
      'shop payment:11321 is expected until 2025-06-15T14:00:00.000Z: amount 100.5, scheme rsa, symbol USDT1742, userId 12345.',
    );
    const shown = await run`orders show payment 11321 --json`;
    expect(shown.json()).toMatchObject({ state: 'expected', members: { amount: '100.5' }, by: 'ada' });
  });

  it('says that the same was announced before, and exits 1 for another in its place', async () => {
    const { run } = place();
    await run`orders expect payment 1 ${ANNOUNCE} --expires 2025-06-16T00:00:00Z`;
    const again = await run`orders expect payment 1 ${ANNOUNCE} --expires 2025-06-16T00:00:00Z`;
    expect(again).toMatchObject(prints(0, 'It was already announced'));
    const length = await run`orders expect payment 1 ${ANNOUNCE} --expires 3h`;
    expect(length).toMatchObject(prints(0, 'expected until 2025-06-16T00:00:00.000Z'));
    const other = await run`orders expect payment 1 ${ANNOUNCE} --amount 1`;
    expect(other).toMatchObject(reports(1, 'ORDER_CONFLICT'));
  });

  it('takes a withdrawal to several addresses, and a web3 transaction', async () => {
    const { run } = place();
    const outputs = `${TO}=1,${OTHER}=0.5`;
    const several = await run`orders expect transfer r-1 --symbol ETH --amount 1.5 --outputs ${outputs}`;
    expect(several).toMatchObject({ code: 0, err: NOBODY_NOTED });
    expect(several.out).toContain(`${TO.toLowerCase()} 1; ${OTHER} 0.5`);
    const call = `--to-address ${TO} --contract ${TO} --symbol ETH --amount 0 --data 0xa9059cbb`.split(' ');
    expect((await run`orders expect web3 w-1 ${call}`).code).toBe(0);
  });
});

describe('orders cancel', () => {
  it('takes an order back, once', async () => {
    const { run } = place();
    await run`orders expect payment 1 ${ANNOUNCE}`;
    expect(await run`orders cancel payment 1`).toMatchObject(prints(0, 'was cancelled at'));
    expect(await run`orders cancel payment 1`).toMatchObject(prints(1, 'Nothing to cancel'));
    expect(await run`orders cancel payment 2`).toMatchObject({ code: 1, out: '' });
  });
});
