import type { KeyObject } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import type { DecryptionThreads } from './blocks.ts';

/** A message to a thread. It has the key, so that no thread keeps a key that was replaced. */
export interface DecryptionRequest {
  readonly id: number;
  readonly key: KeyObject;
  readonly blocks: Uint8Array;
  readonly blockBytes: number;
}

/** The answer of a thread. Requests are answered in order. */
export interface DecryptionResult {
  readonly id: number;
  readonly plaintext: Uint8Array | undefined;
}

export interface DecryptionOptions {
  /** The most threads. */
  readonly threads?: number;
  /** A thread that takes longer for its next answer, its start included, is ended. */
  readonly answerMs?: number;
  /** The program of a thread. */
  readonly entry?: URL;
}

const ENTRY = new URL('./decryption-thread-entry.ts', import.meta.url);
/** The main thread needs a core too, and no more than four decryptions in parallel. */
const THREADS = Math.min(4, Math.max(1, availableParallelism() - 1));
/** Far more than any envelope needs: 16 blocks for a key of 8192 bits take a third of a second. */
const ANSWER_MS = 10_000;

/** A thread would take the semi-spaces of the main thread, which has far more garbage. */
const YOUNG_MEBIBYTES = 4;

/**
 * A thread starts when it is needed for the first time, and a thread that ends is replaced by the next
 * decryption.
 *
 * The queue has no bound of its own: it is bounded by the callbacks in flight, each of which waits for one
 * decryption at a time.
 */
export function createDecryptionThreads({
  threads = THREADS,
  answerMs = ANSWER_MS,
  entry = ENTRY,
}: DecryptionOptions = {}): DecryptionThreads {
  const running = new Set<DecryptionThread>();
  let closed = false;

  function startNew(): DecryptionThread {
    const thread = startThread(entry, answerMs, () => running.delete(thread));
    running.add(thread);
    return thread;
  }
  function leastBusy(): DecryptionThread {
    const [first, ...others] = running;
    if (first === undefined) return startNew();
    const best = others.reduce((one, other) => (other.inFlight() < one.inFlight() ? other : one), first);
    return best.inFlight() > 0 && running.size < threads ? startNew() : best;
  }

  return {
    // A promise, also if no thread can be started.
    async decrypt(key, blocks, blockBytes) {
      if (closed) throw new Error('the decryption threads were ended, because Countersign is shutting down');
      return leastBusy().decrypt(key, blocks, blockBytes);
    },
    waitMs: () => Math.max(0, ...Array.from(running, (thread) => thread.waitMs())),
    async close() {
      closed = true;
      await Promise.all(Array.from(running, (thread) => thread.end()));
    },
  };
}

interface DecryptionThread extends Pick<DecryptionThreads, 'decrypt' | 'waitMs'> {
  inFlight(): number;
  end(): Promise<void>;
}

interface Waiting extends PromiseWithResolvers<Uint8Array | undefined> {
  readonly id: number;
  readonly sinceMs: number;
}

/**
 * The thread keeps the process alive only while a decryption is in flight. `onEnd` is called once, when the
 * thread has ended or must end, before its decryptions are rejected.
 */
function startThread(entry: URL, answerMs: number, onEnd: () => void): DecryptionThread {
  const worker = new Worker(entry, {
    env: {},
    argv: [],
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEBIBYTES },
  });
  worker.unref();
  const waiting: Waiting[] = [];
  let lastId = 0;
  let ended: Error | undefined;
  const timer = setTimeout(() => {
    if (waiting.length > 0) handleEnd(`did not answer within ${answerMs} ms`);
  }, answerMs).unref();

  function handleEnd(because: string): void {
    if (ended !== undefined) return;
    ended = new Error(`a decryption thread ${because}`);
    clearTimeout(timer);
    onEnd();
    for (const { reject } of waiting.splice(0)) reject(ended);
    void worker.terminate();
  }

  worker.on('message', (message: unknown) => {
    if (ended !== undefined) return;
    const [next] = waiting;
    if (next === undefined || !isResult(message) || message.id !== next.id) {
      handleEnd('sent a message that is not the answer to its request');
      return;
    }
    waiting.shift();
    timer.refresh();
    if (waiting.length === 0) worker.unref();
    next.resolve(message.plaintext);
  });
  worker.on('messageerror', () => handleEnd('sent a message that is unreadable'));
  worker.on('error', (thrown) => handleEnd(`failed: ${messageOf(thrown)}`));
  worker.on('exit', (code) => handleEnd(`ended with ${code}`));

  return {
    decrypt(key, blocks, blockBytes) {
      if (ended !== undefined) return Promise.reject(ended);
      lastId += 1;
      // A copy of exactly these bytes: a message has the whole buffer behind a part of it.
      const request: DecryptionRequest = { id: lastId, key, blocks: new Uint8Array(blocks), blockBytes };
      // A thread has no origin, as a window would have.
      // oxlint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage(request);
      if (waiting.length === 0) {
        worker.ref();
        timer.refresh();
      }
      const result = Promise.withResolvers<Uint8Array | undefined>();
      waiting.push({ id: lastId, sinceMs: performance.now(), ...result });
      return result.promise;
    },
    inFlight: () => waiting.length,
    waitMs: () => (waiting[0] === undefined ? 0 : performance.now() - waiting[0].sinceMs),
    async end() {
      handleEnd('was ended');
      await worker.terminate();
    },
  };
}

function isResult(message: unknown): message is DecryptionResult {
  if (typeof message !== 'object' || message === null) return false;
  if (!('id' in message) || !('plaintext' in message)) return false;
  return message.plaintext === undefined || message.plaintext instanceof Uint8Array;
}
