import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { COMMIT } from '../values/commit.ts';
import { VERSION } from '../values/version.ts';
import { rejectAfter } from './health.ts';
import { type CallbackReport, steps } from './report.ts';

export interface Metrics extends ReconcileMetrics {
  countCallback(report: CallbackReport): void;
  /**
   * A call to the store failed. `verb` is the name of the step: settle, notice, record, control or document.
   */
  storeFailed(verb: string): void;
  /** A service or module answered, or failed to answer, a question of a rule. */
  readonly pluginAnswered: (
    question: { readonly type: string; readonly name: string },
    verdict: string,
  ) => void;
  /** An API call had no token, or the wrong one. */
  apiDenied(): void;
  /** A callback was answered FAILURE before it was decoded, or a connection was closed unread. */
  turnedAway(reason: string): void;
  /** A request was not a callback, or a connection was closed for misuse. */
  unserved(reason: string): void;
  /** The revision in force; empty if there is none. */
  setInForce(revision: string): void;
  /** The freezes in force. */
  setFrozen(freezes: readonly { readonly id: string; readonly kind: string; readonly by: string }[]): void;
  /** The result of the last check of the store. `freeBytes` is the free space on its disk, if it is known. */
  setStore(state: {
    readonly writable: boolean;
    readonly moved: boolean;
    readonly freeBytes?: string | number | undefined;
  }): void;
  /** All files that can't be used, while the keys that were read from them before stay in use. */
  keysUnreadable(
    keys: readonly { readonly source: string; readonly file: string; readonly fingerprint: string }[],
  ): void;
  /** A key or secret has authenticated somebody. */
  keyUsed(owner: string, key: string, atMs: number): void;
  /**
   * Sets the function that lists the accepted keys and secrets by their owner: a source, a service, or
   * `ops.token`. It runs for each scrape.
   */
  acceptedKeys(read: () => ReadonlyMap<string, readonly string[]>): void;
  setReady(yes: boolean): void;
  /** The store's clock compared with the store's time. */
  setClock(state: { readonly state: string; readonly aheadMs: number }): void;
  /** When the first certificate of a setting expires; undefined if that isn't known. */
  certificateExpires(setting: string, atMs: number | undefined): void;
  /** Sets the function that counts the journal entries of each source. It runs for each scrape. */
  journalEntries(read: ReadNumbers): void;
  /** Sets the function that finds the time, in milliseconds, of each source's oldest journal entry. */
  journalOldest(read: ReadNumbers): void;
  /** Sets the function that counts replicas of Redis: `connected`, and `wanted` by an approval. */
  storeReplicas(read: ReadNumbers): void;
  /** Sets the function that says what waits for people, by source. It runs for each scrape. */
  requestsWaiting(read: () => ReadonlyMap<string, RequestsWaiting>): void;
  /** Sets the function that reads the counts of each receiver of notifications. It runs for each scrape. */
  notifications(read: () => readonly NotificationCounts[]): void;
  /** Sets the function that says how many lines of the log were dropped. It runs for each scrape. */
  linesDropped(read: () => number): void;
  text(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** The requests of a source that wait for people; the empty source: of all sources. */
export interface RequestsWaiting {
  readonly count: number;
  /** Since when the oldest of them waits. */
  readonly oldestMs: number | undefined;
}

/** The reconciliation that the service runs. */
export interface ReconcileMetrics {
  /** A run has ended, after `totalMs`, or failed. */
  countReconciliation(outcome: 'settled' | 'exceptions' | 'failed', totalMs?: number): void;
  setReconciliation(state: {
    /** When the next day is due. */
    readonly dueMs: number;
    /** The run of the newest day: the end of the day, when it was made, and how many coins differ. */
    readonly last: {
      readonly untilMs: number;
      readonly atMs: number;
      readonly unexplained: number;
    } | null;
    /** The open exceptions of all days, for each class. */
    readonly open: readonly { readonly class: string; readonly level: string; readonly count: number }[];
  }): void;
}

const NOTIFICATION_OUTCOMES = ['sent', 'failed', 'dropped'] as const;

/**
 * Of a host that receives notifications: those sent, attempts that failed, those dropped, those that wait.
 */
export type NotificationCounts = Readonly<
  Record<(typeof NOTIFICATION_OUTCOMES)[number] | 'waiting', number>
> & {
  readonly receiver: string;
};

/** Numbers by the value of a label. */
type ReadNumbers = () => Promise<ReadonlyMap<string, number>>;

/** The time limit of each {@link ReadNumbers}. */
const STORE_TIMEOUT_MS = 1000;
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];

/** Each call has its own registry, so that two services in one process don't share numbers. */
export function createMetrics({
  processMetrics = true,
}: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry });
  const build = 'The version of the program, and the commit that it is made from.';
  gaugeOf(registry, 'build_info', build, ['version', 'commit']).set({ version: VERSION, commit: COMMIT }, 1);
  const countCallback = callbackMetrics(registry);
  const storeErrors = counterOf(registry, 'store_errors_total', 'Steps in the store that failed.', ['verb']);
  const pluginAnswers = counterOf(
    registry,
    'inquiries_total',
    'Questions to services and modules, by the answer: yes, no or failed.',
    ['of', 'name', 'verdict'],
  );
  const denied = counterOf(registry, 'api_denied_total', 'API calls without the right token.');
  const turnedAway = counterOf(
    registry,
    'turned_away_total',
    'Callbacks answered FAILURE before they were decoded, and connections closed unread' +
      ' (reasons connections and address-connections).',
    ['reason'],
  );
  const unserved = counterOf(
    registry,
    'unserved_total',
    'Requests answered 404 (reason not-found) or 405 (method), and connections closed for misuse:' +
      ' pipelined, unread, malformed, proxy-protocol.',
    ['reason'],
  );
  const lines = 'Lines of the log that were dropped, because too many waited for their reader.';
  const verbs = bounded(32);
  return {
    countCallback,
    storeFailed: (verb) => storeErrors.inc({ verb: verbs(verb) }),
    pluginAnswered: ({ type, name }, verdict) => pluginAnswers.inc({ of: type, name, verdict }),
    apiDenied: () => denied.inc(),
    turnedAway: (reason) => turnedAway.inc({ reason }),
    unserved: (reason) => unserved.inc({ reason }),
    ...requestMetrics(registry),
    linesDropped: (read) => void totalOf(registry, 'log_lines_dropped_total', lines, read),
    ...notificationMetrics(registry),
    ...stateMetrics(registry),
    ...storeMetrics(registry),
    ...keyMetrics(registry),
    ...reconcileMetrics(registry),
    ...scrapedMetrics(registry),
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

function counterOf<const T extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly T[] = [],
): Counter<T> {
  return new Counter({ name: `countersign_${name}`, help, labelNames, registers: [registry] });
}

