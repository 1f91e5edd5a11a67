import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { systemClock } from '../values/clock.ts';
import type { ExitCode } from './command.ts';
import { runProgram } from './program.ts';
import { OutputClosed } from './session.ts';

/** The command line as this process was called. Resolves once all that was printed is written. */
export async function runMain(): Promise<ExitCode> {
  const [out, err] = [outlet(process.stdout), outlet(process.stderr)];
  const code = await runProgram(process.argv.slice(2), {
    out: out.write,
    err: err.write,
    drained: out.drained,
    ...(process.stderr.isTTY ? { progress: (line) => err.write(`\r\u001b[K${line}`) } : {}),
    input: () => text(process.stdin),
    env: process.env,
    clock: systemClock,
    user: userInfo().username,
    version: versionOf(new URL('../../package.json', import.meta.url)),
    stopped,
  });
  const lost = await out.finished();
  if (lost !== undefined) err.write(`What was printed is not complete: ${lost}.\n`);
  await err.finished();
  return lost === undefined ? code : 2;
}

/** A stream of this process, of which nobody has to be there to read it. */
interface Outlet {
  readonly write: (written: string) => void;
  /** Resolves once it can take more. Rejects with {@link OutputClosed}. */
  readonly drained: () => Promise<void>;
  /** Resolves once all is written, with what kept some of it from being so; that nobody reads it is none. */
  readonly finished: () => Promise<string | undefined>;
}

/** A pipe whose reader has gone; a terminal that was closed. */
const NOBODY_READS: ReadonlySet<unknown> = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED']);

function outlet(stream: NodeJS.WriteStream): Outlet {
  let closed = false;
  let lost: string | undefined;
  stream.on('error', (error) => {
    closed = true;
    if (!('code' in error && NOBODY_READS.has(error.code))) lost = error.message;
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
 * For how long a signal that is sent again is the same one: npm passes on what the terminal has sent to both.
 */
const SAME_SIGNAL_MS = 1000;

/** Resolves with the first signal to stop. The next one ends the process at once, as signals do. */
function stopped(): Promise<string> {
  return new Promise((resolve) => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    const heard = (signal: NodeJS.Signals): void => {
      resolve(signal);
      const ignoreNoMore = (): void => signals.forEach((each) => process.off(each, heard));
      setTimeout(ignoreNoMore, SAME_SIGNAL_MS).unref();
    };
    for (const signal of signals) process.on(signal, heard);
  });
}

function versionOf(file: URL): string {
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version;
}
