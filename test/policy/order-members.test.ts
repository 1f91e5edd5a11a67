import { describe, expect, it } from 'vitest';
import { type Callback, KINDS } from '../../src/callback/callback.ts';
import { ORDER_MEMBERS, orderMembersOf, readOrderMembers } from '../../src/policy/order-members.ts';
import { memberNames } from '../../src/policy/language/members.ts';
import { A, B, outputs, payment, transfer, web3 } from './callbacks.ts';

const PAYMENT = { userId: '12345', symbol: 'USDT1742', amount: '100', scheme: 'rsa' };
const TRANSFER = { to: A, symbol: 'ETH', amount: '1.5' };
const WEB3 = {
  to: A,
  symbol: 'ETH',
  amount: '0',
  input_data: '0xa9059cbb',
  interactive_contract: B,
};

/** The names in which an announcement differs from a callback, as the store compares the two. */
function differing(callback: Callback, written: Readonly<Record<string, unknown>>): readonly string[] {
  const read = readOrderMembers(callback.kind, written);
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const members = orderMembersOf(callback, 'rsa');
  return Object.entries(read.members).flatMap(([name, text]) => (members[name] === text ? [] : [name]));
}

/** Each fault with its cure. */
function faultsOf(...[kind, written]: Parameters<typeof readOrderMembers>): readonly string[] {
  const read = readOrderMembers(kind, written);
  return read.ok ? [] : read.faults.map(({ message, fix }) => `${message}; ${fix}`);
}

