import { describe, expect, it } from 'vitest';
import { parseAmount } from '../../src/values/amount.ts';
import { type Wire, callbackOf, parse, payment, readable, transfer, web3 } from './wire.ts';

const outputs = (...list: readonly (readonly [string, string])[]): string =>
  JSON.stringify(`[${list.map(([to, amount]) => `{"address_to":"${to}","amount":${amount}}`).join(',')}]`);

describe('a payment confirmation', () => {
  it('reads the members of section 6.1', () => {
    expect(readable(parse.payment(payment))).toMatchObject({
      kind: 'payment',
      id: '11321',
      symbol: 'USDT1742',
      amount: parseAmount('100'),
      texts: { userId: '12345', appOrderId: '11321', amount: '100', symbol: 'USDT1742' },
    });
  });

  it('takes numbers for texts, digit by digit, and a time', () => {
    const numbers = {
      ...payment,
      userId: '12345',
      orderAmount: '1.50',
      appOrderId: '9007199254740993',
      time: '1522055680123',
    };
    expect(readable(parse.payment(numbers))).toMatchObject({
      id: '9007199254740993',
      amount: parseAmount('1.5'),
    });
  });

  it('has the same terms however the amount is written', () => {
    const terms = (orderAmount: string): unknown =>
      readable(parse.payment({ ...payment, orderAmount })).terms;
    expect(terms('1.50')).toEqual(terms('"1.5"'));
    expect(terms('1.50')).not.toEqual(terms('"1.51"'));
  });

  it.each<[string, Wire, string]>([
    ['a member it does not define', { ...payment, memo: '"x"' }, 'MEMBER_UNKNOWN'],
    ['__proto__', { ...payment, ['__proto__x']: '"x"' }, 'MEMBER_UNKNOWN'],
    ['a member with the name of a method', { ...payment, toString: '"x"' }, 'MEMBER_UNKNOWN'],
    ['no user', { ...payment, userId: undefined }, 'MEMBER_MISSING'],
    ['an empty user', { ...payment, userId: '""' }, 'MEMBER_MISSING'],
    ['a null user', { ...payment, userId: 'null' }, 'MEMBER_MISSING'],
    ['an array for a user', { ...payment, userId: '["12345"]' }, 'MEMBER_INVALID'],
    ['a boolean for a user', { ...payment, userId: 'true' }, 'MEMBER_INVALID'],
    ['a user with letters', { ...payment, userId: '"12a"' }, 'MEMBER_INVALID'],
    ['an order id with a blank', { ...payment, appOrderId: '"1 1"' }, 'MEMBER_INVALID'],
    ['an order id with a line break', { ...payment, appOrderId: '"11\\n"' }, 'MEMBER_INVALID'],
    ['an order id in another spelling of a number', { ...payment, appOrderId: '1e3' }, 'MEMBER_INVALID'],
    ['a very long order id', { ...payment, appOrderId: `"${'1'.repeat(129)}"` }, 'MEMBER_INVALID'],
    [
      'a symbol that ends like a time',
      { ...payment, payCoinSymbol: '"USDTtime1522055680"' },
      'MEMBER_INVALID',
    ],
    ['a time that is none', { ...payment, time: '"yesterday"' }, 'MEMBER_INVALID'],
  ])('with %s is refused', (_what, wire, code) => {
    expect(parse.payment(wire)).toMatchObject({ ok: false, code });
  });

  it.each([
    '"0"',
    '0.00',
    '-1',
    '"-0"',
    '1e400',
    '"1e2"',
    '1E2',
    '" 1"',
    '"1 "',
    '"\uff11"',
    '"NaN"',
    '"+1"',
    '"01"',
    'true',
    'null',
    '[1]',
    '""',
    '"1e-40"',
  ])('of the amount %s is refused', (orderAmount) => {
    expect(parse.payment({ ...payment, orderAmount })).toMatchObject({ ok: false, code: 'MEMBER_INVALID' });
  });
});

