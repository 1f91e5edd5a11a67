import { z } from 'zod';
import { pass } from '../outcome.ts';
import { defineRule } from './rule.ts';

const BECAUSE = 'a reason of 1 to 500 characters';

export const passAlways = defineRule({
  name: 'pass',
  summary: 'Every callback that the policy applies to passes, for the reason that you give.',
  notes: [
    'A policy covers a callback only if the conditions of at least one of its enforcing rules are met. If all ' +
      'rules have `when`, a callback that meets none of them is refused. Write this rule if such a callback is ' +
      'to pass.',
    'The other rules of the policy, and all other policies that apply, still decide.',
    'As the last alternative of `any`, it lets everything pass that the alternatives before it do not.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    because: z
      .string({ error: BECAUSE })
      .min(1, { error: BECAUSE })
      .max(500, { error: BECAUSE })
      .describe('Why everything else passes. Decisions state it.'),
  }),
  example: `policy: large-payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - pass: { because: small payments need no further check }
  - allow-list: { of: userId, values: ['12345'] }
    when: { amount: { above: 1000 } }
`,
  cases: `tests:
  - test: a small payment passes, though no other rule judges it
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '99999', payCoinSymbol: USDT1742, orderAmount: '1000' }
        expect: SUCCESS
  - test: a large payment must also be for a known user
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '99999', payCoinSymbol: USDT1742, orderAmount: '1000.000001' }
        expect: { verdict: FAILURE, rule: allow-list#2, because: 'userId 99999 is not on' }
      - source: shop
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1000.000001' }
        expect: SUCCESS
`,
  compile: ({ because }) => ({ alwaysPasses: true, evaluate: () => pass(because) }),
});
