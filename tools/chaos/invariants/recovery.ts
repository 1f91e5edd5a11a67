import { type Invariant, findings, isWithin, overlaps, describe } from '../case.ts';
import type { Exchange } from '../history.ts';

/** After each fault, good callbacks are approved again, without a restart. */
export const recovers: Invariant = {
  name: 'it recovers by itself',
  check: ({ recoveries }) =>
    findings(recoveries, ({ fault, receiver, tookMs }) =>
      tookMs === undefined ? `${receiver} approved nothing after: ${fault}` : undefined,
    ),
};

/** A machine that stands still for a moment costs answers; more than this share is something else. */
const UNANSWERABLE_SHARE = 0.02;

/** In calm, what must be approved is never decided otherwise, and hardly ever fails. */
export const calmIsApproved: Invariant = {
  name: 'what is in order is approved in calm',
  check({ exchanges, calm, perhapsFrozen, acts, read }) {
    const contested = contestedIn(exchanges);
    const pushes = acts.filter(({ type }) => type === 'push');
    const looked = exchanges.filter(
      (each) =>
        each.callback.plain &&
        !contested.has(each.callback.subject) &&
        calm.some((span) => isWithin(span, each.sentAtMs, each.endedAtMs)) &&
        !perhapsFrozen.some((span) => overlaps(span, each)) &&
        !pushes.some(({ begunAtMs, endedAtMs }) => overlaps({ fromMs: begunAtMs, untilMs: endedAtMs }, each)),
    );
    const refused = new Set(
      read
        .filter(({ entry }) => entry.verdict === 'FAILURE' && entry.code !== 'FROZEN')
        .map(({ body }) => body),
    );
    const failed = looked.filter(({ answer }) => answer !== 'SUCCESS');
    const decided = findings(looked, (each) =>
      each.answer !== 'SUCCESS' && refused.has(each.callback.body)
        ? `${describe(each)}: it was decided so`
        : undefined,
    );
    const many = failed.length > Math.max(1, looked.length * UNANSWERABLE_SHARE);
    return {
      checked: looked.length,
      broken: [
        ...decided.broken,
        ...(many
          ? [`${failed.length} of ${looked.length} failed: ${failed.slice(0, 5).map(describe).join('; ')}`]
          : []),
      ],
    };
  },
};

/**
 * Subjects of which more than one set of terms was sent: whichever comes first stands, and the others are
 * refused.
 */
function contestedIn(exchanges: readonly Exchange[]): ReadonlySet<string> {
  const terms = new Map<string, string>();
  const contested = new Set<string>();
  for (const { callback } of exchanges) {
    const first = terms.get(callback.subject) ?? callback.terms;
    terms.set(callback.subject, first);
    if (first !== callback.terms) contested.add(callback.subject);
  }
  return contested;
}
