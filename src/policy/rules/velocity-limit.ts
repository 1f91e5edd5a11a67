import { z } from 'zod';
import { AMOUNT_SCALE } from '../../values/amount.ts';
import { HIGHER, looserIf } from '../language/looser.ts';
import { valuesOf } from '../language/members.ts';
import { movedTo } from '../language/moved-amounts.ts';
import { compileCounter, countingParameters } from './counting.ts';
import { toBound, countText, onlySymbol } from '../language/parameter.ts';
import { type RuleOutcome, allOf, pass } from '../outcome.ts';
import { defineRule } from './rule.ts';

const ONE = 10n ** BigInt(AMOUNT_SCALE);

export const velocityLimit = defineRule({
  name: 'velocity-limit',
  summary: 'The number of callbacks that are approved within a window of time must not exceed a maximum.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    ...countingParameters,
    max: countText.describe('The greatest number of approvals that passes.').register(looserIf, HIGHER),
  }),
  compile: ({ per, window, zone, across, counter: name, max }, context) => {
    const most = toBound(max);
    const [bySymbol, byAddress] = ['symbol', 'to'].map((member) => per?.includes(member) === true);
    const one = name === undefined ? onlySymbol(context) : undefined;
    const counting = { rule: 'velocity-limit', per, window, zone, symbol: one, across, counter: name };
    const counter = compileCounter(counting, context);
    return (
      counter && {
        ...counter.check,
        evaluate: (callback, facts) => {
          const claim = (recipients: readonly string[], asset: { readonly symbol?: string }): RuleOutcome => {
            const payouts = [...new Set(recipients)].map((to) => ({ to, amount: ONE }));
            return counter.claim(callback, { total: ONE, text: '1', payouts, ...asset }, most, facts);
          };
          if (callback.movements === undefined) {
            // The counter checks the addresses if it counts by them.
            return claim(callback.values.get('to') ?? [], {});
          }
          if (!bySymbol) return claim(byAddress ? valuesOf(callback, 'to') : [], {});
          const moved = Map.groupBy(movedTo(callback), ({ symbol }) => symbol);
          const claims = [...moved].map(([symbol, movements]) =>
            claim(
              movements.map(({ to }) => to),
              { symbol },
            ),
          );
          return allOf(claims) ?? counter.lacking(callback, facts) ?? pass('it moves no asset');
        },
      }
    );
  },
});
