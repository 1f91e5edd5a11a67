import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { type Posted, type Sending, createSender } from '../bench/callbacks.ts';
import { load, startSubject } from '../bench/load.ts';
import { COSIGNER_RULES, FEW_RULES } from '../bench/policies.ts';
import { program } from '../bench/programs.ts';
import { createStage } from '../bench/stage.ts';

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    decisions: { type: 'string', default: '1000000' },
    steps: { type: 'string', default: '10' },
  },
});
const DECISIONS = Number(options.decisions);
const STEPS = Number(options.steps);
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
  const subject = await startSubject(
    await stage.set(program('soak', { policies: `${FEW_RULES}---\n${COSIGNER_RULES}` })),
  );
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
    const each = DECISIONS / STEPS;
    for (let from = 0; from < DECISIONS; from += each) {
      const startedMs = performance.now();
      for (let at = from; at < from + each; at += PART) {
        const posted = Array.from({ length: Math.min(PART, from + each - at) }, (_, index) =>
          callback(at + index),
        );
        await load(subject, posted, { connections: CONNECTIONS, answer: 'SUCCESS' });
      }
      steps.push(await look(from + each, (each * 1000) / (performance.now() - startedMs)));
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
