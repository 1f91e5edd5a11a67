import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * No promise of the product: a test that has come no further by then hangs. A busy machine may take its time.
 */
const patience = { testTimeout: 120_000, hookTimeout: 120_000 };

/**
 * One more than there are processors: the tests wait for servers, fail-overs and time-outs more than they
 * compute.
 */
const maxWorkers = availableParallelism() + 1;

/** The scenarios put load on services, so they run after the others and two files at a time. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...patience,
          maxWorkers,
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: ['test/scenarios/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...patience,
          name: 'scenarios',
          include: ['test/scenarios/**/*.test.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
