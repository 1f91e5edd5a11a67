import { once } from 'node:events';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { buffer } from 'node:stream/consumers';
import { systemClock } from '../values/clock.ts';
import { COMMIT } from '../values/commit.ts';
import { VERSION } from '../values/version.ts';
import type { ExitCode } from './command.ts';
import { runProgram } from './program.ts';
import { OutputClosed } from './session.ts';

/** Runs the command line of this process. Resolves once all output is written. */
export async function runMain(): Promise<ExitCode> {
  const [out, err] = [outlet(process.stdout), outlet(process.stderr)];
  const code = await runProgram(process.argv.slice(2), {
    out: out.write,
    err: err.write,
    drained: out.drained,
    ...(process.stderr.isTTY ? { progress: (line) => err.write(`\r\u001b[K${line}`) } : {}),
    ...(process.stdin.isTTY && process.stderr.isTTY ? { confirm } : {}),
    input: () => buffer(process.stdin),
    env: process.env,
    clock: systemClock,
    user: userInfo().username,
    version: VERSION,
    commit: COMMIT,
    stopped,
  });
  const lost = await out.finished();
  if (lost !== undefined) err.write(`The output is not complete: ${lost}.\n`);
  await err.finished();
  return lost === undefined ? code : 2;
}

/** Asks on the terminal. Every answer but `y` or `yes` is a no, also its end. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const ended = once(terminal, 'close').then(() => '');
    const answer = await Promise.race([terminal.question(`${question} [y/N] `), ended]).catch(() => '');
    return /^y(?:es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

/** An output stream of this process, whose reader may go away. */
interface Outlet {
  readonly write: (written: string) => void;
  /** Resolves once the stream can take more. Rejects with {@link OutputClosed}. */
  readonly drained: () => Promise<void>;
  /**
   * Resolves once all is written, with the error that lost some of it. A reader who went away is not an
   * error.
   */
  readonly finished: () => Promise<string | undefined>;
}

/** The codes of a pipe without a reader and of a closed terminal. */
const READER_GONE: ReadonlySet<unknown> = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED']);

function outlet(stream: NodeJS.WriteStream): Outlet {
  let closed = false;
  let lost: string | undefined;
  stream.on('error', (error) => {
    closed = true;
    if (!('code' in error && READER_GONE.has(error.code))) lost = error.message;
  });
  return {
    write: (written) => void (closed || stream.write(written)),
    async drained() {
      if (stream.writableNeedDrain) await once(stream, 'drain').catch(() => undefined);
      if (closed) throw new OutputClosed();
    },
    async finished() {
      if (!closed) await new Promise<void>((resolve) => stream.write('', () => resolve()));
      return lost;
    },
  };
}

/**
 * A signal that is repeated within this time counts as one: the terminal sends it to npm and to this process,
 * and npm forwards it.
 */
const SAME_SIGNAL_MS = 1000;

/**
 * Resolves with the first signal to stop. The next signal ends the process immediately, as signals do by
 * default.
 */
function stopped(): Promise<string> {
  return new Promise((resolve) => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    const received = (signal: NodeJS.Signals): void => {
      resolve(signal);
      const stopIgnoring = (): void => signals.forEach((each) => process.off(each, received));
      setTimeout(stopIgnoring, SAME_SIGNAL_MS).unref();
    };
    for (const signal of signals) process.on(signal, received);
  });
}
