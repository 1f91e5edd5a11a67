import { z } from 'zod';
import { compilePluginQuestion, pluginName, pluginNotes, withTexts } from './plugin.ts';
import { defineRule } from './rule.ts';

export const ownModule = defineRule({
  name: 'module',
  summary: 'Your own module, which runs in its own thread, must answer yes.',
  notes: [
    'Only a `yes` in time passes. A `no`, an exception, an endless loop, an answer of another ' +
      'shape, and a module that the settings do not name refuse.',
    ...pluginNotes,
    'The settings name the modules, their files and the SHA-256 of each under `modules`. See ' +
      'docs/module.md for how to write one.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    name: pluginName.describe('The module, by its name in the settings.'),
    with: withTexts.describe('Texts that the module gets beside the callback, by name.'),
  }),
  example: `policy: own-rules
callback: payment
when: { source: shop }
rules:
  - module: { name: own-check, with: { tier: gold } }
`,
  cases: `tests:
  - test: a yes of the module passes
    now: 2026-03-02T10:00:00Z
    given: { answers: { module: { own-check: yes } } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: SUCCESS
  - test: a no refuses
    now: 2026-03-02T10:00:00Z
    given: { answers: { module: { own-check: no } } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: { verdict: FAILURE, rule: module#1, values: { module: own-check, answer: no } }
  - test: a module that fails refuses
    now: 2026-03-02T10:00:00Z
    given: { answers: { module: { own-check: failed } } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: { verdict: FAILURE, rule: module#1, values: { module: own-check, answer: failed } }
  - test: a yes of a service with the same name does not count
    now: 2026-03-02T10:00:00Z
    given: { answers: { service: { own-check: yes } } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: { verdict: FAILURE, rule: module#1, values: { answer: failed } }
`,
  compile: ({ name, with: parameters = {} }) => compilePluginQuestion({ type: 'module', name, parameters }),
});
