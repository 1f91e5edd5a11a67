import { describe, expect, it } from 'vitest';
import { A, B, judged, outputs, payment, ruleFaults, transfer, web3 } from '../callbacks.ts';

const DAY_MS = 86_400_000;
const RULE = 'cooling-period: { of: to, list: partners, for: 24h }';
const toBoth = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });

describe('cooling-period', () => {
  it('asks the store for all addresses at once, each of the age, and to be decided again', () => {
    const { result, claims } = judged(RULE, toBoth);
    expect(result).toMatchObject({
      verdict: 'claim',
      because: `to ${A.toLowerCase()} and 1 more on the list partners for at least 24h`,
      values: { member: 'to', list: 'partners', for: '24h', values: `${A} ${B}`.toLowerCase() },
    });
    expect(claims).toEqual([
      {
        type: 'aged',
        result: 0,
        decides: true,
        retryable: true,
        list: 'partners',
        values: [A.toLowerCase(), B.toLowerCase()],
        ageMs: DAY_MS,
      },
    ]);
  });

  it.each([
    ['1s', 1000],
    ['90s', 90_000],
    ['10m', 600_000],
    ['24h', DAY_MS],
    ['7d', 7 * DAY_MS],
    ['92d', 92 * DAY_MS],
  ])('takes a time of %s', (period, ageMs) => {
    const { claims } = judged(`cooling-period: { of: to, list: partners, for: ${period} }`, transfer());
    expect(claims).toMatchObject([{ ageMs }]);
  });

  it.each([
    ['userId', payment(), ['12345']],
    ['interactive_contract', web3(), [B.toLowerCase()]],
    ['[to, memo]', transfer({ memo: 'order 7' }), [`${A.toLowerCase()} order 7`]],
    ['source', payment(), ['shop']],
  ])('looks up %s', (of, callback, values) => {
    const { claims } = judged(`cooling-period: { of: ${of}, list: known, for: 1h }`, callback);
    expect(claims).toMatchObject([{ type: 'aged', list: 'known', values }]);
  });

  it.each([
    ['memo', transfer()],
    ['memo', transfer({ memo: '' })],
    ['[to, memo]', transfer()],
    ['txid', transfer()],
  ])('refuses a callback that lacks %s, for good', (of, callback) => {
    const { result, claims, proposal } = judged(
      `cooling-period: { of: ${of}, list: known, for: 1h }`,
      callback,
    );
    expect(result).toMatchObject({ verdict: 'refuse', because: expect.stringContaining('is missing') });
    expect(claims).toEqual([]);
    expect(proposal.retryable).toBe(false);
  });

  it.each([
    ['{ list: partners, for: 24h }', 'of is missing'],
    ['{ of: to, for: 24h }', 'list is missing'],
    ['{ of: to, list: partners }', 'for is missing'],
    ['{ of: to, list: partners, for: 0s }', 'write a duration from 1s to 92d'],
    ['{ of: to, list: partners, for: 93d }', 'write a duration from 1s to 92d'],
    ['{ of: to, list: partners, for: 2209h }', 'write a duration from 1s to 92d'],
    ['{ of: to, list: partners, for: 1.5h }', 'write a duration from 1s to 92d'],
    ['{ of: to, list: partners, for: day }', 'write a duration from 1s to 92d'],
    ['{ of: to, list: partners, for: 24 }', 'write a duration from 1s to 92d'],
    ['{ of: to, list: Partners, for: 24h }', 'write the name of a list in the store'],
    ['{ of: to, values: [a], for: 24h }', '"values" is not known here'],
    ['{ of: too, list: partners, for: 24h }', 'did you mean to?'],
    ['{ of: userId, list: partners, for: 24h }', 'has no member "userId"'],
    ['{ of: [to, to], list: partners, for: 24h }', 'to appears twice'],
    ['{ of: [memo, to], list: partners, for: 24h }', 'a memo may have blanks'],
    ['{ of: amount, list: sums, for: 24h }', 'an amount is not kept in a list; use an amount-limit'],
    ['{ of: [to, amount], list: sums, for: 24h }', 'an amount is not kept in a list'],
  ])('%s is a fault', (parameters, fault) => {
    expect(ruleFaults(`cooling-period: ${parameters}`, 'transfer').join('\n')).toContain(fault);
  });
});
