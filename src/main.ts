import { runMain } from './cli/main.ts';

process.exitCode = await runMain();
