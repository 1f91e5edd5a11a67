import { lockDirectory } from '../../src/archive/folder.ts';

/** Holds the directory until it is killed. */
const held = lockDirectory(process.argv[2] ?? '');
process.stdout.write('held\n');
// What nobody refers to is closed in time, and the lock with it.
setInterval(() => held, 60_000);
