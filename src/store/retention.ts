/** How long a store keeps data, in milliseconds. A store may keep it a little longer. */
export interface Retention {
  /**
   * A subject, counted from its last callback; a mark and an approval request that was used, from the last
   * approval that claimed it; an order, from its expiry. It should be longer than the windows of the
   * policies: see src/start/policies.ts.
   */
  readonly subjectsMs: number;
  /** A journal entry, and a change of prices in the history. */
  readonly journalMs: number;
}

const DAY_MS = 86_400_000;

export const DEFAULT_RETENTION: Retention = { subjectsMs: 400 * DAY_MS, journalMs: 400 * DAY_MS };
