import { describe, expect, it } from 'vitest';
import type { Callback, Kind } from '../../../src/callback/callback.ts';
import { evaluate } from '../../../src/policy/evaluate.ts';
import { factsAt } from '../../../src/policy/facts.ts';
import {
  A,
  B,
  C,
  NOON,
  judged,
  onePolicy,
  outputs,
  payment,
  release,
  ruleFaults,
  transfer,
  web3,
} from '../callbacks.ts';

const LEAST = `0.${'0'.repeat(35)}1`;
const GREATEST = `${'9'.repeat(36)}.${'9'.repeat(36)}`;

const rule = (require: string, because?: string): string =>
  `expression: ${JSON.stringify(because === undefined ? { require } : { require, because })}`;

const verdict = (require: string, callback: Callback): string =>
  judged(rule(require), callback).result.verdict;

const faults = (require: string, kind: Kind = 'payment'): readonly string[] =>
  ruleFaults(rule(require), kind);

/** A withdrawal of one to A and two to B. */
const several = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
const unlimited = web3({ amount: -1 });

describe('an expression that is true', () => {
  it.each<[string, Callback]>([
    ["amount <= decimal('1000') && userId != '666'", payment()],
    ['amount <= 100', payment()],
    ['100 >= amount', payment()],
    ['amount == 100 && 100 == amount', payment({ orderAmount: '100.00' })],
    ["amount == decimal('1.50')", payment({ orderAmount: '1.5' })],
    ["decimal('1e2') == amount", payment()],
    ["amount != decimal('100.1')", payment()],
    ["amount in [decimal('1'), decimal('100.000')]", payment()],
    ['amount in [1, 100]', payment()],
    ['orderAmount == amount && payCoinSymbol == symbol', payment()],
    ["source == 'shop' && appOrderId == 'o-1'", payment()],
    ["symbol in ['USDT1742', 'USDC']", payment()],
    ["symbol.startsWith('USDT') && symbol.endsWith('1742') && symbol.contains('T17')", payment()],
    ["(amount > 50 ? userId : symbol) == '12345'", payment()],
    ['decimal(userId) < 20000', payment()],
    ['size(userId) == 5 && userId.size() == 5', payment()],
    ['amount - 101 < 0 && amount > -1', payment()],
    ["amount * decimal('0.015') + 2 == decimal('3.5')", payment()],
    ["type == 'sign_start' && transfer_id == '7' && withdraw_id == '7'", transfer()],
    ["given(type) && type != 'sign_prepare' && (speedUp || type in ['sign_start'])", transfer()],
    ['!pending_round && !speedUp', transfer()],
    ['pending_round && speedUp', transfer({ pending_round: true })],
    ['!given(memo)', transfer()],
    ["given(memo) && memo == '88410023'", transfer({ memo: '88410023' })],
    ["memo.contains('🦊') && size(memo) == 3", transfer({ memo: 'a🦊b' })],
    [`to == '${A}' && from != to`, transfer()],
    [`to in ['${B}', '${A}']`, transfer()],
    ['given(to) && size(outputs) == 1 && outputs[0].to == to', transfer()],
    ['outputs.all(o, o.amount <= 2) && !given(to)', several],
    [`outputs.exists(o, o.to == '${A.toUpperCase().replace('0X', '0x')}' && o.amount == 1)`, several],
    ['outputs.exists_one(o, o.amount > 1)', several],
    [`sum(outputs.filter(o, o.to != '${A}').map(o, o.amount)) == 2`, several],
    [`'${B}' in outputs.map(o, o.to)`, several],
    ['amount in outputs.filter(o, o.to in [from, o.to]).map(o, o.amount) || amount == 3', several],
    ['amount == 0 && !unlimited', web3()],
    ['unlimited && !given(amount)', unlimited],
    [`input_data.startsWith('0xA9059CBB') && interactive_contract == '${B.toLowerCase()}'`, web3()],
    ["main_chain_symbol == 'ETH' && trans_id == '7'", web3()],
    [`amount <= decimal('${GREATEST}')`, payment({ orderAmount: GREATEST })],
    [`amount < decimal('${GREATEST}')`, payment({ orderAmount: `${GREATEST.slice(0, -1)}8` })],
    [`amount + amount == decimal('${GREATEST}') * 2`, payment({ orderAmount: GREATEST })],
    [`amount - decimal('${LEAST}') == 0`, payment({ orderAmount: LEAST })],
  ])('passes: %s', (require, callback) => {
    expect(judged(rule(require), callback).result).toMatchObject({ verdict: 'pass' });
  });

  it('knows how a payment was signed, where that is known', () => {
    const inForce = release(onePolicy(rule("scheme in ['rsa', 'rsa-envelope']")));
    // The scheme is not among the terms: the same payment may come again, signed as it should be.
    expect(evaluate(inForce, payment(), factsAt(NOON, { scheme: 'md5' })).retryable).toBe(true);
    expect(
      evaluate(release(onePolicy(rule("amount < decimal('1')"))), payment(), factsAt(NOON)).retryable,
    ).toBe(false);
    const approves = (scheme: string | undefined): boolean =>
      evaluate(inForce, payment(), factsAt(NOON, { scheme })).approves;
    expect([approves('rsa'), approves('md5'), approves(undefined)]).toEqual([true, false, false]);
  });
});

