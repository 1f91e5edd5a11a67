import { parseArgs } from 'node:util';
import { openOverHttp } from './over-http.ts';
import { reportText } from './report.ts';
import { run } from './run.ts';

/*
 * `npm run fuzz`: mutated callbacks against the whole pipeline, compared with the reference reading. Exit
 * code 1 if anything is wrong. `--round N` begins at a round, with `--count 10000` for that one alone.
 */

const MINUTE_MS = 60_000;
const EVERY_MS = 5000;

const { values: options } = parseArgs({
  options: {
    count: { type: 'string', default: '1000000' },
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    round: { type: 'string', default: '0' },
  },
});

function wholeNumber(name: 'count' | 'minutes' | 'seed' | 'round'): number {
  const text = options[name];
  if (!/^\d{1,9}$/.test(text)) {
    throw new Error(`--${name} ${text} is no whole number: write digits, such as --${name} 10`);
  }
  return Number(text);
}

const [count, minutes, seed, firstRound] = [
  wholeNumber('count'),
  wholeNumber('minutes'),
  wholeNumber('seed'),
  wholeNumber('round'),
];
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
