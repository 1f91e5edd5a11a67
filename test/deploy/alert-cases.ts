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
  readonly fires: readonly (AlertCase & { readonly labels: Readonly<Record<string, string>> })[];
  readonly silent: readonly AlertCase[];
}

/** Who is scraped. ANNOTATED is as a job with the annotations of deploy/kubernetes/service.yaml is called. */
const TARGETS: Readonly<Record<string, { readonly job: string; readonly instance: string }>> = {
  A: { job: 'countersign', instance: '10.0.0.1:9090' },
  B: { job: 'countersign', instance: '10.0.0.2:9090' },
  ANNOTATED: { job: 'kubernetes-service-endpoints', instance: '10.0.0.1:9090' },
  STRANGER: { job: 'node-exporter', instance: '10.0.0.9:9100' },
};

const DAY = 86_400;
const APPROVED = 'decisions_total{A, source="shop", verdict="SUCCESS", code="APPROVED"}';
const OLDEST = 'journal_oldest_timestamp_seconds{A, source="shop"}';
const ENTRIES = 'journal_entries{A, source="shop"}';
const failure = (code: string): string =>
  `decisions_total{A, source="shop", verdict="FAILURE", code="${code}"}`;
const unreadable = (of: string): string =>
  `keys_unreadable{${of}, source="shop", file="keys/platform.pub", fingerprint="SHA256:abc"}`;
const expiry = (setting: string): string => `certificate_expiry_timestamp_seconds{A, setting="${setting}"}`;
const opened = (level: string, name: string, of = 'A'): string =>
  `reconcile_open{${of}, class="${name}", level="${level}"}`;
const bucket = (le: string): string => `callback_seconds_bucket{A, step="total", le="${le}"}`;
const asked = (verdict: string): string =>
  `inquiries_total{A, of="service", name="risk", verdict="${verdict}"}`;

/** An alarm that was raised once or more often fires for ten minutes. */
const alarm = (alert: string, code: string, other: string): string => `${alert}
  fires code=${code}: alarms_total{A, code="${code}"} _x27 1x20
  fires code=${code}: alarms_total{A, code="${code}"} 5x26 6x20
  silent: alarms_total{A, code="${code}"} 5x40
  silent: alarms_total{A, code="${code}"} _x10 1x40
  silent: alarms_total{A, code="${other}"} _x27 1x20
  silent:
`;

/**
 * For each alert of deploy/prometheus/alerts.yaml what makes it fire, and what comes near and does not. A line
 * has the labels of what fires (`on` for those of a target), `at` and `step`, and then series with their
 * values. The names begin with `countersign_`, but those of Node and of Prometheus.
 */
