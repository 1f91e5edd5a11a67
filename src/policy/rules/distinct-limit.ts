import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { DISTINCT_MAX } from '../../claims/distinct.ts';
import { groupedKey } from '../../claims/window.ts';
import { canonicalJson } from '../../values/canonical.ts';
import type { Facts } from '../facts.ts';
import { ADDRESS_MEMBERS, valuesOf } from '../members.ts';
import {
  type Counting,
  PARTS_NOTE,
  compileCounting,
  countingNotes,
  countingParameters,
  keyOf,
} from './counting.ts';
import { entriesToLookUp, entryMembers } from './entry.ts';
import { formatMember, textList, wholeNumberText } from './parameter.ts';
import { type RuleOutcome, refuse } from '../outcome.ts';
import { NEW_VALUES_NOTE, defineRule } from './rule.ts';

const NAME = 'distinct-limit';
const MAX = `a whole number from 1 to ${DISTINCT_MAX}`;

export const distinctLimit = defineRule({
  name: NAME,
  summary:
    'The number of different values of a member, such as addresses, that are approved within a window of time ' +
    'must not exceed a maximum.',
  notes: [
    'The number includes this callback. A value that the window counts already takes no more room. It counts ' +
      'until a window has passed since its last approval.',
    'A withdrawal to several addresses counts each of them. All are approved, or none.',
    NEW_VALUES_NOTE,
    'A callback that lacks one of the members in `of` is refused.',
    'Windows are exact to the millisecond.',
    ...countingNotes.filter((note) => note !== PARTS_NOTE),
    'If you change `of` or `only`, a new count starts.',
  ],
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
      .describe(`The greatest number of different values that passes, from 1 to ${DISTINCT_MAX}.`),
  }),
  bounds: { max: 'maximum' },
  example: `policy: few-addresses
callback: transfer
when: { source: vault }
rules:
  - distinct-limit: { of: to, max: 3, window: 24h }
  - distinct-limit: { of: to, only: new, max: 2, window: day, zone: Europe/Berlin }
`,
  cases: `tests:
  - test: two new addresses a day pass, and known ones do at any time
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qone, amount: '1', symbol: BTC }
        expect: SUCCESS
      - source: vault
        transfer:
          { type: sign_start, request_id: r2, from: bc1qfrom, to: bc1qtwo, amount: '1', symbol: BTC }
        expect: SUCCESS
      - source: vault
        transfer:
          { type: sign_start, request_id: r3, from: bc1qfrom, to: bc1qthree, amount: '1', symbol: BTC }
        expect:
          { verdict: FAILURE, rule: distinct-limit#2, values: { member: to, asked: '1', max: '2' },
            because: 2 counted and 1 more are above the limit of 2 new values of to }
      - source: vault
        transfer:
          { type: sign_start, request_id: r4, from: bc1qfrom, to: bc1qtwo, amount: '1', symbol: BTC }
        expect: SUCCESS
  - test: three different addresses in 24 hours pass, and a fourth does when the first has left the window
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qone, amount: '1', symbol: BTC }
        expect: SUCCESS
      - source: vault
        transfer:
          { type: sign_start, request_id: r2, from: bc1qfrom, to: bc1qtwo, amount: '1', symbol: BTC }
        expect: SUCCESS
      - source: vault
        after: 14h
        transfer:
          { type: sign_start, request_id: r3, from: bc1qfrom, to: bc1qthree, amount: '1', symbol: BTC }
        expect: SUCCESS
      - source: vault
        after: 35999s
        transfer:
          { type: sign_start, request_id: r4, from: bc1qfrom, to: bc1qfour, amount: '1', symbol: BTC }
        expect: { verdict: FAILURE, rule: distinct-limit#1, because: 3 counted and 1 more }
      - source: vault
        after: 1s
        transfer:
          { type: sign_start, request_id: r4, from: bc1qfrom, to: bc1qfour, amount: '1', symbol: BTC }
        expect: SUCCESS
`,
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
