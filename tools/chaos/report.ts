import type { Exchange } from './history.ts';
import { overlaps } from './case.ts';
import type { Run } from './run.ts';

/** What a run came to, as `--json` prints it. */
export interface Report {
  readonly topology: string;
  readonly seed: number;
  readonly callbacks: number;
  readonly approvals: number;
  /** Answered FAILURE, and the journal says why. */
  readonly refusals: number;
  /** Answered FAILURE, and there is no decision: something failed. */
  readonly failures: number;
  readonly unanswered: number;
  readonly operatorActs: { readonly done: number; readonly rejected: number };
  readonly faults: readonly FaultReport[];
  /** Of receivers that were up. */
  readonly longestAnswerMs: number;
  readonly invariants: readonly {
    readonly name: string;
    readonly checked: number;
    readonly broken: readonly string[];
  }[];
}

export interface FaultReport {
  readonly faults: string;
  readonly times: number;
  readonly callbacks: number;
  readonly failures: number;
  readonly unanswered: number;
  /**
   * The longest until each receiver approved again, and operators were heard again; undefined if one did or
   * was not.
   */
  readonly recoveryMs: number | undefined;
}

export function reportOf({ topology, seed, episodes, history, audited }: Run): Report {
  const { exchanges, acts, outages, recoveries } = history;
  const decided = new Set(
    [...history.journal.values()]
      .flat()
      .filter(({ verdict, type }) => verdict === 'FAILURE' && type !== 'late')
      .map(({ subject }) => subject),
  );
  const isRefusal = ({ answer, callback }: Exchange): boolean =>
    answer === 'FAILURE' && decided.has(callback.subject);
  const isFailure = (each: Exchange): boolean =>
    each.answer === 'FAILURE' && !isRefusal(each) && each.callback.authentic;
  const faults = [...Map.groupBy(episodes, (episode) => episode.faults.join(' + '))];
  const inTime = exchanges.filter(
    (each) => !outages.some((outage) => outage.receiver === each.receiver && overlaps(outage, each)),
  );
  return {
    topology,
    seed,
    callbacks: exchanges.length,
    approvals: exchanges.filter(({ answer }) => answer === 'SUCCESS').length,
    refusals: exchanges.filter((each) => isRefusal(each)).length,
    failures: exchanges.filter(isFailure).length,
    unanswered: exchanges.filter(({ answer }) => answer === undefined).length,
    operatorActs: {
      done: acts.filter(({ certain }) => certain).length,
      rejected: acts.filter(({ certain }) => !certain).length,
    },
    faults: faults.map(([name, of]) => {
      const met = exchanges.filter((each) => of.some((episode) => overlaps(episode, each)));
      const back = recoveries.filter(({ fault }) => fault === name).map(({ tookMs }) => tookMs ?? Infinity);
      const slowest = Math.round(Math.max(0, ...back));
      return {
        faults: name,
        times: of.length,
        callbacks: met.length,
        failures: met.filter(isFailure).length,
        unanswered: met.filter(({ answer }) => answer === undefined).length,
        recoveryMs: Number.isFinite(slowest) ? slowest : undefined,
      };
    }),
    longestAnswerMs: Math.round(inTime.reduce((most, { tookMs }) => Math.max(most, tookMs), 0)),
    invariants: audited,
  };
}

/** For a terminal. */
export function textOf(report: Report): string {
  const { faults, invariants } = report;
  const { done, rejected } = report.operatorActs;
  return [
    `${report.topology} (seed ${report.seed}): ${report.callbacks} callbacks, ${report.approvals} approved, ${report.refusals} refused, ${report.failures} failed, ${report.unanswered} cut off; ${done} acts of operators, ${rejected} rejected; longest answer ${report.longestAnswerMs} ms`,
    row('fault', ['times', 'callbacks', 'failed', 'cut off', 'well after ms']),
    ...faults.map((each) =>
      row(each.faults, [
        each.times,
        each.callbacks,
        each.failures,
        each.unanswered,
        each.recoveryMs ?? 'never',
      ]),
    ),
    row('invariant', ['checked', 'broken']),
    ...invariants.flatMap(({ name, checked, broken }) => [
      row(name, [checked, broken.length]),
      ...broken.slice(0, TOLD).map((said) => `      ${said}`),
      ...(broken.length > TOLD ? [`      and ${broken.length - TOLD} more`] : []),
    ]),
    '',
  ].join('\n');
}

/** Of what breaks an invariant. */
const TOLD = 10;
const NAME = 84;
const COLUMN = 11;

const row = (name: string, cells: readonly (string | number)[]): string =>
  `  ${name.padEnd(NAME)}${cells.map((cell) => `${cell}`.padStart(COLUMN)).join('')}`;
