import type { Invariant, Read } from '../case.ts';
import { describeEntry } from '../case.ts';
import type { Limits } from '../history.ts';

interface Charged {
  readonly atMs: number;
  readonly amount: bigint;
}

/**
 * A rolling window may count what it holds for one of its 60 parts too long, and so not charge a subject
 * again before.
 */
const PARTS = 60;

/**
 * Works out anew, from the times and amounts of the approvals alone, whether any window of a limit's length,
 * wherever it begins, held more than the limit that was in force at the last approval in it. A subject is
 * charged once, and again only if it is approved after all that it had reserved counts no more.
 *
 * Both ends belong to a window: instants are whole milliseconds, and what lies `lengthMs` apart by them may
 * have been less.
 */
export const withinLimits: Invariant = {
  name: 'no window is over its limit',
  check({ approved, acts }) {
    const limits = new Map(acts.flatMap((act) => (act.type === 'push' ? [[act.revision, act.limits]] : [])));
    const counters = new Map<string, Charged[]>();
    const lastCharged = new Map<string, number>();
    const broken: string[] = [];
    let checked = 0;
    for (const each of approved.filter(({ entry }) => entry.type !== 'notice')) {
      const inForce = limits.get(each.entry.revision);
      if (inForce === undefined) broken.push(`${describeEntry(each)}: its revision was never pushed`);
      for (const charge of each.callback?.charges ?? []) {
        const limit = inForce?.[charge.limit];
        if (limit === undefined) continue;
        const { atMs, subject, source } = each.entry;
        const who = `${charge.counter} ${source} ${subject}`;
        const againAfterMs = limit.lengthMs + Math.ceil(limit.lengthMs / PARTS);
        if (atMs - (lastCharged.get(who) ?? -Infinity) <= againAfterMs) continue;
        lastCharged.set(who, atMs);
        checked += 1;
        const charges = counters.get(charge.counter) ?? [];
        charges.push({ atMs, amount: charge.amount });
        const within = charges.filter((other) => other.atMs >= atMs - limit.lengthMs);
        counters.set(charge.counter, within);
        const said = over(each, within, limit);
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
