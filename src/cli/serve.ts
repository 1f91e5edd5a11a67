import { hostname } from 'node:os';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Log, batchWrites, createLog } from '../observe/log.ts';
import { isWithService, originOf } from '../settings/console.ts';
import type { Settings } from '../settings/schema.ts';
import type { Clock } from '../values/clock.ts';
import type { CommandRow } from './command.ts';
import type { Session } from './session.ts';

export const serve: CommandRow = {
  path: 'serve',
  summary: 'Serve callbacks until the process is stopped.',
  example: 'serve\nserve --config /etc/countersign/countersign.yaml',
  run: (session) =>
    serveUntilStopped(session, async (parts) => {
      const { startService } = await import('../start/service.ts');
      const service = await startService(parts);
      const { publicUrl, opsUrl } = service;
      const call = callOf(process.pid, hostname(), parts.env);
      return {
        because: `callbacks at ${publicUrl}, ops at ${opsUrl}`,
        hint:
          `Callbacks are answered at ${publicUrl}, /readyz and /metrics at ${opsUrl}.\n` +
          `Send a first one from a second shell:  ${call} send payment${consoleHint(parts.settings, call)}`,
        stop: () => service.stop(),
      };
    }),
};

/**
 * How people call this program from a second shell. In a container it is process 1, and the host has the name
 * of the container.
 */
export function callOf(pid: number, host: string, env: Session['env']): string {
  if (pid !== 1) return 'npx countersign';
  return `${env['container'] === 'podman' ? 'podman' : 'docker'} exec ${host} countersign`;
}

function consoleHint({ console }: Settings, call: string): string {
  if (console?.passkeys === undefined || !isWithService(console)) return '';
  return (
    `\nThe console is at ${originOf(console.passkeys)}/console/. ` +
    `Invite yourself:  ${call} console invite NAME --role operate`
  );
}

/** A browser gives a passkey only to this address. */
const signInHint = ({ console }: Settings): string =>
  console?.passkeys === undefined
    ? ''
    : `\nPeople sign in with passkeys at ${originOf(console.passkeys)}/console/.`;

export const consoleServe: CommandRow = {
  path: 'console serve',
  summary: 'Serve the console alone, apart from the services of its store, until the process is stopped.',
  example: 'console serve\nconsole serve --config /etc/countersign/console.yaml',
  run: (session) =>
    serveUntilStopped(session, async (parts) => {
      const { startConsole } = await import('../start/console.ts');
      const served = await startConsole(parts);
      return {
        because: `console at ${served.url}/console/`,
        hint: `The console is at ${served.url}/console/, /healthz beside it.${signInHint(parts.settings)}`,
        stop: () => served.close(),
      };
    }),
};

interface Parts {
  readonly settings: Settings;
  readonly settingsFile: string;
  readonly env: Session['env'];
  readonly clock: Clock;
  readonly log: Log;
}

/** A program that serves. */
interface Serving {
  /** What is served where, for the log. */
  readonly because: string;
  /** The same for people, and what to do first. */
  readonly hint: string;
  readonly stop: () => Promise<void>;
}

const LAST_LINES_MS = 1000;

async function serveUntilStopped(session: Session, start: (parts: Parts) => Promise<Serving>): Promise<0> {
  const { env, clock, settingsFile, version, commit } = session;
  const settings = session.settings();
  const stopped = session.stopped();
  const lines = batchWrites(process.stdout);
  const log = createLog({ level: settings.log.level, stream: lines, readable: process.stdout.isTTY });
  try {
    const { because, hint, stop } = await start({ settings, settingsFile, env, clock, log });
    log.info('serving', { because, version, commit });
    session.report(hint);
    log.info('stopping', { signal: await stopped });
    await stop();
    log.info('stopped');
  } finally {
    // The last lines are written, unless nobody reads them.
    await Promise.race([finished(lines.end()).catch(() => undefined), pause(LAST_LINES_MS)]);
  }
  return 0;
}
