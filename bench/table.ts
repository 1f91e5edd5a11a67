import type { Round } from './load.ts';

import type { EvaluationTimes } from './evaluation.ts';

export type Program = 'floor' | 'redis' | 'redis-many' | 'embedded';

const NAMES: Readonly<Record<Program, string>> = {
  floor: 'floor',
  redis: 'countersign, redis',
  'redis-many': 'countersign, redis, 20 rules of 100 policies',
  embedded: 'countersign, embedded',
};

/** Of the floor's throughput, on Redis at c=32. */
const MARK = 0.6;
/** Of its own throughput with five rules, with twenty of a hundred policies and a list of 100,000. */
const GROWTH_MARK = 0.9;
/** Of evaluation at the median, with those twenty rules. */
const EVALUATION_MARK_MICROS = 50;

/** One program at one number of connections: the medians of its rounds, and of their ratios to the floor's. */
export interface Row extends Round {
  readonly program: Program;
  readonly connections: number;
  readonly ofFloor: {
    readonly perSecond: number;
    readonly p50: number;
    readonly p99: number;
    readonly cpu: number;
  };
}

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

export function medians(rounds: readonly Round[]): Round {
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
  return {
    perSecond: of((each) => each.perSecond),
    p50Ms: of((each) => each.p50Ms),
    p99Ms: of((each) => each.p99Ms),
    cpuMicros: of((each) => each.cpuMicros),
    rssBytes: of((each) => each.rssBytes),
  };
}

export function table(rows: readonly Row[]): string {
  const head = [
    'c',
    'program',
    'callbacks/s',
    'p50 ms',
    'p99 ms',
    'CPU us',
    'RSS MiB',
    '| of the floor: /s',
    'p50',
    'p99',
    'CPU',
  ];
  const lines = rows.map(({ connections, program, ofFloor, ...own }) => [
    String(connections),
    NAMES[program],
    own.perSecond.toFixed(0),
    own.p50Ms.toFixed(2),
    own.p99Ms.toFixed(2),
    own.cpuMicros.toFixed(0),
    (own.rssBytes / 2 ** 20).toFixed(0),
    `| ${ofFloor.perSecond.toFixed(2)}`,
    ofFloor.p50.toFixed(2),
    ofFloor.p99.toFixed(2),
    ofFloor.cpu.toFixed(2),
  ]);
  const widths = head.map((_, at) => Math.max(...[head, ...lines].map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 1 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ');
  const at32 = (program: Program): number =>
    rows.find((row) => row.program === program && row.connections === 32)?.ofFloor.perSecond ?? 0;
  const growth = at32('redis-many') / at32('redis');
  const verdicts = [
    `Mark: at least ${MARK} of the floor's throughput on Redis at c=32; measured ${at32('redis').toFixed(2)}: ${metOrMissed(at32('redis') >= MARK)}.`,
    `Mark: at least ${GROWTH_MARK} of that with 20 rules of 100 policies; measured ${growth.toFixed(2)}: ${metOrMissed(growth >= GROWTH_MARK)}.`,
  ];
  return `${[head, ...lines].map(line).join('\n')}\n\n${verdicts.join('\n')}\n`;
}

const metOrMissed = (met: boolean): string => (met ? 'met' : 'missed');

export function evaluationTable({ few, many }: EvaluationTimes): string {
  const times = ({ p50Micros, p99Micros }: EvaluationTimes['few']): string =>
    `${p50Micros.toFixed(1)} us at the median, ${p99Micros.toFixed(1)} us at p99`;
  const met = metOrMissed(many.p50Micros < EVALUATION_MARK_MICROS);
  return `Evaluation alone, 5 rules: ${times(few)}; 20 rules of 100 policies: ${times(many)}.
Mark: under ${EVALUATION_MARK_MICROS} us at the median; ${met}.
`;
}
