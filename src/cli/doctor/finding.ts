import { CountersignError, messageOf } from '../../errors.ts';

/** What `doctor` found out about one thing. Whatever is not ok says how to mend it. */
export interface Finding {
  readonly check: 'settings' | 'keys' | 'asked' | 'store' | 'policies' | 'ports';
  readonly state: 'ok' | 'warning' | 'fault';
  readonly because: string;
}

export type Attempt<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Finding };

/** What a look comes to, or the fault that kept it from coming to anything. */
export async function attempt<T>(check: Finding['check'], look: () => Promise<T> | T): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await look() };
  } catch (thrown) {
    const because =
      thrown instanceof CountersignError ? thrown.message : `the check failed: ${messageOf(thrown)}`;
    return { ok: false, fault: { check, state: 'fault', because } };
  }
}

/** What a check found; a fault for what it threw. */
export async function guarded(
  check: Finding['check'],
  look: () => Promise<readonly Finding[]> | readonly Finding[],
): Promise<readonly Finding[]> {
  const tried = await attempt(check, look);
  return tried.ok ? tried.value : [tried.fault];
}
