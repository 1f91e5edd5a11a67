import { z } from 'zod';
import { knownAssets, wrongText } from '../asset-texts.ts';
import { compileExpression } from '../expression/compile.ts';
import { BOUNDS } from '../expression/language.ts';
import { pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

const REQUIRE_EXAMPLE = `"amount <= 1000 && userId != '666'"`;
const REQUIRE = `an expression of at most ${BOUNDS.characters} characters, like ${REQUIRE_EXAMPLE}`;
const BECAUSE = 'a sentence of at most 500 characters';
const SHOWN_MAX = 120;

/** Members that are not terms: a repeat of the same callback may have other values for them. */
const CHANGING = ['scheme', 'txid'];

export const expression = defineRule({
  name: 'expression',
  summary: 'An expression in CEL over the members of the callback must be true.',
  notes: [
    'CEL is the Common Expression Language (cel.dev). It has the operators for booleans and ' +
      'comparison, `in` for lists, and `?:`. Only `outputs` has an index, as in `outputs[0]`.',
    'Only the value `true` passes. `false`, an error and a missing member refuse. In CEL, ' +
      '`false && error` is `false` and `true || error` is `true`.',
    'Each member has the names that `when` knows. `amount` is an exact decimal, ' +
      '`pending_round` (and `speedUp`) is true or false, every other member is a text. There is ' +
      'no time: use a `schedule` too.',
    'A payment also has `scheme`, the scheme of its signature. A withdrawal has `outputs`, a ' +
      'list with `to` and `amount`, even for one address. A web3 transaction has `unlimited`.',
    'In a policy with `movements`, a web3 transaction has no `amount`, `symbol` and `unlimited`, but ' +
      '`movements`: a list with `type` (native, transfer or approval), `to`, `symbol`, `amount` and ' +
      '`unlimited`. To use the `symbol` of an unknown token, or an amount that is unlimited or unknown, is an ' +
      'error. `main_chain_symbol` is the network.',
    '`given(memo)` is true if the callback has the member. It is false for `to` of a ' +
      'withdrawal to several addresses, and for `amount` of an unlimited web3 transaction.',
    'Numbers are exact: whole numbers of 64 bits (larger is an error), and decimals like ' +
      "`decimal('1.5')`, with `+`, `-`, `*` and comparison. There is no division. A literal such " +
      'as 1.5 is a fault, since CEL would read it as binary floating point.',
    'Texts are compared as everywhere in a policy: hexadecimal (`0x…`) and bech32 (`bc1…`) ' +
      'without regard to case, also by `startsWith`, `endsWith` and `contains`. There are no ' +
      'regular expressions (`matches`). If the asset table names the chain of the asset, an address equals each of ' +
      'its spellings, and `startsWith`, `endsWith` and `contains` look at its canonical form.',
    '`size(memo)`, or `memo.size()`, is the number of characters (code points) of a text. `size(outputs)` is the ' +
      'number of elements of a list.',
    '`outputs.all(o, …)`, `exists`, `exists_one`, `filter` and `map` loop over the outputs or the movements, ' +
      'without nesting. `sum` adds the result of `map`.',
    'Names, types and limits are checked when the policy is pushed.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    require: z
      .string({ error: REQUIRE })
      .regex(/\S/, { error: REQUIRE })
      .max(BOUNDS.characters, { error: REQUIRE })
      .describe('A condition in CEL. A callback passes if it is true, and is refused otherwise.'),
    because: z
      .string({ error: BECAUSE })
      .regex(/\S/, { error: BECAUSE })
      .max(500, { error: BECAUSE })
      .optional()
      .describe('The reason of a refusal. The default is the expression.'),
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
  files: {
    'assets.yaml': `assets:
  BTC: { chain: bitcoin, decimals: 8 }
  ETH: { chain: evm, decimals: 18 }
  USDC: { chain: evm, decimals: 6 }
  USDT: { chain: evm, decimals: 6 }
`,
  },
  cases: `tests:
  - test: half a coin without a memo passes
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77',
            to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '0.5', symbol: ETH }
        expect: SUCCESS
  - test: the least above half a coin to one address is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77',
            to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '0.500000000000000001', symbol: ETH }
        expect: { verdict: FAILURE, rule: expression#1, because: more than half a coin }
  - test: any amount of a stable coin passes
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77',
            to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '5000', symbol: USDC }
        expect: SUCCESS
  - test: a memo that is not an invoice is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: '0xde709f2102306220921060314715629080e2fb77',
            to: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '0.1', symbol: ETH, memo: 'REF-7' }
        expect: { verdict: FAILURE, rule: expression#2, values: { memo: REF-7 } }
`,
  compile: ({ require: text, because }, context) => {
    const assets = context.isStored ? undefined : knownAssets(context);
    const compiled = compileExpression(
      text,
      { kind: context.callback, hasMovements: context.movements !== undefined },
      (member, each) => assets && wrongText(member, each, assets),
    );
    if (!compiled.ok) return context.fault(['require'], compiled.message, compiled.fix);
    const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text;
    const passes = `it is true that ${shown}`;
    return {
      compared: { members: compiled.expression.members, effect: 'is another text' },
      evaluate: (callback, facts) => {
        const { holds, error, values } = compiled.expression.evaluate(callback, facts);
        if (holds) return pass(passes, values);
        const reason = because ?? `it is required that ${shown}`;
        const refusal = refuse(error === undefined ? reason : `${reason} (${error})`, values);
        return CHANGING.some((name) => name in values) ? { ...refusal, retryable: true } : refusal;
      },
    };
  },
});
