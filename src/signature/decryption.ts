import type { KeyObject } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { type Answerer, startThread } from '../values/worker.ts';
import type { DecryptionThreads } from './blocks.ts';

/** A question to a thread. It has the key, so that no thread keeps a key that was replaced. */
export interface DecryptionRequest {
  readonly key: KeyObject;
  readonly blocks: Uint8Array;
  readonly blockBytes: number;
}

export interface DecryptionOptions {
  /** The most threads. */
  readonly threads?: number;
  /** A thread that takes longer for its start, or for its next answer, is ended. */
  readonly answerMs?: number;
  /** The program of a thread. */
  readonly entry?: URL;
}

const ENTRY = new URL('./decryption-thread-entry.ts', import.meta.url);
/** The main thread needs a core too, and no more than four decryptions in parallel. */
const THREADS = Math.min(4, Math.max(1, availableParallelism() - 1));
/** Far more than any envelope needs: 16 blocks for a key of 8192 bits take a third of a second. */
const ANSWER_MS = 10_000;
/** For one thread. The callbacks in flight are fewer, and each waits for one decryption at a time. */
const WAITING_MAX = 10_000;
/** A thread would take the semi-spaces of the main thread, which has far more garbage. */
const YOUNG_MEBIBYTES = 4;

type DecryptionThread = Answerer<DecryptionRequest, Uint8Array | undefined>;

/**
 * A thread starts when it is needed for the first time, and a thread that ends is replaced by the next
 * decryption.
 */
export function createDecryptionThreads({
  threads = THREADS,
  answerMs = ANSWER_MS,
  entry = ENTRY,
}: DecryptionOptions = {}): DecryptionThreads {
  const running = new Set<DecryptionThread>();
  let closed = false;

  function startNew(): DecryptionThread {
    const thread: DecryptionThread = startThread({
      name: 'a decryption thread',
      entry,
      env: {},
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES },
      waitingMax: WAITING_MAX,
      startMs: answerMs,
      answerMs,
      read: plaintextOf,
      onEnd: () => running.delete(thread),
    });
    running.add(thread);
    return thread;
  }
  function leastBusy(): DecryptionThread {
    const [first, ...others] = running;
    if (first === undefined) return startNew();
    const best = others.reduce((one, other) => (other.waiting() < one.waiting() ? other : one), first);
    return best.waiting() > 0 && running.size < threads ? startNew() : best;
  }

  return {
    // A promise, also if no thread can be started.
    async decrypt(key, blocks, blockBytes) {
      if (closed)
        throw new Error('the decryption threads were stopped, because Countersign is shutting down');
      // A copy of exactly these bytes: a message has the whole buffer behind a part of it.
      return leastBusy().ask({ key, blocks: new Uint8Array(blocks), blockBytes });
    },
    waitMs: () => Math.max(0, ...Array.from(running, (thread) => thread.waitMs())),
    async close() {
      closed = true;
      await Promise.all(Array.from(running, (thread) => thread.stop()));
    },
  };
}

function plaintextOf(answer: unknown): Uint8Array | undefined {
  if (answer === undefined || answer instanceof Uint8Array) return answer;
  throw new TypeError('a plaintext has bytes');
}
