import { parentPort } from 'node:worker_threads';
import { decryptBlocks } from '../../src/signature/blocks.ts';
import type { DecryptionRequest } from '../../src/signature/decryption.ts';

/*
 * A decryption thread that fails in the way that its URL names. It decrypts requests of two blocks, and fails
 * at the others. `start` fails before the first request.
 */

const way = new URL(import.meta.url).searchParams.get('way');
if (way === 'start') throw new Error('this thread does not start');

/** A decryption as it arrives. */
type Asked = { readonly id: number; readonly question: DecryptionRequest };

const send = (message: unknown): void => {
  // A thread has no origin, as a window would have.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(message);
};
const answer = (id: number, plaintext: unknown): void => send({ type: 'answer', id, answer: plaintext });
const decrypted = ({ question: { key, blocks, blockBytes } }: Asked): Uint8Array =>
  new Uint8Array(decryptBlocks(key, blocks, blockBytes) ?? []);
let previous: Uint8Array | undefined;

const FAIL: Readonly<Record<string, (asked: Asked) => void>> = {
  exit: () => process.exit(7),
  throw() {
    throw new Error('this thread fails');
  },
  silence: () => undefined,
  text: ({ id }) => answer(id, '{"userId":"12345"}'),
  nothing: () => send(undefined),
  'another id': (asked) => answer(asked.id + 1, decrypted(asked)),
  twice(asked) {
    answer(asked.id, decrypted(asked));
    answer(asked.id, decrypted(asked));
  },
  'the plaintext before'(asked) {
    const plaintext = decrypted(asked);
    answer(asked.id, previous ?? plaintext);
    previous = plaintext;
  },
};

parentPort?.on('message', (asked: Asked) => {
  const { blocks, blockBytes } = asked.question;
  if (blocks.length === 2 * blockBytes) answer(asked.id, decrypted(asked));
  else FAIL[way ?? '']?.(asked);
});
send({ type: 'ready' });
