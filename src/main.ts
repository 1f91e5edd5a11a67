import { runMain } from './cli/main.ts';

// Without exit, an open connection or thread would keep a finished command running.
process.exit(await runMain());
