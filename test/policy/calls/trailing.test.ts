import { describe, expect, it } from 'vitest';
import { NOON, evaluateAt, release } from '../callbacks.ts';
import { ADDRESSES, DAI, MULTICALL3, PARTNER, USDT, call, callbackOf, transferTo } from './transactions.ts';
import { tablesOf, string } from '../../cases.ts';
import { asCallData } from './written.ts';

const WHERE = `where: { to: { values: '${PARTNER}' }, amount: { max: 100 } }`;
const policy = (trailing: string): string => `policy: one
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      multicall: { depth: 1, calls: 4 }
      calls:
        - { contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, ${WHERE}${trailing} }
        - { contract: '${DAI}', method: 'transfer(address,uint256)', decimals: 18, ${WHERE} }
        - { contract: '${DAI}', method: 'transfer(address,uint256)', decimals: 18, where: { to: { list: partners }, amount: { max: 100 } }, trailing: { max: 4 } }
        - { contract: '${MULTICALL3}', method: 'aggregate((address,bytes)[])', trailing: { max: 20 } }
`;
const policies = release(policy(', trailing: { max: 64 }'));
const judge = (contract: string, data: string) => {
  const [result] = evaluateAt(policies, callbackOf({ contract, data }), NOON).results;
  if (result === undefined) throw new Error('the policy did not apply');
  return result;
};

const pay = transferTo(PARTNER, 5_000_000n);
const aggregate = (...calls: readonly (readonly [string, string])[]): string =>
  call('aggregate((address,bytes)[])', calls);

describe('bytes behind the arguments pass where an entry allows them', () => {
  it.each<[string, string, number]>([
    ['one', '00', 1],
    ['a tag of four', 'deadbeef', 4],
    ['as many as the bound', 'ab'.repeat(64), 64],
  ])('%s, and are reported', (_, more, bytes) => {
    expect(judge(USDT, pay + more)).toMatchObject({
      verdict: 'pass',
      because: `transfer(address,uint256) of ${USDT} is allowed, with ${bytes} bytes behind the arguments`,
      values: { 'args.to': PARTNER, 'args.amount': '5', trailing: `0x${more}` },
    });
  });

  it('none, and none are reported', () => {
    const { verdict, because, values } = judge(USDT, pay);
    expect({ verdict, because }).toEqual({
      verdict: 'pass',
      because: `transfer(address,uint256) of ${USDT} is allowed`,
    });
    expect(values).not.toHaveProperty('trailing');
  });

  it('of the wrapper and of a call in it, each by its own entry', () => {
    const result = judge(MULTICALL3, `${aggregate([USDT, `${pay}aabb`], [DAI, transferTo(PARTNER, 5n)])}cc`);
    expect(result).toMatchObject({
      verdict: 'pass',
      because: expect.stringMatching(/ is allowed, with 3 bytes behind the arguments$/),
      values: { trailing: '0xcc', 'call1.trailing': '0xaabb' },
    });
    expect(result.values).not.toHaveProperty(['call2.trailing']);
  });

  it('of two entries, by the one that allows them', () => {
    expect(judge(DAI, `${transferTo(PARTNER, 5n)}00`)).toMatchObject({
      verdict: 'claim',
      because: expect.stringMatching(/on the list partners, with 1 bytes behind the arguments$/),
    });
    expect(judge(DAI, transferTo(PARTNER, 5n)).verdict).toBe('pass');
  });

  it('cut short in the report if they are many', () => {
    const long = release(policy(', trailing: { max: 1024 }'));
    const data = pay + 'ab'.repeat(1024);
    const [result] = evaluateAt(long, callbackOf({ contract: USDT, data }), NOON).results;
    expect(result?.values['trailing']).toBe(`0x${'ab'.repeat(99)}… (2050 characters)`);
    const over = callbackOf({ contract: USDT, data: `${data}ab` });
    expect(evaluateAt(long, over, NOON).results[0]?.verdict).toBe('refuse');
  });
});

const rowsOf = tablesOf(new URL('cases/trailing.yaml', import.meta.url), ADDRESSES);

describe('bytes behind the arguments are refused', () => {
  it.each<[string, string, string, string]>([
    ...rowsOf('refused', string, string, asCallData, string),
    [
      'in place of an argument',
      USDT,
      pay.slice(0, -64) + 'ab'.repeat(31),
      'transfer(address,uint256): the data ends within amount',
    ],
    [
      'behind a dirty argument',
      USDT,
      `${pay.slice(0, 10)}01${pay.slice(12)}00`,
      'transfer(address,uint256): to is not written as Solidity writes it: byte 0 of the arguments is 0x01 and must be 0x00',
    ],
  ])('%s', (_, contract, data, because) => {
    const result = judge(contract, data);
    expect({ verdict: result.verdict, because: result.because }).toEqual({ verdict: 'refuse', because });
  });

  it('by the entry that allows fewer, though another allows more', () => {
    const { verdict, because } = judge(DAI, `${transferTo(PARTNER, 200n * 10n ** 18n)}00`);
    expect(verdict).toBe('refuse');
    expect(because).toBe(
      'none of the 2 entries allows it: 1 bytes follow the arguments of transfer(address,uint256), and at most 0 are allowed; amount 200 is above the maximum 100',
    );
  });
});
