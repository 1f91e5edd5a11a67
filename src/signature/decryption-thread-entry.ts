import { answerQuestions } from '../values/worker.ts';
import { decryptBlocks } from './blocks.ts';
import type { DecryptionRequest } from './decryption.ts';

/*
 * This runs in a decryption thread. It keeps nothing, and it approves nothing: the main thread verifies the
 * signature of what it answers.
 */

await answerQuestions(() => ({ key, blocks, blockBytes }: DecryptionRequest) => {
  const plaintext = decryptBlocks(key, blocks, blockBytes);
  // A copy of exactly these bytes: a message has the whole buffer behind a part of it.
  return plaintext && new Uint8Array(plaintext);
});
