import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { archiveSource } from '../../src/archive/archive.ts';
import { startService } from '../../src/start/service.ts';
import { openStore } from '../../src/start/store.ts';
import { createLog } from '../../src/observe/log.ts';
import { loadSettings } from '../../src/settings/load.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import { startRedisServer } from '../../test/redis-server.ts';
import { BLOCKED, FEW_RULES, MANY_RULES } from '../bench/policies.ts';
import { commandLine, wholeNumber } from '../command-line.ts';
import { type SizedKind, bodiesOf } from './bodies.ts';

const options = commandLine(
  'sizing',
  'Measures what a decision takes up, by kind and store: sends real callbacks to a real service, then looks at the ' +
    'memory of Redis, or at the pages of the file by what they hold.',
  '--decisions 5000',
)
  .option('--decisions <number>', 'callbacks of each kind', wholeNumber({ least: 100, most: 1e7 }), 20_000)
  .option('--json', 'print the sizes as JSON')
  .parse()
  .opts<{ readonly decisions: number; readonly json?: boolean }>();
const DECISIONS = options.decisions;
/** Sent first, so that what is there once is not counted as if each decision had it. */
const WARM_UP = 500;
const CONNECTIONS = 8;
/** Values of one change of a list. */
const LIST_STEP = 20_000;

/** Bytes of one decision, unless it says otherwise. */
interface Sizes {
  readonly all: number;
  readonly journal: number;
  readonly subject: number;
  /** Of all counters, spread over the decisions. */
  readonly counters: number;
  /** Of one counter: of a user, in one window. */
  readonly counter: number;
  /** Written to the append-only file, before it is rewritten. */
  readonly appended?: number;
  /** In the archive. */
  readonly archived: number;
}

interface SizedRow extends Sizes {
  readonly kind: SizedKind;
  readonly store: Store['name'];
}

const TRANSFERS = `policy: transfers
callback: transfer
when: { symbol: ETH }
rules:
  - amount-limit: { max: 10 }
  - window-limit: { window: 24h, max: 100000000 }
  - allow-list: { of: to, values: ['0x52908400098527886e0f7030069857d2e4169ee7'] }
`;
const WEB3 = `policy: web3
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      calls:
        - contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7'
          method: transfer(address,uint256)
          decimals: 6
          where: { to: any, amount: { max: 1000 } }
`;
const kinds: Readonly<Record<SizedKind, string>> = {
  'payment, 5 rules': FEW_RULES,
  'payment, 20 rules': MANY_RULES,
  withdrawal: TRANSFERS,
  web3: WEB3,
};

const report = (line: string): void => void process.stderr.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), 'countersign-sizing-'));
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const redis = await startRedisServer({
  args: ['--appendonly', 'yes', '--appendfsync', 'no', '--auto-aof-rewrite-percentage', '0'],
});
const client = new Redis(redis.url);
const rows: SizedRow[] = [];
try {
  for (const kind of Object.keys(kinds) as SizedKind[]) {
    for (const store of ['redis', 'embedded'] as const) {
      report(`${DECISIONS} times ${kind} on ${store}`);
      const row = { kind, store, ...(await measured(kind, store)) };
      report(JSON.stringify(row));
      rows.push(row);
    }
  }
  process.stdout.write(options.json ? `${JSON.stringify(rows, undefined, 2)}\n` : table(rows));
} finally {
  client.disconnect();
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measured(kind: SizedKind, storeName: Store['name']): Promise<Sizes> {
  // Signing keeps the event loop busy, which a service would take for a Redis that does not answer.
  const bodies = bodiesOf(kind, WARM_UP + DECISIONS, privateKey);
  await client.flushall();
  const file = join(folder, `${rows.length}.db`);
  const settings = loadSettings({
    file: writeSettings(kind, storeName === 'redis' ? redis.url : `embedded:${file}`),
    env: {},
  });
  const store = await openStore(settings.store, () => '', systemClock, { as: 'service' });
  await store.register(['shop', 'vault']);
  if (kind === 'payment, 20 rules') await makeList(store);
  const log = createLog({ level: 'warn', stream: process.stderr });
  const service = await startService({ settings, env: {}, clock: systemClock, log });
  await send(service.publicUrl, bodies.slice(0, WARM_UP));
  const before = storeName === 'redis' ? await redisSizes() : fileSizes(file);
  await send(service.publicUrl, bodies.slice(WARM_UP));
  const after = storeName === 'redis' ? await redisSizes() : fileSizes(file);
  await service.stop();
  const archived = await archivedBytes(store, kind.startsWith('payment') ? 'shop' : 'vault');
  await store.close();
  const each = (of: keyof Held): number => Math.round((after[of] - before[of]) / DECISIONS);
  return {
    all: each('all'),
    journal: each('journal'),
    subject: each('subject'),
    counters: each('counters'),
    counter: after.counterKeys === 0 ? 0 : Math.round(after.counters / after.counterKeys),
    ...(storeName === 'redis' && { appended: each('appended') }),
    archived,
  };
}

interface Held {
  readonly all: number;
  readonly journal: number;
  readonly subject: number;
  readonly counters: number;
  readonly counterKeys: number;
  readonly appended: number;
}

async function redisSizes(): Promise<Held> {
  const info = await client.info();
  const number = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const sums = { journal: 0, subject: 0, window: 0 };
  let counterKeys = 0;
  for await (const found of client.scanStream({ count: 1000 })) {
    const keys = (found as string[]).flatMap((key) => {
      const kind = /\}:(journal|subject|window)(?::|$)/.exec(key)?.[1] as keyof typeof sums | undefined;
      return kind === undefined ? [] : [{ key, kind }];
    });
    const sizes = await Promise.all(keys.map(({ key }) => client.memory('USAGE', key, 'SAMPLES', 0)));
    for (const [at, { kind }] of keys.entries()) {
      sums[kind] += sizes[at] ?? 0;
      if (kind === 'window') counterKeys++;
    }
  }
  const { journal, subject, window } = sums;
  return {
    all: number('used_memory'),
    journal,
    subject,
    counters: window,
    counterKeys,
    appended: number('aof_current_size'),
  };
}

