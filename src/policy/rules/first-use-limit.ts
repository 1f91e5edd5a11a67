import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { type Amount, formatAmount } from '../../values/amount.ts';
import { canonicalJson } from '../../values/canonical.ts';
import { HIGHER, LOWER, looserIf } from '../language/looser.ts';
import { checkMember } from '../language/members.ts';
import { type MovedAmount, amountsOf } from '../language/moved-amounts.ts';
import { keyOf } from './counting.ts';
import { entryMembers, entriesWithTexts } from '../language/entry.ts';
import {
  type Bound,
  amountOrTable,
  boundLookup,
  byAsset,
  checkByAsset,
  checkMovedAssets,
  durationText,
  onlySymbol,
  textList,
  formatMember,
  warnOfUnusedSymbols,
} from '../language/parameter.ts';
import { type RuleOutcome, allOf, pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

const NAME = 'first-use-limit';

export const firstUseLimit = defineRule({
  name: NAME,
  summary: 'A callback for an unknown value of a member, such as a new address, must not exceed a maximum.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      of: textList.describe(
        'The member whose values become known, like to or userId. Several, like [to, memo], ' +
          'become known together.',
      ),
      max: amountOrTable
        .describe(
          'The greatest amount that passes for an unknown value. With `by: asset`, a table of ' +
            'amounts by symbol.',
        )
        .register(looserIf, HIGHER),
      by: byAsset,
      for: durationText
        .optional()
        .describe(
          'How long after its first approval a value becomes known, from 1s to 92d, like 90s, ' +
            '10m, 24h or 7d. The default is at once.',
        )
        .register(looserIf, LOWER),
    })
    .superRefine(({ by, max }, context) => {
      checkByAsset(by, { max }, context);
    }),
  compile: ({ of, max, by, for: period }, context) => {
    warnOfUnusedSymbols({ max }, context);
    checkMovedAssets(by !== undefined, context);
    if (by === undefined && context.movements === undefined && onlySymbol(context) === undefined) {
      context.fault(
        ['max'],
        'one maximum would be for amounts of different coins',
        'name exactly one symbol under when, or write by: asset and a table',
      );
    }
    const members = entryMembers(of, ['of'], context);
    if (members === undefined) return undefined;
    const firstUse = { policy: context.policy, members, maxFor: boundLookup(max), period };
    return {
      remembers: canonicalJson({ policy: context.policy, rule: NAME, members }),
      compared: { members },
      judgesAmounts: true,
      evaluate: (callback) => {
        const judged = allOf(amountsOf(callback).map((moved) => judge(callback, moved, firstUse)));
        return judged ?? pass('it moves no amount');
      },
    };
  },
});

interface FirstUse {
  readonly policy: string;
  readonly members: readonly string[];
  readonly maxFor: (symbol: string) => Bound | undefined;
  readonly period: z.output<typeof durationText> | undefined;
}

function judge(
  callback: Callback,
  { amount, symbol, payouts: paid }: MovedAmount,
  { policy, members, maxFor, period }: FirstUse,
): RuleOutcome {
  const member = members.join(' ');
  const limit = maxFor(symbol);
  if (limit === undefined) return refuse(`${symbol} is not in the table`, { member, symbol });
  if (amount === 'unlimited') return refuse('the amount is unlimited', { member, max: limit.text });
  if (members.includes('to')) checkMember(callback, 'to');
  const given = callback.movements && { to: paid.map(({ to }) => to), symbol: [symbol] };
  const found = entriesWithTexts(callback, members, given);
  if (!found.ok) return refuse(`${found.missing} is missing`, { member });
  const { entries } = found;
  const payouts = members.includes('to') ? paid : [{ to: undefined, amount }];
  if (payouts.length !== entries.length) return refuse(`${member} has several values`, { member });
  const known = canonicalJson({ policy, rule: NAME, members, symbol });
  return {
    verdict: 'claim',
    because:
      `${formatAmount(amount)} requested, ` +
      `of at most ${limit.text} for a first use of ${formatMember(member, entries)}`,
    values: {
      member,
      values: entries.join(members.length === 1 ? ' ' : ', '),
      ...(members.includes('to') ? { to: payouts.map(({ to }) => to).join(' ') } : {}),
      asked: payouts.map((payout) => formatAmount(payout.amount)).join(' '),
      max: limit.text,
      ...(period === undefined ? {} : { for: period.text }),
    },
    claims: entries.map((entry, index) => ({
      type: 'mark',
      key: keyOf(known, [entry]),
      ageMs: period?.ms ?? 0,
      exempt: isWithin(payouts[index]?.amount, limit.amount),
    })),
    retryable: true,
  };
}

const isWithin = (amount: Amount | undefined, limit: Amount): boolean =>
  amount !== undefined && amount <= limit;
