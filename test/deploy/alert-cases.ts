/** Series over which an alert fires, or does not. */
export interface AlertCase {
  /** In the notation of promtool, a value each `step`. */
  readonly series: Readonly<Record<string, string>>;
  /** When it is looked at; default 30m. */
  readonly at?: string;
  /** Default 1m. */
  readonly step?: string;
}

export interface AlertCases {
  /** With the labels of what fires, beside severity and name. */
  readonly fires: readonly (AlertCase & { readonly labels?: Readonly<Record<string, string>> })[];
  readonly silent: readonly AlertCase[];
}

const A = 'job="countersign", instance="10.0.0.1:9090"';
const B = 'job="countersign", instance="10.0.0.2:9090"';
/** As a job that scrapes what has the annotations of deploy/kubernetes/service.yaml is usually called. */
const ANNOTATED = 'job="kubernetes-service-endpoints", instance="10.0.0.1:9090"';
const STRANGER = 'job="node-exporter", instance="10.0.0.9:9100"';
const READY = `countersign_ready{${A}}`;

const replica = { job: 'countersign', instance: '10.0.0.1:9090' };
const annotated = { ...replica, job: 'kubernetes-service-endpoints' };

/** An alarm that was raised once or more often fires for ten minutes. */
const alarm = (code: string, other: string): AlertCases => {
  const counter = (name: string): string => `countersign_alarms_total{${A}, code="${name}"}`;
  return {
    fires: [
      { series: { [counter(code)]: '_x27 1x20' }, labels: { code } },
      { series: { [counter(code)]: '5x26 6x20' }, labels: { code } },
    ],
    silent: [
      { series: { [counter(code)]: '5x40' } },
      { series: { [counter(code)]: '_x10 1x40' } },
      { series: { [counter(other)]: '_x27 1x20' } },
      { series: {} },
    ],
  };
};

/** A counter of which the very first counts as well. */
const countedOnce = (
  series: string,
  other: string,
  labels: Readonly<Record<string, string>>,
): AlertCases => ({
  fires: [
    { series: { [series]: '_x27 1x20' }, labels },
    { series: { [series]: '7x26 8x20' }, labels },
  ],
  silent: [{ series: { [series]: '7x40' } }, { series: { [other]: '_x27 1x20' } }],
});

const UNREADABLE = { source: 'shop', file: 'keys/platform.pub', fingerprint: 'SHA256:abc' };
const unreadable = (of: string): string =>
  `countersign_keys_unreadable{${of}, source="shop", file="keys/platform.pub", fingerprint="SHA256:abc"}`;
const decisions = (labels: string): string => `countersign_decisions_total{${A}, source="shop", ${labels}}`;
const replicas = (state: string, of = A): string => `countersign_store_replicas{${of}, state="${state}"}`;
const expiry = (setting: string): string =>
  `countersign_certificate_expiry_timestamp_seconds{${A}, setting="${setting}"}`;
const DAY = 86_400;
const opened = (level: string, name: string, of = A): string =>
  `countersign_reconcile_open{${of}, class="${name}", level="${level}"}`;
const DUE = `countersign_reconcile_due_timestamp_seconds{${A}}`;
const bucket = (le: string): string => `countersign_callback_seconds_bucket{${A}, step="total", le="${le}"}`;