const CASES = `
${alarm('CountersignTermsChanged', 'TERMS_CHANGED', 'TXID_UNEXPECTED')}
${alarm('CountersignSchemeChanged', 'SCHEME_CHANGED', 'TERMS_CHANGED')}
${alarm('CountersignSignedWithoutApproval', 'SIGNED_WITHOUT_APPROVAL', 'TERMS_CHANGED')}
${alarm('CountersignTxidUnexpected', 'TXID_UNEXPECTED', 'SIGNED_WITHOUT_APPROVAL')}
${alarm('CountersignSignedAfterRelease', 'SIGNED_AFTER_RELEASE', 'TXID_UNEXPECTED')}
${alarm('CountersignOtherAlarm', 'SOMETHING_NEW', 'TERMS_CHANGED')}
CountersignFrozen
  fires: frozen{A} 0x40; frozen{B} 0x20 1x20
  silent: frozen{A} 0x20 1x5 0x20
CountersignFrozenExceptApproved
  fires: freeze_info{A, freeze="f3", kind="except-approved", by="ada"} 1x40
  silent: freeze_info{A, freeze="f3", kind="operator", by="ada"} 1x40; frozen{A} 1x40
CountersignClockJumped
  fires: clock_jumped{A} 0x40; clock_jumped{B} 0x20 1x20
  silent: clock_jumped{A} 0x20 1x5 0x20
  silent:
CountersignAbsent
  fires:
  fires: ready{A} 1x20
  silent: ready{A} 0x40
  silent: ready{A} 1x24
CountersignNoneReady
  fires: ready{A} 1x20 0x20; ready{B} 0x40
  silent: ready{A} 0x40; ready{B} 1x40
  silent:
CountersignNothingInForce
  fires: ready{A} 0x40
  silent: ready{A} 1x40; revision_info{A, revision="3f9c"} 1x40
  silent:
CountersignKeysUnavailable
  fires code=KEYS_UNAVAILABLE: authentication_failures_total{A, code="KEYS_UNAVAILABLE"} _x27 1x20
  fires code=KEYS_UNAVAILABLE: authentication_failures_total{A, code="KEYS_UNAVAILABLE"} 7x26 8x20
  silent: authentication_failures_total{A, code="KEYS_UNAVAILABLE"} 7x40
  silent: authentication_failures_total{A, code="SIGN_WRONG"} _x27 1x20
CountersignKeyUnreadable
  fires source=shop file=keys/platform.pub fingerprint=SHA256:abc: ${unreadable('A')} _x20 1x20; ${unreadable('B')} 1x40
  silent: ${unreadable('A')} 1x20
  silent:
CountersignStoreMoved
  fires instance=10.0.0.1:9090: store_moved{A} 0x20 1x20
  silent: store_moved{A} 0x40
  silent:
CountersignStoreNotWritable
  fires instance=10.0.0.1:9090: store_writable{A} 1x20 0x20; store_writable{B} 1x40
  silent: store_writable{A} 1x40
  silent: store_writable{A} 1x29 0x20
  silent:
CountersignInternalFailure
  fires code=INTERNAL: ${failure('INTERNAL')} _x27 1x20
  fires code=INTERNAL: ${failure('INTERNAL')} 7x26 8x20
  silent: ${failure('INTERNAL')} 7x40
  silent: ${failure('RULE_REFUSED')} _x27 1x20
CountersignReplicasTooFew
  fires: store_replicas{A, state="connected"} 2x20 1x20; store_replicas{A, state="wanted"} 2x40
  fires: store_replicas{A, state="connected"} 2x40; store_replicas{B, state="connected"} 2x20 1x20; store_replicas{A, state="wanted"} 2x40; store_replicas{B, state="wanted"} 2x40
  silent: store_replicas{A, state="connected"} 2x40; store_replicas{A, state="wanted"} 2x40
  silent: store_replicas{A, state="connected"} 0x40; store_replicas{A, state="wanted"} 0x40
  silent:
CountersignCertificateExpired
  fires setting=public.tls.certificate: ${expiry('public.tls.certificate')} 80000x40
  fires setting=store.tls.ca: ${expiry('store.tls.ca')} -5x40
  silent: ${expiry('public.tls.certificate')} ${2 * DAY}x40
  silent:
CountersignReconciliationAlarm
  fires class=billed-twice: ${opened('alarm', 'billed-twice')} 0x25 2x20; ${opened('alarm', 'billed-twice', 'B')} 0x40; ${opened('alarm', 'signed-twice')} 0x40
  silent: ${opened('alarm', 'billed-twice')} 2x25 0x20
  silent: ${opened('exception', 'approved-not-billed')} 3x40
  silent:
CountersignClockBehind
  fires: clock_ahead_seconds{A} 0x20 -90x20; clock_ahead_seconds{B} 0x40
  silent: clock_ahead_seconds{A} -60x40
  silent: clock_ahead_seconds{A} 0x28 -90x20
  silent: clock_ahead_seconds{A} 90x40
CountersignNoCallbacks
  fires at=150m source=shop: ${APPROVED} 0+1x60 60x100
  # Another source goes on.
  fires at=150m source=shop: ${APPROVED} 0+1x60 60x100; decisions_total{A, source="vault", verdict="SUCCESS", code="APPROVED"} 0+1x160
  silent at=150m: ${APPROVED} 0+1x60 60x40 61x60
  # The first of its code within the hour: its counter was not there before.
  silent at=150m: ${APPROVED} 0+1x60 60x100; ${failure('RULE_REFUSED')} _x120 1x40
  # Nothing ever came.
  silent at=150m: ready{A} 1x200
CountersignReplicaGone
  fires: store_replicas{A, state="connected"} 3x10 2x40
  silent: store_replicas{A, state="connected"} 3x22 2x4 3x20
  silent: store_replicas{A, state="connected"} 2x10 3x40
  silent: store_replicas{A, state="connected"} 3x25 2x40
CountersignCertificateExpires
  fires setting=public.tls.clientCa: ${expiry('public.tls.clientCa')} ${13 * DAY}x40; ${expiry('store.tls.ca')} ${99 * DAY}x40
  silent: ${expiry('public.tls.certificate')} ${15 * DAY}x40
CountersignReplicaDown
  fires on=A: up{A} 1x20 0x20
  fires on=ANNOTATED: up{ANNOTATED} 1x20 0x20; ready{ANNOTATED} 1x20
  silent: up{A} 1x40
  silent: up{STRANGER} 1x20 0x20; ready{A} 1x40
CountersignReplicaNotReady
  fires on=A: ready{A} 1x20 0x20; ready{B} 1x40
  silent: ready{A} 1x40
  silent: ready{A} 1x20 0x3 1x20
CountersignRestarts
  fires on=A: process_start_time_seconds{A} 1x10 2x5 3x5 4x20; ready{A} 1x40
  fires on=ANNOTATED: process_start_time_seconds{ANNOTATED} 1x10 2x5 3x5 4x20; ready{ANNOTATED} 0x40
  silent: process_start_time_seconds{A} 1x10 2x5 3x40; ready{A} 1x40
  silent: process_start_time_seconds{STRANGER} 1x10 2x5 3x5 4x20; ready{A} 1x40
CountersignRevisionsDiffer
  fires: revision_info{A, revision="3f9c"} 1x40; revision_info{B, revision="77aa"} 1x40
  silent: revision_info{A, revision="3f9c"} 1x40; revision_info{B, revision="3f9c"} 1x40
CountersignStoreErrors
  fires verb=settle: store_errors_total{A, verb="settle"} 0x20 0+1x20
  silent: store_errors_total{A, verb="settle"} 0+1x10 10x40
CountersignLate
  fires: ${failure('TIMED_OUT')} 0x10 0+3x30
  silent: ${failure('TIMED_OUT')} 0+1x2 3x40
  silent: ${failure('RULE_REFUSED')} 0+9x40
CountersignSlow
  fires: ${bucket('0.5')} 0+1x40; ${bucket('1')} 0+9x40; ${bucket('+Inf')} 0+9x40
  silent: ${bucket('0.5')} 0+9x40; ${bucket('1')} 0+9x40; ${bucket('+Inf')} 0+9x40
CountersignUnfollowed
  fires code=NOT_READY: ${failure('NOT_READY')} 0x10 0+1x30
  silent: ${failure('FROZEN')} 0+1x40
CountersignOverloaded
  fires: turned_away_total{A, reason="loop"} 0x10 0+1x30
  silent: turned_away_total{A, reason="address"} 0x10 0+1x30
CountersignAddressThrottled
  fires: turned_away_total{A, reason="address"} 0x10 0+1x30
  silent: turned_away_total{A, reason="loop"} 0x10 0+1x30
CountersignAuthenticationFailures
  fires code=SIGN_WRONG: authentication_failures_total{A, code="SIGN_WRONG"} 0+12x40
  silent: authentication_failures_total{A, code="SIGN_WRONG"} 0+3x40
CountersignRefusals
  fires at=50m: ${failure('RULE_REFUSED')} 0+6x60; ${APPROVED} 0+3x60
  silent at=50m: ${failure('RULE_REFUSED')} 0+3x60; ${APPROVED} 0+6x60
  # So few that they say nothing.
  silent at=50m: ${failure('RULE_REFUSED')} 0+1x60
CountersignInquiriesFail
  fires of=service name=risk: ${asked('failed')} 0+1x40; ${asked('yes')} 0+5x40
  silent: ${asked('failed')} 0+1x40; ${asked('yes')} 0+20x40
CountersignApiDenied
  fires on=A: api_denied_total{A} 0x20 0+1x20
  silent: api_denied_total{A} 0x25 3x20
CountersignLogStalled
  fires on=A: log_lines_dropped_total{A} 0x20 0+1x20
  silent: log_lines_dropped_total{A} 0x25 0x20
CountersignNotificationsWait
  fires receiver=chat.example: notifications_waiting{A, receiver="chat.example"} 0x5 1x35
  silent: notifications_waiting{A, receiver="chat.example"} 0x20 1x10 0x10
  silent: notifications_waiting{A, receiver="chat.example"} 0x40
  silent:
CountersignApprovalsWait
  fires source=vault: approval_request_oldest_timestamp_seconds{A, source="vault"} -4000x40
  silent: approval_request_oldest_timestamp_seconds{A, source="vault"} -500x40
  silent:
CountersignEventLoopLag
  fires on=A: nodejs_eventloop_lag_p99_seconds{A} 0.2x40; ready{A} 1x40
  fires on=ANNOTATED: nodejs_eventloop_lag_p99_seconds{ANNOTATED} 0.2x40; ready{ANNOTATED} 1x40
  silent: nodejs_eventloop_lag_p99_seconds{A} 0.05x40; ready{A} 1x40
  silent: nodejs_eventloop_lag_p99_seconds{STRANGER} 0.2x40; ready{A} 1x40
CountersignMemory
  fires on=A: process_resident_memory_bytes{A} 470000000x40; ready{A} 1x40
  fires on=ANNOTATED: process_resident_memory_bytes{ANNOTATED} 470000000x40; ready{ANNOTATED} 1x40
  silent: process_resident_memory_bytes{A} 250000000x40; ready{A} 1x40
  silent: process_resident_memory_bytes{STRANGER} 470000000x40; ready{A} 1x40
CountersignFileDescriptors
  fires on=A: process_open_fds{A} 900x40; process_max_fds{A} 1024x40; ready{A} 1x40
  silent: process_open_fds{A} 500x40; process_max_fds{A} 1024x40; ready{A} 1x40
  silent: process_open_fds{STRANGER} 900x40; process_max_fds{STRANGER} 1024x40; ready{A} 1x40
CountersignDiskLow
  fires instance=10.0.0.1:9090: store_free_bytes{A} 9e9x20 4e8x20; store_free_bytes{B} 9e9x40
  silent: store_free_bytes{A} 5e8x40
  silent: store_free_bytes{A} 9e9x27 4e8x20
  silent:
CountersignJournalLarge
  fires at=90m source=shop: ${ENTRIES} 6000000x90
  silent at=90m: ${ENTRIES} 4000000x90
CountersignArchiveOverdue
  fires at=30h step=1h source=shop: ${OLDEST} ${-94 * DAY}x40; ${ENTRIES} 9x40
  silent at=30h step=1h: ${OLDEST} ${-90 * DAY}x40; ${ENTRIES} 9x40
  # The newest entry, which stays.
  silent at=30h step=1h: ${OLDEST} ${-400 * DAY}x40; ${ENTRIES} 1x40
  # A second entry after a long silence: archived when the archive runs the next time.
  silent at=30h step=1h: ${OLDEST} ${-400 * DAY}x40; ${ENTRIES} 1x10 2x30
CountersignReconciliationException
  fires class=approved-not-billed: ${opened('exception', 'approved-not-billed')} 0x25 1x20
  silent: ${opened('exception', 'approved-not-billed')} 1x25 0x20
  silent: ${opened('alarm', 'billed-twice')} 3x40
CountersignReconciliationOverdue
  fires instance=10.0.0.1:9090: reconcile_due_timestamp_seconds{A} -6000x40
  silent: reconcile_due_timestamp_seconds{A} -5000x40
  # Reconciled in the meantime: the next day is due tomorrow.
  silent: reconcile_due_timestamp_seconds{A} -90000x28 ${DAY}x20
  silent:
`;

