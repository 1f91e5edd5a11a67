import { parentPort } from 'node:worker_threads';

/** Ends when it is asked for the history, and answers everything else with the method's name. */
parentPort?.on('message', ({ id, method }: { readonly id: number; readonly method: string }) => {
  if (method === 'history') process.exit(3);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  if (method !== 'control') parentPort?.postMessage({ id, ok: true, value: method });
});
