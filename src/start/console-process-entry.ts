import { setPriority } from 'node:os';
import type { ServiceState } from '../console/service-state.ts';
import { messageOf } from '../errors.ts';
import type { Log, LogLevel } from '../observe/log.ts';
import { systemClock } from '../values/clock.ts';
import type { ConsoleMessage, ConsoleStart, ServiceAnswer } from './console-process.ts';
import { type ConsoleProgram, startConsole } from './console.ts';

/*
 * The process of the console beside a service. It ends with the service, not before: a signal to all
 * processes of the service leaves the pages that are still asked for.
 */

/** With one CPU, callbacks come first. */
const PRIORITY = 10;
const CLOSE_MS = 2000;
/** How long a page waits for what the service says of itself. */
const ASK_MS = 2000;

setPriority(PRIORITY);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
let starting: Promise<ConsoleProgram> | undefined;
process.once('disconnect', () => {
  setTimeout(() => process.exit(1), CLOSE_MS);
  void starting?.then((program) => program.close()).finally(() => process.exit(0));
  if (starting === undefined) process.exit(0);
});
process.once('message', ({ settings, settingsFile, secret }: ConsoleStart) => {
  starting = startConsole({
    settings,
    ...(settingsFile !== undefined && { settingsFile }),
    secret,
    env: process.env,
    clock: systemClock,
    // The service writes the lines, and counts those that it drops.
    log: { info: logged('info'), warn: logged('warn'), error: logged('error'), droppedLines: () => 0 },
    askService,
  });
  starting.then(
    ({ url }) => send({ type: 'listening', port: Number(new URL(url).port) }),
    (thrown: unknown) => send({ type: 'failed', because: messageOf(thrown) }, () => process.exit(1)),
  );
});

/** Nobody waits for it once the service has gone. */
function send(message: ConsoleMessage, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent);
}

function logged(level: LogLevel): Log['info'] {
  return (event, fields) => send({ type: 'log', level, event, fields });
}

let asking: Promise<ServiceState | undefined> | undefined;

/** One question at a time: who asks meanwhile gets its answer. */
function askService(): Promise<ServiceState | undefined> {
  asking ??= new Promise<ServiceState | undefined>((resolve) => {
    const end = (answer?: ServiceAnswer): void => {
      clearTimeout(late);
      process.off('message', end);
      asking = undefined;
      resolve(answer?.state);
    };
    const late = setTimeout(end, ASK_MS);
    process.on('message', end);
    send({ type: 'ask' });
  });
  return asking;
}
