import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf, usageError } from '../errors.ts';
import { createMapping } from '../replay/mapping.ts';
import { type ReplayReport, replay } from '../replay/replay.ts';
import type { Resent } from '../replay/resend.ts';
import { readRecordLines } from '../simulation/record-file.ts';
import type { Call, CommandRow } from './command.ts';
import { columns, counted, isoTime, printable, progressBar } from './print.ts';
import { readMap, replaySenders } from './replay-senders.ts';

const TIMEOUT_MS = 15_000;
const SHOWN = 1000;
const SHOW_MAX = 100_000;
const CONCURRENCY = 8;
const PREFIX = /^[A-Za-z0-9._-]{1,32}$/;

export const replayCommand: CommandRow = {
  path: 'replay',
  summary: 'Send recorded callbacks to another instance, signed with its keys, and compare the answers.',
  example:
    'replay decisions.jsonl --to https://staging:8080 --config staging.yaml --key keys/platform-staging.pem\n' +
    'replay decisions.jsonl --to http://127.0.0.1:8080 --concurrency 1 --prefix-ids again-\n' +
    'replay decisions.jsonl --to http://127.0.0.1:8080 --speed 10x --map names.yaml',
  define: (command) =>
    command
      .argument('<file>', 'a file of `decisions export`')
      .requiredOption('--to <url>', 'the instance; --config names its settings, with sources and secrets')
      .option('--key <file>', "the private key of the instance's platformKey, for RSA")
      .option(
        '--concurrency <number>',
        `callbacks to send at once; those about one subject stay in order (default: ${CONCURRENCY})`,
      )
      .option('--rate <number>', 'at most this many callbacks a second, such as 50/s (default: unlimited)')
      .option('--speed <factor>', 'the recorded pace, times a factor, such as 1x or 10x')
      .option('--map <file>', 'a YAML file with other names of sources, users and addresses; see below')
      .option(
        '--prefix-ids <text>',
        'put this text before every appOrderId and request_id, so that the subjects are new',
      )
      .option('--show <number>', `list at most this many that differ, and that failed (default: ${SHOWN})`)
      .addHelpText('after', NOTES),
  async run(session, call) {
    const [file = ''] = call.arguments;
    const base = baseOf(call.option('to') ?? '');
    const tables = readMap(call.option('map'));
    const mapping = createMapping({ tables, prefix: prefixOf(call) });
    const report = await replay({
      record: () => readRecordLines(file),
      senderOf: replaySenders(session, call.option('key'), mapping),
      mapping,
      post: (resent) => post(base, resent),
      concurrency: call.count('concurrency', { least: 1, most: 1000 }) ?? CONCURRENCY,
      ratePerSecond: factorOf(call, 'rate', /^(\d{1,6}(?:\.\d{1,3})?)(?:\/s)?$/, '50/s'),
      speed: factorOf(call, 'speed', /^(\d{1,6}(?:\.\d{1,3})?)x?$/, '10x'),
      show: call.count('show', { least: 0, most: SHOW_MAX }) ?? SHOWN,
      clock: session.clock,
      elapsed: () => performance.now(),
      pause: waitFor,
      progress: (done, of) => session.progress(progressBar(done / of, done)),
    });
    session.progress('');
    session.print(replayText(report, file, base), replayJson(report, file, base));
    return report.same === report.callbacks && report.notSent === 0 ? 0 : 1;
  },
};

const NOTES = `
The command sends decisions, repeats and sign_success notifications. It only counts self-checks, unreadable
callbacks, and changes of lists, orders, prices, freezes, releases and the clock. Enter lists, orders and
prices at the instance before. A callback that was refused because its approval was released (RELEASED) is
a repeat for the instance, which did not release it. The instance verifies each callback like any other.

The instance uses its own clock. A record of days that is sent in seconds falls into one window, so limits
over a window may refuse more callbacks. If several callbacks are sent at once, two of them may reach a
limit in another order: --concurrency 1 keeps the recorded order. A subject that the instance already knows
is a repeat: see --prefix-ids.

Example of a map:
  source: { shop: staging-shop }
  userId: { '12345': '99' }
  to: { '0x52908400098527886e0f7030069857d2e4169ee7': '0x27b1fdb04752bbc536007a920d24acb045561c26' }

The command exits with 1 if an answer differs from the recorded one, or is missing.`;

/** A timer can wait at most 24 days, and a record may have a longer gap. */
const TIMER_MS = 86_400_000;

async function waitFor(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= TIMER_MS) await pause(Math.min(left, TIMER_MS));
}

function baseOf(to: string): string {
  const url = URL.parse(to);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '') {
    return to.replace(/\/+$/, '');
  }
  throw usageError(`--to ${to} is not a URL of an instance. Write one such as http://127.0.0.1:8080`);
}

function prefixOf(call: Call): string {
  const prefix = call.option('prefixIds') ?? '';
  if (prefix === '' || PREFIX.test(prefix)) return prefix;
  throw usageError(`--prefix-ids ${prefix} is not valid. Write at most 32 of A-Z, a-z, 0-9 and . _ -`);
}

function factorOf(
  call: Call,
  option: 'rate' | 'speed',
  pattern: RegExp,
  example: string,
): number | undefined {
  const text = call.option(option);
  if (text === undefined) return undefined;
  const factor = Number(pattern.exec(text)?.[1] ?? 0);
  if (factor > 0) return factor;
  throw usageError(`--${option} ${text} is not valid. Write a number above zero, such as ${example}`);
}

async function post(
  base: string,
  { path, headers, body }: Resent,
): Promise<{ readonly status: number; readonly body: string }> {
  // The timers of `AbortSignal.timeout` would outlive their requests, thousands at a time.
  const waiting = new AbortController();
  const late = new Error(`no answer within ${TIMEOUT_MS} ms`);
  const timer = setTimeout(() => waiting.abort(late), TIMEOUT_MS);
  try {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      // A redirect could lead to another instance.
      redirect: 'manual',
      signal: waiting.signal,
    });
    return { status: response.status, body: await response.text() };
  } catch (thrown) {
    if (thrown === late) throw late;
    const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
    throw new Error(`no answer: ${messageOf(cause)}`, { cause: thrown });
  } finally {
    clearTimeout(timer);
  }
}

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