/** A counter of something that is counted elsewhere. */
function totalOf(registry: Registry, name: string, help: string, read: () => number): Counter {
  return new Counter({
    name: `countersign_${name}`,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

function gaugeOf<const T extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly T[] = [],
): Gauge<T> {
  return new Gauge({ name: `countersign_${name}`, help, labelNames, registers: [registry] });
}

function notificationMetrics(registry: Registry): Pick<Metrics, 'notifications'> {
  let read: () => readonly NotificationCounts[] = () => [];
  void new Counter({
    name: 'countersign_notifications_total',
    help: 'Notifications that were sent or dropped, and attempts that failed, by the host of the receiver.',
    labelNames: ['receiver', 'outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { receiver, ...counts } of read()) {
        for (const outcome of NOTIFICATION_OUTCOMES) this.inc({ receiver, outcome }, counts[outcome]);
      }
    },
  });
  void new Gauge({
    name: 'countersign_notifications_waiting',
    help: 'Notifications that wait to be sent, by the host of the receiver.',
    labelNames: ['receiver'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { receiver, waiting } of read()) this.inc({ receiver }, waiting);
    },
  });
  return { notifications: (next) => void (read = next) };
}

/** What waits for people. */
function requestMetrics(registry: Registry): Pick<Metrics, 'requestsWaiting'> {
  let read: () => ReadonlyMap<string, RequestsWaiting> = () => new Map();
  const scraped = (
    name: string,
    help: string,
    numberOf: (requests: RequestsWaiting) => number | undefined,
  ): unknown =>
    new Gauge({
      name: `countersign_${name}`,
      help,
      labelNames: ['source'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [source, requests] of read()) {
          const number = numberOf(requests);
          if (number !== undefined) this.set({ source }, number);
        }
      },
    });
  scraped(
    'approval_requests',
    'Requests that wait for people. The empty source: those that hold for all sources.',
    ({ count }) => count,
  );
  scraped(
    'approval_request_oldest_timestamp_seconds',
    'Since when the oldest request of a source waits for people.',
    ({ oldestMs }) => (oldestMs === undefined ? undefined : oldestMs / 1000),
  );
  return { requestsWaiting: (next) => void (read = next) };
}

