import { parentPort } from 'node:worker_threads';
import { decryptBlocks } from './blocks.ts';
import type { DecryptionRequest, DecryptionResult } from './decryption.ts';

/*
 * This runs in a decryption thread. It answers one request after the other, and keeps nothing. It approves
 * nothing either: the main thread verifies the signature of what it answers.
 */

parentPort?.on('message', ({ id, key, blocks, blockBytes }: DecryptionRequest) => {
  const decrypted = decryptBlocks(key, blocks, blockBytes);
  // A copy of exactly these bytes: a message has the whole buffer behind a part of it.
  const plaintext = decrypted && new Uint8Array(decrypted);
  const result: DecryptionResult = { id, plaintext };
  // A thread has no origin, as a window would have.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(result);
});
