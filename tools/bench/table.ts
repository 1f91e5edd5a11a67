import type { Compared } from './against.ts';
import type { EvaluationTimes } from './evaluation.ts';
import type { Round } from './load.ts';
import type { Mark } from './marks.ts';
import type { Program } from './programs.ts';
import type { StartTimes } from './start.ts';

/**
 * One program at one number of connections: the medians of its rounds, and of their ratios to those of the
 * first row.
 */
export interface Row extends Round {
  readonly program: string;
  readonly connections: number;
  readonly ofFirst: {
    readonly perSecond: number;
    readonly p50: number;
    readonly p99: number;
    readonly cpu: number;
  };
}

export interface Results {
  readonly rows: readonly Row[];
  readonly growth: readonly Row[];
  readonly evaluation: EvaluationTimes;
  readonly starts: readonly StartTimes[];
  readonly marks: readonly Mark[];
}

/** A row, each of its rounds compared to the same round of the first row. */
export function comparedTo(
  first: readonly Round[],
  taken: { readonly program: Program; readonly connections: number; readonly rounds: readonly Round[] },
): Row {
  const { program, connections, rounds } = taken;
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
  const ratio = (pick: (round: Round) => number): number =>
    median(rounds.map((round, at) => pick(round) / pick(first[at] ?? round)));
  return {
    program: program.name,
    connections,
    perSecond: of((each) => each.perSecond),
    p50Ms: of((each) => each.p50Ms),
    p99Ms: of((each) => each.p99Ms),
    cpuMicros: of((each) => each.cpuMicros),
    allocatedBytes: of((each) => each.allocatedBytes),
    rssBytes: of((each) => each.rssBytes),
    redisMicros: of((each) => each.redisMicros),
    ofFirst: {
      perSecond: ratio((each) => each.perSecond),
      p50: ratio((each) => each.p50Ms),
      p99: ratio((each) => each.p99Ms),
      cpu: ratio((each) => each.cpuMicros),
    },
  };
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

export function resultsText({ rows, growth, evaluation, starts, marks }: Results): string {
  return `${table(rows, 'of the floor')}
${table(growth, 'of the first')}
${evaluationText(evaluation)}
${starts.map(startText).join('\n')}

${marks.map(({ mark, measured, met }) => `${met ? 'met   ' : 'MISSED'} ${mark}; measured ${measured.toFixed(2)}`).join('\n')}
`;
}

const HEAD = ['c', 'program', '/s', 'p50 ms', 'p99 ms', 'CPU us', 'Redis us', 'KiB', 'RSS MiB'];

export function table(rows: readonly Row[], compared: string): string {
  if (rows.length === 0) return '';
  const head = [...HEAD, `| ${compared}: /s`, 'p50', 'p99', 'CPU'];
  const lines = rows.map(({ connections, program, ofFirst, ...own }) => [
    String(connections),
    program,
    own.perSecond.toFixed(0),
    own.p50Ms.toFixed(2),
    own.p99Ms.toFixed(2),
    own.cpuMicros.toFixed(0),
    own.redisMicros.toFixed(0),
    (own.allocatedBytes / 2 ** 10).toFixed(0),
    (own.rssBytes / 2 ** 20).toFixed(0),
    `| ${ofFirst.perSecond.toFixed(2)}`,
    ofFirst.p50.toFixed(2),
    ofFirst.p99.toFixed(2),
    ofFirst.cpu.toFixed(2),
  ]);
  const widths = head.map((_, at) => Math.max(...[head, ...lines].map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 1 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ');
  return `${[head, ...lines].map(line).join('\n')}\n`;
}

export function comparedText({ rows, errors }: Compared): string {
  const text = table(rows, 'of the one there');
  if (errors === undefined) return text;
  const [perSecond, p50, p99, cpu] = [errors.perSecond, errors.p50, errors.p99, errors.cpu].map((error) =>
    error.toFixed(3),
  );
  return `${text}Standard errors: /s ${perSecond}, p50 ${p50}, p99 ${p99}, CPU ${cpu}.\n`;
}

function startText({ store, firstMs, medianMs }: StartTimes): string {
  return `Ready after start on ${store}: ${medianMs.toFixed(0)} ms at the median, ${firstMs.toFixed(0)} ms the first time, when nothing has been compiled.`;
}

function evaluationText({ few, many }: EvaluationTimes): string {
  const times = ({ p50Micros, p99Micros }: EvaluationTimes['few']): string =>
    `${p50Micros.toFixed(1)} us at the median, ${p99Micros.toFixed(1)} us at p99`;
  return `Evaluation alone, 5 rules: ${times(few)}; 20 rules of 100 policies: ${times(many)}.`;
}
