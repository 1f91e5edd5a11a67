import { Option } from 'commander';
import { commandLine, minutesUpTo, wholeNumber } from '../command-line.ts';
import { isBroken } from './auditor.ts';
import { type Report, reportOf, textOf } from './report.ts';
import { type Run, type RunOptions, run } from './run.ts';
import { runLoss } from './run-loss.ts';
import { startCluster } from './topologies/cluster.ts';
import { startEmbedded } from './topologies/embedded.ts';
import { startLosing } from './topologies/loss.ts';
import { startSentinel, startSpare } from './topologies/sentinel.ts';
import { startSingle } from './topologies/single.ts';
import type { Topology } from './topology.ts';

const MINUTE_MS = 60_000;
const LOAD = { workers: 8, restMs: 8 };
/** A machine with two cores runs the receivers, the Redis servers and the load at once. */
const MARGIN_MS = 750;
const RECOVERY_MS = 15_000;
const HOLD_MS = [600, 2400] as const;
const CALM_MS = [500, 1000] as const;
/**
 * What starting, auditing and stopping take of a topology's time; the two losses take their own, whatever is
 * given.
 */
const AROUND_MS = 8000;
const LOSSES_MS = 40_000;
const LEAST_MS = 5000;
const RECEIVERS = 3;

interface Part {
  readonly name: string;
  /** Of the whole time. */
  readonly share: number;
  readonly run: (options: RunOptions) => Promise<readonly Run[]>;
}

const parts: readonly Part[] = [
  { name: 'single', share: 0.34, run: on(() => startSingle(RECEIVERS)) },
  { name: 'sentinel', share: 0.2, run: on(() => startSentinel(2, 2)) },
  { name: 'spare', share: 0.13, run: on(() => startSpare(2)) },
  { name: 'cluster', share: 0.17, run: on(() => startCluster(2)) },
  { name: 'embedded', share: 0.16, run: on(() => startEmbedded(2)) },
  { name: 'loss', share: 0, run: runLosses },
];

interface Given {
  readonly only?: string;
  readonly minutes: number;
  readonly seed?: number;
  readonly json?: boolean;
}

const given = commandLine(
  'chaos',
  'Sends callbacks to real receivers while things go wrong, one after the other and together, then audits all ' +
    'that was answered.\n\nExit code 1 if an invariant is broken, or was never looked at; 2 if the run could not be made.',
  '--only sentinel --minutes 3',
)
  .addOption(
    new Option('--only <topology>', 'only this one (default: all)').choices(parts.map(({ name }) => name)),
  )
  .option('--minutes <number>', 'how long, about', minutesUpTo(60), 8.5)
  .option(
    '--seed <number>',
    'repeats the plan of a run (default: a new one)',
    wholeNumber({ least: 0, most: 1e15 }),
  )
  .option('--json', 'print the report as JSON')
  .parse()
  .opts<Given>();

function on(start: () => Promise<Topology>): Part['run'] {
  return async (options) => {
    const topology = await start();
    try {
      const made = await run(topology, options);
      explain(topology, made);
      return [made];
    } finally {
      await topology.stop();
    }
  };
}

async function runLosses(options: RunOptions): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (const how of ['restarted', 'flushed'] as const) {
    const topology = await startLosing(2, how);
    try {
      const made = await runLoss(topology, options);
      explain(topology, made);
      runs.push(made);
    } finally {
      await topology.stop();
    }
  }
  return runs;
}

/** What the receivers logged about the subjects by which an invariant is broken. */
function explain({ receivers }: Topology, { audited }: Run): void {
  const told = audited.flatMap(({ broken }) => broken.slice(0, 10)).join('\n');
  const subjects = new Set(told.match(/\b(?:payment|transfer|web3):[\w-]+/g));
  for (const subject of subjects) {
    for (const receiver of receivers)
      for (const line of receiver.said(subject)) printProgress(`  ${subject}: ${line}`);
  }
}

function printProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function main(): Promise<number> {
  const { seed = Date.now() % 1_000_000, minutes } = given;
  const chosen = parts.filter(({ name }) => given.only === undefined || name === given.only);
  const lossesMs = chosen.some(({ share }) => share === 0) ? LOSSES_MS : 0;
  const endsAtMs = performance.now() + minutes * MINUTE_MS - lossesMs;
  let shares = chosen.reduce((sum, { share }) => sum + share, 0);
  const reports: Report[] = [];
  for (const part of chosen) {
    // What one part took too long, the others have less.
    const wholeMs = ((endsAtMs - performance.now()) * part.share) / (shares || 1);
    shares -= part.share;
    const forMs = Math.max(LEAST_MS, wholeMs - AROUND_MS);
    printProgress(`${part.name}, with seed ${seed}`);
    const runs = await part.run({
      seed,
      forMs,
      load: LOAD,
      holdMs: HOLD_MS,
      calmMs: CALM_MS,
      marginMs: MARGIN_MS,
      recoveryMs: RECOVERY_MS,
      report: printProgress,
    });
    for (const made of runs) {
      const report = reportOf(made);
      reports.push(report);
      if (!given.json) process.stdout.write(`${textOf(report)}\n`);
    }
  }
  const verdict = verdictOf(reports);
  if (given.json) process.stdout.write(`${JSON.stringify({ ...verdict, reports }, undefined, 2)}\n`);
  else process.stdout.write(verdict.holds ? 'every invariant held\n' : `broken: ${verdict.why.join('; ')}\n`);
  return verdict.holds ? 0 : 1;
}

/** An invariant that no run has looked at proves nothing. */
function verdictOf(reports: readonly Report[]): { readonly holds: boolean; readonly why: readonly string[] } {
  const why = reports.flatMap(({ topology, invariants }) =>
    isBroken(invariants) ? [`${topology} breaks what must hold`] : [],
  );
  const names = reports[0]?.invariants.map(({ name }) => name) ?? [];
  const unseen = names.filter((name) =>
    reports.every(({ invariants }) => invariants.every((each) => each.name !== name || each.checked === 0)),
  );
  // With one topology alone, not everything comes up.
  const missed = given.only === undefined ? unseen.map((name) => `never looked at: ${name}`) : [];
  return { holds: why.length + missed.length === 0, why: [...why, ...missed] };
}

// Processes that were started end with this one, also where somebody interrupts it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.setMaxListeners(100);
process.exitCode = await main().catch((thrown: unknown) => {
  printProgress(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
  return 2;
});
