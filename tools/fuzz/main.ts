import { commandLine, minutesUpTo, wholeNumber } from '../command-line.ts';
import { openOverHttp } from './over-http.ts';
import { reportText } from './report.ts';
import { run } from './run.ts';

const MINUTE_MS = 60_000;
const EVERY_MS = 5000;

const NUMBER = wholeNumber({ least: 0, most: 999_999_999 });
const {
  count,
  minutes,
  seed,
  round: firstRound,
} = commandLine(
  'fuzz',
  'Sends mutated callbacks through the whole pipeline, and compares each answer with a second reading of the rules.' +
    '\n\nExit code 1 if anything is wrong.',
  '--count 10000 --seed 7',
)
  .option('--count <number>', 'callbacks', NUMBER, 1_000_000)
  .option('--minutes <number>', 'ends after so many at the latest', minutesUpTo(9999), 60)
  .option('--seed <number>', 'determines what is sent', NUMBER, 1)
  .option('--round <number>', 'begins at this round', NUMBER, 0)
  .parse()
  .opts<Record<'count' | 'minutes' | 'seed' | 'round', number>>();
const sinceMs = performance.now();
let toldMs = sinceMs;
const told = new Set<string>();

const http = await openOverHttp();
try {
  const tally = await run({
    seed,
    firstRound,
    count,
    untilMs: sinceMs + minutes * MINUTE_MS,
    http,
    onProgress(_, { answered, wrong, refused }) {
      for (const what of [...wrong.keys(), ...refused.keys()]) {
        if (!told.has(what)) process.stderr.write(`found: ${what}\n`);
        told.add(what);
      }
      if (performance.now() - toldMs < EVERY_MS) return;
      toldMs = performance.now();
      const rate = Math.round((answered * 1000) / (toldMs - sinceMs));
      process.stderr.write(
        `${answered} of ${count}, ${rate} a second, ${wrong.size} kinds of wrong, ${refused.size} of refused\n`,
      );
    },
  });
  process.stdout.write(reportText(tally, seed, performance.now() - sinceMs));
  process.exitCode = tally.wrong.size > 0 ? 1 : 0;
} finally {
  await http.close();
}
