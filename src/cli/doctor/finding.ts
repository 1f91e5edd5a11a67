import { CountersignError, messageOf } from '../../errors.ts';

/** A finding of `doctor`. A warning or a fault says how to fix it. */
export interface Finding {
  readonly check:
    'settings' | 'keys' | 'asked' | 'platform' | 'store' | 'policies' | 'console' | 'reconcile' | 'ports';
  readonly state: 'ok' | 'warning' | 'fault';
  readonly because: string;
}

export type Attempt<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Finding };

/** The value of a check, or the fault that it threw. */
export async function attempt<T>(check: Finding['check'], run: () => Promise<T> | T): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await run() };
  } catch (thrown) {
    const because =
      thrown instanceof CountersignError ? thrown.message : `the check failed: ${messageOf(thrown)}`;
    return { ok: false, fault: { check, state: 'fault', because } };
  }
}

/** The findings of a check, or the fault that it threw. */
export async function guarded(
  check: Finding['check'],
  run: () => Promise<readonly Finding[]> | readonly Finding[],
): Promise<readonly Finding[]> {
  const tried = await attempt(check, run);
  return tried.ok ? tried.value : [tried.fault];
}
