import { keepHeapSmall } from './cli/small-heap.ts';

if (process.argv[2] === 'reconcile') keepHeapSmall();
const { runMain } = await import('./cli/main.ts');

// Without exit, an open connection or thread would keep a finished command running.
process.exit(await runMain());
