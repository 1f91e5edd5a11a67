import { defineConfig } from 'vitest/config';

/** The scenarios hold answers to their time, so they run after the others and one file at a time. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: ['test/scenarios/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'scenarios',
          include: ['test/scenarios/**/*.test.ts'],
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