describe('the members of an announced order', () => {
  it.each([
    [payment(), PAYMENT],
    [payment({ orderAmount: '100.00' }), { ...PAYMENT, amount: '1E2' }],
    [payment(), { userId: '12345', payCoinSymbol: 'USDT1742', orderAmount: '100.0', scheme: 'rsa' }],
    [transfer(), TRANSFER],
    [transfer({ to: A.toLowerCase() }), { ...TRANSFER, amount: '1.50', withdraw_id: '7' }],
    [transfer(), { ...TRANSFER, memo: '' }],
    [transfer({ memo: '' }), { ...TRANSFER, memo: '' }],
    [transfer({ memo: 'a b' }), { ...TRANSFER, memo: 'a b' }],
    [transfer(), { outputs: [{ to: A, amount: '1.5' }], amount: '1.5', symbol: 'ETH' }],
    [
      transfer({ amount: '3', ...outputs([A, '1'], [A, '2']) }),
      { outputs: [{ to: A, amount: '3' }], amount: '3', symbol: 'ETH' },
    ],
    [
      transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) }),
      {
        outputs: [
          { to: B.toLowerCase(), amount: '1' },
          { to: A, amount: '1.0' },
          { to: B, amount: '1' },
        ],
        amount: '3',
        symbol: 'ETH',
      },
    ],
    [web3(), WEB3],
    [web3(), { ...WEB3, input_data: '0xA9059CBB', interactive_contract: B }],
    [web3({ input_data: '', amount: '2' }), { ...WEB3, input_data: '', amount: '2' }],
    [
      web3({ amount: -1 }),
      {
        to: A,
        main_chain_symbol: 'ETH',
        amount: 'unlimited',
        input_data: '0xa9059cbb',
        interactive_contract: B,
      },
    ],
  ])('agree with a callback however they are written: %#', (callback, written) => {
    expect(differing(callback, written)).toEqual([]);
  });

  it.each<[Callback, Readonly<Record<string, unknown>>, readonly string[]]>([
    [payment({ orderAmount: `100.${'0'.repeat(35)}1` }), PAYMENT, ['amount']],
    [payment({ payCoinSymbol: 'usdt1742', userId: '123450' }), PAYMENT, ['userId', 'symbol']],
    [payment(), { ...PAYMENT, scheme: 'md5' }, ['scheme']],
    [transfer({ memo: 'another’s' }), { ...TRANSFER, memo: '' }, ['memo']],
    [transfer(), { ...TRANSFER, memo: '1' }, ['memo']],
    [transfer({ memo: 'somebody’s' }), TRANSFER, ['memo']],
    [web3({ interactive_contract: A }), WEB3, ['interactive_contract']],
    [transfer({ amount: '1.5', ...outputs([A, '1'], [B, '0.5']) }), TRANSFER, ['to']],
    [
      transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) }),
      {
        outputs: [
          { to: A, amount: '2' },
          { to: B, amount: '1' },
        ],
        amount: '3',
        symbol: 'ETH',
      },
      ['outputs'],
    ],
    [
      transfer({ amount: '3' }),
      {
        outputs: [
          { to: A, amount: '2' },
          { to: B, amount: '1' },
        ],
        amount: '3',
        symbol: 'ETH',
      },
      ['to', 'outputs'],
    ],
    [transfer({ transfer_id: '' }), { ...TRANSFER, transfer_id: '7' }, ['transfer_id']],
    [web3({ input_data: '0xa9059cbc' }), WEB3, ['input_data']],
    [web3(), { ...WEB3, input_data: '' }, ['input_data']],
    [web3({ amount: -1 }), WEB3, ['amount']],
  ])('differ where a callback does: %#', (callback, written, names) => {
    expect(differing(callback, written)).toEqual(names);
  });

  it.each<['payment' | 'transfer' | 'web3', Readonly<Record<string, unknown>>, readonly string[]]>([
    ['payment', {}, ['userId is missing', 'symbol is missing', 'amount is missing', 'scheme is missing']],
    ['payment', { ...PAYMENT, userid: '1' }, ['no member "userid"; did you mean userId?']],
    ['payment', { ...PAYMENT, appOrderId: '1' }, ['no member "appOrderId"']],
    ['payment', { ...PAYMENT, source: 'shop' }, ['no member "source"']],
    ['payment', { ...PAYMENT, constructor: '1' }, ['no member "constructor"']],
    ['payment', { ...PAYMENT, orderAmount: '1' }, ['orderAmount names amount a second time']],
    ['payment', { ...PAYMENT, userId: 'x' }, ['userId "x" is not valid; write digits']],
    ['payment', { ...PAYMENT, userId: 12345 }, ['userId is not a text; write it in quotes']],
    ['payment', { ...PAYMENT, userId: ['1'] }, ['userId is not a text']],
    ['payment', { ...PAYMENT, symbol: '' }, ['symbol "" is not valid']],
    ['payment', { ...PAYMENT, symbol: 'A B' }, ['symbol "A B" is not valid']],
    ['payment', { ...PAYMENT, amount: '0' }, ['amount "0" is not valid; write an amount above zero']],
    ['payment', { ...PAYMENT, amount: '0.00' }, ['write an amount above zero']],
    ['payment', { ...PAYMENT, amount: '-1' }, ['amount "-1" is not valid']],
    ['payment', { ...PAYMENT, amount: 'unlimited' }, ['write an amount above zero']],
    ['payment', { ...PAYMENT, scheme: 'RSA' }, ['write a scheme']],
    ['payment', { ...PAYMENT, scheme: '' }, ['write a scheme']],
    ['transfer', { symbol: 'ETH', amount: '1' }, ['to or outputs is missing']],
    [
      'web3',
      { to: A, symbol: 'ETH', amount: '0', input_data: '0xa9059cbb' },
      ['interactive_contract is missing; name the contract that input_data calls'],
    ],
    ['transfer', { ...TRANSFER, scheme: 'rsa' }, ['no member "scheme"']],
    ['transfer', { ...TRANSFER, to: `${A} ${B}` }, ['to "0x']],
    ['transfer', { ...TRANSFER, amount: '0' }, ['write an amount above zero']],
    ['transfer', { ...TRANSFER, transfer_id: '1.5' }, ['write a whole number']],
    [
      'transfer',
      { ...TRANSFER, memo: 'a\nb' },
      ['write a text without white space at its ends and without invisible characters'],
    ],
    [
      'transfer',
      { ...TRANSFER, outputs: [{ to: A, amount: '1.5' }] },
      ['both to and outputs are there; keep one of the two'],
    ],
    ['web3', { ...WEB3, outputs: [{ to: A, amount: '0' }] }, ['no member "outputs"']],
    ['web3', { to: A, symbol: 'ETH', amount: '0' }, ['input_data is missing']],
    ['web3', { ...WEB3, to: '' }, ['to "" is not valid']],
    ['web3', { ...WEB3, input_data: '0x'.padEnd(65_537, '0') }, ['at most 65536 characters']],
  ])('%s: %o has faults', (kind, written, faults) => {
    expect(faultsOf(kind, written)).toEqual(faults.map((fault) => expect.stringContaining(fault)));
  });

  it.each<[unknown, string]>([
    ['[{}]', 'outputs is not valid'],
    [[], 'outputs is not valid'],
    [[{ to: A }], 'outputs is not valid'],
    [[{ to: A, amount: 3 }], 'outputs is not valid'],
    [[{ to: A, amount: '3', memo: '1' }], 'outputs is not valid'],
    [Array.from({ length: 1001 }, () => ({ to: A, amount: '1' })), 'of 1 to 1000'],
    [[{ to: 'a b', amount: '3' }], '"a b" is not an address'],
    [[{ to: A, amount: '0' }], '"0" is not valid; write an amount above zero'],
    [[{ to: A, amount: 'unlimited' }], '"unlimited" is not valid; write an amount above zero'],
    [[{ to: A, amount: '2.9' }], 'outputs sum to 2.9, the amount is "3"'],
  ])('outputs: %o has a fault', (written, fault) => {
    expect(faultsOf('transfer', { symbol: 'ETH', amount: '3', outputs: written })).toEqual([
      expect.stringContaining(fault),
    ]);
  });

  it('are all members that policies know, but for scheme and outputs', () => {
    for (const kind of KINDS) {
      const { names, required } = ORDER_MEMBERS[kind];
      const known = new Set([...memberNames(kind), 'scheme', 'outputs']);
      expect(names.filter((name) => !known.has(name))).toEqual([]);
      expect(required.flat().filter((name) => !names.includes(name))).toEqual([]);
    }
  });
});