/** For each alert of deploy/prometheus/alerts.yaml what makes it fire, and what comes near and does not. */
export const alertCases: Readonly<Record<string, AlertCases>> = {
  CountersignTermsChanged: alarm('TERMS_CHANGED', 'TXID_UNEXPECTED'),
  CountersignSchemeChanged: alarm('SCHEME_CHANGED', 'TERMS_CHANGED'),
  CountersignSignedWithoutApproval: alarm('SIGNED_WITHOUT_APPROVAL', 'TERMS_CHANGED'),
  CountersignTxidUnexpected: alarm('TXID_UNEXPECTED', 'SIGNED_WITHOUT_APPROVAL'),
  CountersignSignedAfterRelease: alarm('SIGNED_AFTER_RELEASE', 'TXID_UNEXPECTED'),
  CountersignOtherAlarm: alarm('SOMETHING_NEW', 'TERMS_CHANGED'),
  CountersignFrozen: {
    fires: [{ series: { [`countersign_frozen{${A}}`]: '0x40', [`countersign_frozen{${B}}`]: '0x20 1x20' } }],
    silent: [{ series: { [`countersign_frozen{${A}}`]: '0x20 1x5 0x20' } }],
  },
  CountersignClockJumped: {
    fires: [
      {
        series: {
          [`countersign_clock_jumped{${A}}`]: '0x40',
          [`countersign_clock_jumped{${B}}`]: '0x20 1x20',
        },
      },
    ],
    silent: [{ series: { [`countersign_clock_jumped{${A}}`]: '0x20 1x5 0x20' } }, { series: {} }],
  },
  CountersignAbsent: {
    fires: [{ series: {} }, { series: { [READY]: '1x20' } }],
    silent: [{ series: { [READY]: '0x40' } }, { series: { [READY]: '1x24' } }],
  },
  CountersignNoneReady: {
    fires: [{ series: { [READY]: '1x20 0x20', [`countersign_ready{${B}}`]: '0x40' } }],
    silent: [{ series: { [READY]: '0x40', [`countersign_ready{${B}}`]: '1x40' } }, { series: {} }],
  },
  CountersignNothingInForce: {
    fires: [{ series: { [READY]: '0x40' } }],
    silent: [
      { series: { [READY]: '1x40', [`countersign_revision_info{${A}, revision="3f9c"}`]: '1x40' } },
      { series: {} },
    ],
  },
  CountersignKeysUnavailable: countedOnce(
    `countersign_authentication_failures_total{${A}, code="KEYS_UNAVAILABLE"}`,
    `countersign_authentication_failures_total{${A}, code="SIGN_WRONG"}`,
    { code: 'KEYS_UNAVAILABLE' },
  ),
  CountersignKeyUnreadable: {
    fires: [{ series: { [unreadable(A)]: '_x20 1x20', [unreadable(B)]: '1x40' }, labels: UNREADABLE }],
    silent: [{ series: { [unreadable(A)]: '1x20' } }, { series: {} }],
  },
  CountersignStoreMoved: {
    fires: [
      { series: { [`countersign_store_moved{${A}}`]: '0x20 1x20' }, labels: { instance: replica.instance } },
    ],
    silent: [{ series: { [`countersign_store_moved{${A}}`]: '0x40' } }, { series: {} }],
  },
  CountersignStoreNotWritable: {
    fires: [
      {
        series: {
          [`countersign_store_writable{${A}}`]: '1x20 0x20',
          [`countersign_store_writable{${B}}`]: '1x40',
        },
        labels: { instance: replica.instance },
      },
    ],
    silent: [
      { series: { [`countersign_store_writable{${A}}`]: '1x40' } },
      { series: { [`countersign_store_writable{${A}}`]: '1x29 0x20' } },
      { series: {} },
    ],
  },
  CountersignInternalFailure: countedOnce(
    decisions('verdict="FAILURE", code="INTERNAL"'),
    decisions('verdict="FAILURE", code="RULE_REFUSED"'),
    { code: 'INTERNAL' },
  ),
  CountersignReplicasTooFew: {
    fires: [
      { series: { [replicas('connected')]: '2x20 1x20', [replicas('wanted')]: '2x40' } },
      {
        series: {
          [replicas('connected')]: '2x40',
          [replicas('connected', B)]: '2x20 1x20',
          [replicas('wanted')]: '2x40',
          [replicas('wanted', B)]: '2x40',
        },
      },
    ],
    silent: [
      { series: { [replicas('connected')]: '2x40', [replicas('wanted')]: '2x40' } },
      { series: { [replicas('connected')]: '0x40', [replicas('wanted')]: '0x40' } },
      { series: {} },
    ],
  },
  CountersignCertificateExpired: {
    fires: [
      {
        series: { [expiry('public.tls.certificate')]: '80000x40' },
        labels: { setting: 'public.tls.certificate' },
      },
      { series: { [expiry('store.tls.ca')]: '-5x40' }, labels: { setting: 'store.tls.ca' } },
    ],
    silent: [{ series: { [expiry('public.tls.certificate')]: `${2 * DAY}x40` } }, { series: {} }],
  },
  CountersignReconciliationAlarm: {
    fires: [
      {
        series: {
          [opened('alarm', 'billed-twice')]: '0x25 2x20',
          [opened('alarm', 'billed-twice', B)]: '0x40',
          [opened('alarm', 'signed-twice')]: '0x40',
        },
        labels: { class: 'billed-twice' },
      },
    ],
    silent: [
      { series: { [opened('alarm', 'billed-twice')]: '2x25 0x20' } },
      { series: { [opened('exception', 'approved-not-billed')]: '3x40' } },
      { series: {} },
    ],
  },
  CountersignClockBehind: {
    fires: [
      {
        series: {
          [`countersign_clock_ahead_seconds{${A}}`]: '0x20 -90x20',
          [`countersign_clock_ahead_seconds{${B}}`]: '0x40',
        },
      },
    ],
    silent: [
      { series: { [`countersign_clock_ahead_seconds{${A}}`]: '-60x40' } },
      { series: { [`countersign_clock_ahead_seconds{${A}}`]: '0x28 -90x20' } },
      { series: { [`countersign_clock_ahead_seconds{${A}}`]: '90x40' } },
    ],
  },
  CountersignNoCallbacks: {
    fires: [
      {
        series: { [decisions('verdict="SUCCESS", code="APPROVED"')]: '0+1x60 60x100' },
        at: '150m',
        labels: { source: 'shop' },
      },
      {
        // Another source goes on.
        series: {
          [decisions('verdict="SUCCESS", code="APPROVED"')]: '0+1x60 60x100',
          [`countersign_decisions_total{${A}, source="vault", verdict="SUCCESS", code="APPROVED"}`]:
            '0+1x160',
        },
        at: '150m',
        labels: { source: 'shop' },
      },
    ],
    silent: [
      { series: { [decisions('verdict="SUCCESS", code="APPROVED"')]: '0+1x60 60x40 61x60' }, at: '150m' },
      // The first of its code within the hour: its counter was not there before.
      {
        series: {
          [decisions('verdict="SUCCESS", code="APPROVED"')]: '0+1x60 60x100',
          [decisions('verdict="FAILURE", code="RULE_REFUSED"')]: '_x120 1x40',
        },
        at: '150m',
      },
      // Nothing ever came.
      { series: { [READY]: '1x200' }, at: '150m' },
    ],
  },
  CountersignReplicaGone: {
    fires: [{ series: { [replicas('connected')]: '3x10 2x40' } }],
    silent: [
      { series: { [replicas('connected')]: '3x22 2x4 3x20' } },
      { series: { [replicas('connected')]: '2x10 3x40' } },
      { series: { [replicas('connected')]: '3x25 2x40' } },
    ],
  },
  CountersignCertificateExpires: {
    fires: [
      {
        series: {
          [expiry('public.tls.clientCa')]: `${13 * DAY}x40`,
          [expiry('store.tls.ca')]: `${99 * DAY}x40`,
        },
        labels: { setting: 'public.tls.clientCa' },
      },
    ],
    silent: [{ series: { [expiry('public.tls.certificate')]: `${15 * DAY}x40` } }],
  },
  CountersignReplicaDown: {
    fires: [
      { series: { [`up{${A}}`]: '1x20 0x20' }, labels: replica },
      {
        series: { [`up{${ANNOTATED}}`]: '1x20 0x20', [`countersign_ready{${ANNOTATED}}`]: '1x20' },
        labels: annotated,
      },
    ],
    silent: [
      { series: { [`up{${A}}`]: '1x40' } },
      { series: { [`up{${STRANGER}}`]: '1x20 0x20', [READY]: '1x40' } },
    ],
  },
  CountersignReplicaNotReady: {
    fires: [{ series: { [READY]: '1x20 0x20', [`countersign_ready{${B}}`]: '1x40' }, labels: replica }],
    silent: [{ series: { [READY]: '1x40' } }, { series: { [READY]: '1x20 0x3 1x20' } }],
  },
  CountersignRestarts: {
    fires: [
      {
        series: { [`process_start_time_seconds{${A}}`]: '1x10 2x5 3x5 4x20', [READY]: '1x40' },
        labels: replica,
      },
      {
        series: {
          [`process_start_time_seconds{${ANNOTATED}}`]: '1x10 2x5 3x5 4x20',
          [`countersign_ready{${ANNOTATED}}`]: '0x40',
        },
        labels: annotated,
      },
    ],
    silent: [
      { series: { [`process_start_time_seconds{${A}}`]: '1x10 2x5 3x40', [READY]: '1x40' } },
      { series: { [`process_start_time_seconds{${STRANGER}}`]: '1x10 2x5 3x5 4x20', [READY]: '1x40' } },
    ],
  },
  CountersignRevisionsDiffer: {
    fires: [
      {
        series: {
          [`countersign_revision_info{${A}, revision="3f9c"}`]: '1x40',
          [`countersign_revision_info{${B}, revision="77aa"}`]: '1x40',
        },
      },
    ],
    silent: [
      {
        series: {
          [`countersign_revision_info{${A}, revision="3f9c"}`]: '1x40',
          [`countersign_revision_info{${B}, revision="3f9c"}`]: '1x40',
        },
      },
    ],
  },
  CountersignStoreErrors: {
    fires: [
      {
        series: { [`countersign_store_errors_total{${A}, verb="settle"}`]: '0x20 0+1x20' },
        labels: { verb: 'settle' },
      },
    ],
    silent: [{ series: { [`countersign_store_errors_total{${A}, verb="settle"}`]: '0+1x10 10x40' } }],
  },
  CountersignLate: {
    fires: [{ series: { [decisions('verdict="FAILURE", code="TIMED_OUT"')]: '0x10 0+3x30' } }],
    silent: [
      { series: { [decisions('verdict="FAILURE", code="TIMED_OUT"')]: '0+1x2 3x40' } },
      { series: { [decisions('verdict="FAILURE", code="RULE_REFUSED"')]: '0+9x40' } },
    ],
  },
  CountersignSlow: {
    fires: [{ series: { [bucket('0.5')]: '0+1x40', [bucket('1')]: '0+9x40', [bucket('+Inf')]: '0+9x40' } }],
    silent: [{ series: { [bucket('0.5')]: '0+9x40', [bucket('1')]: '0+9x40', [bucket('+Inf')]: '0+9x40' } }],
  },
  CountersignUnfollowed: {
    fires: [
      {
        series: { [decisions('verdict="FAILURE", code="NOT_READY"')]: '0x10 0+1x30' },
        labels: { code: 'NOT_READY' },
      },
    ],
    silent: [{ series: { [decisions('verdict="FAILURE", code="FROZEN"')]: '0+1x40' } }],
  },
  CountersignOverloaded: {
    fires: [{ series: { [`countersign_turned_away_total{${A}, reason="loop"}`]: '0x10 0+1x30' } }],
    silent: [{ series: { [`countersign_turned_away_total{${A}, reason="address"}`]: '0x10 0+1x30' } }],
  },
  CountersignAddressThrottled: {
    fires: [{ series: { [`countersign_turned_away_total{${A}, reason="address"}`]: '0x10 0+1x30' } }],
    silent: [{ series: { [`countersign_turned_away_total{${A}, reason="loop"}`]: '0x10 0+1x30' } }],
  },
  CountersignAuthenticationFailures: {
    fires: [
      {
        series: { [`countersign_authentication_failures_total{${A}, code="SIGN_WRONG"}`]: '0+12x40' },
        labels: { code: 'SIGN_WRONG' },
      },
    ],
    silent: [
      { series: { [`countersign_authentication_failures_total{${A}, code="SIGN_WRONG"}`]: '0+3x40' } },
    ],
  },
  CountersignRefusals: {
    fires: [
      {
        series: {
          [decisions('verdict="FAILURE", code="RULE_REFUSED"')]: '0+6x60',
          [decisions('verdict="SUCCESS", code="APPROVED"')]: '0+3x60',
        },
        at: '50m',
      },
    ],
    silent: [
      {
        series: {
          [decisions('verdict="FAILURE", code="RULE_REFUSED"')]: '0+3x60',
          [decisions('verdict="SUCCESS", code="APPROVED"')]: '0+6x60',
        },
        at: '50m',
      },
      // So few that they say nothing.
      { series: { [decisions('verdict="FAILURE", code="RULE_REFUSED"')]: '0+1x60' }, at: '50m' },
    ],
  },
  CountersignInquiriesFail: {
    fires: [
      {
        series: {
          [`countersign_inquiries_total{${A}, of="service", name="risk", verdict="failed"}`]: '0+1x40',
          [`countersign_inquiries_total{${A}, of="service", name="risk", verdict="yes"}`]: '0+5x40',
        },
        labels: { of: 'service', name: 'risk' },
      },
    ],
    silent: [
      {
        series: {
          [`countersign_inquiries_total{${A}, of="service", name="risk", verdict="failed"}`]: '0+1x40',
          [`countersign_inquiries_total{${A}, of="service", name="risk", verdict="yes"}`]: '0+20x40',
        },
      },
    ],
  },
  CountersignApiDenied: {
    fires: [{ series: { [`countersign_api_denied_total{${A}}`]: '0x20 0+1x20' }, labels: replica }],
    silent: [{ series: { [`countersign_api_denied_total{${A}}`]: '0x25 3x20' } }],
  },
  CountersignLogStalled: {
    fires: [{ series: { [`countersign_log_lines_dropped_total{${A}}`]: '0x20 0+1x20' }, labels: replica }],
    silent: [{ series: { [`countersign_log_lines_dropped_total{${A}}`]: '0x25 0x20' } }],
  },
  CountersignEventLoopLag: {
    fires: [
      { series: { [`nodejs_eventloop_lag_p99_seconds{${A}}`]: '0.2x40', [READY]: '1x40' }, labels: replica },
      {
        series: {
          [`nodejs_eventloop_lag_p99_seconds{${ANNOTATED}}`]: '0.2x40',
          [`countersign_ready{${ANNOTATED}}`]: '1x40',
        },
        labels: annotated,
      },
    ],
    silent: [
      { series: { [`nodejs_eventloop_lag_p99_seconds{${A}}`]: '0.05x40', [READY]: '1x40' } },
      { series: { [`nodejs_eventloop_lag_p99_seconds{${STRANGER}}`]: '0.2x40', [READY]: '1x40' } },
    ],
  },
  CountersignMemory: {
    fires: [
      {
        series: { [`process_resident_memory_bytes{${A}}`]: '470000000x40', [READY]: '1x40' },
        labels: replica,
      },
      {
        series: {
          [`process_resident_memory_bytes{${ANNOTATED}}`]: '470000000x40',
          [`countersign_ready{${ANNOTATED}}`]: '1x40',
        },
        labels: annotated,
      },
    ],
    silent: [
      { series: { [`process_resident_memory_bytes{${A}}`]: '250000000x40', [READY]: '1x40' } },
      { series: { [`process_resident_memory_bytes{${STRANGER}}`]: '470000000x40', [READY]: '1x40' } },
    ],
  },
  CountersignFileDescriptors: {
    fires: [
      {
        series: {
          [`process_open_fds{${A}}`]: '900x40',
          [`process_max_fds{${A}}`]: '1024x40',
          [READY]: '1x40',
        },
        labels: replica,
      },
    ],
    silent: [
      {
        series: {
          [`process_open_fds{${A}}`]: '500x40',
          [`process_max_fds{${A}}`]: '1024x40',
          [READY]: '1x40',
        },
      },
      {
        series: {
          [`process_open_fds{${STRANGER}}`]: '900x40',
          [`process_max_fds{${STRANGER}}`]: '1024x40',
          [READY]: '1x40',
        },
      },
    ],
  },
  CountersignDiskLow: {
    fires: [
      {
        series: {
          [`countersign_store_free_bytes{${A}}`]: '9e9x20 4e8x20',
          [`countersign_store_free_bytes{${B}}`]: '9e9x40',
        },
        labels: { instance: replica.instance },
      },
    ],
    silent: [
      { series: { [`countersign_store_free_bytes{${A}}`]: '5e8x40' } },
      { series: { [`countersign_store_free_bytes{${A}}`]: '9e9x27 4e8x20' } },
      { series: {} },
    ],
  },
  CountersignJournalLarge: {
    fires: [
      {
        series: { [`countersign_journal_entries{${A}, source="shop"}`]: '6000000x90' },
        at: '90m',
        labels: { source: 'shop' },
      },
    ],
    silent: [{ series: { [`countersign_journal_entries{${A}, source="shop"}`]: '4000000x90' }, at: '90m' }],
  },
  CountersignArchiveOverdue: {
    fires: [
      {
        series: {
          [`countersign_journal_oldest_timestamp_seconds{${A}, source="shop"}`]: `${-94 * DAY}x40`,
          [`countersign_journal_entries{${A}, source="shop"}`]: '9x40',
        },
        step: '1h',
        at: '30h',
        labels: { source: 'shop' },
      },
    ],
    silent: [
      {
        series: {
          [`countersign_journal_oldest_timestamp_seconds{${A}, source="shop"}`]: `${-90 * DAY}x40`,
          [`countersign_journal_entries{${A}, source="shop"}`]: '9x40',
        },
        step: '1h',
        at: '30h',
      },
      // The newest entry, which stays.
      {
        series: {
          [`countersign_journal_oldest_timestamp_seconds{${A}, source="shop"}`]: `${-400 * DAY}x40`,
          [`countersign_journal_entries{${A}, source="shop"}`]: '1x40',
        },
        step: '1h',
        at: '30h',
      },
      // A second entry after a long silence: archived when the archive runs the next time.
      {
        series: {
          [`countersign_journal_oldest_timestamp_seconds{${A}, source="shop"}`]: `${-400 * DAY}x40`,
          [`countersign_journal_entries{${A}, source="shop"}`]: '1x10 2x30',
        },
        step: '1h',
        at: '30h',
      },
    ],
  },
  CountersignReconciliationException: {
    fires: [
      {
        series: { [opened('exception', 'approved-not-billed')]: '0x25 1x20' },
        labels: { class: 'approved-not-billed' },
      },
    ],
    silent: [
      { series: { [opened('exception', 'approved-not-billed')]: '1x25 0x20' } },
      { series: { [opened('alarm', 'billed-twice')]: '3x40' } },
    ],
  },
  CountersignReconciliationOverdue: {
    fires: [{ series: { [DUE]: '-6000x40' }, labels: { instance: replica.instance } }],
    silent: [
      { series: { [DUE]: '-5000x40' } },
      // Reconciled in the meantime: the next day is due tomorrow.
      { series: { [DUE]: `-90000x28 ${DAY}x20` } },
      { series: {} },
    ],
  },
};