const read: Record<string, { fires: AlertCases['fires'][number][]; silent: AlertCase[] }> = {};
for (const line of CASES.split('\n').filter((each) => /^[^ ]|^  [fs]/.test(each))) {
  const [, kind, written = '', series = ''] = /^  (fires|silent)(.*?):(?: (.*))?$/.exec(line) ?? [];
  if (kind === undefined) read[line] = { fires: [], silent: [] };
  const {
    on = '',
    at,
    step,
    ...labels
  } = Object.fromEntries(
    Array.from(written.matchAll(/(\w+)=(\S+)/g), ([, name = '', value = '']) => [name, value]),
  );
  const found = { series: seriesOf(series), ...(at && { at }), ...(step && { step }) };
  const cases = Object.values(read).at(-1);
  if (kind === 'fires') cases?.fires.push({ ...found, labels: { ...TARGETS[on], ...labels } });
  if (kind === 'silent') cases?.silent.push(found);
}
export const alertCases: Readonly<Record<string, AlertCases>> = read;

/** `ready{A} 1x20; ready{B} 0x40` */
function seriesOf(written: string): Readonly<Record<string, string>> {
  const parts = written.split('; ').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const [, name = '', target = '', labels = '', values = ''] =
        /^(\w+)\{(\w+)(.*)\} (\S.*)$/.exec(part) ?? [];
      const { job, instance } = TARGETS[target] ?? { job: part, instance: '' };
      const whole = /^(?:up$|process_|nodejs_)/.test(name) ? name : `countersign_${name}`;
      return [`${whole}{job="${job}", instance="${instance}"${labels}}`, values];
    }),
  );
}