function fileSizes(file: string): Held {
  const reader = new DatabaseSync(file);
  const bytesOf = (names: string): number =>
    Number(
      reader.prepare(`SELECT coalesce(sum(pgsize), 0) AS bytes FROM dbstat WHERE name LIKE ?`).get(names)?.[
        'bytes'
      ],
    );
  const counterKeys = Number(reader.prepare('SELECT count(*) AS keys FROM counter').get()?.['keys']);
  const held = {
    all: bytesOf('%'),
    journal: bytesOf('journal%'),
    subject: bytesOf('subject%'),
    counters: bytesOf('counter%') + bytesOf('bucket%'),
    counterKeys,
    appended: 0,
  };
  reader.close();
  return held;
}

/** Bytes of the archive for each entry. */
async function archivedBytes(store: Store, source: string): Promise<number> {
  const directory = mkdtempSync(join(folder, 'archive-'));
  const { entries } = await archiveSource({
    store,
    directory,
    source,
    beforeMs: Number.MAX_SAFE_INTEGER,
    entriesMax: DECISIONS + WARM_UP,
    onStep: () => undefined,
  });
  const files = readdirSync(join(directory, source)).map(
    (name) => statSync(join(directory, source, name)).size,
  );
  return Math.round(files.reduce((sum, size) => sum + size, 0) / entries);
}

async function makeList(store: Store): Promise<void> {
  for (let from = 0; from < BLOCKED.entries; from += LIST_STEP) {
    const add = Array.from({ length: LIST_STEP }, (_, at) => `${1_000_000 + from + at}`);
    await store.changeList({
      source: 'shop',
      list: BLOCKED.list,
      add,
      remove: [],
      by: 'bench',
      message: 'to look into',
    });
  }
}

function writeSettings(kind: SizedKind, store: string): string {
  const policies = join(folder, `policies-${rows.length}`);
  mkdirSync(policies);
  writeFileSync(join(policies, 'policies.yaml'), kinds[kind]);
  writeFileSync(join(folder, 'platform.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
  const settings = join(folder, `settings-${rows.length}.yaml`);
  writeFileSync(
    settings,
    `public: { port: 0 }
ops: { port: 0 }
store: { url: "${store}", commandTimeoutMs: 5000 }
policies: { directory: ${policies} }
answerTimeoutMs: 10000
sources:
  - name: shop
    callback: payment
    appKey: bench-shop
    signatures: [{ scheme: rsa, platformKey: { file: ${join(folder, 'platform.pem')} } }]
  - name: vault
    callback: cosigner
    paths: { withdraw: /cosigner/withdraw, web3: /cosigner/web3 }
    authenticate: [none]
`,
  );
  return settings;
}

/** Each must be approved: what is refused takes up something else. */
async function send(
  url: string,
  bodies: readonly { readonly path: string; readonly body: string }[],
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let next = 0;
  const one = async (): Promise<void> => {
    for (let each = bodies[next++]; each !== undefined; each = bodies[next++]) {
      const answer = await post(agent, new URL(each.path, url), each.body);
      if (answer !== 'SUCCESS') throw new Error(`the answer was ${answer}, not SUCCESS`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  agent.destroy();
}

function post(agent: Agent, url: URL, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(url, { agent, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
    });
    sent.on('error', reject).end(body);
  });
}

function table(sized: readonly SizedRow[]): string {
  const columns = ['all', 'journal', 'subject', 'counters', 'counter', 'appended', 'archived'] as const;
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return [
    line(['kind', 'store', ...columns]),
    line(['---', '---', ...columns.map(() => '---:')]),
    ...sized.map((row) => line([row.kind, row.store, ...columns.map((column) => String(row[column] ?? ''))])),
  ].join('');
}
