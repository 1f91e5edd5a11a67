import { readFileSync, readdirSync } from 'node:fs';
import { type IncomingMessage, createServer } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import {
  flat,
  keysOf,
  receiverSources,
  startReceiver,
  startTestSandbox,
} from '../../packages/sandbox/test/sandbox.ts';
import {
  type TestService,
  type TestServiceOptions,
  startTestService,
  writeServiceFolder,
} from '../service.ts';
import { HOUR_MS, MIDNIGHT_MS, type World, createWorld } from './world.ts';

/** How the platform answers: as the sandbox does, not at all, or by closing the connection. */
export type Mode = 'answers' | 'hangs' | 'breaks';

/** Days of approvals, a sandbox that bills them, and the settings of a service that reconciles them. */
export interface Scheduled {
  readonly world: World;
  /** The time of the services. */
  readonly clock: { nowMs: number };
  /** Pays through the sandbox, which asks, debits and bills. */
  readonly pay: (id: string, atMs: number) => Promise<void>;
  /** The requests that the platform got so far, and how it answers from now on. */
  readonly platform: { mode: Mode; requests: number };
  readonly start: () => Promise<TestService>;
  /** Writes the settings for a process, and returns their folder. */
  readonly writeSettings: (over?: Readonly<Record<string, unknown>>) => string;
  /** The body of the platform's callback about a payment. */
  readonly callback: (id: string) => string;
  /** The days that have a run, in the order of the runs. */
  readonly days: () => readonly string[];
}

export const DAYS = ['2025-06-10', '2025-06-11', '2025-06-12'] as const;
/** An instant in the middle of one of them. */
export const noonOf = (day: number): number => MIDNIGHT_MS + (24 * day + 12) * HOUR_MS;
/** When one of them and its settle time are over. */
export const overMs = (day: number): number => MIDNIGHT_MS + (24 * (day + 1) + 1) * HOUR_MS;

const ORDER = { userId: '12345', orderAmount: '100', payCoinSymbol: 'USDT1742' };

export async function createScheduled(
  redis: string | undefined,
  over: Readonly<Record<string, unknown>> = {},
): Promise<Scheduled> {
  const world = await createWorld(redis);
  await world.refuse({ id: 'earlier', atMs: MIDNIGHT_MS - HOUR_MS });
  const clock = { nowMs: noonOf(0) };
  const platform: Scheduled['platform'] = { mode: 'answers', requests: 0 };
  const receiver = await startReceiver(({ body }, response) => {
    const asked = JSON.parse(body) as Readonly<Record<string, string>>;
    void world.pay({ id: asked['appOrderId'] ?? '', atMs: clock.nowMs }).then(() => response.end('SUCCESS'));
  });
  const sandbox = await startTestSandbox({ receiver: receiver.url, standsAtMs: noonOf(0) });
  const url = await startProxy(new URL(sandbox.url).origin, platform);
  const options = (more: Readonly<Record<string, unknown>> = {}): TestServiceOptions => ({
    folder: world.folder,
    clock: () => clock.nowMs,
    settings: {
      ...world.settings,
      platform: { url, retries: '0' },
      sources: receiverSources(sandbox.folder),
      reconcile: {
        directory: world.directory,
        delayMinutes: '0',
        firstDay: DAYS[0],
        retryMs: '100',
        ...over,
        ...more,
      },
    },
  });
  return {
    world,
    clock,
    platform,
    async pay(id, atMs) {
      clock.nowMs = atMs;
      await sandbox.steer({ command: 'clock-set', atMs });
      const { code, msg } = await sandbox.call('opay/transferToMerchantAuth', { ...ORDER, appOrderId: id });
      if (code !== '0') throw new Error(msg);
    },
    async start() {
      const service = await startTestService(options());
      onTestFinished(() => service.stop({ keep: true }));
      return service;
    },
    writeSettings: (more) => writeServiceFolder(options(more)),
    callback: (id) => flat({ ...ORDER, appOrderId: id }, keysOf(sandbox.folder).secret),
    days: () =>
      readdirSync(world.directory)
        .sort()
        .flatMap((name) => /^\d+-run-(.*)\.json$/.exec(name)?.[1] ?? []),
  };
}

/** A platform in front of the sandbox, which may be out of order. */
async function startProxy(target: string, state: Scheduled['platform']): Promise<string> {
  const forward = async (request: IncomingMessage): Promise<string> => {
    const body = await text(request);
    return (await fetch(`${target}${request.url}`, { method: 'POST', body })).text();
  };
  const server = createServer((request, response) => {
    state.requests++;
    if (state.mode === 'breaks') return void request.destroy();
    const answered = eventually('the platform answers again', () =>
      state.mode === 'hangs' ? undefined : true,
    );
    void answered
      .then(() => forward(request))
      .then((answer) => response.setHeader('Content-Type', 'application/json').end(answer))
      .catch(() => request.destroy());
    return undefined;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    state.mode = 'answers';
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

/** The values of the metrics of reconciliation, by name and labels. */
export async function metricsOf({
  ops,
}: Pick<TestService, 'ops'>): Promise<Readonly<Record<string, number>>> {
  const body = await (await fetch(`${ops}/metrics`)).text();
  const lines = body.matchAll(/^countersign_reconcile_(\S+) (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', value]) => [name, Number(value)]));
}

/** The processes that reconcile in the directory; none are found on other systems than Linux. */
export function jobsIn(directory: string): readonly number[] {
  if (process.platform !== 'linux') return [];
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.map(Number).filter((pid) => {
    try {
      const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return argv.includes(directory) && argv.includes('--through');
    } catch {
      return false;
    }
  });
}
