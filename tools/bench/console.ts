import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import { startRedisServer } from '../../test/redis-server.ts';
import { commandLine, wholeNumber } from '../command-line.ts';
import { type Posted, createSender } from './callbacks.ts';
import type { Click } from './clicks.ts';
import { load } from './load.ts';
import { PAGES, PERSON, pathOf } from './pages.ts';
import { APP_KEY, FEW_RULES, SECRET } from './policies.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));
const FILLED_AT_ONCE = 20_000;
const CONNECTIONS = 32;
/** How often each page is opened to see who waits for it. */
const OPENED = 50;
const NOTHING = 'nothing, for 200 ms';
const CLICKS = fileURLToPath(new URL('clicks.ts', import.meta.url));

interface Options {
  readonly store: 'embedded' | 'redis';
  readonly decisions: number;
  readonly rate: number;
  readonly seconds: number;
  readonly rounds: number;
}

const COUNT = wholeNumber({ least: 1, most: 99_999_999 });
const options = commandLine(
  'bench:console',
  "Measures the console's pages on a full store, and callbacks alone and while somebody clicks.",
  '--store redis --decisions 100000',
)
  .addOption(
    new Option('--store <name>', 'where the decisions are')
      .choices(['embedded', 'redis'])
      .default('embedded'),
  )
  .option('--decisions <number>', 'how many are in the store', COUNT, 1_000_000)
  .option('--rate <number>', 'callbacks a second', COUNT, 300)
  .option('--seconds <number>', 'of each half of a round', COUNT, 20)
  .option('--rounds <number>', 'how often callbacks are sent alone, then with clicks', COUNT, 3)
  .parse()
  .opts<Options>();

interface Measured {
  /** In milliseconds. */
  readonly callbacks: readonly number[];
  readonly clicks: readonly Click[];
}

const { decisions, rate, seconds, rounds } = options;
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-console-'));
const redis = options.store === 'redis' ? await startRedisServer() : undefined;
const service = await startService(redis?.url ?? `embedded:${join(folder, 'store.db')}`);
const sender = createSender();
let sent = 0;
try {
  await fillStore();
  const quiet: Measured[] = [];
  const clicked: Measured[] = [];
  for (let round = 0; round < rounds; round++) {
    quiet.push(await measured(false));
    clicked.push(await measured(true));
  }
  print(quiet, clicked, await waits());
} finally {
  await service.stop();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function startService(store: string) {
  mkdirSync(join(folder, 'policies'));
  writeFileSync(join(folder, 'policies/policies.yaml'), FEW_RULES);
  writeFileSync(join(folder, 'shop.secret'), SECRET);
  const settings = join(folder, 'settings.yaml');
  const person = '{ name: ada, roles: [read, operate] }';
  writeFileSync(
    settings,
    `public: { port: 0 }
ops: { port: 0 }
store: "${store}"
console: { proxy: { header: x-person, addresses: [127.0.0.1], people: [${person}] } }
sources:
  - name: shop
    callback: payment
    appKey: ${APP_KEY}
    signatures: [{ scheme: md5, secret: { file: shop.secret } }]
`,
  );
  const argv = ['--max-semi-space-size=64', PROGRAM, 'serve', '--config', settings];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  for await (const line of createInterface(child.stdout)) {
    const [, callbacks, ops] = /callbacks at (\S+), ops at ([^\s"]+)/.exec(line) ?? [];
    if (callbacks === undefined || ops === undefined) continue;
    child.stdout.resume();
    const stop = async (): Promise<void> => {
      child.kill('SIGTERM');
      await ended;
    };
    return { callbacks, ops, stop };
  }
  throw new Error('the service ended before it served');
}

async function fillStore(): Promise<void> {
  const nothing = { cpuMicros: 0, rssBytes: 0, allocatedBytes: 0 };
  const subject = { urls: [service.callbacks], used: () => Promise.resolve(nothing), stop: service.stop };
  while (sent < decisions) {
    const count = Math.min(FILLED_AT_ONCE, decisions - sent);
    const callbacks = Array.from({ length: count }, (_, at) => sender.make('md5', sent + at));
    await load(subject, callbacks, { connections: CONNECTIONS, answer: 'SUCCESS' });
    sent += count;
    process.stderr.write(`${sent} of ${decisions} decisions\n`);
  }
}

/** Callbacks at a steady rate, and with them the clicks of one person. */
async function measured(clicks: boolean): Promise<Measured> {
  const agent = new Agent({ keepAlive: true });
  const callbacks: number[] = [];
  const clicker = clicks
    ? fork(CLICKS, [service.ops, String(decisions)], { execArgv: ['--single-threaded'] })
    : undefined;
  if (clicker !== undefined) await once(clicker, 'message');
  const pending: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let at = 0; at < rate * seconds; at++) {
    const dueMs = startedMs + (at * 1000) / rate;
    const waitMs = dueMs - performance.now();
    if (waitMs > 1) await pause(waitMs);
    // From when it was due: a service that stops for a moment delays what comes then as well.
    pending.push(
      post(agent, sender.make('md5', sent++)).then(() => void callbacks.push(performance.now() - dueMs)),
    );
  }
  await Promise.all(pending);
  agent.destroy();
  return { callbacks, clicks: clicker === undefined ? [] : await clicksOf(clicker) };
}

async function clicksOf(clicker: ChildProcess): Promise<readonly Click[]> {
  const answered = once(clicker, 'message');
  clicker.send('stop');
  const [found] = (await answered) as [readonly Click[]];
  return found;
}

/**
 * How long the slowest of small requests takes that follow each other while a page is made: medians by page. Nothing
 * else is sent, so that a machine which stops now and then disturbs few of them.
 */
async function waits(): Promise<ReadonlyMap<string, number>> {
  const agent = new Agent({ keepAlive: true });
  const slowest = new Map<string, number[]>([NOTHING, ...PAGES].map((page) => [page, []]));
  for (let click = 0; click < OPENED; click++) {
    for (const [page, times] of slowest) {
      const made = new AbortController();
      const making = page === NOTHING ? pause(200) : opened(pathOf(page, click, decisions));
      const done = making.finally(() => made.abort());
      // It is awaited below, after the requests.
      done.catch(() => undefined);
      let most = 0;
      while (!made.signal.aborted) most = Math.max(most, await smallRequest(agent));
      await done;
      times.push(most);
    }
  }
  agent.destroy();
  return new Map([...slowest].map(([page, times]) => [page, quantile(times, 0.5)]));
}

async function opened(path: string): Promise<void> {
  const response = await fetch(`${service.ops}${path}`, { headers: PERSON });
  await response.text();
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
}

function smallRequest(agent: Agent): Promise<number> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(`${service.callbacks}/none`, { agent }, (response) => {
      response.resume().on('end', () => resolve(performance.now() - startedMs));
    });
    asked.on('error', reject);
    asked.end();
  });
}

