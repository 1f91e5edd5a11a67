import { defineConfig } from 'vitest/config';

/** No promise of the product: a test that has come no further by then hangs. A busy machine may take its time. */
const patience = { testTimeout: 120_000, hookTimeout: 120_000 };

/** The scenarios hold answers to their time, so they run after the others and one file at a time. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...patience,
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
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
