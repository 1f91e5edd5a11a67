import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { ServiceState } from '../console/service-state.ts';
import { messageOf } from '../errors.ts';
import type { Target } from '../http/forward.ts';
import type { HealthState } from '../observe/health.ts';
import type { Log, LogLevel } from '../observe/log.ts';
import type { Settings } from '../settings/schema.ts';
import { compileCacheEnv } from '../values/worker.ts';

/** The first message to the process. */
export interface ConsoleStart {
  readonly settings: Settings;
  readonly settingsFile: string | undefined;
  readonly secret: string;
}

/** The answer to `ask`. */
export interface ServiceAnswer {
  readonly state: ServiceState | undefined;
}

/** What the process says. */
export type ConsoleMessage =
  | { readonly type: 'listening'; readonly port: number }
  /** Why it could not start. It ends then. */
  | { readonly type: 'failed'; readonly because: string }
  | {
      readonly type: 'log';
      readonly level: LogLevel;
      readonly event: string;
      readonly fields: Parameters<Log['info']>[1];
    }
  /** It asks for the state of the service. */
  | { readonly type: 'ask' };

export interface ConsoleProcess {
  /** Where it listens, once it does. Starts it the first time. Undefined while it does not run. */
  readonly target: () => Promise<Target | undefined>;
  /** For `/readyz`. The service is ready without it. */
  readonly health: () => HealthState;
  readonly close: () => Promise<void>;
}

export interface ConsoleProcessParts {
  readonly settings: Settings;
  readonly settingsFile?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly state: () => Promise<ServiceState>;
}

const ENTRY = fileURLToPath(new URL('./console-process-entry.ts', import.meta.url));
/** See docs/sizing.md. */
const NODE_FLAGS = ['--max-old-space-size=256'];
const RESTART_MS = 1000;
const RESTART_MS_MAX = 60_000;
/** After so long, a process that ends is started again as soon as the first one. */
const STEADY_MS = 60_000;
const CLOSE_MS = 2000;

/**
 * Runs the console in a process of its own, and starts it again if it ends. The callbacks need nothing of it.
 * It ends with this process.
 */
export function createConsoleProcess(parts: ConsoleProcessParts): ConsoleProcess {
  const secret = randomBytes(32).toString('base64url');
  let running: Run | undefined;
  let ended: string | undefined;
  let restartMs = RESTART_MS;
  let restarting: NodeJS.Timeout | undefined;
  let closed = false;

  async function run(): Promise<void> {
    const startedMs = performance.now();
    running = startProcess(parts, secret);
    ended = await running.ended;
    running = undefined;
    if (closed) return;
    if (performance.now() - startedMs > STEADY_MS) restartMs = RESTART_MS;
    parts.log.error('console-ended', { because: `${ended}; it is started again in ${restartMs / 1000} s` });
    restarting = setTimeout(() => void run(), restartMs).unref();
    restartMs = Math.min(restartMs * 2, RESTART_MS_MAX);
  }

  return {
    async target() {
      if (running === undefined && ended === undefined && !closed) void run();
      const port = await running?.listening;
      return port === undefined ? undefined : { port, secret };
    },
    health() {
      if (running?.port() !== undefined)
        return { ok: true, because: 'the console runs, in a process of its own' };
      if (ended === undefined) return { ok: true, because: 'the console is starting' };
      return { ok: false, because: `the console does not run: ${ended}; callbacks are decided without it` };
    },
    async close() {
      closed = true;
      clearTimeout(restarting);
      await running?.close();
    },
  };
}

/** One run of the process. */
interface Run {
  /** The port, once the process listens; undefined if it ends before. */
  readonly listening: Promise<number | undefined>;
  readonly port: () => number | undefined;
  /** Resolves with the reason. */
  readonly ended: Promise<string>;
  readonly close: () => Promise<void>;
}

function startProcess(parts: ConsoleProcessParts, secret: string): Run {
  const { settings, settingsFile, env, log, state } = parts;
  const child = fork(ENTRY, [], {
    execArgv: NODE_FLAGS,
    env: { ...env, ...compileCacheEnv() },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const listening = Promise.withResolvers<number | undefined>();
  const ended = Promise.withResolvers<string>();
  let port: number | undefined;
  let failure: string | undefined;
  const answer = async (): Promise<void> => {
    const known: ServiceAnswer = { state: await state().catch(() => undefined) };
    if (child.connected) child.send(known, () => undefined);
  };
  child.on('message', (message: ConsoleMessage) => {
    if (message.type === 'listening') listening.resolve((port = message.port));
    else if (message.type === 'failed') failure = message.because;
    else if (message.type === 'log') log[message.level](message.event, message.fields);
    else void answer();
  });
  const end = (because: string): void => {
    port = undefined;
    listening.resolve(undefined);
    ended.resolve(because);
  };
  // A process that could not be started does not exit.
  child.on('error', (thrown) => child.pid === undefined && end(messageOf(thrown)));
  child.on('exit', (code, signal) => end(failure ?? `it ended with ${signal ?? `exit code ${code}`}`));
  const data: ConsoleStart = { settings, settingsFile, secret };
  child.send(data, () => undefined);
  child.unref();
  child.channel?.unref();
  return {
    listening: listening.promise,
    port: () => port,
    ended: ended.promise,
    async close() {
      child.ref();
      const killing = setTimeout(() => child.kill('SIGKILL'), CLOSE_MS);
      if (child.connected) child.disconnect();
      await ended.promise;
      clearTimeout(killing);
    },
  };
}
