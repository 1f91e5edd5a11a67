import { CountersignError, messageOf } from '../../errors.ts';
import type { Settings } from '../../settings/schema.ts';
import type { Store } from '../../store/store.ts';
import type { Session } from '../session.ts';

/** A finding of `doctor`. A warning or a fault says how to fix it. */
export interface Finding {
  readonly check:
    | 'settings'
    | 'keys'
    | 'asked'
    | 'notified'
    | 'platform'
    | 'store'
    | 'policies'
    | 'console'
    | 'reconcile'
    | 'ports';
  readonly state: 'ok' | 'warning' | 'fault';
  readonly because: string;
}

/** What is examined. */
export interface Examined {
  readonly session: Session;
  readonly settings: Settings;
  /** The open store, once its check found it usable. Undefined if it can't be used or doesn't exist yet. */
  store: Store | undefined;
}

/** A finding of the check that made it. */
export type Found = Omit<Finding, 'check'>;

export const ok = (because: string): Found => ({ state: 'ok', because });
export const warning = (because: string, cure?: string): Found => problem('warning', because, cure);
export const fault = (because: string, cure?: string): Found => problem('fault', because, cure);

const problem = (state: Found['state'], because: string, cure?: string): Found => ({
  state,
  because: cure === undefined ? because : `${because}; ${cure}`,
});

export const hasFault = (found: readonly Found[]): boolean => found.some(({ state }) => state === 'fault');

/** Something that can be wrong: when it is, what that means, and how to fix it. */
export interface Problem<T> {
  readonly state: 'warning' | 'fault';
  readonly if: (subject: T) => boolean;
  readonly because: (subject: T) => string;
  readonly cure: string | ((subject: T) => string);
}

export function problemsOf<T>(rows: readonly Problem<T>[], subject: T): readonly Found[] {
  return rows
    .filter((row) => row.if(subject))
    .map(({ state, because, cure }) =>
      problem(state, because(subject), typeof cure === 'string' ? cure : cure(subject)),
    );
}

export type Attempt<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Found };

/** The value of a check, or the fault that it threw. */
export async function attempt<T>(run: () => Promise<T> | T): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await run() };
  } catch (thrown) {
    const because =
      thrown instanceof CountersignError ? thrown.message : `the check failed: ${messageOf(thrown)}`;
    return { ok: false, fault: fault(because) };
  }
}

/** What a check found, or the fault that it threw. */
export async function guarded(
  check: () => Promise<readonly Found[]> | readonly Found[],
): Promise<readonly Found[]> {
  const tried = await attempt(check);
  return tried.ok ? tried.value : [tried.fault];
}

/** What a check found about each of several, so that a fault of one hides no other. */
export async function guardedEach<T>(
  several: readonly T[],
  check: (one: T) => Promise<readonly Found[]> | readonly Found[],
): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const one of several) found.push(...(await guarded(() => check(one))));
  return found;
}
