import { runMain } from './cli/main.ts';

// A connection or a thread that somebody forgot keeps no command that is done from ending.
process.exit(await runMain());
