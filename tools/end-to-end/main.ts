import { InvalidArgumentError } from 'commander';
import { messageOf } from '../../src/errors.ts';
import { readFaults } from '../../packages/sandbox/faults.ts';
import { commandLine } from '../command-line.ts';
import { type Planned, planDay, planTampering } from './plan.ts';
import { checksOf, checksText, faultsText, sentText, sumsText } from './report.ts';
import { runDays } from './run.ts';
import { type World, startWorld } from './world.ts';

const DEFAULT_FAULTS = 'late=20,repeat=20,reorder=20,wire=20';

interface Options {
  readonly seed?: string;
  readonly faults: string;
  readonly redis?: string;
  readonly tamper?: boolean;
}

const newSeed = (): string => String(Date.now() % 1_000_000);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Shows progress only on a terminal, in one line that changes. */
const narrator = {
  say(line: string): void {
    clearProgress();
    print(line);
  },
  progress(doing: string, done: number, of: number): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${done} of ${of} ${doing}`);
  },
};

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
}

async function run(
  { seed = newSeed(), faults, redis, tamper = false }: Options,
  stopping: AbortSignal,
): Promise<number> {
  const plan = planDay(seed);
  const planned: readonly Planned[] = tamper ? planTampering(plan) : [];
  const all = [faults, ...planned.map(({ fault, id }) => `${fault}@${id}`)].filter((each) => each !== '');
  let world: World | undefined;
  try {
    world = await startWorld({ seed, faults: all.join(','), redis });
    print(
      `The receiver is at ${world.receiverUrl}, with ${redis === undefined ? 'an embedded store' : 'its store on Redis'}.\n` +
        `The sandbox is at ${world.sandboxUrl}. Its seed is ${seed}, and its day is ${world.days[0]} in ${world.zone}.\n` +
        `Faults: ${faults === '' ? 'none' : faults}${tamper ? `, and ${planned.length} at chosen places` : ''}.`,
    );
    const { reject, promise: stopped } = Promise.withResolvers<never>();
    stopping.addEventListener('abort', () => reject(new Error('it was stopped')), { once: true });
    const outcome = await Promise.race([runDays(world, plan, narrator), stopped]);
    const checks = checksOf(plan, planned, outcome);
    const parts = [sentText(plan, outcome), faultsText(outcome), sumsText(plan, outcome), checksText(checks)];
    print(
      parts
        .filter((part) => part !== '')
        .map((part) => `\n${part}`)
        .join('\n'),
    );
    return checks.every((check) => check.faults.length === 0) ? 0 : 1;
  } finally {
    clearProgress();
    await world?.stop();
  }
}

const options = commandLine(
  'end-to-end',
  'Starts the receiver and the sandbox of the platform as two processes, each with what it needs in a temporary ' +
    'folder. Pays 50 orders, and lets the co-signer ask about 30 withdrawals and 20 web3 transactions. Some of them ' +
    'break the policies. Then it goes to the next day, reconciles both days, and compares what was sent with how it ' +
    'ended, and the balances with the bill, the journal and the reconciliation.\n\n' +
    'Exit code 0 if everything agrees to the last digit, 1 if something does not, 2 if the run could not be made.',
  '--tamper --seed 7',
)
  .option(
    '--tamper',
    'also tamper with calls, in each way that the sandbox knows, and make each discrepancy that a reconciliation must name',
  )
  .option('--seed <text>', 'determines amounts, users and which faults occur (default: a new one)')
  .option('--faults <list>', 'faults of the sandbox; see docs/sandbox.md', faultsIn, DEFAULT_FAULTS)
  .option(
    '--redis <url>',
    'the store is on this Redis, which must have its writes on disk (default: an embedded store)',
    redisIn,
  )
  .parse()
  .opts<Options>();

function faultsIn(text: string): string {
  try {
    readFaults(text);
  } catch (thrown) {
    throw new InvalidArgumentError(messageOf(thrown));
  }
  return text;
}

function redisIn(text: string): string {
  if (/^rediss?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new InvalidArgumentError('Write an address such as redis://127.0.0.1:6379/0.');
}

async function main(): Promise<number> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => stopping.abort());
  }
  try {
    return await run(options, stopping.signal);
  } catch (thrown) {
    process.stderr.write(`${messageOf(thrown)}\n`);
    return 2;
  }
}

process.exit(await main());
