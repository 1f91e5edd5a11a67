import { describe, expect, it } from 'vitest';
import type { PluginAnswer } from '../../../src/policy/facts.ts';
import { pluginQuestionsOf } from '../../../src/policy/evaluate.ts';
import { onePolicy, payment, release, ruleFaults, transfer, web3 } from '../callbacks.ts';
import { answered, answeredFor } from './plugin.ts';

const RULE = 'module: { name: own-check, with: { tier: gold } }';

describe('module', () => {
  it.each([payment(), transfer(), web3()])('lets a $kind pass that the module says yes to', (callback) => {
    const { approves, results } = answered(RULE, callback, { verdict: 'yes', because: '' });
    expect(approves).toBe(true);
    expect(results[0]).toMatchObject({
      rule: 'module#1',
      verdict: 'pass',
      because: 'module own-check says yes',
      values: { module: 'own-check', answer: 'yes' },
    });
  });

  it.each<[string, PluginAnswer | undefined, string, string]>([
    [
      'a no',
      { verdict: 'no', because: 'not on a Sunday' },
      'module own-check says no: not on a Sunday',
      'no',
    ],
    [
      'a failure',
      { verdict: 'failed', because: 'it threw Error: x' },
      'module own-check did not answer: it threw Error: x',
      'failed',
    ],
    ['no answer', undefined, 'module own-check was not asked', 'failed'],
  ])('refuses %s, retryable', (_, answer, because, told) => {
    const { approves, retryable, results } = answered(RULE, payment(), answer);
    expect({ approves, retryable }).toEqual({ approves: false, retryable: true });
    expect(results[0]).toMatchObject({
      verdict: 'refuse',
      because,
      values: { module: 'own-check', answer: told },
    });
  });

  it.each([
    { type: 'service', name: 'own-check', parameters: { tier: 'gold' } },
    { type: 'module', name: 'own-check', parameters: {} },
    { type: 'module', name: 'own', parameters: { tier: 'gold' } },
  ] as const)('takes the yes to another question, %o, for none', (question) => {
    expect(answeredFor(RULE, payment(), question).approves).toBe(false);
  });

  it('asks a module, not a service of the same name', () => {
    const inForce = release(onePolicy(RULE));
    expect([...pluginQuestionsOf(inForce, payment()).values()]).toEqual([
      { type: 'module', name: 'own-check', parameters: { tier: 'gold' } },
    ]);
  });

  it.each([
    ['{}', 'name is missing'],
    ['{ name: ../own.mjs }', 'write the name that the settings give it'],
    ['{ name: own-check, sha256: abc }', '"sha256" is not known here'],
    ['{ name: own-check, with: }', 'write a mapping of at most 32 names and texts'],
    ['own-check', 'write a mapping of name, with'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`module: ${parameters}`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });
});