describe('a withdrawal confirmation', () => {
  it('keeps an id beyond 2^53 and every digit of the amount', () => {
    const callback = callbackOf(transfer);
    expect(callback.terms).toMatchObject({ transferId: '9007199254740993', amount: '167230.4978' });
    expect(callback.values.get('amount')).toEqual(['167230.4978']);
  });

  it('takes the id from transfer_id or withdraw_id, as number or text, and either may be empty', () => {
    const id = (wire: Wire): string | undefined => callbackOf({ ...transfer, ...wire }).terms['transferId'];
    expect(id({ transfer_id: '""', withdraw_id: '"17"' })).toBe('17');
    expect(id({ transfer_id: undefined, withdraw_id: '17' })).toBe('17');
    expect(id({ transfer_id: '17', withdraw_id: undefined })).toBe('17');
    expect(id({ transfer_id: '""', withdraw_id: '""' })).toBe('');
  });

  it('takes a missing pending_round for false, and optional members that are empty or null for missing', () => {
    const callback = callbackOf({
      ...transfer,
      pending_round: undefined,
      memo: 'null',
      txid: undefined,
      outputs: '""',
    });
    expect(callback.question).toEqual({ type: 'sign_start', speedUp: false });
    expect(callback.values.get('memo')).toEqual([]);
  });

  it('keeps and reports members that the specification does not define', () => {
    expect(callbackOf({ ...transfer, chain: '"eth"', nested: '{"a":[1]}' }).unknown).toEqual([
      'chain',
      'nested',
    ]);
  });

  it('takes to for every address that the outputs pay, each once with its sum', () => {
    const to = JSON.parse(transfer['to'] ?? '') as string;
    const callback = callbackOf({
      ...transfer,
      amount: '"4.5"',
      outputs: outputs([to, '"2"'], ['bc1qx', '1.5'], ['bc1qx', '1']),
    });
    expect(callback.values.get('to')).toEqual([to.toLowerCase(), 'bc1qx']);
    expect(callback.payouts).toEqual([
      { to: to.toLowerCase(), amount: parseAmount('2') },
      { to: 'bc1qx', amount: parseAmount('2.5') },
    ]);
  });

  it('has the same terms in whatever order the outputs are, and other terms when one differs', () => {
    const to = JSON.parse(transfer['to'] ?? '') as string;
    const terms = (...list: readonly (readonly [string, string])[]): unknown =>
      callbackOf({ ...transfer, amount: '3', outputs: outputs(...list) }).terms;
    expect(terms([to, '1'], ['a', '2'])).toEqual(terms(['a', '"2.0"'], [to, '1']));
    expect(terms([to, '1'], ['a', '2'])).not.toEqual(terms([to, '1'], ['b', '2']));
    expect(terms([to, '1'], ['a', '2'])).not.toEqual(terms([to, '2'], ['a', '1']));
  });

  it('compares hexadecimal addresses without case and all others exactly', () => {
    const terms = (to: string): unknown => callbackOf({ ...transfer, to: JSON.stringify(to) }).terms;
    expect(terms('0xABcd')).toEqual(terms('0xabCD'));
    expect(terms('TXyz')).not.toEqual(terms('TXYz'));
  });

  it.each<[string, Wire, string]>([
    ['no type', { type: undefined }, 'MEMBER_MISSING'],
    ['another type', { type: '"sign_end"' }, 'MEMBER_INVALID'],
    ['a type in capitals', { type: '"SIGN_START"' }, 'MEMBER_INVALID'],
    ['no request id', { request_id: undefined }, 'MEMBER_MISSING'],
    ['pending_round as text', { pending_round: '"false"' }, 'MEMBER_INVALID'],
    ['pending_round null', { pending_round: 'null' }, 'MEMBER_INVALID'],
    ['two ids that differ', { transfer_id: '1', withdraw_id: '"2"' }, 'MEMBER_INVALID'],
    ['an id that is no integer', { transfer_id: '1.5' }, 'MEMBER_INVALID'],
    ['an id with an exponent', { transfer_id: '1e3' }, 'MEMBER_INVALID'],
    ['no address', { to: '""' }, 'MEMBER_MISSING'],
    ['an address with a control character', { to: '"0x\\u0000"' }, 'MEMBER_INVALID'],
    ['an amount of zero', { amount: '0' }, 'MEMBER_INVALID'],
    ['an amount below zero', { amount: '-1' }, 'MEMBER_INVALID'],
    ['an amount that is text', { amount: '"ten"' }, 'MEMBER_INVALID'],
    ['a memo with a line break', { memo: '"a\\nb"' }, 'MEMBER_INVALID'],
    ['outputs that are no text', { outputs: '[]' }, 'OUTPUTS_INVALID'],
    ['outputs that are an empty list', { outputs: '"[]"' }, 'OUTPUTS_INVALID'],
    ['outputs that are no JSON', { outputs: '"x"' }, 'OUTPUTS_INVALID'],
    [
      'outputs that do not sum to the amount',
      { outputs: outputs(['0xB1b2c3d4e5f60718293a4b5c6d7e8f9001122334', '1']) },
      'OUTPUTS_INVALID',
    ],
    ['outputs without to', { outputs: outputs(['bc1q', '167230.4978']) }, 'OUTPUTS_INVALID'],
    ['an output below zero', { outputs: outputs(['bc1q', '-1']) }, 'MEMBER_INVALID'],
    ['an output without an address', { outputs: '"[{\\"amount\\":1}]"' }, 'MEMBER_MISSING'],
    ['the members of a web3 transaction beside its own', { input_data: '"0x"' }, 'KIND_UNEXPECTED'],
  ])('with %s is refused', (_what, spoilt, code) => {
    expect(parse.cosigner({ ...transfer, ...spoilt })).toMatchObject({ ok: false, code });
  });

  it.each<[name: string, text: string, because: string]>([
    [
      'memo',
      '123 ',
      'memo begins or ends with white space: a blank (U+0020), so another text looks the same',
    ],
    ['memo', '\u00a0123', 'memo begins or ends with white space: a no-break space (U+00A0)'],
    ['memo', ' ', 'memo begins or ends with white space: a blank (U+0020)'],
    ['memo', '12\u200b3', 'memo has an invisible character: a zero width space (U+200B)'],
    ['memo', '\u202e321', 'memo has an invisible character: a right-to-left override (U+202E)'],
    ['memo', '1\u{e0020}', 'memo has an invisible character: U+E0020'],
    ['memo', 'order\u00a07', 'memo has white space other than a blank: a no-break space (U+00A0)'],
    ['memo', 'order\u20097', 'memo has white space other than a blank: a thin space (U+2009)'],
    ['to', '0xab\u200b', 'to has an invisible character: a zero width space (U+200B)'],
    ['from', ' 0xab', 'from begins or ends with white space: a blank (U+0020)'],
    ['request_id', 'r\u2066', 'request_id has an invisible character: U+2066'],
    ['symbol', 'ET\u00adH', 'symbol has an invisible character: a soft hyphen (U+00AD)'],
    ['to', 'ключ', 'to is "ключ", not a text that matches ^[\\x21-\\x7e]+$'],
    ['to', 'a'.repeat(257), 'to has 257 characters; at most 256 are allowed'],
    ['transfer_id', '12a', 'transfer_id is "12a", not a text that matches ^(?:0|[1-9]\\d*)$'],
    ['type', 'sign_prepared', 'type is "sign_prepared", not one of sign_prepare, sign_start, sign_success'],
    ['amount', '1,5', 'amount is "1,5", not a decimal with at most 36 digits before and after the point'],
    ['pending_round', 'true', 'pending_round is "true", not true or false'],
  ])('%s %j is refused, and the reason says what came', (name, text, because) => {
    const refused = parse.cosigner({ ...transfer, [name]: JSON.stringify(text) });
    expect(refused).toMatchObject({ ok: false, code: 'MEMBER_INVALID', data: { member: name } });
    expect(refused).toHaveProperty('because', expect.stringContaining(because));
  });

  it.each([
    ['none', undefined],
    ['null', 'null'],
    ['the empty text', '""'],
  ])('has no memo if it is %s', (_what, memo) => {
    const callback = callbackOf({ ...transfer, memo });
    expect([callback.values.get('memo'), callback.terms['memo']]).toEqual([[], '']);
  });

  it('is refused where only web3 transactions are served', () => {
    expect(parse.cosigner(transfer, ['web3'])).toMatchObject({ ok: false, code: 'KIND_UNEXPECTED' });
  });
});

