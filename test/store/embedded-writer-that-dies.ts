import { parentPort } from 'node:worker_threads';

/* A writer thread that says it is ready, and ends without a word at the first batch that it is given. */
parentPort?.on('message', () => process.exit(7));
// A thread has no origin, as a window would have.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
parentPort?.postMessage('ready');
