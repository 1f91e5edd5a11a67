import { shortRevision } from '../release/push.ts';
import { columns, counted, isoTime, printable } from '../values/text.ts';
import type { BacktestReport, ChangedCallback, Reason, UnknownCallback } from './backtest.ts';

/** The report as text: counts, the rules that changed verdicts, and at most `show` callbacks. */
export function backtestText(report: BacktestReport, show: number): string {
  const { callbacks, toFailure, toSuccess, notKnown, changed, unknown, warnings } = report;
  const many = toFailure + toSuccess;
  const hint = many + notKnown > 0 && show === 0 ? ['', 'Add --show 20 to see the first of them.'] : [];
  return [
    headline(report),
    ...(callbacks === 0 ? [] : ['', countsText(report)]),
    ...(many === 0 ? [] : ['', 'By rule:', rulesText(report)]),
    ...(changed.length === 0 ? [] : ['', ...changed.map(changedText)]),
    ...(unknown.length === 0
      ? []
      : ['', `Not known, ${unknown.length} of ${notKnown}:`, ...unknown.map(unknownText)]),
    ...hint,
    ...(warnings.length === 0 ? [] : ['', ...warnings.map((warning) => `Note: ${printable(warning)}.`)]),
  ].join('\n');
}

function headline({ candidate, callbacks, frozen, period }: BacktestReport): string {
  const when = period === undefined ? '' : `, from ${isoTime(period.firstMs)} to ${isoTime(period.lastMs)}`;
  const left = frozen === 0 ? '' : ` (${frozen} more were refused during a freeze and are left out)`;
  return callbacks === 0
    ? `No recorded callbacks to decide again${left}.`
    : `${counted(callbacks, 'recorded callback')} decided again under ${shortRevision(candidate)}${when}${left}.`;
}

function countsText({ unchanged, toFailure, toSuccess, notKnown }: BacktestReport): string {
  return columns([
    ['unchanged', String(unchanged)],
    ['SUCCESS -> FAILURE', String(toFailure)],
    ['FAILURE -> SUCCESS', String(toSuccess)],
    ...(notKnown === 0 ? [] : [['not known', String(notKnown)]]),
  ]);
}

function rulesText({ rules }: BacktestReport): string {
  return columns(
    rules.map(({ change, rule, callbacks }) => [
      `  ${String(callbacks)}`,
      change === 'SUCCESS->FAILURE' ? 'now refused by' : 'no longer refused by',
      rule,
    ]),
  );
}

function changedText({ source, id, atMs, subject, recorded, candidate }: ChangedCallback): string {
  return [
    `${isoTime(atMs)}  ${source}/${id}  ${printable(subject)}  ${recorded.verdict} -> ${candidate.verdict}`,
    `  recorded   ${reasonText(recorded)}`,
    `  candidate  ${reasonText(candidate)}`,
  ].join('\n');
}

function reasonText({ rule, because, values }: Reason): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  return printable(`${rule}: ${because}${pairs.length === 0 ? '' : ` [${pairs.join(', ')}]`}`);
}

function unknownText({ source, id, atMs, subject, because }: UnknownCallback): string {
  return `${isoTime(atMs)}  ${source}/${id}  ${printable(subject)}  ${printable(because)}`;
}