function post(agent: Agent, { path, body }: Posted): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const asked = request(`${service.callbacks}${path}`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        text === 'SUCCESS' ? resolve() : reject(new Error(`the answer was ${text}`)),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function ms(value: number): string {
  return value.toFixed(1).padStart(8);
}

function print(
  quiet: readonly Measured[],
  clicked: readonly Measured[],
  waited: ReadonlyMap<string, number>,
): void {
  const lines = [`${options.store}, ${decisions} decisions, ${rate} callbacks a second, milliseconds`, ''];
  for (const [name, of] of [
    ['callbacks alone', quiet],
    ['somebody clicks', clicked],
  ] as const) {
    const all = of.flatMap(({ callbacks }) => callbacks);
    const rounds99 = of.map(({ callbacks }) => quantile(callbacks, 0.99).toFixed(1)).join(' ');
    lines.push(
      `${name.padEnd(60)} p50 ${ms(quantile(all, 0.5))}  p95 ${ms(quantile(all, 0.95))}  p99 ${ms(quantile(all, 0.99))}, by round ${rounds99}`,
    );
  }
  lines.push('');
  const times = new Map<string, number[]>();
  for (const [page, took] of clicked.flatMap(({ clicks }) => clicks)) {
    times.set(page, [...(times.get(page) ?? []), took]);
  }
  const rows = [...times, ['all pages', [...times.values()].flat()] as const];
  for (const [page, found] of rows) {
    lines.push(
      `${page.padEnd(60)} p50 ${ms(quantile(found, 0.5))}  p95 ${ms(quantile(found, 0.95))}  n ${found.length}`,
    );
  }
  lines.push('', `the slowest of small requests while a page is made, median of ${OPENED}`);
  for (const [page, wait] of waited) lines.push(`${page.padEnd(60)} ${ms(wait)}`);
  process.stdout.write(`${lines.join('\n')}\n`);
}
