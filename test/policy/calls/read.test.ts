import { describe, expect, it } from 'vitest';
import type { Web3Callback } from '../../../src/callback/callback.ts';
import { methodsBySelector } from '../../../src/policy/calls/known-methods.ts';
import { methodOf } from '../../../src/policy/calls/methods.ts';
import { type ReadCall, type Reading, readTransaction } from '../../../src/policy/calls/read.ts';
import { valuesAt, formatValue } from '../../../src/policy/calls/abi.ts';
import {
  ACCOUNT,
  ME,
  MULTICALL3,
  PARTNER,
  ROUTER,
  USDT,
  WETH,
  call,
  callbackOf,
  multicall,
  transferTo,
  SAFE,
  MULTISEND,
  ZERO,
  EXEC,
} from './transactions.ts';

const ETHER = 10n ** 18n;

/** Reads every method that is built in, of any contract. */
const reading = (trailingMax = 0): Reading => ({
  methodOf: (contract, selector) => {
    const method = methodsBySelector().get(selector);
    return method === undefined
      ? { because: `${selector} is unknown`, values: { contract, selector } }
      : { method, trailingMax };
  },
  nesting: { depth: 4, calls: 16 },
});

/** A call as others count it. */
const shown = ({ contract, caller, native, isDelegated, position, path, decoded }: ReadCall) => ({
  contract,
  caller,
  native,
  isDelegated,
  position,
  path: path.join(' > '),
  ...(decoded && {
    method: decoded.method.signature,
    args: decoded.method.arguments.map((each) => formatValue(valuesAt(decoded.values, each))),
  }),
});

describe('the calls of a transaction', () => {
  it('are its own, with contract, method, arguments and native value', () => {
    const data = transferTo(PARTNER, 5n);
    const { calls, problem } = readTransaction(
      callbackOf({ contract: USDT, data, amount: '0.5' }),
      reading(),
    );
    expect(problem).toBeUndefined();
    expect(calls.map(shown)).toEqual([
      {
        contract: USDT,
        caller: ME,
        native: 5n * 10n ** 35n,
        isDelegated: false,
        position: [],
        path: 'transfer',
        method: 'transfer(address,uint256)',
        args: [PARTNER, '5'],
      },
    ]);
  });

  it('are those of every wrapper, each with who makes it', () => {
    const packed = `00${WETH.slice(2)}${ETHER.toString(16).padStart(64, '0')}${'4'.padStart(64, '0')}${call('deposit()').slice(2)}`;
    const data = call('aggregate3Value((address,bool,uint256,bytes)[])', [
      [USDT, false, 0n, transferTo(PARTNER, 5n)],
      [PARTNER, false, ETHER, '0x'],
      [
        SAFE,
        false,
        0n,
        call(EXEC, MULTISEND, 0n, call('multiSend(bytes)', `0x${packed}`), 1, 0n, 0n, 0n, ZERO, ZERO, '0x'),
      ],
    ]);
    const { calls, problem } = readTransaction(callbackOf({ contract: MULTICALL3, data }), reading());
    expect(problem).toBeUndefined();
    expect(
      calls.map(({ contract, caller, native, isDelegated, position, path }) => [
        position.join('.'),
        path.join(' > '),
        contract,
        caller,
        native,
        isDelegated,
      ]),
    ).toEqual([
      ['', 'aggregate3Value', MULTICALL3, ME, 0n, false],
      ['1', 'aggregate3Value > transfer', USDT, MULTICALL3, 0n, false],
      ['2', 'aggregate3Value > plain transfer', PARTNER, MULTICALL3, 10n ** 36n, false],
      ['3', 'aggregate3Value > execTransaction', SAFE, MULTICALL3, 0n, false],
      ['3.1', 'aggregate3Value > execTransaction > multiSend', MULTISEND, MULTICALL3, 0n, true],
      ['3.1.1', 'aggregate3Value > execTransaction > multiSend > deposit', WETH, SAFE, 10n ** 36n, false],
    ]);
  });

  it('are one plain transfer if there is no call data', () => {
    const { calls } = readTransaction(
      callbackOf({ contract: '', to: PARTNER, data: '', amount: '1' }),
      reading(),
    );
    expect(calls.map(shown)).toEqual([
      {
        contract: PARTNER,
        caller: ME,
        native: 10n ** 36n,
        isDelegated: false,
        position: [],
        path: 'plain transfer',
      },
    ]);
  });

  it('end where one can’t be read, and say why', () => {
    const data = multicall(transferTo(PARTNER, 5n), '0xdeadbeef', transferTo(PARTNER, 6n));
    const { calls, problem } = readTransaction(callbackOf({ contract: ROUTER, data }), reading());
    expect(calls.map(({ position }) => position)).toEqual([[], [1]]);
    expect(problem).toEqual({
      because: 'call 2: 0xdeadbeef is unknown',
      values: { call: '2', path: 'multicall > 0xdeadbeef', contract: ROUTER, selector: '0xdeadbeef' },
    });
  });
});

describe('call data that several policies judge', () => {
  const transaction = {
    contract: ACCOUNT,
    data: call('execute(address,uint256,bytes)', USDT, 0n, transferTo(PARTNER, 5n)),
  };
  const valuesOf = (callback: Web3Callback, by: Reading) =>
    readTransaction(callback, by).calls.map(({ decoded }) => decoded?.values);

  it('is read once', () => {
    const callback = callbackOf(transaction);
    const [outer, inner] = valuesOf(callback, reading());
    const [outerAgain, innerAgain] = valuesOf({ ...callback }, reading());
    expect(outerAgain).toBe(outer);
    expect(innerAgain).toBe(inner);
    // Another callback is read by itself.
    const [other] = valuesOf(callbackOf(transaction), reading());
    expect(other).not.toBe(outer);
    expect(other).toEqual(outer);
  });

  it('is judged by the bounds and names of each', () => {
    const callback = callbackOf({ contract: USDT, data: `${transferTo(PARTNER, 5n)}00` });
    expect(readTransaction(callback, reading(1)).problem).toBeUndefined();
    expect(readTransaction(callback, reading(0)).problem?.because).toContain('1 bytes follow');
    const named = (name: string): Reading => ({
      nesting: undefined,
      methodOf: () => ({
        method: methodOf('transfer', [
          { name, type: 'address' },
          { name: 'amount', type: 'uint256' },
        ]),
        trailingMax: 0,
      }),
    });
    const dirty = callbackOf({
      contract: USDT,
      data: transferTo(PARTNER, 5n).replace('a9059cbb00', 'a9059cbb01'),
    });
    for (const name of ['to', 'recipient']) {
      expect(readTransaction(dirty, named(name)).problem?.values['argument']).toBe(name);
    }
  });
});
