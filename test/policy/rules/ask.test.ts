import { describe, expect, it } from 'vitest';
import type { PluginAnswer } from '../../../src/policy/facts.ts';
import { pluginQuestionsOf } from '../../../src/policy/evaluate.ts';
import { onePolicy, payment, release, ruleFaults, transfer, web3 } from '../callbacks.ts';
import { answered, answeredFor } from './plugin.ts';

const RULE = 'ask: { service: risk, with: { profile: gold } }';
const yes: PluginAnswer = { verdict: 'yes', because: 'all is well' };

describe('ask', () => {
  it.each([payment(), transfer(), web3()])('lets a $kind pass that the service says yes to', (callback) => {
    const { approves, results } = answered(RULE, callback, yes);
    expect(approves).toBe(true);
    expect(results).toEqual([
      {
        policy: 'one',
        rule: 'ask#1',
        mode: 'enforce',
        verdict: 'pass',
        because: 'service risk says yes: all is well',
        values: { service: 'risk', answer: 'yes' },
      },
    ]);
  });

  it.each<[string, PluginAnswer | undefined, string, string]>([
    ['a no', { verdict: 'no', because: 'sanctioned' }, 'service risk says no: sanctioned', 'no'],
    ['a no without a reason', { verdict: 'no', because: '' }, 'service risk says no', 'no'],
    [
      'a failure',
      { verdict: 'failed', because: 'no answer within 500 ms' },
      'service risk did not answer: no answer within 500 ms',
      'failed',
    ],
    ['no answer', undefined, 'service risk was not asked', 'failed'],
    [
      'an answer of a kind yet unheard of',
      { ...yes, verdict: 'YES' as 'yes' },
      'service risk did not answer: all is well',
      'failed',
    ],
  ])('refuses %s, retryable', (_, answer, because, told) => {
    const { approves, retryable, results } = answered(RULE, payment(), answer);
    expect({ approves, retryable }).toEqual({ approves: false, retryable: true });
    expect(results[0]).toMatchObject({
      verdict: 'refuse',
      because,
      values: { service: 'risk', answer: told },
    });
  });

  it.each([
    { type: 'service', name: 'risk', parameters: {} },
    { type: 'service', name: 'risk', parameters: { profile: 'silver' } },
    { type: 'service', name: 'risk', parameters: { profile: ['gold'] } },
    { type: 'service', name: 'risk2', parameters: { profile: 'gold' } },
    { type: 'module', name: 'risk', parameters: { profile: 'gold' } },
  ] as const)('takes the yes to another question, %o, for none', (question) => {
    expect(answeredFor(RULE, payment(), question).approves).toBe(false);
  });

  it('asks the same question once, however many rules ask it, and only where a policy applies', () => {
    const inForce =
      release(`${onePolicy(RULE, 'payment', '{ symbol: USDT1742 }')}  - ask: { service: risk, with: { profile: gold } }
  - ask: { service: risk }
  - ask: { service: credit }
    mode: observe
`);
    expect([...pluginQuestionsOf(inForce, payment()).keys()]).toEqual([
      'service:risk:{"profile":"gold"}',
      'service:risk:{}',
      'service:credit:{}',
    ]);
    expect(pluginQuestionsOf(inForce, payment({ payCoinSymbol: 'BTC' })).size).toBe(0);
    expect(pluginQuestionsOf(inForce, transfer()).size).toBe(0);
  });

  it.each([
    ['{}', 'service is missing'],
    ['{ service: Risk }', '"Risk" is not valid; write the name that the settings give it'],
    [`{ service: ${'a'.repeat(33)} }`, 'is not valid; write the name that the settings give it'],
    ['{ service: [risk] }', 'a list is not valid'],
    ['{ service: risk, name: x }', '"name" is not known here'],
    ['{ service: risk, with: gold }', '"gold" is not valid; write a mapping of at most 32 names and texts'],
    ['{ service: risk, with: [gold] }', 'a list is not valid; write a mapping of at most 32 names and texts'],
    ['{ service: risk, with: { a: [b] } }', 'a list is not valid; write a text of at most 1000 characters'],
    [
      '{ service: risk, with: { a: { b: c } } }',
      'a mapping is not valid; write a text of at most 1000 characters',
    ],
    [`{ service: risk, with: { a: ${'x'.repeat(1001)} } }`, 'write a text of at most 1000 characters'],
    ['{ service: risk, with: { "a b": c } }', 'write a mapping of at most 32 names and texts'],
    [
      `{ service: risk, with: { ${Array.from({ length: 33 }, (_, n) => `a${n}: b`).join(', ')} } }`,
      'write a mapping of at most 32 names and texts',
    ],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`ask: ${parameters}`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  it('gives at most 32 texts of at most 1000 characters', () => {
    const texts = Array.from({ length: 32 }, (_, n) => `a${n}: ${'x'.repeat(1000)}`);
    expect(ruleFaults(`ask: { service: ${'a'.repeat(32)}, with: { ${texts.join(', ')} } }`)).toEqual([]);
  });
});
