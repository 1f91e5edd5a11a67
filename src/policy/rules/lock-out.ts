import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { REFUSALS_MAX } from '../../claims/refusals.ts';
import { HIGHER, LOWER, looserIf } from '../language/looser.ts';
import { valuesOf } from '../language/members.ts';
import { type GroupedCounts, countingParameters, groupCounts, keyOf } from './counting.ts';
import { type Duration, durationMs, durationText, wholeNumberText } from '../language/parameter.ts';
import type { RuleOutcome } from '../outcome.ts';
import { defineRule } from './rule.ts';

const NAME = 'lock-out';
/** Refusals count for each source alone. */
const NO_GROUP = { group: undefined };
const UNTIL_LIFTED = 'until-lifted';
const AFTER = `a whole number from 1 to ${REFUSALS_MAX}`;
const FOR = `a duration from 1s to 92d, like 1h or 24h, or ${UNTIL_LIFTED}`;

export const lockOut = defineRule({
  name: NAME,
  summary:
    'After a number of refusals within a time, further callbacks are refused, for a time or until an operator ' +
    'lifts that.',
  callbacks: ['payment', 'transfer', 'web3'],
  covers: false,
  parameters: z.strictObject({
    per: countingParameters.per.describe(
      'Members to count by. Each combination of their values has its own count. Without `per`, each source has ' +
        'one count.',
    ),
    after: wholeNumberText
      .refine((after) => after <= REFUSALS_MAX, { error: AFTER })
      .describe(`The number of refusals that begins the lock-out, from 1 to ${REFUSALS_MAX}.`)
      .register(looserIf, HIGHER),
    within: durationText
      .describe('The time within which they happen, from 1s to 92d, like 10m, 1h or 7d.')
      .register(looserIf, LOWER),
    for: z
      .string({ error: FOR })
      .refine((text) => text === UNTIL_LIFTED || durationMs(text) !== undefined, { error: FOR })
      .describe('How long the lock-out lasts, from 1s to 92d, or `until-lifted`: until an operator lifts it.')
      .register(looserIf, LOWER),
  }),
  compile: ({ per, after, within, for: period }, context) => {
    // A lock-out that was only observed must not hold later.
    const observed = context.mode === 'observe' ? true : undefined;
    const counts = groupCounts({ per }, { rule: NAME, observed }, context);
    if (counts === undefined) return undefined;
    const limit: Limit = { policy: context.policy, counts, after, within, period };
    return {
      counter: counts.counter,
      lockoutIds: (whose) => lockoutIds(whose, counts),
      compared: { members: counts.per, effect: 'is locked out apart' },
      evaluate: (callback) => judge(callback, limit),
    };
  },
});

const whoseText = (per: readonly string[], by: readonly string[]): string =>
  per.map((member, at) => `${member} ${by[at]}`).join(', ');

/**
 * The ids of lock-outs with this text: several if a value has a comma, so that the text has several readings.
 */
function lockoutIds(whose: string, { per, counter }: GroupedCounts): readonly string[] {
  if (per.length === 0) return [keyOf(counter, [])];
  return valuesIn(whose.split(', '), per).map((by) => keyOf(counter, by));
}

/** Each way to cut the parts of a text into one value for each member. */
function valuesIn(parts: readonly string[], per: readonly string[]): readonly (readonly string[])[] {
  const [member, ...others] = per;
  if (member === undefined) return parts.length === 0 ? [[]] : [];
  return parts.flatMap((_, at) => {
    const text = parts.slice(0, at + 1).join(', ');
    if (!text.startsWith(`${member} `)) return [];
    const value = text.slice(member.length + 1);
    return valuesIn(parts.slice(at + 1), others).map((rest) => [value, ...rest]);
  });
}

interface Limit {
  readonly policy: string;
  readonly counts: GroupedCounts;
  readonly after: number;
  readonly within: Duration;
  readonly period: string;
}

function judge(callback: Callback, { policy, counts, after, within, period }: Limit): RuleOutcome {
  const found = counts.countsOf(callback, counts.isByAddress ? valuesOf(callback, 'to') : [], NO_GROUP);
  if ('verdict' in found) return found;
  return {
    verdict: 'claim',
    because: `fewer than ${after} refusals for ${found.text} within ${within.text}`,
    values: { ...found.values, after: String(after), within: within.text, for: period },
    claims: found.counts.map(({ key, by }) => ({
      type: 'refusals',
      key,
      after,
      withinMs: within.ms,
      forMs: durationMs(period) ?? 0,
      policy,
      whose: whoseText(counts.per, by) || `source ${callback.source}`,
    })),
    // It ends with time, or when somebody lifts it.
    retryable: true,
  };
}
