import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { DISTINCT_MAX } from '../../claims/distinct.ts';
import { groupedKey } from '../../claims/window.ts';
import { canonicalJson } from '../../values/canonical.ts';
import type { Facts } from '../facts.ts';
import { HIGHER, looserIf } from '../language/looser.ts';
import { ADDRESS_MEMBERS, valuesOf } from '../language/members.ts';
import { type Counting, compileCounting, countingParameters, keyOf } from './counting.ts';
import { entriesToLookUp, entryMembers } from '../language/entry.ts';
import { formatMember, textList, wholeNumberText } from '../language/parameter.ts';
import { type RuleOutcome, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

const NAME = 'distinct-limit';
const MAX = `a whole number from 1 to ${DISTINCT_MAX}`;

export const distinctLimit = defineRule({
  name: NAME,
  summary:
    'The number of different values of a member, such as addresses, that are approved within a window of time ' +
    'must not exceed a maximum.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    of: textList.describe(
      'The member whose different values are counted, like to or userId. Several, like [to, memo], are counted ' +
        'together.',
    ),
    only: z
      .literal('new', { error: 'new, or leave it out' })
      .optional()
      .describe('`new`: only values that were never approved before are counted.'),
    ...countingParameters,
    max: wholeNumberText
      .refine((max) => max <= DISTINCT_MAX, { error: MAX })
      .describe(`The greatest number of different values that passes, from 1 to ${DISTINCT_MAX}.`)
      .register(looserIf, HIGHER),
  }),
  compile: ({ of, only, per, window, zone, across, counter, max }, context) => {
    const members = entryMembers(of, ['of'], context);
    if (members === undefined) return undefined;
    const counted = { members, only };
    const counting = compileCounting(
      { rule: NAME, per, window, zone, symbol: undefined, of: counted, across, counter },
      context,
    );
    if (counting === undefined) return undefined;
    const both = members.find((member) => counting.per.includes(member));
    if (both !== undefined) {
      const message = `it would count the different values of ${both} for each ${both}, which is always one`;
      return context.fault(['per'], message, `leave ${both} out of per, or count another member`);
    }
    if (context.movements !== undefined && counting.per.includes('symbol')) {
      const message = 'the policy has movements, so symbol is not one value';
      return context.fault(
        ['per'],
        message,
        `leave it out, or write of: [${[...members, 'symbol'].join(', ')}]`,
      );
    }
    // Without the window, so that a value stays known if the window changes.
    const known = canonicalJson({ ...counting.owner, rule: NAME, members, per: counting.per });
    const limit: Limit = { members, onlyNew: only !== undefined, counting, known, max };
    return {
      ...counting.check,
      ...(limit.onlyNew && { remembers: known }),
      compared: {
        members: [...counting.per, ...members],
        ...(counting.per.some((each) => ADDRESS_MEMBERS.has(each)) && { effect: 'has a limit of its own' }),
      },
      evaluate: (callback, facts) => judge(callback, limit, facts),
    };
  },
});

interface Limit {
  readonly members: readonly string[];
  readonly onlyNew: boolean;
  readonly counting: Counting;
  /** What the keys of values are made of. */
  readonly known: string;
  readonly max: number;
}

function judge(
  callback: Callback,
  { members, onlyNew, counting, known, max }: Limit,
  facts: Facts,
): RuleOutcome {
  const member = members.join(' ');
  const found = entriesToLookUp(callback, members);
  if (!found.ok) return refuse(`${found.missing} is missing`, { member });
  const { entries } = found;
  const counted = counting.countsOf(callback, counting.isByAddress ? valuesOf(callback, 'to') : [], facts);
  if ('verdict' in counted) return counted;
  const { window, valid } = counting.window.at(facts.nowMs);
  const asked = formatMember(member, entries);
  const what = onlyNew ? 'new' : 'different';
  return {
    verdict: 'claim',
    because: `${asked} for ${counted.text} in ${counting.window.text}, of at most ${max} ${what}`,
    values: {
      ...counted.values,
      member,
      values: entries.join(members.length === 1 ? ' ' : ', '),
      asked: String(entries.length),
      max: String(max),
      window: counting.window.text,
    },
    claims: counted.counts.map(({ key, by }) => ({
      type: 'distinct',
      key,
      values: entries.map((entry) => groupedKey(counted.group, keyOf(known, [...by, entry]))),
      max,
      window,
      onlyNew,
    })),
    // A window gets room again as time passes, without a push.
    retryable: true,
    valid,
  };
}
