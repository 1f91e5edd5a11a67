import { z } from 'zod';
import type { Lockout, Store } from '../store/store.ts';
import { isoTime, printable } from '../values/text.ts';
import type { Act } from './act.ts';

const input = z.strictObject({ source: z.string(), id: z.string(), message: z.string() });

export const liftLockout: Act<{ readonly store: Pick<Store, 'liftLockout'> }, typeof input, Lockout> = {
  name: 'lockout lift',
  summary: 'Lift a lock-out. Its refusals no longer count.',
  role: 'operate',
  input,
  perform: ({ store }, lift, by) => store.liftLockout({ ...lift, by }),
  fourEyes: { name: 'lockouts', judge: () => Promise.resolve({ is: 'looser' }) },
  text: (lifted) => `Lifted in ${lifted.source}: ${lockoutText(lifted)}`,
  notice: ({ source, whose }) => `Lifted the lock-out of ${whose} in ${source}.`,
  json: lockoutJson,
};

/** `userId 7: since …, after 3 refusals, until … (policy payments)`. */
export function lockoutText({ whose, policy, refusals, sinceMs, untilMs }: Lockout): string {
  const until = untilMs === 0 ? 'until it is lifted' : `until ${isoTime(untilMs)}`;
  return printable(
    `${whose}: since ${isoTime(sinceMs)}, after ${refusals} refusals, ${until} (policy ${policy})`,
  );
}

export function lockoutJson<T extends Lockout>({ sinceMs, untilMs, ...lockout }: T) {
  return { ...lockout, since: isoTime(sinceMs), until: untilMs === 0 ? null : isoTime(untilMs) };
}
