import type { ReplayReport } from '../../replay/replay.ts';
import { columns, counted, isoTime, printable } from '../print.ts';

/** The report of a replay as text. */
export function replayText(report: ReplayReport, file: string, to: string): string {
  const { callbacks, same, toFailure, toSuccess, failed, notSent, tookMs } = report;
  const perSecond = tookMs > 0 ? Math.round((callbacks * 1000) / tookMs) : 0;
  const lines = [
    `${counted(callbacks, 'callback')} of ${file} sent to ${to} in ${durationText(tookMs)}, ` +
      `${perSecond} a second`,
    columns([
      ['  same', String(same)],
      [
        '  differ',
        String(toFailure + toSuccess),
        `SUCCESS -> FAILURE ${toFailure}, FAILURE -> SUCCESS ${toSuccess}`,
      ],
      ['  failed', String(failed)],
      ...(notSent > 0 ? [['  not sent', String(notSent), 'too many in a row failed']] : []),
    ]),
    latencyText(report),
    skippedText(report),
    clockText(report),
    ...differingLines(report),
    ...failureLines(report),
  ];
  return lines.filter((line) => line !== '').join('\n');
}

function latencyText({ latencyMs }: ReplayReport): string {
  return latencyMs === undefined
    ? ''
    : `Answers took ${latencyMs.p50.toFixed(1)} ms (p50), ${latencyMs.p99.toFixed(1)} ms (p99).`;
}

/** The changes in a record that a replay counts and does not send. */
const CHANGED = 'lists, orders, prices, freezes, releases or the clock';

function skippedText({ skipped: { late, refused, selfChecks, changes } }: ReplayReport): string {
  const counts = [
    [late, 'mark of a late answer', 'marks of late answers'],
    [refused, 'callback without a decision', 'callbacks without a decision'],
    [selfChecks, 'self-check', 'self-checks'],
    [changes, `change of ${CHANGED}`, `changes of ${CHANGED}`],
  ] as const;
  const some = counts.filter(([count]) => count > 0).map(([count, one, many]) => counted(count, one, many));
  return some.length === 0 ? '' : `Left out: ${some.join(', ')}.`;
}

/** A smaller difference hardly matters for any window. */
const NOTICEABLE_MS = 10_000;

function clockText({ recordedMs, tookMs }: ReplayReport): string {
  return recordedMs - tookMs < NOTICEABLE_MS
    ? ''
    : `Recorded over ${durationText(recordedMs)}, replayed in ${durationText(tookMs)}. Limits over a ` +
        'window count all of it at once.';
}

function differingLines({ differing, toFailure, toSuccess }: ReplayReport): readonly string[] {
  if (differing.length === 0) return [];
  const rows = differing.map(({ line, source, id, atMs, subject, verdict, code, answered }) => [
    `  line ${line}`,
    `${source}/${id}`,
    isoTime(atMs),
    printable(subject),
    `recorded ${verdict} (${code})`,
    `answered ${answered}`,
  ]);
  return ['', 'differ', columns(rows), ...unlisted(toFailure + toSuccess - differing.length)];
}

function failureLines({ failures, failed }: ReplayReport): readonly string[] {
  if (failures.length === 0) return [];
  const rows = failures.map(({ line, source, id, subject, because }) => [
    `  line ${line}`,
    `${source}/${id}`,
    printable(subject),
    printable(because),
  ]);
  return ['', 'failed', columns(rows), ...unlisted(failed - failures.length)];
}

const unlisted = (more: number): readonly string[] => (more > 0 ? [`  and ${more} more; see --show`] : []);

/** `3 d 2 h`, `20.5 s`: the two largest units, or seconds. */
function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`;
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const from = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(from, from + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** The report of a replay as JSON. */
export function replayJson(report: ReplayReport, file: string, to: string): object {
  const { differing, failures, latencyMs, ...counts } = report;
  return {
    file,
    to,
    ...counts,
    latencyMs: latencyMs ?? null,
    differing: differing.map(({ source, id, atMs, verdict, code, ...rest }) => ({
      ...rest,
      ...placeJson(source, id, atMs),
      recorded: { verdict, code },
    })),
    failures: failures.map(({ source, id, atMs, ...rest }) => ({ ...rest, ...placeJson(source, id, atMs) })),
  };
}

const placeJson = (source: string, id: string, atMs: number): object => ({
  source,
  id: `${source}/${id}`,
  at: isoTime(atMs),
});
