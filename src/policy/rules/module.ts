import { z } from 'zod';
import { compilePluginQuestion, pluginName, pluginNotes, withTexts } from './plugin.ts';
import { defineRule } from './rule.ts';

export const ownModule = defineRule({
  name: 'module',
  summary: 'A module of your own, run in a thread of its own, must say yes.',
  notes: [
    'Whatever is not a `yes` in time refuses: a `no`, a throw, an endless loop, an answer of another shape, a module that the settings do not name.',
    ...pluginNotes,
    'Which modules there are, their files and the SHA-256 of each stand in the settings under `modules`; how to write one is in docs/module.md.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    name: pluginName.describe('The module, by its name in the settings.'),
    with: withTexts.describe('Texts that the module is given beside the callback, by name.'),
  }),
  example: `policy: own-rules
callback: payment
when: { source: shop }
rules:
  - module: { name: own-check, with: { tier: gold } }
`,
  cases: `tests:
  - test: what the module says yes to passes
    now: 2026-03-02T10:00:00Z
    given: { answers: { module: { own-check: yes } } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: SUCCESS
  - test: its no refuses
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
  - test: the yes of a service with the same name is none
    now: 2026-03-02T10:00:00Z
    given: { answers: { service: { own-check: yes } } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: { verdict: FAILURE, rule: module#1, values: { answer: failed } }
`,
  compile: ({ name, with: parameters = {} }) => compilePluginQuestion({ of: 'module', name, parameters }),
});
