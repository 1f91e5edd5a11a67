import { describe, expect, it } from 'vitest';
import { compileRelease } from '../../../src/policy/compile.ts';
import { NOON, evaluateAt, judged } from '../callbacks.ts';
import {
  DAI,
  MAX,
  ME,
  MULTICALL3,
  NFT,
  PARTNER,
  PERMIT2,
  PROXY,
  ROUTER,
  THIEF,
  type Transaction,
  USDT,
  WETH,
  approveFor,
  call,
  callbackOf,
  inForce,
  multicall,
  transferTo,
  withWord,
} from '../calls/transactions.ts';
import { tablesOf, string } from '../../cases.ts';
import { asTransaction } from '../calls/written.ts';
import { ADDRESSES } from '../calls/transactions.ts';

const policies = inForce();
const judge = (transaction: Transaction) => {
  const proposal = evaluateAt(policies, callbackOf(transaction), NOON);
  const [result] = proposal.results;
  if (result === undefined) throw new Error('the policy did not apply');
  return { ...result, claims: proposal.claims };
};

const UNIT = 1_000_000n;
const R = `0x${'11'.repeat(32)}`;
const pay = transferTo(PARTNER, 100n * UNIT);

const usdt = (data: string, more: Partial<Transaction> = {}): Transaction => ({
  contract: USDT,
  data,
  ...more,
});
const at = (contract: string, data: string, more: Partial<Transaction> = {}): Transaction => ({
  contract,
  data,
  ...more,
});
const permit2Single = (amount: bigint, spender = ROUTER): string =>
  call(
    'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)',
    ME,
    [[USDT, amount, 1, 2], spender, 9n],
    '0x1234',
  );
const batch = (
  ...details: readonly (readonly [from: string, to: string, amount: bigint, token: string])[]
): string => call('transferFrom((address,address,uint160,address)[])', details);

const swap = (amountIn: bigint, path: readonly string[] = [USDT, WETH], to = ME, least = 1n): string =>
  call('swap(uint256,uint256,address[],address)', amountIn, least, path, to);
const fill = (delta: bigint, flags: readonly [number, number] = [1, 3], note = 'hello'): string =>
  call('fill((address,int256,string,bytes4),uint8[2])', [ME, delta, note, '0x00000001'], flags);
const aggregate3 = (
  ...calls: readonly (readonly [target: string, allowFailure: boolean, data: string])[]
): string => call('aggregate3((address,bool,bytes)[])', calls);

const execute = (target: string, data: string): string => call('execute(address,bytes)', target, data);

const rowsOf = tablesOf(new URL('cases/contract-calls.yaml', import.meta.url), { ...ADDRESSES, R });

describe('contract-calls lets pass', () => {
  it.each<[string, Transaction]>([
    ...rowsOf('passes', string, asTransaction),
    ['a transfer as another encoder wrote it, in capitals', usdt(`0x${pay.slice(2).toUpperCase()}`)],
  ])('%s', (_, transaction) => {
    expect(judge(transaction)).toMatchObject({
      verdict: 'pass',
      because: expect.stringMatching(/ is allowed$/),
      claims: [],
    });
  });
});

describe('contract-calls refuses', () => {
  it.each<[string, Transaction, string]>([
    ...rowsOf('refuses', string, asTransaction, string),
    ['half a byte', usdt(pay.slice(0, -1)), 'the call data is not 0x and pairs of hexadecimal digits'],
    ['data without 0x', usdt(pay.slice(2)), 'the call data is not 0x and pairs of hexadecimal digits'],
    [
      'data that begins with 0X',
      usdt(`0X${pay.slice(2)}`),
      'the call data is not 0x and pairs of hexadecimal digits',
    ],
    ['data that is text', usdt('transfer'), 'the call data is not 0x and pairs of hexadecimal digits'],
    [
      'a contract of another chain',
      at('TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t', pay, { to: USDT }),
      'there is call data, and interactive_contract is not an EVM address',
    ],
    [
      'padding that is not zero',
      at(ROUTER, `${multicall(swap(1n)).slice(0, -2)}01`),
      'multicall(bytes[]): data.1 is not written as Solidity writes it: byte 383 of the arguments is 0x01 and must be 0x00',
    ],
    [
      'text that is no UTF-8',
      at(ROUTER, fill(1n).replace('68656c6c6f', 'ff656c6c6f')),
      'fill((address,int256,string,bytes4),uint8[2]): order.note is not UTF-8 text',
    ],
  ])('%s', (_, transaction, because) => {
    const result = judge(transaction);
    expect({ verdict: result.verdict, because: result.because }).toEqual({ verdict: 'refuse', because });
    expect(result.claims).toEqual([]);
  });
});

