import { parseArgs } from 'node:util';
import { run } from './run.ts';
import { startBothStores } from './stores.ts';

/*
 * `npm run fuzz:policies`: random policies and callbacks on both stores, compared with the second reading. Exit
 * code 1 if anything differs.
 */

const MINUTE_MS = 60_000;
const EVERY_MS = 5000;

const { values: options } = parseArgs({
  options: {
    steps: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
    round: { type: 'string', default: '0' },
  },
});

function wholeNumber(name: 'steps' | 'minutes' | 'seed' | 'round'): number {
  const text = options[name];
  if (!/^\d{1,9}$/.test(text)) {
    throw new Error(`--${name} ${text} is no whole number: write digits, such as --${name} 10`);
  }
  return Number(text);
}

const [steps, minutes, seed, firstRound] = [
  wholeNumber('steps'),
  wholeNumber('minutes'),
  wholeNumber('seed'),
  wholeNumber('round'),
];
const sinceMs = performance.now();
let toldMs = sinceMs;

const stores = await startBothStores();
try {
  const { differences, ...counts } = await run({
    seed,
    firstRound,
    steps,
    untilMs: sinceMs + minutes * MINUTE_MS,
    open: stores.open,
    onRound(tally) {
      if (performance.now() - toldMs < EVERY_MS) return;
      toldMs = performance.now();
      const rate = Math.round((tally.steps * 1000) / (toldMs - sinceMs));
      process.stderr.write(
        `${tally.steps} of ${steps}, ${rate} a second, ${tally.differences.length} different\n`,
      );
    },
  });
  const seconds = Math.round((performance.now() - sinceMs) / 1000);
  process.stdout.write(
    `${counts.steps} steps on each store in ${counts.rounds} rounds and ${seconds} s, ${counts.approved} approved, ` +
      `${counts.again} asked again, ${counts.lifted} lock-outs lifted; seed ${seed}\n${differences.join('\n\n') || 'nothing differs'}\n`,
  );
  process.exitCode = differences.length > 0 ? 1 : 0;
} finally {
  await stores.close();
}
