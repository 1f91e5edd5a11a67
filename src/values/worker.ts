import { fork } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ResourceLimits, Worker, parentPort } from 'node:worker_threads';
import { CountersignError, type ErrorCode, messageOf } from '../errors.ts';
import { printableSentence } from './printable.ts';

/*
 * The one way to ask a thread or another process, and to wait for its answer. The asking side is
 * `startThread` or `startProcess`; the program that is started calls `answerQuestions`.
 */

/** A thread or process that answers questions, one after the other, in order. */
export interface Answerer<Q, A> {
  /** Resolves when it can answer. Rejects with WorkerError if it ends before. */
  readonly ready: Promise<void>;
  readonly isReady: () => boolean;
  /**
   * Rejects with the CountersignError that its program threw. Rejects with WorkerError if it gives no answer;
   * it is then unknown how far it got.
   */
  readonly ask: (question: Q) => Promise<A>;
  readonly waiting: () => number;
  /** How long the oldest question has waited. */
  readonly waitMs: () => number;
  /** Ends it, also in an endless loop, and rejects all questions. Resolves once it has ended. */
  readonly stop: () => Promise<void>;
}

interface AnswererOptions<A> {
  /** Its name in errors, such as `a decryption thread`. */
  readonly name: string;
  /** The program. */
  readonly entry: URL;
  /** All of its environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** More questions than these are rejected at once. */
  readonly waitingMax: number;
  /** It is ended if it isn't ready within this time. */
  readonly startMs?: number;
  /**
   * The bound for a question, from the answer to the one before. A question that is late ends the worker, and
   * so all questions fail; but a worker that is still starting loses only its questions.
   */
  readonly answerMs?: number;
  /** Checks an answer. If it throws, the worker is ended. */
  readonly read: (answer: unknown) => A;
  /** Called with what its program says besides its answers. If it throws, the worker is ended. */
  readonly onNote?: (note: unknown) => void;
  /** Called once if it ends, or must end, before `stop`. `asked`: whether it leaves a question without an answer. */
  readonly onEnd?: (because: WorkerError, asked: boolean) => void;
}

export interface ThreadOptions<A> extends AnswererOptions<A> {
  /** What the program finds as `workerData`. */
  readonly data?: unknown;
  readonly resourceLimits?: ResourceLimits;
  /**
   * Drops what it writes, but for the end, which explains why it ended. Such a thread keeps this process alive
   * until it has ended; any other one only while it starts, and while a question waits.
   */
  readonly keepsOutput?: boolean;
}

export interface ProcessOptions<A> extends AnswererOptions<A> {
  /** Of its heap. */
  readonly memoryMb: number;
}

/** Why a thread or process gave no answer. The message is one line, without control characters. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError';
  readonly reason: 'busy' | 'late' | 'memory' | 'ended';

  constructor(reason: WorkerError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

export function startThread<Q, A>(options: ThreadOptions<A>): Answerer<Q, A> {
  return createAnswerer(options, (events) => openThread(options, events));
}

/** The process ends with this one, and keeps this one alive until it has ended. */
export function startProcess<Q, A>(options: ProcessOptions<A>): Answerer<Q, A> {
  return createAnswerer(options, (events) => openProcess(options, events));
}

