import { z } from 'zod';
import { formatAmount } from '../../values/amount.ts';
import { payoutsOf } from '../members.ts';
import {
  type Bound,
  amountOrTable,
  boundLookup,
  byAsset,
  checkByAsset,
  formatMember,
  warnOfUnusedSymbols,
  wholeNumberText,
} from './parameter.ts';
import { type RuleOutcome, pass, refuse } from '../outcome.ts';
import { ADDRESS_NOTE, defineRule } from './rule.ts';
import type { Payout } from '../../callback/callback.ts';

export const outputs = defineRule({
  name: 'outputs',
  summary: 'A withdrawal must not pay too many addresses, or too much to one of them.',
  notes: [
    'If the callback has no `outputs`, the only address is `to`, and it gets the whole amount.',
    'If the outputs do not sum to `amount`, or lack the address in `to`, the callback is ' +
      'refused before any rule.',
    'An address that appears several times counts once, with the sum of its amounts.',
    ADDRESS_NOTE,
    'Rules about addresses, such as allow-list, apply to each output. The rules amount-limit ' +
      'and window-limit judge the total.',
    'With `by: asset`, `maxEach` is a table of amounts by symbol. An asset that is not in the ' +
      'table is refused.',
  ],
  callbacks: ['transfer'],
  parameters: z
    .strictObject({
      max: wholeNumberText.describe('The greatest number of addresses that passes.'),
      maxEach: amountOrTable
        .optional()
        .describe('The greatest amount for one address. With `by: asset`, a table of amounts by symbol.'),
      by: byAsset,
    })
    .superRefine(({ maxEach, by }, context) => {
      checkByAsset(by, { maxEach }, context);
    }),
  bounds: { max: 'maximum', maxEach: 'maximum' },
  example: `policy: batch-withdrawals
callback: transfer
when: { source: vault, symbol: [BTC, LTC, USDT1742] }
rules:
  - outputs: { max: 2, by: asset, maxEach: { BTC: 0.5, USDT1742: 20000 } }
`,
  files: {
    'assets.yaml': `assets:
  BTC: { chain: bitcoin, decimals: 8 }
  LTC: { chain: litecoin, decimals: 8 }
  USDT1742: { chain: evm, decimals: 6 }
`,
  },
  cases: `tests:
  - test: a withdrawal to two addresses passes, each within its maximum
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa,
            to: bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq, amount: '0.75', symbol: BTC,
            outputs: '[{"address_to":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","amount":"0.5"},
              {"address_to":"3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy","amount":"0.25"}]' }
        expect: SUCCESS
      - source: vault
        transfer:
          { request_id: r2, from: 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa,
            to: bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq, amount: '0.5', symbol: BTC }
        expect: SUCCESS
  - test: one address more is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa,
            to: bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq, amount: '0.3', symbol: BTC,
            outputs: '[{"address_to":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","amount":"0.1"},
              {"address_to":"3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy","amount":"0.1"},
              {"address_to":"1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH","amount":"0.1"}]' }
        expect: { verdict: FAILURE, rule: outputs#1, values: { addresses: '3', max: '2' } }
  - test: an address that is paid too much is refused, also where it is paid twice
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa,
            to: bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq, amount: '0.7', symbol: BTC,
            outputs: '[{"address_to":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","amount":"0.4"},
              {"address_to":"3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy","amount":"0.1"},
              {"address_to":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","amount":"0.2"}]' }
        expect: { verdict: FAILURE, rule: outputs#1,
            values: { to: bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq, amount: '0.6', maxEach: '0.5' } }
      - source: vault
        transfer:
          { request_id: r2, from: LTuoeY6RBHV3n3cfhXVVTbJbxzxnXs9ofm, to: LTuoeY6RBHV3n3cfhXVVTbJbxzxnXs9ofm,
            amount: '1', symbol: LTC }
        expect: { verdict: FAILURE, rule: outputs#1, because: LTC is not in the table }
`,
  compile: ({ max, maxEach }, context) => {
    warnOfUnusedSymbols({ maxEach }, context);
    const eachFor = maxEach === undefined ? undefined : boundLookup(maxEach);
    return {
      compared: { members: ['to'], ...(maxEach !== undefined && { effect: 'can be paid as much again' }) },
      evaluate: (callback) => judge(payoutsOf(callback), callback.symbol, max, eachFor),
    };
  },
});

function judge(
  payouts: readonly Payout[],
  symbol: string,
  max: number,
  eachFor: ((symbol: string) => Bound | undefined) | undefined,
): RuleOutcome {
  const values = { addresses: String(payouts.length), max: String(max) };
  if (payouts.length === 0) return refuse('it pays no address', values);
  const paid = `it pays ${payouts.length === 1 ? '1 address' : `${payouts.length} addresses`}`;
  if (payouts.length > max) return refuse(`${paid}, more than ${max}`, values);
  if (eachFor === undefined) return pass(`${paid}, of at most ${max}`, values);
  const limit = eachFor(symbol);
  if (limit === undefined) return refuse(`${symbol} is not in the table`, { ...values, symbol });
  const each = { ...values, maxEach: limit.text };
  const above = payouts.filter(({ amount }) => amount > limit.amount);
  const [first] = above;
  if (first === undefined) return pass(`${paid}, of at most ${max}, none more than ${each.maxEach}`, each);
  const amount = formatAmount(first.amount);
  const exceeding = formatMember(
    'to',
    above.map(({ to }) => to),
  );
  return refuse(`${exceeding}: ${amount} is above the maximum ${each.maxEach} for one address`, {
    ...each,
    to: first.to,
    amount,
  });
}
