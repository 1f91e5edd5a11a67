import type { Invariant, Read } from '../case.ts';
import { describeEntry } from '../case.ts';
import type { Limits } from '../history.ts';

interface Charged {
  readonly atMs: number;
  readonly amount: bigint;
}

/**
 * Works out anew, from the times and amounts of the approvals alone, whether any window of a limit's length,
 * wherever it begins, held more than the limit that was in force at the last approval in it. Every approval
 * counts in the windows in which it is given; a subject counts once in a window, at its latest approval.
 *
 * Both ends belong to a window: instants are whole milliseconds, and what lies `lengthMs` apart by them may
 * have been less.
 */
export const withinLimits: Invariant = {
  name: 'no window is over its limit',
  check({ approved, acts }) {
    const limits = new Map(acts.flatMap((act) => (act.type === 'push' ? [[act.revision, act.limits]] : [])));
    /** By counter and subject, the latest. */
    const counters = new Map<string, Map<string, Charged>>();
    const broken: string[] = [];
    let checked = 0;
    for (const each of approved.filter(({ entry }) => entry.type !== 'notice')) {
      const inForce = limits.get(each.entry.revision);
      if (inForce === undefined) broken.push(`${describeEntry(each)}: its revision was never pushed`);
      for (const charge of each.callback?.charges ?? []) {
        const limit = inForce?.[charge.limit];
        if (limit === undefined) continue;
        const { atMs, subject, source } = each.entry;
        checked += 1;
        const charges = counters.get(charge.counter) ?? new Map<string, Charged>();
        charges.set(`${source} ${subject}`, { atMs, amount: charge.amount });
        counters.set(charge.counter, charges);
        for (const [who, other] of charges) if (other.atMs < atMs - limit.lengthMs) charges.delete(who);
        const said = over(each, [...charges.values()], limit);
        if (said !== undefined) broken.push(`${charge.counter}: ${said}`);
      }
    }
    return { checked, broken };
  },
};

function over(each: Read, within: readonly Charged[], { max, lengthMs }: Limits[string]): string | undefined {
  const sum = within.reduce((total, { amount }) => total + amount, 0n);
  if (sum <= max) return undefined;
  return `${describeEntry(each)} makes it ${sum} of at most ${max} (units of 10^-36) in the ${lengthMs} ms until ${each.entry.atMs}`;
}
