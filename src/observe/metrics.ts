import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { type CallbackReport, steps } from './report.ts';
import { within } from './within.ts';

export interface Metrics {
  callback(report: CallbackReport): void;
  /** A verb of the store rejected. */
  storeFailed(verb: string): void;
  /** A service or a module of the settings was asked. */
  pluginAnswered(inquiry: { readonly of: string; readonly name: string }, verdict: string): void;
  /** A call of the API without the right token. */
  apiDenied(): void;
  /** A callback was answered FAILURE, or a connection closed, before anything of it was read. */
  turnedAway(reason: string): void;
  /** A request was no callback, or a connection was closed for what its peer did. */
  unserved(reason: string): void;
  /** The revision in force; the empty text where there is none. */
  inForce(revision: string): void;
  /** The freezes that stand. */
  frozen(freezes: readonly { readonly id: string; readonly kind: string; readonly by: string }[]): void;
  /** How the store was found at the last look; the room on its disk where that is known. */
  store(state: {
    readonly writable: boolean;
    readonly moved: boolean;
    readonly freeBytes?: string | number | undefined;
  }): void;
  /** All files that can't be used while what was read from them before stays in use. */
  keysUnreadable(
    keys: readonly { readonly source: string; readonly file: string; readonly fingerprint: string }[],
  ): void;
  ready(yes: boolean): void;
  /** How the store's clock stands to its time. */
  clock(state: { readonly state: string; readonly aheadMs: number }): void;
  /** From where the numbers of journal entries come, a source each, whenever the metrics are read. */
  journalEntries(read: () => Promise<ReadonlyMap<string, number>>): void;
  /**
   * From where the times, in milliseconds, of each source's oldest journal entry come; none for an empty
   * journal.
   */
  journalOldest(read: () => Promise<ReadonlyMap<string, number>>): void;
  /** From where the numbers of replicas of a Redis come: `connected`, and `wanted` by an approval. */
  storeReplicas(read: () => Promise<ReadonlyMap<string, number>>): void;
  /** When the certificates that a setting names expire; undefined if that is not known. */
  certificateExpires(setting: string, atMs: number | undefined): void;
  text(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** For each number that is asked of the store. */
const STORE_TIMEOUT_MS = 1000;
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];

/** Metrics with a registry of their own, so that two services in one process do not share numbers. */
export function createMetrics({
  processMetrics = true,
}: { readonly processMetrics?: boolean } = {}): Metrics {
  const registers = [new Registry()] as const;
  const [registry] = registers;
  if (processMetrics) collectDefaultMetrics({ register: registry });
  const callback = callbackMetrics(registry);
  const storeErrors = new Counter({
    name: 'countersign_store_errors_total',
    help: 'Steps in the store that failed.',
    labelNames: ['verb'] as const,
    registers: [...registers],
  });
  const inquiries = new Counter({
    name: 'countersign_inquiries_total',
    help: 'Questions to services and modules, by what was answered: yes, no or failed.',
    labelNames: ['of', 'name', 'verdict'] as const,
    registers: [...registers],
  });
  const denied = new Counter({
    name: 'countersign_api_denied_total',
    help: 'Calls of the API without the right token.',
    registers: [...registers],
  });
  const turnedAway = new Counter({
    name: 'countersign_turned_away_total',
    help: 'Callbacks answered FAILURE without having been looked at, and connections closed unread (reasons connections and address-connections).',
    labelNames: ['reason'] as const,
    registers: [...registers],
  });
  const unserved = new Counter({
    name: 'countersign_unserved_total',
    help: 'Requests answered 404 (reason not-found) or 405 (method), and connections closed for what their peer did: pipelined, unread, malformed.',
    labelNames: ['reason'] as const,
    registers: [...registers],
  });
  const verbs = bounded(32);
  return {
    callback,
    storeFailed: (verb) => storeErrors.inc({ verb: verbs(verb) }),
    pluginAnswered: ({ of, name }, verdict) => inquiries.inc({ of, name, verdict }),
    apiDenied: () => denied.inc(),
    turnedAway: (reason) => turnedAway.inc({ reason }),
    unserved: (reason) => unserved.inc({ reason }),
    ...stateMetrics(registry),
    ...storeMetrics(registry),
    ...fileMetrics(registry),
    ...askedGauges(registry),
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

function gaugeOf<const T extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly T[] = [],
): Gauge<T> {
  return new Gauge({ name: `countersign_${name}`, help, labelNames, registers: [registry] });
}

/** Whether approvals are given, and by which policies. */
function stateMetrics(registry: Registry): Pick<Metrics, 'inForce' | 'frozen' | 'ready'> {
  const revisionInfo = gaugeOf(registry, 'revision_info', 'The policy revision in force.', ['revision']);
  const frozen = gaugeOf(registry, 'frozen', '1 while every approval is stopped.');
  const freezeInfo = gaugeOf(
    registry,
    'freeze_info',
    'The freezes that stand, by their ids. Those of kind loss stand until the loss is acknowledged.',
    ['freeze', 'kind', 'by'],
  );
  const ready = gaugeOf(registry, 'ready', '1 while the service is ready.');
  return {
    inForce(revision) {
      revisionInfo.reset();
      if (revision !== '') revisionInfo.set({ revision }, 1);
    },
    frozen(freezes) {
      frozen.set(freezes.length === 0 ? 0 : 1);
      freezeInfo.reset();
      for (const { id, kind, by } of freezes) freezeInfo.set({ freeze: id, kind, by }, 1);
    },
    ready: (yes) => ready.set(yes ? 1 : 0),
  };
}

function storeMetrics(registry: Registry): Pick<Metrics, 'store' | 'clock'> {
  const jumped = gaugeOf(
    registry,
    'clock_jumped',
    "1 while nothing is approved because the store's clock jumped ahead.",
  );
  const ahead = gaugeOf(
    registry,
    'clock_ahead_seconds',
    "By how much the store's clock is ahead of its time; below zero, behind.",
  );
  const writable = gaugeOf(registry, 'store_writable', '0 while the store can not be written to.');
  const moved = gaugeOf(
    registry,
    'store_moved',
    '1 once the files of the embedded store are no longer those at their path.',
  );
  const free = gaugeOf(registry, 'store_free_bytes', 'Room on the disk of the embedded store.');
  // Nothing is known of it yet, and never on Redis: a zero would be an alarm.
  free.remove();
  return {
    clock({ state, aheadMs }) {
      jumped.set(state === 'jumped' ? 1 : 0);
      ahead.set(aheadMs / 1000);
    },
    store(state) {
      writable.set(state.writable ? 1 : 0);
      moved.set(state.moved ? 1 : 0);
      if (typeof state.freeBytes === 'number') free.set(state.freeBytes);
      else if (state.writable) free.remove();
    },
  };
}

/** The files by which others know this service, and it knows them. */
function fileMetrics(registry: Registry): Pick<Metrics, 'certificateExpires' | 'keysUnreadable'> {
  const certificates = gaugeOf(
    registry,
    'certificate_expiry_timestamp_seconds',
    'When the certificates of a setting expire: the first of them, where a file holds several.',
    ['setting'],
  );
  const unreadable = gaugeOf(
    registry,
    'keys_unreadable',
    '1 for a file of a key that can not be used, while the key that was read before stays in use.',
    ['source', 'file', 'fingerprint'],
  );
  return {
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

function callbackMetrics(registry: Registry): (report: CallbackReport) => void {
  const counter = <const T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[],
  ): Counter<T> => new Counter({ name: `countersign_${name}`, help, labelNames, registers: [registry] });
  const decisions = counter('decisions_total', 'What became of callbacks whose sender was authenticated.', [
    'source',
    'kind',
    'verdict',
    'code',
    'rule',
  ]);
  const failures = counter('authentication_failures_total', 'Callbacks whose sender was not authenticated.', [
    'code',
  ]);
  const alarms = counter('alarms_total', 'What an operator must look at.', ['code']);
  const answers = counter('answers_total', 'Answers sent.', ['answer']);
  const seconds = new Histogram({
    name: 'countersign_callback_seconds',
    help: 'Time of the steps of a decision, and of all together.',
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
    // What came too late was counted when FAILURE was answered.
    const answered = report.outcome !== 'late';
    if (answered) answers.inc({ answer: report.verdict });
    if (report.alarm) alarms.inc({ code });
    if (report.source === undefined || report.outcome === 'unauthenticated') failures.inc({ code });
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

/** What is asked of the store whenever the metrics are read. */
function askedGauges(
  registry: Registry,
): Pick<Metrics, 'journalEntries' | 'journalOldest' | 'storeReplicas'> {
  return {
    journalEntries: (read) =>
      askedGauge(registry, {
        name: 'journal_entries',
        help: 'Entries in the journal.',
        labelNames: ['source'],
        read,
      }),
    journalOldest: (read) =>
      askedGauge(registry, {
        name: 'journal_oldest_timestamp_seconds',
        help: 'Time of the oldest entry in the journal.',
        labelNames: ['source'],
        read: async () => new Map([...(await read())].map(([source, atMs]) => [source, atMs / 1000])),
      }),
    storeReplicas: (read) =>
      askedGauge(registry, {
        name: 'store_replicas',
        help: 'Replicas of Redis that follow (on a Cluster, of the primary that has fewest), and how many an approval waits for.',
        labelNames: ['state'],
        read,
      }),
  };
}

interface AskedGauge {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly [string];
  /** A number for each value of the label. */
  readonly read: () => Promise<ReadonlyMap<string, number>>;
}

function askedGauge(registry: Registry, { name, help, labelNames, read }: AskedGauge): void {
  const [label] = labelNames;
  const gauge = new Gauge({
    name: `countersign_${name}`,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      // A store that does not answer leaves out its own numbers, not all the others.
      const found = await within(STORE_TIMEOUT_MS, (async () => read())()).catch(
        () => new Map<string, number>(),
      );
      gauge.reset();
      for (const [value, number] of found) gauge.set({ [label]: value }, number);
    },
  });
}

/**
 * Passes at most so many different values; all others are `other`. Each value of a label costs memory for
 * good.
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