describe('contract-calls asks the lists of the store', () => {
  const listed = usdt(transferTo(THIEF, 50_500_000n));

  it('where a condition names one, and once for each', () => {
    const result = judge(listed);
    expect(result).toMatchObject({
      verdict: 'claim',
      because: `transfer(address,uint256) of ${USDT} is allowed with ${THIEF} on the list partners, ${THIEF} not on the list blocked`,
      values: { member: 'to', 'args.to': THIEF },
    });
    const claim = { type: 'list', values: [THIEF], result: 0, decides: true, retryable: false };
    expect(result.claims).toEqual([
      { ...claim, list: 'partners', must: 'hold-all' },
      { ...claim, list: 'blocked', must: 'hold-none' },
    ]);
  });

  it('only where no other entry allows the call', () => {
    expect(judge(usdt(transferTo(PARTNER, UNIT)))).toMatchObject({ verdict: 'pass', claims: [] });
  });

  it('and for numbers, as decimal text', () => {
    const id = 2n ** 256n - 1n;
    const result = judge(at(NFT, call('safeTransferFrom(address,address,uint256)', ME, PARTNER, id)));
    expect(result.claims).toEqual([
      expect.objectContaining({ type: 'list', list: 'ids', values: [id.toString()], must: 'hold-all' }),
    ]);
  });

  it('for all calls of a transaction in one claim a list', () => {
    const calls = [THIEF, ROUTER, THIEF].map((to) => [USDT, false, transferTo(to, UNIT)] as const);
    const { claims, values } = judge(at(MULTICALL3, aggregate3(...calls)));
    expect(claims.map((claim) => claim.type === 'list' && [claim.list, claim.values])).toEqual([
      ['partners', [THIEF, ROUTER]],
      ['blocked', [THIEF, ROUTER]],
    ]);
    expect(values).toMatchObject({
      'call1.args.to': THIEF,
      'call2.args.to': ROUTER,
      'call3.method': 'transfer(address,uint256)',
    });
  });

  it('and adds up what they allow', () => {
    const calls = [THIEF, ROUTER].map((to) => [USDT, false, transferTo(to, 25_250_001n)] as const);
    expect(judge(at(MULTICALL3, aggregate3(...calls)))).toMatchObject({
      verdict: 'refuse',
      because:
        'call 2: amount of transfer(address,uint256) is 50.500002 over all calls together, above the maximum 50.5',
      claims: [],
    });
  });
});

describe('contract-calls reports', () => {
  it('contract, method, native value and each argument, amounts in units and raw', () => {
    expect(judge(usdt(pay)).values).toEqual({
      contract: USDT,
      method: 'transfer(address,uint256)',
      native: '0',
      'args.to': PARTNER,
      'args.amount': '100',
      'args.amount.raw': '100000000',
    });
  });

  it('members of lists and tuples by their names, and calls within by their place', () => {
    const { values } = judge(at(ROUTER, multicall(swap(2n, [USDT, WETH])), { amount: '1' }));
    expect(values).toEqual({
      contract: ROUTER,
      method: 'multicall(bytes[])',
      native: '1',
      'call1.path': 'multicall > swap',
      'call1.contract': ROUTER,
      'call1.method': 'swap(uint256,uint256,address[],address)',
      'call1.native': '1',
      'call1.args.amountIn': '0.000002',
      'call1.args.amountIn.raw': '2',
      'call1.args.amountOutMin': '1',
      'call1.args.path': `${USDT} ${WETH}`,
      'call1.args.to': ME,
    });
    expect(judge(at(PERMIT2, permit2Single(5n))).values).toMatchObject({
      'args.permitSingle.details.token': USDT,
      'args.permitSingle.details.amount': '0.000005',
      'args.signature': '0x1234',
    });
  });

  it('what was at fault: contract, method, selector, argument, place', () => {
    expect(judge(usdt(approveFor(THIEF, 1n))).values).toEqual({
      contract: USDT,
      method: 'approve(address,uint256)',
      selector: '0x095ea7b3',
      argument: 'spender',
      found: THIEF,
    });
    expect(judge(at(PROXY, execute(USDT, withWord(pay, 0, MAX)))).values).toMatchObject({
      call: '1',
      path: 'execute > transfer',
      argument: 'to',
    });
    expect(judge(usdt('0xdeadbeef')).values).toEqual({ contract: USDT, selector: '0xdeadbeef' });
  });

  it('long arguments cut short', () => {
    const long = call(
      'permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)',
      ME,
      [[USDT, 1n, 1, 2], ROUTER, 9n],
      `0x${'ab'.repeat(500)}`,
    );
    expect(judge(at(PERMIT2, long)).values['args.signature']).toBe(`0x${'ab'.repeat(99)}… (1002 characters)`);
  });
});