/** Whether the service approves, and by which policies. */
function stateMetrics(registry: Registry): Pick<Metrics, 'setInForce' | 'setFrozen' | 'setReady'> {
  const revisionInfo = gaugeOf(registry, 'revision_info', 'The policy revision in force.', ['revision']);
  const frozen = gaugeOf(registry, 'frozen', '1 while all approvals are frozen, also what people approve.');
  const freezeInfo = gaugeOf(
    registry,
    'freeze_info',
    'The freezes in force, by id. A freeze of kind loss lasts until the loss is acknowledged; one of kind ' +
      'except-approved excepts what people approve.',
    ['freeze', 'kind', 'by'],
  );
  const ready = gaugeOf(registry, 'ready', '1 while the service is ready.');
  return {
    setInForce(revision) {
      revisionInfo.reset();
      if (revision !== '') revisionInfo.set({ revision }, 1);
    },
    setFrozen(freezes) {
      frozen.set(freezes.some(({ kind }) => kind !== 'except-approved') ? 1 : 0);
      freezeInfo.reset();
      for (const { id, kind, by } of freezes) freezeInfo.set({ freeze: id, kind, by }, 1);
    },
    setReady: (yes) => ready.set(yes ? 1 : 0),
  };
}

function storeMetrics(registry: Registry): Pick<Metrics, 'setStore' | 'setClock'> {
  const jumped = gaugeOf(
    registry,
    'clock_jumped',
    "1 while approvals are stopped because the store's clock jumped ahead.",
  );
  const ahead = gaugeOf(
    registry,
    'clock_ahead_seconds',
    "How far the store's clock is ahead of the store's time; negative if it is behind.",
  );
  const writable = gaugeOf(registry, 'store_writable', '0 while the store is not writable.');
  const moved = gaugeOf(registry, 'store_moved', '1 once other files are at the path of the embedded store.');
  const free = gaugeOf(registry, 'store_free_bytes', 'Free space on the disk of the embedded store.');
  // The free space isn't known yet, and on Redis it is never known. A zero would raise an alarm.
  free.remove();
  return {
    setClock({ state, aheadMs }) {
      jumped.set(state === 'jumped' ? 1 : 0);
      ahead.set(aheadMs / 1000);
    },
    setStore(state) {
      writable.set(state.writable ? 1 : 0);
      moved.set(state.moved ? 1 : 0);
      if (typeof state.freeBytes === 'number') free.set(state.freeBytes);
      else if (state.writable) free.remove();
    },
  };
}

/** Certificates, keys and secrets. */
function keyMetrics(
  registry: Registry,
): Pick<Metrics, 'certificateExpires' | 'keysUnreadable' | 'keyUsed' | 'acceptedKeys'> {
  const certificates = gaugeOf(
    registry,
    'certificate_expiry_timestamp_seconds',
    'When the first certificate of a setting expires.',
    ['setting'],
  );
  const unreadable = gaugeOf(
    registry,
    'keys_unreadable',
    "1 for a key file that can't be used, while the key that was read before stays in use.",
    ['source', 'file', 'fingerprint'],
  );
  const usedAtMs = new Map<string, number>();
  const keyOf = (owner: string, key: string): string => `${owner} ${key}`;
  return {
    keyUsed: (owner, key, atMs) => void usedAtMs.set(keyOf(owner, key), atMs),
    acceptedKeys(read) {
      void new Gauge({
        name: 'countersign_key_last_used_timestamp_seconds',
        help: 'When an accepted key or secret last authenticated somebody; 0 if it has not since the start.',
        labelNames: ['owner', 'key'],
        registers: [registry],
        collect() {
          this.reset();
          for (const [owner, keys] of read()) {
            for (const key of keys) {
              this.set({ owner, key }, (usedAtMs.get(keyOf(owner, key)) ?? 0) / 1000);
            }
          }
        },
      });
    },
    certificateExpires(setting, atMs) {
      if (atMs === undefined) certificates.remove({ setting });
      else certificates.set({ setting }, atMs / 1000);
    },
    keysUnreadable(keys) {
      unreadable.reset();
      for (const { source, file, fingerprint } of keys) unreadable.set({ source, file, fingerprint }, 1);
    },
  };
}

