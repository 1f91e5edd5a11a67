import { commandLine, minutesUpTo, wholeNumber } from '../../command-line.ts';
import { run } from './run.ts';
import { startBothStores } from './stores.ts';

const MINUTE_MS = 60_000;
const EVERY_MS = 5000;

const NUMBER = wholeNumber({ least: 0, most: 999_999_999 });
const {
  steps,
  minutes,
  seed,
  round: firstRound,
} = commandLine(
  'fuzz:policies',
  'Decides random callbacks by random policies on both stores, and compares them with a second reading of the docs.' +
    '\n\nExit code 1 if anything differs.',
  '--steps 20000 --seed 7',
)
  .option('--steps <number>', 'steps on each store', NUMBER, 1_000_000)
  .option('--minutes <number>', 'ends after so many at the latest', minutesUpTo(9999), 120)
  .option('--seed <number>', 'determines what is sent', NUMBER, 1)
  .option('--round <number>', 'begins at this round', NUMBER, 0)
  .parse()
  .opts<Record<'steps' | 'minutes' | 'seed' | 'round', number>>();
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