describe('contract-calls', () => {
  it('adds up what the methods and contracts of one entry move', () => {
    const where = `{ to: any, amount: { max: 10 } }`;
    const entries = `[{ contract: ['${USDT}', '${DAI}'], method: ['transfer(address,uint256)', 'approve(address,uint256)'], decimals: 6, where: ${where.replace('to', '1')} }, { contract: '${MULTICALL3}', method: 'aggregate((address,bytes)[])' }]`;
    const rule = `contract-calls: { calls: ${entries}, multicall: { depth: 1, calls: 2 } }`;
    const verdict = (first: bigint, second: bigint): string => {
      const data = call('aggregate((address,bytes)[])', [
        [USDT, transferTo(PARTNER, first)],
        [DAI, approveFor(ROUTER, second)],
      ]);
      return judged(rule, callbackOf({ contract: MULTICALL3, data }), { when: '{ symbol: ETH }' }).result
        .verdict;
    };
    expect(verdict(5n * UNIT, 5n * UNIT)).toBe('pass');
    expect(verdict(5n * UNIT, 5n * UNIT + 1n)).toBe('refuse');
  });

  it('reads the values of an amount in the units of the token', () => {
    const where = '{ to: any, amount: { values: [10] } }';
    const entry = `{ contract: '${USDT}', method: 'transfer(address,uint256)', decimals: 6, where: ${where} }`;
    const verdict = (amount: bigint): string =>
      judged(`contract-calls: { calls: [${entry}] }`, callbackOf(usdt(transferTo(PARTNER, amount))), {
        when: '{ symbol: ETH }',
      }).result.verdict;
    expect(verdict(10n * UNIT)).toBe('pass');
    expect(verdict(10n)).toBe('refuse');
  });

  it('refuses call data above its bound, and reads data at it', () => {
    const data = (bytes: number): string => `0x${'0'.repeat(bytes * 2)}`;
    const callback = callbackOf(usdt(pay));
    const because = (callData: string): string | undefined => {
      const texts = { ...callback.texts, input_data: callData };
      return evaluateAt(policies, { ...callback, texts }, NOON).results[0]?.because;
    };
    expect(because(data(32_768))).toContain('an unknown method (0x00000000)');
    expect(because(data(32_769))).toBe('the call data has 65540 characters, more than 32768 bytes');
  });

  it('reads everything that a whole callback may hold', () => {
    const many = Array.from({ length: 255 }, () => [ME, PARTNER, 1n, USDT] as const);
    expect(judge(at(PERMIT2, batch(...many)))).toMatchObject({ verdict: 'pass' });
    const tooMuch = Array.from({ length: 255 }, () => [ME, PARTNER, 4n * UNIT, USDT] as const);
    expect(judge(at(PERMIT2, batch(...tooMuch)))).toMatchObject({ verdict: 'refuse' });
  });

  it('refuses on a network that the policy does not name, since no policy applies', () => {
    const elsewhere = { ...callbackOf(usdt(pay)), symbol: 'BSC', values: new Map([['symbol', ['BSC']]]) };
    expect(evaluateAt(policies, elsewhere, NOON)).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
  });

  it('says the same from a release as from its files', () => {
    const compiled = compileRelease(policies.document);
    if (!compiled.ok) throw new Error('the release does not compile');
    expect(compiled.release.revision).toBe(policies.revision);
    const callback = callbackOf(at(ROUTER, multicall(swap(1n))));
    expect(evaluateAt(compiled.release, callback, NOON)).toEqual(evaluateAt(policies, callback, NOON));
  });
});
