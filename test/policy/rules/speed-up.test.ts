import { describe, expect, it } from 'vitest';
import { judged, ruleFaults, transfer, web3 } from '../callbacks.ts';

const LIMITED = 'speed-up: { max: 3, within: 24h }';
const NEVER = 'speed-up: { allowed: false }';

describe('speed-up', () => {
  it.each([
    [LIMITED, transfer()],
    [NEVER, transfer()],
    [LIMITED, web3()],
    [NEVER, web3({ type: 'sign_prepare' })],
  ])('%s lets pass what is none', (rule, callback) => {
    const { result, claims } = judged(rule, callback);
    expect(result).toMatchObject({ verdict: 'pass', because: 'it is not a speed-up' });
    expect(claims).toEqual([]);
  });

  it.each([
    ['of a withdrawal', transfer({ pending_round: true })],
    ['of a web3 transaction', web3({ pending_round: true })],
    ['of a preparation', transfer({ type: 'sign_prepare', pending_round: true })],
  ])('claims that what it speeds up was approved: %s', (_, callback) => {
    const { result, claims, proposal } = judged(LIMITED, callback);
    expect(result).toMatchObject({
      verdict: 'claim',
      because: 'a speed-up within 24h of the approval, one of at most 3',
      values: { max: '3', within: '24h' },
    });
    expect(claims).toEqual([
      {
        type: 'speed-up',
        result: 0,
        decides: true,
        retryable: true,
        max: 3,
        withinMs: 86_400_000,
      },
    ]);
    expect(proposal.approves).toBe(true);
  });

  it.each([transfer({ pending_round: true }), web3({ pending_round: true })])(
    'refuses any, for good, where none is allowed: %#',
    (callback) => {
      const { result, proposal, claims } = judged(NEVER, callback);
      expect(result).toMatchObject({ verdict: 'refuse', because: 'speed-ups are not allowed' });
      expect(claims).toEqual([]);
      expect(proposal).toMatchObject({ approves: false, retryable: false });
    },
  );

  it.each([
    ['{}', 'max is missing; give max and within'],
    ['{ within: 24h }', 'max is missing'],
    ['{ max: 3 }', 'within is missing'],
    ['{ max: 0, within: 24h }', '"0" is not valid'],
    ['{ max: -1, within: 24h }', '"-1" is not valid'],
    ['{ max: 1.5, within: 24h }', '"1.5" is not valid'],
    ['{ max: 3, within: 0s }', '"0s" is not valid; write a duration from 1s to 92d'],
    ['{ max: 3, within: 93d }', '"93d" is not valid'],
    ['{ max: 3, within: day }', '"day" is not valid'],
    ['{ allowed: true }', '"true" is not valid; write false; to allow speed-ups, give max and within'],
    ['{ allowed: no }', '"no" is not valid'],
    ['{ allowed: false, max: 3, within: 24h }', 'it allows no speed-up, but has a limit for speed-ups'],
    ['{ allowed: false, max: 3 }', 'it allows no speed-up, but has a limit for speed-ups'],
    ['{ max: 3, withn: 24h }', 'did you mean within?'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`speed-up: ${parameters}`, 'transfer');
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  it('is not for a payment', () => {
    expect(ruleFaults(NEVER)).toEqual([expect.stringContaining("can't judge a payment")]);
  });
});
