import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { parse } from 'yaml';
import { runProgram } from '../../src/cli/program.ts';
import { openStore } from '../../src/start/store.ts';
import { messageOf } from '../../src/errors.ts';
import { type Platform, createPlatform } from '../../packages/platform/client.ts';
import { systemParts } from '../../packages/platform/connection.ts';
import type { ControlCommand } from '../../packages/sandbox/control.ts';
import { ensureCredentials, settingsBlock } from '../../packages/sandbox/credentials.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { createSecrets } from '../../src/settings/secrets.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { COMMIT } from '../../src/values/commit.ts';
import { VERSION } from '../../src/values/version.ts';
import { eventually } from '../../test/eventually.ts';
import { startSandboxProgram, steerSandbox } from '../../packages/sandbox/test/program.ts';
import { createReceiver } from '../chaos/receivers.ts';
import { endings } from '../chaos/topology.ts';
import { POLICIES, type Scheme } from './plan.ts';

/** What a command printed. */
export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A receiver and a sandbox, each a process, with a folder that is removed at the end. */
export interface World {
  readonly receiverUrl: string;
  readonly sandboxUrl: string;
  /** A time zone in which it is about noon, so that no run meets the end of a day. */
  readonly zone: string;
  /** The day in that zone, and the next one. */
  readonly days: readonly [string, string];
  /** Runs `countersign` with the settings of the receiver, in this process. */
  readonly command: (...argv: readonly string[]) => Promise<Ran>;
  readonly steer: (command: ControlCommand) => Promise<unknown>;
  readonly platformOf: (scheme: Scheme) => Platform;
  readonly journalOf: (source: 'shop' | 'vault') => Promise<readonly JournalEntry[]>;
  /** Where runs of the reconciliation are kept. */
  readonly directory: string;
  /** Moves the clocks of the sandbox, the receiver and the commands to the next day. */
  readonly moveToNextDay: () => Promise<void>;
  /** Moves the clock of the commands past both days and the time that bills take to be complete. */
  readonly endDays: () => void;
  /** Ends the processes, and removes what they wrote. */
  readonly stop: () => Promise<void>;
}

export interface WorldOptions {
  readonly seed: string;
  readonly faults: string;
  /** `redis://…`; without it the receiver has an embedded store. */
  readonly redis: string | undefined;
}

const APP_KEY = 'demo-shop';
const DAY_MS = 86_400_000;
const PATIENT_MS = 60_000;
/** Entries of the journal that are read at once. */
const PAGE = 500;
/** How far the receiver believes its clock, which goes to the next day at once. */
const ANY_STEP_MS = String(3 * DAY_MS);
/** A call that is late is as late as it needs to be to come after another one. */
const LATE_MS = 5;
/** A withdrawal that is refused is asked about once. */
const REFUSALS = 1;