describe('a web3 confirmation', () => {
  it('may be about nothing, and about everything', () => {
    expect(callbackOf(web3).amount).toBe(0n);
    expect(callbackOf({ ...web3, amount: '-1' }).amount).toBe('unlimited');
    expect(callbackOf({ ...web3, amount: '"-1"' }).amount).toBe('unlimited');
  });

  it('may have no data and no contract, as a plain transfer has', () => {
    const callback = callbackOf({ ...web3, input_data: '""', interactive_contract: '""' });
    expect(callback.values.get('input_data')).toEqual([]);
  });

  it.each<[string, Wire, string]>([
    ['no data', { input_data: undefined }, 'MEMBER_MISSING'],
    ['no contract', { interactive_contract: undefined }, 'MEMBER_MISSING'],
    ['no network', { main_chain_symbol: undefined }, 'MEMBER_MISSING'],
    ['the amount -2', { amount: '-2' }, 'MEMBER_INVALID'],
    ['the amount -0', { amount: '-0' }, 'MEMBER_INVALID'],
    ['the amount -1 and a little', { amount: '-1.0000001' }, 'MEMBER_INVALID'],
    ['the amount -10', { amount: '-10' }, 'MEMBER_INVALID'],
    ['data that is a number', { input_data: '1.5' }, 'MEMBER_INVALID'],
    ['the members of a withdrawal beside its own', { transfer_id: '1' }, 'KIND_UNEXPECTED'],
  ])('with %s is refused', (_what, spoilt, code) => {
    expect(parse.cosigner({ ...web3, ...spoilt })).toMatchObject({ ok: false, code });
  });

  it('has other terms when contract or data differ', () => {
    const terms = (spoilt: Wire): unknown => callbackOf({ ...web3, ...spoilt }).terms;
    expect(terms({ input_data: '"0xA9059CBB"' })).toEqual(terms({}));
    expect(terms({ input_data: '"0xa9059cbc"' })).not.toEqual(terms({}));
    expect(terms({ interactive_contract: '"0x1"' })).not.toEqual(terms({}));
    expect(terms({ amount: '-1' })).not.toEqual(terms({}));
  });
});

describe('a self-check', () => {
  const check: Wire = {
    type: '"verify_public_hash"',
    app_id: '"a"',
    client_system_pubkey_hash: '"0f"',
    verify_sign_pub_hash: '"f0"',
  };

  it('is read on the URL for withdrawals', () => {
    expect(readable(parse.cosigner(check))).toMatchObject({
      kind: 'self-check',
      appId: 'a',
      clientHash: '0f',
      verifyHash: 'f0',
    });
  });

  it('is refused elsewhere, and when it is not whole', () => {
    expect(parse.cosigner(check, ['web3'])).toMatchObject({ code: 'KIND_UNEXPECTED' });
    expect(parse.cosigner({ ...check, app_id: undefined })).toMatchObject({ code: 'MEMBER_MISSING' });
  });
});
