import { z } from 'zod';
import { subjectOf } from '../../callback/callback.ts';
import type { ClaimRequest } from '../../claims/claims.ts';
import type { PeoplesApproval } from '../facts.ts';
import { fixFor, formatInput } from '../fault.ts';
import { HIGHER, LOWER, NEVER, looserIf } from '../language/looser.ts';
import { durationUpTo, wholeNumberText } from '../language/parameter.ts';
import { announcedOrder } from '../order-members.ts';
import type { RuleOutcome } from '../outcome.ts';
import { PEOPLE_FILE } from '../people.ts';
import { type Check, defineRule } from './rule.ts';

/** How far the clocks of replicas may differ. */
const CLOCKS_DIFFER_MS = 3_600_000;
const GROUP = `the name of a group in ${PEOPLE_FILE}`;

export const approval = defineRule({
  name: 'approval',
  summary: 'Enough people of a group must have approved exactly this callback.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    by: z.string({ error: GROUP }).describe(`A group in ${PEOPLE_FILE}.`),
    quorum: wholeNumberText
      .describe('So many different people of the group must approve.')
      .register(looserIf, LOWER),
    within: durationUpTo('30d')
      .describe(
        'How long people can approve it after it came first, and how long their approval counts, from 1s to 30d, ' +
          'like 12h or 7d.',
      )
      .register(looserIf, HIGHER),
    wait: durationUpTo('60s', '20s')
      .optional()
      .describe(
        'How long a callback that only people can approve is held open for them, from 1s to 60s, like 20s. ' +
          'Less if `answerTimeoutMs` ends earlier. Without it, the answer is FAILURE at once.',
      )
      .register(looserIf, NEVER),
  }),
  compile: ({ by: group, quorum, within, wait }, context) => {
    const { groups } = context.people;
    const members = groups.get(group);
    if (members === undefined) {
      const fix =
        groups.size === 0
          ? `write ${PEOPLE_FILE} beside the policies, and the group with its members below groups there`
          : fixFor(group, [...groups.keys()]);
      return context.fault(['by'], `${PEOPLE_FILE} has no group ${formatInput(group)}`, fix);
    }
    if (quorum > members.length) {
      const message = `the group ${group} has ${members.length} members, fewer than ${quorum}`;
      return context.fault(['quorum'], message, `write at most ${members.length}`);
    }
    return needsPeople({ group, members, quorum, within, waitMs: wait?.ms ?? 0 });
  },
});

/** `countsMs`: how long an approval counts, if that is not the time to approve it. */
export function needsPeople({
  group,
  members,
  quorum,
  within,
  countsMs = within.ms,
  waitMs = 0,
}: {
  readonly group: string;
  readonly members: readonly string[];
  readonly quorum: number;
  readonly within: { readonly text: string; readonly ms: number };
  readonly countsMs?: number;
  readonly waitMs?: number;
}): Check {
  const values = { group, quorum: String(quorum), within: within.text };
  return {
    approval: { group, quorum, withinMs: within.ms, waitMs },
    evaluate: (callback, { approval: given, nowMs, scheme }) => {
      // Each member counts once.
      const approvers = members.filter((name) => given?.approvers.includes(name) === true);
      const names = approvers.length === 0 ? '' : ` (${approvers.join(', ')})`;
      const counted = `${approvers.length} of ${quorum} of ${group} approved it${names}`;
      const people = { ...values, approvers: approvers.join(' ') };
      const id = subjectOf(callback);
      if (given === undefined) return claimed(id, counted, people);
      const untilMs = Math.min(given.expiresAtMs, given.createdAtMs + countsMs);
      const problem = problemOf(given, { nowMs, untilMs });
      if (problem !== undefined) return claimed(id, problem, values);
      const order = given.order === true ? [announcedOrder(callback, scheme)] : [];
      if (approvers.length < quorum) return claimed(id, counted, people, { order });
      const because = `${counted}, and nothing has changed about that since`;
      const { version } = given;
      return { ...claimed(id, because, people, { version, order }), valid: { fromMs: 0, untilMs } };
    },
  };
}

/** Why nobody's approval counts. */
function problemOf(
  { because, createdAtMs }: PeoplesApproval,
  { nowMs, untilMs }: { readonly nowMs: number; readonly untilMs: number },
): string | undefined {
  if (because !== '') return because;
  // A person who can write to the store could ask for an approval of next year.
  if (createdAtMs > nowMs + CLOCKS_DIFFER_MS)
    return 'people were asked in the future, by a clock that is wrong';
  return nowMs < untilMs ? undefined : 'what was approved has expired';
}

/** Without a version, the claim never holds. */
const claimed = (
  id: string,
  because: string,
  values: RuleOutcome['values'],
  { version, order = [] }: { readonly version?: number; readonly order?: readonly ClaimRequest[] } = {},
): RuleOutcome => ({
  verdict: 'claim',
  because,
  values,
  claims: [{ type: 'approval', id, version }, ...order],
  retryable: true,
  failed: true,
});
