import { accessSync, constants } from 'node:fs';
import { expectDirectory, lockDirectory } from '../../archive/folder.ts';
import { CountersignError, messageOf } from '../../errors.ts';
import { readDay } from '../../reconcile/day.ts';
import { readRecords } from '../../reconcile/records.ts';
import { stateOf } from '../../reconcile/state.ts';
import type { Settings } from '../../settings/schema.ts';
import { counted, isoTime } from '../print.ts';
import { type Finding, guarded } from './finding.ts';

const MINUTE_MS = 60_000;

/** Checks the directory in which the service reconciles: its disk, its records, and what is overdue. */
export async function checkReconcile({ reconcile }: Settings, nowMs: number): Promise<readonly Finding[]> {
  const { directory } = reconcile;
  if (directory === undefined) return [];
  const usable = await guarded('reconcile', () => checkDirectory(directory));
  if (usable.some(({ state }) => state === 'fault')) return usable;
  return [...usable, ...(await guarded('reconcile', () => checkRuns(directory, reconcile, nowMs)))];
}

function checkDirectory(directory: string): readonly Finding[] {
  expectDirectory(directory);
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    lockDirectory(directory, 'reconciliation').release();
    return [];
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.data['held'] === true) {
      return [finding('ok', `a reconciliation is running in ${directory}`)];
    }
    const fix = 'let the user that runs the service write to it';
    const because = thrown instanceof CountersignError ? thrown.message : `${messageOf(thrown)}; ${fix}`;
    return [finding('fault', because)];
  }
}

function checkRuns(
  directory: string,
  { zone, settleMinutes, delayMinutes, firstDay }: Settings['reconcile'],
  nowMs: number,
): readonly Finding[] {
  const { days, last, next = firstDay, open } = stateOf(readRecords(directory));
  if (last !== undefined && last.zone !== zone) {
    const because = `the runs in ${directory} have days of ${last.zone}, and reconcile.zone is ${zone}`;
    return [finding('fault', `${because}; write that zone, or name another directory`)];
  }
  const findings = [
    last === undefined
      ? finding('ok', `${directory} has no run yet`)
      : finding('ok', `${directory} has ${counted(days, 'day')} up to ${last.day}`),
  ];
  if (open.length > 0) {
    const because = `${counted(open.length, 'exception')} open; \`countersign reconcile show\` lists them`;
    findings.push(finding('warning', because));
  }
  const dueMs =
    next === undefined ? Infinity : readDay(next, zone).untilMs + (settleMinutes + delayMinutes) * MINUTE_MS;
  if (dueMs < nowMs) {
    const because = `${next} is due since ${isoTime(dueMs)} and not reconciled`;
    findings.push(finding('warning', `${because}; see \`reconcile-failed\` in the log of the service`));
  }
  return findings;
}

const finding = (state: Finding['state'], because: string): Finding => ({
  check: 'reconcile',
  state,
  because,
});
