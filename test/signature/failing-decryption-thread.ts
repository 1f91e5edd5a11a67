import { parentPort } from 'node:worker_threads';
import { decryptBlocks } from '../../src/signature/blocks.ts';
import type { DecryptionRequest } from '../../src/signature/decryption.ts';

/*
 * A decryption thread that fails in the way that its URL names. It decrypts requests of two blocks, and fails
 * at the others. `start` fails before the first request.
 */

const way = new URL(import.meta.url).searchParams.get('way');
if (way === 'start') throw new Error('this thread does not start');

const send = (message: unknown): void => {
  // A thread has no origin, as a window would have.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(message);
};
const decrypted = ({ key, blocks, blockBytes }: DecryptionRequest): Uint8Array =>
  new Uint8Array(decryptBlocks(key, blocks, blockBytes) ?? []);
let previous: Uint8Array | undefined;

const FAIL: Readonly<Record<string, (request: DecryptionRequest) => void>> = {
  exit: () => process.exit(7),
  throw() {
    throw new Error('this thread fails');
  },
  silence: () => undefined,
  text: ({ id }) => send({ id, plaintext: '{"userId":"12345"}' }),
  nothing: () => send(undefined),
  'another id': (request) => send({ id: request.id + 1, plaintext: decrypted(request) }),
  twice(request) {
    send({ id: request.id, plaintext: decrypted(request) });
    send({ id: request.id, plaintext: decrypted(request) });
  },
  'the plaintext before'(request) {
    const plaintext = decrypted(request);
    send({ id: request.id, plaintext: previous ?? plaintext });
    previous = plaintext;
  },
};

parentPort?.on('message', (request: DecryptionRequest) => {
  if (request.blocks.length === 2 * request.blockBytes) {
    send({ id: request.id, plaintext: decrypted(request) });
  } else {
    FAIL[way ?? '']?.(request);
  }
});
