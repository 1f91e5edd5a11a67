import { checkedText, filePath, section, wholeNumberOr } from './fields.ts';

const ZONE_FIX = 'write an IANA time zone such as Asia/Shanghai or UTC';
const DAY_FIX = 'write a day such as 2026-03-02';

/** The reconciliation that the service runs, and the defaults of `countersign reconcile`. */
export const reconcile = section({
  directory: filePath
    .optional()
    .meta({ title: 'directory' })
    .describe(
      'Directory of the runs; it must exist. With it, the service reconciles each day. ' +
        'Replicas share one directory.',
    ),
  zone: checkedText(/^[A-Za-z0-9+:_/-]{1,64}$/, isZone, ZONE_FIX)
    .default('Asia/Shanghai')
    .meta({ title: 'time zone' })
    .describe("The time zone of the platform's days."),
  settleMinutes: wholeNumberOr(60, 1, 1440).describe(
    'How long bill and signature may take after an approval. A day is reconciled when this time after its ' +
      'end is over.',
  ),
  delayMinutes: wholeNumberOr(30, 0, 1440).describe(
    'How long the service waits after that, so that the platform has the whole bill.',
  ),
  firstDay: checkedText(/^\d{4}-\d\d-\d\d$/, isDay, DAY_FIX)
    .optional()
    .meta({ title: 'date' })
    .describe(
      'The day to begin with while the directory has no runs. By default the day before the service started. ' +
        'Write the first whole day that Countersign decided: all debits before are alarms.',
    ),
  retryMs: wholeNumberOr(60000, 100, 3600000).describe(
    'Pause after a run that failed. Each further failure doubles it, up to an hour.',
  ),
  memoryMb: wholeNumberOr(256, 64, 65536).describe(
    'Heap of the process that reconciles, in MiB. A day that needs more fails, and the service goes on.',
  ),
  timeoutMs: wholeNumberOr(3600000, 1000, 86400000).describe(
    'Time limit for the runs that are due. After it they are stopped, and tried again like a run that failed.',
  ),
})
  .prefault({})
  .describe("Comparing approvals with the platform's bill: see docs/reconcile.md.");

function isZone(zone: string): boolean {
  try {
    return Temporal.PlainDate.from('2000-01-01').toZonedDateTime(zone).epochMilliseconds > 0;
  } catch {
    return false;
  }
}

function isDay(date: string): boolean {
  try {
    return Temporal.PlainDate.from(date).toString() === date;
  } catch {
    return false;
  }
}