export async function startWorld({ seed, faults, redis }: WorldOptions): Promise<World> {
  const ending = endings();
  try {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-end-to-end-'));
    ending.add(() => rmSync(folder, { recursive: true, force: true }));
    const credentials = join(folder, 'credentials');
    ensureCredentials(credentials);
    const directory = join(folder, 'reconciliation');
    mkdirSync(directory);
    const prefix = `end-to-end-${process.pid}-${Date.now()}`;
    if (redis !== undefined) {
      await withRedis(redis, (client) => client.ping());
      ending.add(() => withRedis(redis, (client) => removeKeys(client, prefix)));
    }
    const clockBounds = { maxStepMs: ANY_STEP_MS, maxGapMs: ANY_STEP_MS };
    const store =
      redis === undefined
        ? { url: `embedded:${join(folder, 'store.db')}`, clock: clockBounds }
        : { url: redis, prefix, commandTimeoutMs: '10000' };
    const receiver = createReceiver({
      name: 'receiver',
      policies: POLICIES,
      settings: { ...sourcesFor(credentials), store },
    });
    ending.add(() => receiver.remove());
    await receiver.start();
    const settingsFile = join(receiver.folder, 'settings.yaml');
    await untilReady(receiver.ops());
    const zone = zoneAtNoon();
    const options = optionsOf({
      receiver: receiver.url(),
      zone,
      seed,
      clock: 'now',
      faults,
      'late-ms': String(LATE_MS),
      refusals: String(REFUSALS),
      'timeout-ms': String(PATIENT_MS),
      'app-key': APP_KEY,
    });
    const sandbox = await startSandboxProgram(credentials, options);
    ending.add(async () => {
      sandbox.terminate();
      await sandbox.ended;
    });

    let offsetMs = 0;
    const clock = (): number => Date.now() + offsetMs;
    const { origin } = new URL(sandbox.url);
    const env = { COUNTERSIGN_PLATFORM_URL: origin, COUNTERSIGN_PLATFORM_TIMEOUT_MS: String(PATIENT_MS) };
    const steer: World['steer'] = (command) => steerSandbox(sandbox.controlUrl, command);
    const today = Temporal.Now.plainDateISO(zone);
    const journalOf: World['journalOf'] = async (source) => {
      const settings = loadSettings({ file: settingsFile, env: {} });
      const opened = await openStore(settings.store, createSecrets({ env: {} }).read, clock);
      const entries: JournalEntry[] = [];
      try {
        for (;;) {
          const page = await opened.entries({ source, after: entries.at(-1)?.id ?? '', limit: PAGE });
          if (page.length === 0) return entries;
          entries.push(...page);
        }
      } finally {
        await opened.close();
      }
    };
    return {
      receiverUrl: receiver.url(),
      sandboxUrl: sandbox.url,
      zone,
      days: [today.toString(), today.add({ days: 1 }).toString()],
      command: (...argv) => runHere([...argv, '--config', settingsFile], clock, env),
      steer,
      platformOf: (scheme) => platformAt(origin, credentials, scheme, clock),
      journalOf,
      directory,
      async moveToNextDay() {
        offsetMs += DAY_MS;
        await steer({ command: 'clock-move', byMs: DAY_MS });
        if (redis !== undefined) return;
        receiver.setClock(offsetMs);
        const afterMs = clock() - DAY_MS / 2;
        await eventually("the receiver's clock is that of the next day", async () => {
          await steer({ command: 'self-check' });
          const last = (await journalOf('vault')).at(-1);
          return (last !== undefined && last.atMs > afterMs) || undefined;
        });
      },
      endDays: () => void (offsetMs += 2 * DAY_MS),
      stop: ending.run,
    };
  } catch (thrown) {
    await ending.run().catch(() => undefined);
    throw thrown;
  }
}

/** Options of a command, by their names. */
export const optionsOf = (named: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(named).flatMap(([name, value]) => [`--${name}`, value]);

/** The settings that the sandbox tells its users to paste. */
function sourcesFor(credentials: string): Readonly<Record<string, unknown>> {
  return parse(settingsBlock(credentials, APP_KEY)) as Readonly<Record<string, unknown>>;
}

/** UTC-11 to UTC+12. The names of these zones have the opposite sign. */
function zoneAtNoon(): string {
  const east = 12 - new Date().getUTCHours();
  return `Etc/GMT${east > 0 ? '-' : '+'}${Math.abs(east)}`;
}

async function untilReady(opsUrl: string): Promise<void> {
  let because = '';
  await eventually('the receiver is ready', async () => {
    const response = await fetch(`${opsUrl}/readyz`);
    because = await response.text();
    return response.status === 200 || undefined;
  }).catch((thrown: unknown) => {
    throw new Error(`the receiver is not ready: ${because}`, { cause: thrown });
  });
}

async function runHere(
  argv: readonly string[],
  clock: () => number,
  env: Readonly<Record<string, string>>,
): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runProgram(argv, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    input: () => Promise.resolve(Buffer.alloc(0)),
    env,
    clock,
    user: userInfo().username,
    version: VERSION,
    commit: COMMIT,
    stopped: () => Promise.resolve('SIGTERM'),
  });
  return { code, out: out.join(''), err: err.join('') };
}

function platformAt(url: string, credentials: string, scheme: Scheme, clock: () => number): Platform {
  const text = (name: string): string => readFileSync(join(credentials, name), 'utf8').trim();
  const own = { appKey: APP_KEY, platformKey: text('platform.public.pem') };
  return createPlatform(
    {
      url,
      timeoutMs: PATIENT_MS,
      credentials:
        scheme === 'md5'
          ? { ...own, scheme, secret: text('shop.secret') }
          : { ...own, scheme, merchantKey: text('merchant.private.pem') },
    },
    { ...systemParts, clock },
  );
}

/** Throws if no Redis answers. */
async function withRedis(url: string, work: (client: Redis) => Promise<unknown>): Promise<void> {
  const options = { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null };
  const client = new Redis(url, options).on('error', () => undefined);
  try {
    await client.connect();
    await work(client);
  } catch (thrown) {
    const { host } = new URL(url);
    throw new Error(`no Redis answers at ${host}: ${messageOf(thrown)}. Start one, or leave --redis out`, {
      cause: thrown,
    });
  } finally {
    client.disconnect();
  }
}

async function removeKeys(client: Redis, prefix: string): Promise<void> {
  for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1000 }) as AsyncIterable<
    string[]
  >) {
    if (keys.length > 0) await client.unlink(keys);
  }
}
