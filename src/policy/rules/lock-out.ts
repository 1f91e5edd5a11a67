import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { REFUSALS_MAX } from '../../claims/refusals.ts';
import { valuesOf } from '../members.ts';
import { type GroupedCounts, countingParameters, groupCounts, keyOf } from './counting.ts';
import { type Duration, durationMs, durationText, wholeNumberText } from './parameter.ts';
import type { RuleOutcome } from '../outcome.ts';
import { ADDRESS_NOTE, defineRule } from './rule.ts';

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
  notes: [
    'A refusal by any enforcing rule of any policy counts, if it is decided anew. An order or request counts once, ' +
      'however often it is sent or refused. Repeats of a decision, FROZEN, TERMS_CHANGED, SCHEME_CHANGED, ' +
      'RELEASED and NO_POLICY do not count, and neither do refusals by a lock-out.',
    'An order counts for `within` after its last such refusal. It counts again if it is refused anew after that, or ' +
      'after a lock-out.',
    'A refusal because something failed does not count: a service or module without an answer, a missing or old ' +
      'price, a list that does not exist. Nor does a refusal by a rule that applies only because a price is missing, ' +
      'as `when` needs one. So an outage locks nobody out.',
    'If several rules refuse, one that counts is enough. `any` does not count if something failed in one of its ' +
      'alternatives, or if a lock-out refused one.',
    'The refusal that reaches `after` begins the lock-out, in the same step. After the lock-out, the count starts ' +
      'at zero.',
    'While it lasts, a refusal by it says since when, after how many refusals, until when, and how to lift it: ' +
      '`countersign lockout list` and `countersign lockout lift`. Each repeat is decided again. Repeats of approvals ' +
      'are refused too.',
    'Only authentic callbacks count, so nobody without the key of a source can lock somebody out. But who can ' +
      'cause callbacks about somebody else can: count by a member that the sender of a callback can’t choose, like ' +
      'userId. With `to`, everybody who asks for refused withdrawals to an address locks it out for all. Without ' +
      '`per`, one user locks out the whole source.',
    'A lock-out covers no callback: at least one other enforcing rule must pass it. `any` with a lock-out as one of ' +
      'its alternatives covers none either, and an alternative `all` of lock-outs alone does not hold.',
    'In `any`, a lock-out counts a refusal only if its alternative was tried: no earlier one held, and what stands ' +
      'before it in its alternative did. If one of several addresses is ' +
      'locked out, the refusal counts there only for those that were looked at before it: of a withdrawal, in the ' +
      'order of their texts. If lock-outs of several alternatives have the same `per`, they share a count: ' +
      'an order counts for the longest `within`, and is locked out for the longest `for` of those that lock out.',
    'In `mode: observe`, refusals are counted and lock-outs reported apart, and nothing is refused. They do not hold ' +
      'when the rule is enforced later.',
    'Each source counts alone, also in a group of sources.',
    'If you change `after`, `within` or `for`, counts and lock-outs are kept. A lock-out that stands keeps its ' +
      'end. If you change `per` or the name of the policy, both start again.',
    'A callback without one of the members in `per` is refused.',
    'With `to` in `per`, a refused withdrawal to several addresses counts for each of them, and one address that is ' +
      'locked out refuses it.',
    'A refusal does not wait for replicas (`store.durability`), so a failover of Redis may forget the last ones.',
    ADDRESS_NOTE,
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  covers: false,
  parameters: z.strictObject({
    per: countingParameters.per.describe(
      'Members to count by. Each combination of their values has its own count. Without `per`, each source has ' +
        'one count.',
    ),
    after: wholeNumberText
      .refine((after) => after <= REFUSALS_MAX, { error: AFTER })
      .describe(`The number of refusals that begins the lock-out, from 1 to ${REFUSALS_MAX}.`),
    within: durationText.describe('The time within which they happen, from 1s to 92d, like 10m, 1h or 7d.'),
    for: z
      .string({ error: FOR })
      .refine((text) => text === UNTIL_LIFTED || durationMs(text) !== undefined, { error: FOR })
      .describe(
        'How long the lock-out lasts, from 1s to 92d, or `until-lifted`: until an operator lifts it.',
      ),
  }),
  bounds: { after: 'maximum', within: 'minimum', for: 'minimum' },
  example: `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - lock-out: { per: [userId], after: 3, within: 1h, for: 24h }
`,
  cases: `tests:
  - test: the third refusal of a user within an hour locks the user out for a day
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1001' }
        expect: { verdict: FAILURE, rule: amount-limit#1 }
      - source: shop
        payment: { appOrderId: '1', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1001' }
        expect: { verdict: FAILURE, rule: amount-limit#1 }
      - source: shop
        payment: { appOrderId: '2', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1001' }
        expect: { verdict: FAILURE, rule: amount-limit#1 }
      - source: shop
        payment: { appOrderId: '3', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1000' }
        expect: SUCCESS
      - source: shop
        after: 3599s
        payment: { appOrderId: '4', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1001' }
        expect: { verdict: FAILURE, rule: amount-limit#1 }
      - source: shop
        payment: { appOrderId: '5', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect:
          { verdict: FAILURE, rule: lock-out#2, values: { userId: '7', after: '3', within: 1h, for: 24h },
            because: 'userId 7 is locked out since 2026-03-02T10:59:59.000Z, after 3 refusals within 1h' }
      - source: shop
        payment: { appOrderId: '6', userId: '8', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        after: 86399s
        payment: { appOrderId: '5', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: { verdict: FAILURE, rule: lock-out#2, because: 'until 2026-03-03T10:59:59.000Z' }
      - source: shop
        after: 1s
        payment: { appOrderId: '5', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
  - test: refusals count for an hour
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1001' }
        expect: FAILURE
      - source: shop
        payment: { appOrderId: '2', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1001' }
        expect: FAILURE
      - source: shop
        after: 1h
        payment: { appOrderId: '3', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1001' }
        expect: FAILURE
      - source: shop
        payment: { appOrderId: '4', userId: '7', payCoinSymbol: USDT1742, orderAmount: '1000' }
        expect: SUCCESS
`,
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
