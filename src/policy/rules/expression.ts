import { z } from 'zod';
import { compileExpression } from '../expression/compile.ts';
import { BOUNDS } from '../expression/language.ts';
import { defineRule, pass, refuse } from './rule.ts';

const REQUIRE = `an expression of at most ${BOUNDS.characters} characters, like "amount <= 1000 && userId != '666'"`;
const BECAUSE = 'a sentence of at most 500 characters';
const SHOWN_MAX = 120;

/** Members that are not among a callback's terms: the same callback may come again with others. */
const PASSING = ['scheme', 'txid'];

export const expression = defineRule({
  name: 'expression',
  summary: 'An expression in CEL over the members of the callback must be true.',
  notes: [
    'CEL is the Common Expression Language (cel.dev); all its operators for booleans, comparison and lists are there, and `?:`.',
    'Only the value `true` passes. Anything else refuses: `false`, an error, a member that is asked for and missing; CEL’s own rule holds that `false && error` is `false` and `true || error` is `true`.',
    'Every member is a name, by all names that `when` knows; `amount` is an exact decimal, `pending_round` (and `speedUp`) true or false, every other one a text. There is no time: combine it with a `schedule`.',
    'Payments also have `scheme`, how the callback was signed; withdrawals `outputs`, the list of who is paid how much, with `to` and `amount` each, also if there is but one; web3 transactions `unlimited`.',
    '`given(memo)` asks whether a member is there. `to` of a withdrawal to several addresses, and `amount` of an unlimited web3 transaction, are not.',
    "Numbers are exact: whole ones of 64 bits (more is an error), and decimals, written `decimal('1.5')`, with `+`, `-`, `*` and comparison. There is no division, and a literal such as 1.5 is a fault, since CEL would read it as binary floating point.",
    'Texts are compared as everywhere in a policy: hexadecimal (`0x…`) and bech32 (`bc1…`) without regard to case, also by `startsWith`, `endsWith` and `contains`. There are no regular expressions (`matches`).',
    '`outputs.all(o, …)`, `exists`, `exists_one`, `filter` and `map` look through the outputs, one loop not within another; `sum` adds what `map` took out.',
    'Names, types and bounds are checked when the policy is pushed.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    require: z
      .string({ error: REQUIRE })
      .regex(/\S/, { error: REQUIRE })
      .max(BOUNDS.characters, { error: REQUIRE })
      .describe('What must be true, in CEL. A callback passes if it is, and is refused otherwise.'),
    because: z
      .string({ error: BECAUSE })
      .regex(/\S/, { error: BECAUSE })
      .max(500, { error: BECAUSE })
      .optional()
      .describe('What a refusal says to people; without it, the expression itself.'),
  }),
  example: `policy: payouts
callback: transfer
when: { source: vault, symbol: [BTC, ETH, USDT, USDC] }
rules:
  - expression:
      require: "outputs.all(o, o.amount <= decimal('0.5')) || symbol in ['USDT', 'USDC']"
      because: more than half a coin to one address is paid by hand
  - expression: { require: "!given(memo) || memo.startsWith('INV-')" }
`,
  cases: `tests:
  - test: half a coin without a memo passes
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer: { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77', to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '0.5', symbol: ETH }
        expect: SUCCESS
  - test: the least above half a coin to one address is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer: { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77', to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '0.500000000000000001', symbol: ETH }
        expect: { verdict: FAILURE, rule: expression#1, because: more than half a coin }
  - test: any amount of a stable coin passes
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer: { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77', to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '5000', symbol: USDC }
        expect: SUCCESS
  - test: a memo that is no invoice is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer: { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77', to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '0.1', symbol: ETH, memo: 'REF-7' }
        expect: { verdict: FAILURE, rule: expression#2, values: { memo: REF-7 } }
`,
  compile: ({ require: text, because }, context) => {
    const compiled = compileExpression(text, context.callback);
    if (!compiled.ok) return context.fault(['require'], compiled.message, compiled.cure);
    const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text;
    const passes = `it is true that ${shown}`;
    return {
      evaluate: (callback, facts) => {
        const { holds, error, values } = compiled.expression.ask(callback, facts);
        if (holds) return pass(passes, values);
        const reason = because ?? `it is required that ${shown}`;
        const refusal = refuse(error === undefined ? reason : `${reason} (${error})`, values);
        return PASSING.some((name) => name in values) ? { ...refusal, afresh: true } : refusal;
      },
    };
  },
});
