import { commandLine, wholeNumber } from '../command-line.ts';
import { measureAgainst } from './against.ts';
import { type Posted, type Sending, createSender } from './callbacks.ts';
import { evaluationTimes } from './evaluation.ts';
import { type Round, load, startSubject } from './load.ts';
import { marksOf } from './marks.ts';
import { FLOOR, GROWTHS, LOADS, type Program } from './programs.ts';
import { type Stage, createStage } from './stage.ts';
import { startTimes } from './start.ts';
import { type Row, comparedText, comparedTo, resultsText, table } from './table.ts';

interface Options {
  readonly rounds: number;
  readonly callbacks: number;
  readonly only?: string;
  readonly growth: boolean;
  readonly against?: string;
  readonly starts: number;
  readonly bursts: number;
  readonly json?: boolean;
}

const COUNT = wholeNumber({ least: 1, most: 1_000_000 });
const options = commandLine(
  'bench',
  'Measures the service beside the least that a receiver must do, the floor. tools/bench/README.md says how.',
  '--rounds 1 --only embedded',
)
  .option('--rounds <number>', 'rounds of each program', COUNT, 3)
  .option('--callbacks <number>', 'callbacks of each round', COUNT, 8000)
  .option('--only <text>', 'only the rows whose names contain it, and the floor')
  .option('--no-growth', 'not how the time grows with the number of rules and entries')
  .option('--against <folder>', 'only compare this checkout with the one in the folder, in turns')
  .option('--starts <number>', 'with --against, how often both are started, each first in turn', COUNT, 4)
  .option('--bursts <number>', 'with --against, the turns of each checkout after each start', COUNT, 10)
  .option('--json', 'print the results as JSON')
  .parse()
  .opts<Options>();
const ROUNDS = options.rounds;
const CALLBACKS = options.callbacks;
const { only = '' } = options;
/**
 * Sent first to each new process, uncounted: the first ten thousand or so run unoptimised, and more so the
 * more rules there are.
 */
const WARM_UP = 16_000;
const CONNECTIONS = 32;
/** With --against, where one percent matters: the CPU of a callback falls for about so many callbacks. */
const WARM_UP_AGAINST = 70_000;
/** Callbacks to one checkout before it is the other's turn. In shorter bursts, the caches would be cold. */
const BURST = 2000;

const report = (line: string): void => void process.stderr.write(`${line}\n`);
const sender = createSender();
const signed = new Map<Sending, readonly Posted[]>();

if (options.against !== undefined) {
  await compareCheckouts(options.against);
  process.exit();
}
const stage = await createStage(sender);

try {
  const rows = await measureLoads(stage);
  const growth = options.growth ? await measureGrowth(stage) : [];
  const evaluation = evaluationTimes();
  const starts = 'start'.includes(only) ? await startTimes(stage) : [];
  const results = { rows, growth, evaluation, starts, marks: marksOf(rows, growth, starts) };
  process.stdout.write(options.json ? `${JSON.stringify(results, undefined, 2)}\n` : resultsText(results));
} catch (thrown) {
  report(`The run has failed. What the programs have logged: ${stage.keepLog() ?? 'nothing'}`);
  throw thrown;
} finally {
  await stage.clear();
}

async function compareCheckouts(checkout: string): Promise<void> {
  const { starts, bursts } = options;
  const sizes = { starts, bursts, burst: BURST, warmUp: WARM_UP_AGAINST };
  const pairs = await measureAgainst({ checkout, sender, only, ...sizes, report });
  const text = pairs.map(comparedText).join('\n');
  process.stdout.write(options.json ? `${JSON.stringify(pairs, undefined, 2)}\n` : text);
}

/**
 * Each load with the floor in the same rounds, program after program, so that a drift of the machine meets
 * all of them.
 */
async function measureLoads(on: Stage): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { connections, programs } of LOADS) {
    const chosen = programs.filter((each) => each === FLOOR || each.name.includes(only));
    const callbacks = connections === 1 ? Math.ceil(CALLBACKS / 4) : CALLBACKS;
    rows.push(...(await inTurn(on, chosen, connections, callbacks)));
  }
  return rows;
}

async function measureGrowth(on: Stage): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const { of, programs } of GROWTHS) {
    if (of.includes(only)) rows.push(...(await inTurn(on, programs, CONNECTIONS, CALLBACKS)));
  }
  return rows;
}

async function inTurn(
  on: Stage,
  programs: readonly Program[],
  connections: number,
  callbacks: number,
): Promise<readonly Row[]> {
  const taken = programs.map((program) => ({ program, connections, rounds: [] as Round[] }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { program, rounds } of taken) {
      report(`c=${connections} round ${round + 1} of ${ROUNDS}: ${program.name}`);
      rounds.push(await oneRound(on, program, { connections, callbacks }));
    }
  }
  const [first] = taken;
  const rows = first === undefined ? [] : taken.map((each) => comparedTo(first.rounds, each));
  // A wrong answer ends the run, and what was measured by then should not be lost.
  report(table(rows, 'of the first'));
  return rows;
}

/** Fresh processes on a fresh store, warmed up with subjects of their own. */
async function oneRound(
  on: Stage,
  program: Program,
  { connections, callbacks }: { readonly connections: number; readonly callbacks: number },
): Promise<Round> {
  const posted = postedOf(program.sending);
  const subject = await startSubject(on, program);
  try {
    await load(subject, posted.slice(0, WARM_UP), { connections: CONNECTIONS, answer: program.answer });
    const measured = posted.slice(WARM_UP, WARM_UP + callbacks);
    return await load(subject, measured, { connections, answer: program.answer });
  } finally {
    await subject.stop();
  }
}

/** Signed once, before anything is measured. */
function postedOf(sending: Sending): readonly Posted[] {
  const known = signed.get(sending);
  if (known !== undefined) return known;
  const made = Array.from({ length: WARM_UP + CALLBACKS }, (_, index) => sender.make(sending, index));
  signed.set(sending, made);
  return made;
}