/** For a thread or process: the folder that this program keeps compiled code in, so that it starts sooner. */
export function compileCacheEnv(): { readonly NODE_COMPILE_CACHE?: string } {
  // Node adds a folder for its version.
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

// ---- the protocol ----

interface Question<Q> {
  readonly id: number;
  readonly question: Q;
}

/** What the program sends: that it is ready, one reply to each question, or that it can't go on. */
type Reply =
  | { readonly type: 'ready' }
  | { readonly type: 'answer'; readonly id: number; readonly answer: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: ErrorMessage }
  | { readonly type: 'note'; readonly note: unknown }
  | { readonly type: 'failed'; readonly because: string };

/** A CountersignError as a message: an error that is sent as it is would lose its class and its code. */
export interface ErrorMessage {
  readonly code: ErrorCode;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly cause: string | undefined;
}

export function errorMessage({ code, message, data, cause }: CountersignError): ErrorMessage {
  return { code, message, data, cause: cause === undefined ? undefined : messageOf(cause) };
}

export function errorOf({ code, message, data, cause }: ErrorMessage): CountersignError {
  return new CountersignError(code, message, data, cause === undefined ? undefined : new Error(cause));
}

/** A question without an answer. */
interface Asked<Q, A> extends PromiseWithResolvers<A> {
  readonly message: Question<Q>;
  readonly sinceMs: number;
}

/** The connection to a thread or process. */
interface Channel {
  readonly send: (question: Question<unknown>) => void;
  /** Whether a thread keeps this process alive. */
  readonly keepAlive: (whether: boolean) => void;
  /** Resolves once it has ended. */
  readonly kill: () => Promise<void>;
}

interface ChannelEvents {
  readonly received: (reply: unknown) => void;
  /** It has ended by itself, or can't go on. */
  readonly ended: (because: string, reason?: WorkerError['reason']) => void;
}

const NOT_AN_ANSWER = 'sent a message that is not an answer';

function createAnswerer<Q, A>(
  options: AnswererOptions<A>,
  open: (events: ChannelEvents) => Channel,
): Answerer<Q, A> {
  const { name, startMs, onNote, onEnd } = options;
  const ready = Promise.withResolvers<void>();
  // A rejection that nobody waits for must not end this process.
  ready.promise.catch(() => undefined);
  let end: WorkerError | undefined;

  const channel = open({ received, ended });
  const questions = createQuestions<Q, A>(options, channel.send, (because) => ended(because, 'late'));
  const starting = timer(startMs, () => ended(`did not start within ${startMs} ms`, 'late'));
  keepAlive();

  function finish(error: WorkerError): void {
    end = error;
    clearTimeout(starting);
    ready.reject(error);
    void channel.kill();
    questions.rejectAll(error);
  }
  function ended(because: string, reason: WorkerError['reason'] = 'ended'): void {
    if (end !== undefined) return;
    const error = new WorkerError(reason, `${name} ${because}`);
    const asked = questions.areSent() && questions.count() > 0;
    finish(error);
    onEnd?.(error, asked);
  }
  function received(reply: unknown): void {
    if (end !== undefined) return;
    if (!isReply(reply)) ended(NOT_AN_ANSWER);
    else if (reply.type === 'note') noted(reply.note);
    else if (reply.type === 'failed') {
      ended(`${questions.areSent() ? 'failed' : "can't start"}: ${printableSentence(reply.because)}`);
    } else if (reply.type === 'ready') {
      clearTimeout(starting);
      questions.sendAll();
      ready.resolve();
    } else if (!questions.settle(reply)) ended(NOT_AN_ANSWER);
    keepAlive();
  }
  function noted(note: unknown): void {
    try {
      onNote?.(note);
    } catch {
      ended(NOT_AN_ANSWER);
    }
  }
  function keepAlive(): void {
    channel.keepAlive(end === undefined && questions.areWaiting());
  }

  return {
    ready: ready.promise,
    isReady: () => questions.areSent() && end === undefined,
    async ask(question) {
      if (end !== undefined) throw end;
      const answer = questions.ask(question);
      keepAlive();
      return answer;
    },
    waiting: questions.count,
    waitMs: questions.waitMs,
    stop() {
      if (end === undefined) finish(new WorkerError('ended', `${name} was stopped`));
      return channel.kill();
    },
  };
}

/** The questions without an answer. They are sent once the program is ready. */
interface Questions<Q, A> {
  readonly ask: (question: Q) => Promise<A>;
  /** Sends those that wait, and from now on each at once. */
  readonly sendAll: () => void;
  readonly areSent: () => boolean;
  /** False if the reply is no answer to the oldest question: a program answers in order. */
  readonly settle: (reply: Extract<Reply, { readonly id: number }>) => boolean;
  readonly rejectAll: (error: WorkerError) => void;
  /** Whether the program is still starting, or a question waits. */
  readonly areWaiting: () => boolean;
  readonly count: () => number;
  readonly waitMs: () => number;
}

function createQuestions<Q, A>(
  { name, waitingMax, answerMs, read }: AnswererOptions<A>,
  send: Channel['send'],
  late: (because: string) => void,
): Questions<Q, A> {
  /** Oldest first. */
  const waiting: Asked<Q, A>[] = [];
  let areSent = false;
  let lastId = 0;
  const answering = timer(answerMs, () => {
    if (waiting.length === 0) return;
    const because = `did not answer within ${answerMs} ms`;
    if (areSent) late(because);
    else rejectAll(new WorkerError('late', `${name} ${because}, because it was still starting`));
  });
  function rejectAll(error: WorkerError): void {
    for (const { reject } of waiting.splice(0)) reject(error);
  }

  return {
    async ask(question) {
      if (waiting.length >= waitingMax) {
        throw new WorkerError('busy', `${name} has ${waitingMax} questions to answer, which is the maximum`);
      }
      lastId += 1;
      const message = { id: lastId, question };
      if (areSent) send(message);
      const asked = { message, sinceMs: performance.now(), ...Promise.withResolvers<A>() };
      if (waiting.push(asked) === 1) answering?.refresh();
      return asked.promise;
    },
    sendAll() {
      if (!areSent) for (const { message } of waiting) send(message);
      areSent = true;
    },
    areSent: () => areSent,
    settle(reply) {
      const [first] = waiting;
      if (!areSent || first?.message.id !== reply.id) return false;
      try {
        if (reply.type === 'error') first.reject(errorOf(reply.error));
        else first.resolve(read(reply.answer));
      } catch {
        return false;
      }
      waiting.shift();
      answering?.refresh();
      return true;
    },
    rejectAll,
    areWaiting: () => !areSent || waiting.length > 0,
    count: () => waiting.length,
    waitMs: () => (waiting[0] === undefined ? 0 : performance.now() - waiting[0].sinceMs),
  };
}

function timer(ms: number | undefined, over: () => void): NodeJS.Timeout | undefined {
  return ms === undefined ? undefined : setTimeout(over, ms).unref();
}

/** The program may be anybody's, so each message is checked. */
function isReply(reply: unknown): reply is Reply {
  if (!isRecord(reply)) return false;
  const { type, id, error, because } = reply;
  if (type === 'answer') return typeof id === 'number' && 'answer' in reply;
  if (type === 'error') return typeof id === 'number' && isRecord(error) && isRecord(error['data']);
  return type === 'ready' || type === 'note' || (type === 'failed' && typeof because === 'string');
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

// ---- threads and processes ----

/** Of what a program writes. */
const WRITTEN_CHARACTERS = 8192;
const SHOWN_CHARACTERS = 2000;

/** Keeps the end of what is written. */
function keepWritten(streams: readonly (NodeJS.ReadableStream | null)[]): () => string {
  let written = '';
  for (const stream of streams) {
    stream?.on('data', (chunk: Buffer) => {
      written = (written + chunk.subarray(-4 * WRITTEN_CHARACTERS).toString()).slice(-WRITTEN_CHARACTERS);
    });
  }
  return () => written;
}

function endedWith(how: string, written: string): string {
  const shown = printableSentence(written.slice(-SHOWN_CHARACTERS));
  return `ended with ${how}${shown === '' ? '' : `; it wrote: ${shown}`}`;
}

function openThread(
  { entry, data, env, resourceLimits = {}, keepsOutput = false }: ThreadOptions<unknown>,
  { received, ended }: ChannelEvents,
): Channel {
  const worker = new Worker(entry, {
    workerData: data,
    env: { ...env },
    argv: [],
    execArgv: [],
    stdout: keepsOutput,
    stderr: keepsOutput,
    resourceLimits,
  });
  const written = keepWritten(keepsOutput ? [worker.stdout, worker.stderr] : []);
  worker.on('message', received);
  worker.on('messageerror', () => ended(NOT_AN_ANSWER));
  worker.on('error', (thrown: unknown) => {
    const isMemory = isRecord(thrown) && thrown['code'] === 'ERR_WORKER_OUT_OF_MEMORY';
    if (isMemory) ended(`needs more than ${resourceLimits.maxOldGenerationSizeMb} MiB`, 'memory');
    else ended(`failed: ${printableSentence(messageOf(thrown))}`);
  });
  worker.on('exit', (code) => ended(endedWith(String(code), written())));
  return {
    // A thread has no origin, as a window would have.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    send: (question) => worker.postMessage(question),
    keepAlive: (whether) => (whether ? worker.ref() : worker.unref()),
    kill: async () => void (await worker.terminate()),
  };
}

const OUT_OF_MEMORY = 'JavaScript heap out of memory';

function openProcess(
  { entry, env, memoryMb }: ProcessOptions<unknown>,
  { received, ended }: ChannelEvents,
): Channel {
  const child = fork(fileURLToPath(entry), [], {
    execArgv: [`--max-old-space-size=${memoryMb}`],
    env: { ...env },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const written = keepWritten([child.stderr]);
  const gone = Promise.withResolvers<void>();
  child.on('message', received);
  child.on('close', (code, signal) => {
    gone.resolve();
    if (written().includes(OUT_OF_MEMORY)) ended(`needs more than ${memoryMb} MiB`, 'memory');
    else ended(endedWith(signal ?? `exit code ${code}`, written()));
  });
  child.on('error', (thrown) => {
    // A process that could not be started does not close.
    if (child.pid === undefined) gone.resolve();
    ended(`failed: ${messageOf(thrown)}`);
  });
  return {
    send: (question) => void child.send(question, () => undefined),
    keepAlive: () => undefined,
    kill() {
      child.kill('SIGKILL');
      return gone.promise;
    },
  };
}

// ---- the side that answers ----

export type Answer<Q, A> = (question: Q, note: (note: unknown) => void) => A | Promise<A>;

/**
 * Answers the questions of the program that started this thread or process, one after the other. A
 * CountersignError that `answer` throws is the answer to its question. Any other error, and each of `open`,
 * ends the thread or process: what it was asked later is not begun.
 */
export async function answerQuestions<Q, A>(open: () => Answer<Q, A> | Promise<Answer<Q, A>>): Promise<void> {
  const port = parentPort;
  // A program that is only imported has nobody to answer.
  if (port === null && process.send === undefined) return;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (reply: Reply): unknown => (port === null ? process.send?.(reply) : port.postMessage(reply));
  if (port === null) process.once('disconnect', () => process.exit(1));
  let failed = false;
  const fail = (thrown: unknown): void => {
    failed = true;
    send({ type: 'failed', because: messageOf(thrown) });
  };
  const note = (said: unknown): void => void send({ type: 'note', note: said });
  async function answerOne(answer: Answer<Q, A>, { id, question }: Question<Q>): Promise<void> {
    if (failed) return;
    try {
      send({ type: 'answer', id, answer: await answer(question, note) });
    } catch (thrown) {
      if (thrown instanceof CountersignError) send({ type: 'error', id, error: errorMessage(thrown) });
      else fail(thrown);
    }
  }
  try {
    const answer = await open();
    let last: Promise<void> = Promise.resolve();
    (port ?? process).on('message', (asked: Question<Q>) => {
      last = last.then(() => answerOne(answer, asked));
    });
    send({ type: 'ready' });
  } catch (thrown) {
    fail(thrown);
  }
}
