import { Redis } from 'ioredis';
import { type Posted, type Sending, createSender } from '../bench/callbacks.ts';
import { load, startSubject } from '../bench/load.ts';
import { COSIGNER_RULES, FEW_RULES } from '../bench/policies.ts';
import { program } from '../bench/programs.ts';
import { createStage } from '../bench/stage.ts';
import { commandLine, wholeNumber } from '../command-line.ts';

const options = commandLine(
  'soak',
  'Sends callbacks to one process, and says after each step what memory and keys have become.',
  '--decisions 100000 --steps 5',
)
  .option('--decisions <number>', 'callbacks in all', wholeNumber({ least: 1000, most: 1e9 }), 1_000_000)
  .option('--steps <number>', 'equal parts; it looks after each', wholeNumber({ least: 3, most: 1000 }), 10)
  .option('--json', 'print the results as JSON')
  .parse()
  .opts<{ readonly decisions: number; readonly steps: number; readonly json?: boolean }>();
/** Callbacks of one step. */
const EACH = Math.ceil(options.decisions / options.steps);
const CONNECTIONS = 32;
/** Callbacks made at once, so that the sender stays small as well. */
const PART = 10_000;
/**
 * What is sent, in this order again and again. Not by RSA, whose million signatures would take a quarter of
 * an hour to make.
 */
const MIX: readonly Sending[] = ['md5', 'md5', 'md5', 'withdrawal', 'web3'];
/** Of the memory after the second step, by which all is compiled and warm. */
const FLAT = 0.1;

interface Step {
  readonly decisions: number;
  readonly perSecond: number;
  readonly rssBytes: number;
  readonly redisBytes: number;
  readonly keys: number;
}

const sender = createSender();
const stage = await createStage(sender);
try {
  const steps = await soak();
  const [, second, ...later] = steps.slice(1);
  const last = later.at(-1);
  const grown = second && last ? last.rssBytes / second.rssBytes - 1 : Number.NaN;
  const results = { steps, grown, flat: grown <= FLAT };
  process.stdout.write(options.json ? `${JSON.stringify(results, undefined, 2)}\n` : textOf(results));
} finally {
  await stage.clear();
}

/** Memory before the first decision, and after each step. */
async function soak(): Promise<readonly Step[]> {
  const policies = `${FEW_RULES}---\n${COSIGNER_RULES}`;
  const subject = await startSubject(stage, program('soak', { policies }));
  const redis = new Redis(stage.redisUrl);
  const look = async (decisions: number, perSecond: number): Promise<Step> => {
    const memory = /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1];
    const { rssBytes } = await subject.used();
    const step = {
      decisions,
      perSecond,
      rssBytes,
      redisBytes: Number(memory),
      keys: await redis.dbsize(),
    };
    process.stderr.write(`${textOfStep(step)}\n`);
    return step;
  };
  try {
    const steps = [await look(0, 0)];
    for (let from = 0; from < options.decisions; from += EACH) {
      const startedMs = performance.now();
      for (let at = from; at < from + EACH; at += PART) {
        const posted = Array.from({ length: Math.min(PART, from + EACH - at) }, (_, index) =>
          callback(at + index),
        );
        await load(subject, posted, { connections: CONNECTIONS, answer: 'SUCCESS' });
      }
      steps.push(await look(from + EACH, (EACH * 1000) / (performance.now() - startedMs)));
    }
    return steps;
  } finally {
    redis.disconnect();
    await subject.stop();
  }
}

function callback(index: number): Posted {
  return sender.make(MIX[index % MIX.length] ?? 'md5', index);
}

function textOf({
  steps,
  grown,
  flat,
}: {
  readonly steps: readonly Step[];
  readonly grown: number;
  readonly flat: boolean;
}): string {
  return `decisions       /s  RSS MiB  Redis MiB      keys
${steps.map(textOfStep).join('\n')}
${flat ? 'met   ' : 'MISSED'} RSS flat within ${FLAT * 100} % from the second step on; it grew by ${(grown * 100).toFixed(1)} %
`;
}

function textOfStep({ decisions, perSecond, rssBytes, redisBytes, keys }: Step): string {
  const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
  return [
    String(decisions).padStart(9),
    perSecond.toFixed(0).padStart(8),
    mebibytes(rssBytes).padStart(8),
    mebibytes(redisBytes).padStart(10),
    String(keys).padStart(9),
  ].join(' ');
}
