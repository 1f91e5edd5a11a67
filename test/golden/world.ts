import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.ts';
import { untilClosed } from '../raw-connection.ts';
import type { Mask } from './masked.ts';

/*
 * The program as its users have it: its commands, its ports and its files. Nothing here imports the program,
 * so that it can be built in another way and still be held to the same outside.
 */

const PROGRAM = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));
const KEYS = fileURLToPath(new URL('../../config/demo', import.meta.url));

export interface Ended {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

export interface World {
  readonly folder: string;
  /** One call of the program in the folder, with its settings. */
  run(argv: readonly string[], input?: string): Promise<Ended>;
  /** Serves until `stop`. */
  serve(): Promise<Serving>;
  remove(): Promise<void>;
}

export interface Serving {
  readonly url: string;
  readonly ops: string;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** The bytes of the answer to a request, as they came. */
  request(base: string, request: RawRequest): Promise<string>;
  stop(): Promise<number | null>;
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * A folder with the settings, policies and keys of the golden tests. `store` is an address; by default a file
 * in the folder. `from` has the settings and policies.
 */
export function createWorld(store = 'embedded:store.db', from: 'world' | 'limits' = 'world'): World {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-golden-'));
  cpSync(fileURLToPath(new URL(from, import.meta.url)), folder, { recursive: true });
  cpSync(KEYS, join(folder, 'keys'), { recursive: true });
  const settings = join(folder, 'countersign.yaml');
  writeFileSync(settings, readFileSync(settings, 'utf8').replace('STORE', store));
  const running = new Set<ChildProcess>();

  const start = (argv: readonly string[]): ChildProcess => {
    const child = spawn(process.execPath, [PROGRAM, ...argv, '--config', settings], {
      cwd: folder,
      env: { PATH: process.env['PATH'], USER: 'golden', TZ: 'UTC' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    running.add(child);
    child.once('close', () => running.delete(child));
    return child;
  };

  return {
    folder,
    async run(argv, input = '') {
      const child = start(argv);
      const said = { out: '', err: '' };
      child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.out += text));
      child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.err += text));
      child.stdin?.on('error', () => undefined).end(input);
      const [exitCode]: (number | null)[] = await once(child, 'close');
      return { exitCode: exitCode ?? null, ...said };
    },
    serve: () => serving(start(['serve'])),
    async remove() {
      await Promise.all(
        [...running].map((child) => {
          child.kill('SIGKILL');
          return once(child, 'close');
        }),
      );
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The journal's entries by source: those of several sources within one millisecond have no order. */
export async function journalOf(world: World, mask: Mask): Promise<Readonly<Record<string, unknown>>> {
  const entries: Record<string, unknown> = {};
  for (const source of ['shop', 'stall', 'vault']) {
    const { out } = await world.run(['decisions', 'export', '--source', source]);
    const lines = out.trim().split('\n');
    entries[source] = lines.map((line) => mask.value(JSON.parse(line)));
  }
  return entries;
}

async function serving(child: ChildProcess): Promise<Serving> {
  const log: Record<string, unknown>[] = [];
  let complained = '';
  child.stdin?.end();
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (complained += text));
  if (child.stdout !== null) {
    createInterface(child.stdout).on('line', (line) => {
      const entry: Record<string, unknown> = JSON.parse(line);
      log.push(entry);
    });
  }
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  const [, url = '', ops = ''] = await eventually('the service serves', () => {
    if (child.exitCode !== null) return new Error(`the service ended: ${complained}`);
    const line = log.find(({ event }) => event === 'serving');
    return /callbacks at (\S+), ops at (\S+)/.exec(String(line?.['because'])) ?? undefined;
  });
  return {
    url,
    ops,
    log,
    request,
    async stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

async function request(
  base: string,
  { method = 'POST', path, headers = {}, body = '' }: RawRequest,
): Promise<string> {
  const { hostname, port, host } = new URL(base);
  const fields = {
    Host: host,
    Connection: 'close',
    ...(method === 'POST' && {
      'Content-Type': 'application/json',
      'Content-Length': `${Buffer.byteLength(body)}`,
    }),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  await untilClosed(socket);
  return received;
}