/** Without a reconciliation they have no values. */
function reconcileMetrics(registry: Registry): ReconcileMetrics {
  const runs = counterOf(
    registry,
    'reconcile_runs_total',
    'Reconciled days, by outcome: settled, exceptions (one is open) or failed (to be tried again).',
    ['outcome'],
  );
  const gauge = (name: string, help: string): Gauge => {
    const made = gaugeOf(registry, `reconcile_${name}`, help);
    made.remove();
    return made;
  };
  const seconds = gauge('run_seconds', 'Duration of the last run of this replica.');
  const due = gauge('due_timestamp_seconds', 'When the next day is due.');
  const dayEnd = gauge('day_end_timestamp_seconds', 'End of the newest day that was reconciled.');
  const runAt = gauge('run_timestamp_seconds', 'When that day was reconciled.');
  const unexplained = gauge(
    'unexplained_coins',
    'Coins of that day with a difference that nothing explains.',
  );
  const open = gaugeOf(registry, 'reconcile_open', 'Open exceptions of all days, by class and level.', [
    'class',
    'level',
  ]);
  return {
    countReconciliation(outcome, totalMs) {
      runs.inc({ outcome });
      if (totalMs !== undefined) seconds.set(totalMs / 1000);
    },
    setReconciliation({ dueMs, last, open: found }) {
      due.set(dueMs / 1000);
      if (last !== null) {
        dayEnd.set(last.untilMs / 1000);
        runAt.set(last.atMs / 1000);
        unexplained.set(last.unexplained);
      }
      for (const { class: name, level, count } of found) open.set({ class: name, level }, count);
    },
  };
}

function callbackMetrics(registry: Registry): (report: CallbackReport) => void {
  const decisions = counterOf(registry, 'decisions_total', 'Callbacks from authenticated senders.', [
    'source',
    'kind',
    'verdict',
    'code',
    'rule',
  ]);
  const failures = counterOf(
    registry,
    'authentication_failures_total',
    'Callbacks whose sender was not authenticated. source is the source whose keys were tried, or unknown.',
    ['code', 'source'],
  );
  const alarms = counterOf(registry, 'alarms_total', 'Alarms, which an operator must look at.', ['code']);
  const answers = counterOf(registry, 'answers_total', 'Answers sent.', ['answer']);
  const seconds = new Histogram({
    name: 'countersign_callback_seconds',
    help: 'Duration of the steps of a decision, and the total without the wait for people (step hold).',
    labelNames: ['step'] as const,
    buckets: BUCKETS,
    registers: [registry],
  });
  const timers = steps.map((step) => [step, seconds.labels(step)] as const);
  const total = seconds.labels('total');
  const codes = bounded(128);
  const rules = bounded(512);
  return (report) => {
    const code = codes(report.code);
    // `late` is the second report of a callback, whose answer is counted already.
    const answered = report.outcome !== 'late';
    if (answered) answers.inc({ answer: report.verdict });
    if (report.alarm) alarms.inc({ code });
    if (report.source === undefined || report.outcome === 'unauthenticated')
      failures.inc({ code, source: report.unverified?.source ?? 'unknown' });
    else {
      const { source, verdict, kind = '', rule = '' } = report;
      decisions.inc({ source, kind, verdict, code, rule: rules(rule) });
    }
    for (const [step, timer] of timers) {
      const stepMs = report.stepsMs[step];
      if (stepMs !== undefined) timer.observe(stepMs / 1000);
    }
    if (answered) total.observe(report.totalMs / 1000);
  };
}

/** Metrics that are read from the store for each scrape. */
function scrapedMetrics(
  registry: Registry,
): Pick<Metrics, 'journalEntries' | 'journalOldest' | 'storeReplicas'> {
  const scraped =
    (name: string, help: string, [label]: readonly [string], unit = 1) =>
    (read: ReadNumbers): void => {
      const gauge = new Gauge({
        name: `countersign_${name}`,
        help,
        labelNames: [label],
        registers: [registry],
        async collect() {
          // A store that doesn't answer leaves out its own metrics, not all the others.
          const found = await rejectAfter(STORE_TIMEOUT_MS, (async () => read())()).catch(
            () => new Map<string, number>(),
          );
          gauge.reset();
          for (const [value, number] of found) gauge.set({ [label]: value }, number / unit);
        },
      });
    };
  return {
    journalEntries: scraped('journal_entries', 'Entries in the journal.', ['source']),
    journalOldest: scraped(
      'journal_oldest_timestamp_seconds',
      'Time of the oldest entry in the journal.',
      ['source'],
      1000,
    ),
    storeReplicas: scraped(
      'store_replicas',
      'Replicas of Redis: connected, and wanted by an approval. On a Cluster, of the primary that has ' +
        'fewest.',
      ['state'],
    ),
  };
}

/**
 * Passes the first `limit` values, and `other` for the rest: each value of a label takes up memory until the
 * process ends.
 */
function bounded(limit: number): (value: string) => string {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= limit || value.length > 160) return 'other';
    seen.add(value);
    return value;
  };
}
