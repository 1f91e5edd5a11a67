import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type ServiceProcess, startServiceProcess } from '../../test/service-process.ts';
import { writeServiceFolder } from '../../test/service.ts';
import type { Outage } from './history.ts';

/** A receiver's process, to which all can be done that a machine or an operator does to one. */
export interface Receiver {
  readonly name: string;
  readonly folder: string;
  /** Another one after each start. */
  readonly url: () => string;
  readonly ops: () => string;
  /** False from before it is killed or stopped until it serves again. */
  readonly isUp: () => boolean;
  readonly outages: () => readonly Outage[];
  readonly start: () => Promise<void>;
  /** SIGKILL: nothing is finished. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP: it stands still, and its connections stay. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Sets its wall clock off by so much. */
  readonly setClock: (offsetMs: number) => void;
  /** The most bytes that a file it writes may have; without a bound again if undefined. */
  readonly limitFiles: (bytes: number | undefined) => void;
  /** What its processes logged about a subject, for a report of what went wrong. */
  readonly said: (subject: string) => readonly string[];
  /** Kills it and removes its folder. */
  readonly remove: () => Promise<void>;
}

export interface ReceiverOptions {
  readonly name: string;
  readonly policies: Readonly<Record<string, string>>;
  /** Settings over those of `writeServiceFolder`. */
  readonly settings: Readonly<Record<string, unknown>>;
}

const CLOCK = new URL('./clock.ts', import.meta.url).href;
/** Leaves its process id behind, and becomes the receiver. */
const AS_RECEIVER = 'echo $$ > pid; exec "$@"';

/** Makes its folder; `start` starts it. */
export function createReceiver({ name, policies, settings }: ReceiverOptions): Receiver {
  const folder = writeServiceFolder({ policies, settings });
  const clockFile = join(folder, 'clock');
  const through = [
    'env',
    `NODE_OPTIONS=--import=${CLOCK}`,
    `CHAOS_CLOCK_FILE=${clockFile}`,
    'sh',
    '-c',
    AS_RECEIVER,
    'sh',
  ];
  const ended: Outage[] = [];
  const logs: ServiceProcess['log'][] = [];
  // Down until it is started.
  let downSinceMs: number | undefined = Date.now();
  let service: ServiceProcess | undefined;

  const pid = (): number => Number(readFileSync(join(folder, 'pid'), 'utf8'));
  /** One that did not come up in time may still run. */
  function killLeftOver(): void {
    try {
      process.kill(pid(), 'SIGKILL');
    } catch {
      // It has ended, or never was.
    }
  }
  const goneDown = (): void => void (downSinceMs ??= Date.now());
  function cameUp(): void {
    if (downSinceMs !== undefined) ended.push({ receiver: name, fromMs: downSinceMs, untilMs: Date.now() });
    downSinceMs = undefined;
  }
  async function kill(): Promise<void> {
    goneDown();
    const killed = service;
    service = undefined;
    await killed?.kill();
  }

  return {
    name,
    folder,
    url: () => service?.url ?? 'http://127.0.0.1:9',
    ops: () => service?.ops ?? 'http://127.0.0.1:9',
    isUp: () => downSinceMs === undefined,
    outages: () =>
      downSinceMs === undefined
        ? ended
        : [...ended, { receiver: name, fromMs: downSinceMs, untilMs: Infinity }],
    async start() {
      if (service === undefined) {
        rmSync(join(folder, 'pid'), { force: true });
        service = await startServiceProcess(folder, through).catch((thrown: unknown) => {
          killLeftOver();
          throw thrown;
        });
        logs.push(service.log);
      }
      cameUp();
    },
    kill,
    pause() {
      goneDown();
      process.kill(pid(), 'SIGSTOP');
    },
    resume() {
      process.kill(pid(), 'SIGCONT');
      cameUp();
    },
    setClock(offsetMs) {
      writeFileSync(`${clockFile}.new`, `${offsetMs}`);
      renameSync(`${clockFile}.new`, clockFile);
    },
    limitFiles(bytes) {
      const limit = `--fsize=${bytes ?? 'unlimited'}:unlimited`;
      const { status, stderr } = spawnSync('prlimit', ['--pid', `${pid()}`, limit]);
      if (status !== 0) throw new Error(`prlimit failed for ${name}: ${stderr.toString()}`);
    },
    said: (subject) =>
      logs
        .flat()
        .filter((line) => line['subject'] === subject)
        .map(({ event, outcome, code, because }) => `${name}: ${[event, outcome, code, because].join(' ')}`),
    async remove() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A receiver that starts while something is wrong may end then: it is started again, as whoever runs it
 * would.
 */
export async function startAll(receivers: readonly Receiver[]): Promise<void> {
  await Promise.all(receivers.map(startInsisting));
}

const STARTS = 10;

async function startInsisting(receiver: Receiver): Promise<void> {
  for (let start = 1; ; start++) {
    try {
      await receiver.start();
      return;
    } catch (thrown) {
      if (start === STARTS) throw thrown;
      await wait(500);
    }
  }
}
