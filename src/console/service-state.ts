import type { Bar } from './chart.ts';

export const PERIODS = ['hour', 'day', 'week'] as const;
export type Period = (typeof PERIODS)[number];

/** What a service says of itself. The store doesn't have it. */
export interface ServiceState {
  /** What `/readyz` says. */
  readonly readiness: {
    readonly ready: boolean;
    readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly because: string }[];
  };
  /** What it has answered since its start. */
  readonly activity: {
    readonly sinceMs: number;
    readonly over: Readonly<Record<Period, ActivityOver>>;
    readonly alarms: readonly {
      readonly atMs: number;
      readonly source?: string | undefined;
      readonly subject?: string | undefined;
      readonly code: string;
      readonly because: string;
      readonly decision?: string | undefined;
    }[];
  };
  /** Its last try to reconcile a day, if that failed. */
  readonly reconciliationFailure?:
    | { readonly day: string; readonly because: string; readonly count: number; readonly atMs: number }
    | undefined;
}

export interface ActivityOver {
  readonly slotMs: number;
  readonly slots: readonly Bar[];
  readonly refusals: readonly (readonly [cause: string, count: number])[];
}

/**
 * Asks the service that runs this console. Undefined if it has not said, and for a console that runs alone:
 * other pages, and the forms of the first one, don't need it.
 */
export type AskService = () => Promise<ServiceState | undefined>;
