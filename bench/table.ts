import type { Round } from './load.ts';

export type Program = 'floor' | 'redis' | 'embedded';

/** Of the floor's throughput, on Redis at c=32. */
const MARK = 0.6;

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
    program === 'floor' ? 'floor' : `countersign, ${program}`,
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
  const mark = rows.find((row) => row.program === 'redis' && row.connections === 32)?.ofFloor.perSecond ?? 0;
  const verdict = `Mark: at least ${MARK} of the floor's throughput on Redis at c=32; measured ${mark.toFixed(2)}: ${mark >= MARK ? 'met' : 'missed'}.`;
  return `${[head, ...lines].map(line).join('\n')}\n\n${verdict}\n`;
}
