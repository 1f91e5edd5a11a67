import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * No promise of the product: a test that has come no further by then hangs. A busy machine may take its time.
 */
const patience = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // As long as `eventually` waits; a second by default.
  expect: { poll: { timeout: 60_000 } },
  setupFiles: 'test/say-what-hangs.ts',
};

/**
 * One more than there are processors: the tests wait for servers, fail-overs and time-outs more than they
 * compute.
 */
const maxWorkers = availableParallelism() + 1;

const LONG = '{test,packages/*/test}/**/*.long.test.ts';
/**
 * Each runs alone: it keeps all processors busy, or its memory depends on how soon the collector gets a processor.
 */
const BUSY = [
  'test/reconcile/large-day.long.test.ts',
  'test/scenarios/commands-beside-load.long.test.ts',
  'test/scenarios/connections-are-bounded.long.test.ts',
];

/**
 * The files that a worker runs share its modules: to load them for each file takes a quarter of all processor
 * time. A module keeps no state but constants that it calculates once, so no file can disturb the next.
 */
const isolate = false;

/**
 * The scenarios put load on services, so they run after the others. The long ones kill processes in loops,
 * fill disks or wait for time-outs: `npm test` leaves them to `npm run test:long`.
 */
export default defineConfig({
  test: {
    // A terminal shows what runs; a log holds the failures and the counts.
    reporters: [process.stdout.isTTY ? 'default' : 'minimal'],
    projects: [
      {
        test: {
          ...patience,
          maxWorkers,
          isolate,
          name: 'parts',
          include: ['{test,packages/*/test}/**/*.test.ts'],
          exclude: ['test/scenarios/**', LONG],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...patience,
          name: 'scenarios',
          include: ['test/scenarios/**/*.test.ts'],
          exclude: [LONG],
          maxWorkers,
          isolate,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...patience,
          name: 'long',
          include: [LONG],
          exclude: BUSY,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      { test: { ...patience, name: 'busy', include: BUSY, maxWorkers: 1, sequence: { groupOrder: 3 } } },
    ],
  },
});