describe('anything but true', () => {
  it.each<[string, Callback]>([
    ["amount <= decimal('99.999999999999999999999999999999999999')", payment()],
    ["amount < 100 || userId == '666'", payment()],
    ["amount != decimal('100.00')", payment()],
    ["!(amount == decimal('1e2'))", payment()],
    [`amount < decimal('${GREATEST}')`, payment({ orderAmount: GREATEST })],
    ['amount <= 9007199254740992', payment({ orderAmount: '9007199254740993' })],
    ['amount <= 9007199254740992', payment({ orderAmount: `9007199254740992.${LEAST.slice(2)}` })],
    ['!(amount in [1, 100])', payment()],
    [`to != '${A.toLowerCase()}'`, transfer({ to: A.toUpperCase().replace('0X', '0x') })],
    [`to != '${A}'`, transfer({ to: A.toLowerCase() })],
    [`!(to in ['${A}'])`, transfer()],
    [`!outputs.exists(o, o.to == '${A}')`, several],
    [`!('${A}' in outputs.map(o, o.to))`, several],
    ["!to.startsWith('0x52908400098527886E')", transfer()],
    ["!to.contains('886E0F7030')", transfer()],
    ["!to.endsWith('4169EE7')", transfer()],
    ["!input_data.contains('A9059CBB')", web3()],
    ["!to.startsWith('BC1Q')", transfer({ to: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4' })],
    ["symbol.startsWith('usdt')", payment()],
    ['unlimited', web3()],
    ['speedUp', transfer()],
  ])('refuses: %s', (require, callback) => {
    expect(judged(rule(require), callback).result).toMatchObject({ verdict: 'refuse' });
  });

  it.each<[string, Callback, string]>([
    ["memo == '1'", transfer(), 'memo is missing'],
    ["memo != '1'", transfer(), 'memo is missing'],
    ["!(memo in ['1'])", transfer(), 'memo is missing'],
    ["!memo.contains('1')", transfer(), 'memo is missing'],
    ['size(memo) == 0', transfer(), 'memo is missing'],
    [`to == '${A}'`, several, 'several addresses are paid, so to is not one'],
    [`to != '${C}'`, several, 'several addresses are paid, so to is not one'],
    ['amount <= 1000000', unlimited, 'the amount is unlimited'],
    ['amount > 0', unlimited, 'the amount is unlimited'],
    ['!(amount > 1000)', unlimited, 'the amount is unlimited'],
    ['amount != 5', unlimited, 'the amount is unlimited'],
    ["input_data != '0x01'", web3({ input_data: '' }), 'input_data is missing'],
    ['outputs[1].amount < 5', transfer(), 'index out of bounds'],
    ['outputs[9223372036854775807].amount < 5', transfer(), 'index out of bounds'],
    ['decimal(symbol) < 5', payment(), '"USDT1742" is not a decimal'],
    ['size(symbol) * 9223372036854775807 > 0', payment(), 'integer overflow'],
    ['size(symbol) + 9223372036854775807 > 0', payment(), 'integer overflow'],
    ['0 - 9223372036854775807 - size(symbol) < 0', payment(), 'integer overflow'],
    ['amount * amount >= 0', payment({ orderAmount: LEAST }), 'more than 36 digits after the point'],
    [
      `amount * amount * 10 >= 0`,
      payment({ orderAmount: GREATEST.split('.')[0] ?? '' }),
      'digits before the point',
    ],
  ])('refuses %s as it has no value', (require, callback, error) => {
    const { result } = judged(rule(require), callback);
    expect(result.verdict).toBe('refuse');
    expect(result.because).toContain(error);
  });

  it.each<[string, Callback, string]>([
    ["memo == '1' || symbol == 'ETH'", transfer(), 'pass'],
    ["symbol == 'ETH' || memo == '1'", transfer(), 'pass'],
    ["memo == '1' || symbol == 'BTC'", transfer(), 'refuse'],
    ["memo == '1' && symbol == 'ETH'", transfer(), 'refuse'],
    ["!(memo == '1' && symbol == 'BTC')", transfer(), 'pass'],
    ["!(memo == '1' || symbol == 'BTC')", transfer(), 'refuse'],
    ["memo == '1' ? true : true", transfer({}), 'refuse'],
    ["outputs.exists(o, memo == '1' || o.amount == 1)", several, 'pass'],
    ["outputs.all(o, memo == '1' || o.amount == 1)", several, 'refuse'],
  ])('an error counts only where it matters: %s', (require, callback, expected) => {
    expect(verdict(require, callback)).toBe(expected);
  });

  it('says what it asked for, and what was required', () => {
    const { result, proposal } = judged(rule("amount <= 50 && userId != '666'"), payment());
    expect(result).toMatchObject({
      because: "it is required that amount <= 50 && userId != '666'",
      values: { amount: '100', userId: '12345' },
    });
    expect(proposal).toMatchObject({ approves: false, retryable: false });
  });

  it('says it in the words of the policy', () => {
    const { result } = judged(
      rule('amount <= 50 && given(memo)', 'large ones are paid by hand'),
      transfer({ amount: '51' }),
    );
    expect(result.because).toBe('large ones are paid by hand');
    expect(result.values).toEqual({ amount: '51', memo: 'none' });
    expect(judged(rule("memo == '1'", 'no memo, no money'), transfer()).result.because).toBe(
      'no memo, no money (memo is missing)',
    );
  });

  it('keeps what it tells short', () => {
    const { result } = judged(
      rule(`input_data.endsWith('1') ${"|| input_data.endsWith('2') ".repeat(20)}`),
      web3({ input_data: `0x${'a'.repeat(60_000)}` }),
    );
    expect(result.because.length).toBeLessThan(200);
    expect(result.values['input_data']).toHaveLength(100);
  });
});

describe('a fault of an expression', () => {
  it.each([
    [
      "usrId == '6'",
      'at character 1, "usrId == \'6\'": there is no "usrId" in this callback; did you mean userId?',
    ],
    ["userId == '6' && amont < 5", 'at character 18, "amont < 5": there is no "amont"'],
    ["memo == '1'", 'there is no "memo" in this callback'],
    ['outputs.all(o, true)', 'there is no "outputs" in this callback'],
    [
      '[1].all(o, o < amount)',
      'a loop is only possible over the outputs of a withdrawal; compare the members themselves',
    ],
    ['userId == 666', 'no such overload: text == int; compare texts with texts in quotes'],
    ["amount == '100'", 'no such overload: decimal == string'],
    ['amount <= 1.5', `"1.5" has a point or an exponent; write decimal('1.5')`],
    ['amount <= 1e3', `"1e3" has a point or an exponent; write decimal('1e3')`],
    ['amount <= 1e400', 'Invalid number'],
    ['amount <= 9223372036854775808', `too great for a whole number; write decimal('9223372036854775808')`],
    ['amount <= 0xff', '"0xff" is not in decimal'],
    ['amount <= 5u', '"5u" is neither a text, a number'],
    ["amount <= decimal('1,5')", '"1,5" is not a decimal'],
    ["amount <= decimal('-1')", '"-1" is not a decimal'],
    [`amount <= decimal('0.${'0'.repeat(36)}1')`, 'is not a decimal'],
    ['amount / 3 <= 5', 'a division is not exact'],
    ['size(userId) % 2 == 0', 'a division is not exact'],
    ['amount <= double(5)', 'there is no function "double"'],
    ["amount <= dicimal('5')", 'there is no function "dicimal"; did you mean decimal?'],
    ["userId.matches('(a+)+$')", 'there is no .matches(…); use startsWith, endsWith, contains or in'],
    ["userId.startWith('1')", 'there is no .startWith(…); did you mean startsWith?'],
    ["userId.replace('1', '2') == '3'", 'there is no .replace(…)'],
    ["userId + userId == '1'", 'only amounts and numbers are added'],
    ["'a' + 'b' == userId", 'only amounts and numbers are added'],
    ['[userId] + [userId] == [userId]', 'only amounts and numbers are added'],
    ['(amount > 5 ? [1] : [2]) + [3] == [1]', 'only amounts and numbers are added'],
    ['userId in []', 'the list is empty'],
    ['[1, amount] == [1]', 'List elements must have the same type'],
    ['userId == null', '"null" is neither a text'],
    ["userId == b'1'", 'neither a text, a number'],
    ["{'a': userId}.a == '1'", 'there is no field "a"'],
    ["{'a': 1} == {'a': 1} || userId == '1'", 'maps and optional fields are not supported'],
    ['amount', 'its value is a decimal, not true or false'],
    ['userId', 'its value is a text, not true or false'],
    ['amount + 1', 'its value is a decimal'],
    ['!amount', 'no such overload: !decimal'],
    ['amount > 5 ? userId : true', 'Ternary branches must have the same type'],
    ['true', 'it uses nothing of the callback'],
    ["'a' == 'a' && 1 < 2", 'it uses nothing of the callback'],
    ["userId == ''", `userId can't be ""; write !given(userId)`],
    ["userId != 'alice'", `userId can't be "alice"; write digits`],
    ["!(userId in ['1', 'alice'])", `userId can't be "alice"`],
    ["symbol != (amount > 5 ? 'A' : 'B C')", `symbol can't be "B C"`],
    ["given(userId == '1')", 'the parameter of given is the name of a member'],
    ["given('userId')", 'the parameter of given is the name of a member'],
    ['given()', 'given has one parameter'],
    ['-amount < 0', 'only a number can have a sign'],
    ['amount <', "it can't be read: Unexpected token: EOF"],
    ["userId == 'x", "it can't be read: Unterminated string"],
    ['amount < 5)', "it can't be read"],
    ['amount ; 5', "it can't be read: Unexpected character: ;"],
  ])('%s', (require, fault) => {
    const found = faults(require);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain('rules[0].expression.require: at character ');
    expect(found[0]).toContain(fault);
  });

  it.each<[string, string]>([
    ["type == 'sign_strat'", `type can't be "sign_strat"; write sign_prepare or sign_start`],
    ["TYPE == 'sign_start'", 'there is no "TYPE" in this callback; did you mean type?'],
    ["outputs.all(o, o.to == 'a b')", `to can't be "a b"`],
    ['outputs.all(o, o.amont < 5)', 'there is no field "amont"; did you mean amount?'],
    ['outputs.all(to, to.amount < 5)', 'to is a name of the callback; call the output o'],
    ['outputs.all(o.x, true)', 'invalid predicate iteration variable'],
    ['outputs.all(o)', 'all needs a name and a condition'],
    ['outputs.map(o, o.amount > 1, o.amount) == [amount]', "it can't be read: Exceeded maxCallArguments"],
    ['outputs.all(o, p.amount < 5)', 'there is no "p"'],
    ['outputs.all(o, given(o))', 'the parameter of given is the name of a member'],
    ['outputs.all(o, o.amount)', 'must return bool'],
    ['outputs.all(o, outputs.all(p, p.to == o.to))', "loops can't be nested"],
    ['outputs.all(o, o.to in outputs.map(p, p.to))', "loops can't be nested"],
    ['outputs.all(o, size(outputs) < 5)', 'it has a loop over the outputs within a loop'],
    ['outputs.all(o, given(outputs))', 'it has a loop over the outputs within a loop'],
    [
      'outputs.map(o, [o.amount]).all(l, l + l == l)',
      'a loop is only possible over the outputs of a withdrawal',
    ],
    ['[1, 2].all(o, o < amount)', 'a loop is only possible over the outputs of a withdrawal'],
    ['o.amount < 5', 'there is no "o"'],
    ["outputs['0'].amount < 5", 'only outputs have an index'],
    ['outputs[size(outputs)].amount < 5', 'only outputs have an index'],
    ['outputs + outputs == outputs', 'only amounts and numbers are added'],
    ['sum(outputs.map(o, o.to)) < 5', 'found no matching overload'],
    ["pending_round == 'false'", 'no such overload: bool == string'],
    ['unlimited', 'there is no "unlimited"'],
    ["scheme == 'rsa'", 'there is no "scheme"'],
  ])('of one for withdrawals: %s', (require, fault) => {
    const found = faults(require, 'transfer');
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(fault);
  });

  it.each<[string, string]>([
    ['expression: {}', 'require is missing'],
    ["expression: { require: '' }", '"" is not valid'],
    ["expression: { require: ' ' }", 'is not valid'],
    ["expression: { require: 'amount < 5', because: '' }", '"" is not valid'],
    ["expression: { if: 'amount < 5' }", '"if" is not known here'],
    ["expression: 'amount < 5'", 'write a mapping of require, because'],
    ["expression: { require: ['amount < 5'] }", 'a list is not valid'],
  ])('of its parameters: %s', (written, fault) => {
    expect(ruleFaults(written).join('\n')).toContain(fault);
  });

  it('is one of each bound, and the bound itself is none', () => {
    const filled = (characters: number): string => 'amount < 5'.padEnd(characters);
    expect(faults(filled(2000))).toEqual([]);
    expect(faults(filled(2001))[0]).toContain('is not valid');
    const sum = (terms: number): string => `${'1+'.repeat(terms - 1)}amount<5`;
    expect(faults(sum(249))).toEqual([]);
    expect(faults(sum(250))[0]).toContain('Exceeded maxAstNodes (500); write it shorter');
    const nested = (depth: number): string => `${'('.repeat(depth)}amount < 5${')'.repeat(depth)}`;
    expect(faults(nested(19))).toEqual([]);
    expect(faults(nested(20))[0]).toContain('Exceeded maxDepth (20)');
    const listed = (elements: number): string => `amount in [${'1,'.repeat(elements)}]`;
    expect(faults(listed(200))).toEqual([]);
    expect(faults(listed(201))[0]).toContain('Exceeded maxListElements (200)');
  });
});
