import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../src/errors.ts';
import type { Posted, Sender } from './callbacks.ts';
import { type Round, type Subject, load, startSubject } from './load.ts';
import { FLOOR, LOADS, type Program } from './programs.ts';
import { type Stage, createStage } from './stage.ts';
import { type Row, comparedTo } from './table.ts';

export interface Against {
  /** Another checkout of this project, with its dependencies installed. */
  readonly checkout: string;
  readonly sender: Sender;
  /** Part of the names of the rows. */
  readonly only: string;
  /** How often both are started, each first in turn. */
  readonly starts: number;
  /** Of each start. */
  readonly bursts: number;
  /** Callbacks in each burst. */
  readonly burst: number;
  /** Sent to each process before it is measured. */
  readonly warmUp: number;
  readonly report: (line: string) => void;
}

/** A row of both checkouts. */
export interface Compared {
  /** The other checkout's, then this one's. */
  readonly rows: readonly Row[];
  /** The standard errors of this checkout's ratios, over the starts. Undefined with one start. */
  readonly errors: Row['ofFirst'] | undefined;
}

const WARM_UP_CONNECTIONS = 32;

/**
 * Measures this checkout against another one, row by row. Both run all the time, and are sent bursts in turn, so
 * that whatever else the machine does meets both alike. They are started several times, because two processes of
 * one program may differ by five percent as long as they run. Rows that the other checkout can't run are left out,
 * and it is reported why.
 */
export async function measureAgainst(against: Against): Promise<readonly Compared[]> {
  const pairs: Compared[] = [];
  for (const { connections, programs } of LOADS) {
    for (const program of programs) {
      if (program === FLOOR || !program.name.includes(against.only)) continue;
      against.report(`c=${connections}: ${program.name}`);
      const pair = await measurePair(against, program, connections);
      if (pair !== undefined) pairs.push(pair);
    }
  }
  return pairs;
}

interface Side {
  readonly name: 'there' | 'here';
  readonly subject: Subject;
  readonly rounds: Round[];
}

/** Returns undefined if the other checkout can't run it. */
async function measurePair(
  against: Against,
  program: Program,
  connections: number,
): Promise<Compared | undefined> {
  const starts: (readonly [there: readonly Round[], here: readonly Round[]])[] = [];
  const made: Posted[] = [];
  // Each start has a fresh store, so what was signed for the first one is sent again.
  const callbacks = (from: number, count: number): readonly Posted[] => {
    while (made.length < from + count) made.push(against.sender.make(program.sending, made.length));
    return made.slice(from, from + count);
  };
  for (let at = 0; at < against.starts; at++) {
    const sides = await measureStart(against, program, {
      connections,
      callbacks,
      first: at % 2 === 0 ? 'there' : 'here',
    });
    if (sides === undefined) return undefined;
    const roundsOf = (name: Side['name']): readonly Round[] =>
      sides.filter((side) => side.name === name).flatMap(({ rounds }) => rounds);
    starts.push([roundsOf('there'), roundsOf('here')]);
  }
  const there = starts.flatMap(([rounds]) => rounds);
  const here = starts.flatMap(([, rounds]) => rounds);
  const row = (name: Side['name'], first: readonly Round[], rounds: readonly Round[]): Row =>
    comparedTo(first, { program: { ...program, name: `${program.name}, ${name}` }, connections, rounds });
  return {
    rows: [row('there', there, there), row('here', there, here)],
    errors: standardErrors(starts.map(([first, rounds]) => row('here', first, rounds).ofFirst)),
  };
}

function standardErrors(ratios: readonly Row['ofFirst'][]): Row['ofFirst'] | undefined {
  if (ratios.length < 2) return undefined;
  const error = (name: keyof Row['ofFirst']): number => {
    const found = ratios.map((each) => each[name]);
    const mean = found.reduce((sum, each) => sum + each, 0) / found.length;
    const squares = found.reduce((sum, each) => sum + (each - mean) ** 2, 0);
    return Math.sqrt(squares / (found.length - 1) / found.length);
  };
  return { perSecond: error('perSecond'), p50: error('p50'), p99: error('p99'), cpu: error('cpu') };
}

async function measureStart(
  { checkout, sender, bursts, burst, warmUp, report }: Against,
  program: Program,
  {
    connections,
    callbacks,
    first,
  }: {
    readonly connections: number;
    readonly callbacks: (from: number, count: number) => readonly Posted[];
    /** The first to start, which has some percent of advantage. */
    readonly first: Side['name'];
  },
): Promise<readonly Side[] | undefined> {
  const { answer } = program;
  const stages: Stage[] = [];
  const start = async (name: Side['name'], entry?: URL): Promise<Side> => {
    const stage = await createStage(sender);
    stages.push(stage);
    return { name, subject: await startSubject(stage, program, entry), rounds: [] };
  };
  const sides: Side[] = [];
  try {
    const there = pathToFileURL(subjectOf(checkout));
    if (first === 'here') sides.push(await start('here'));
    const other = await start('there', there).catch((thrown: unknown) => {
      report(`left out, because the other checkout does not run it: ${messageOf(thrown)}`);
    });
    if (other === undefined) return undefined;
    sides.push(other);
    if (first === 'there') sides.push(await start('here'));
    const sentFirst = callbacks(0, warmUp);
    for (const { subject } of sides)
      await load(subject, sentFirst, { connections: WARM_UP_CONNECTIONS, answer });
    for (let at = 0; at < bursts; at++) {
      const posted = callbacks(warmUp + at * burst, burst);
      for (const { subject, rounds } of at % 2 === 0 ? sides : sides.toReversed()) {
        rounds.push(await load(subject, posted, { connections, answer }));
      }
    }
  } finally {
    for (const { subject } of sides) await subject.stop();
    for (const stage of stages) await stage.clear();
  }
  return sides;
}

/** The program that `load.ts` starts, in another checkout; older checkouts have it in `bench/`. */
function subjectOf(checkout: string): string {
  const file = join(checkout, 'tools/bench/subject.ts');
  return existsSync(file) ? file : join(checkout, 'bench/subject.ts');
}
