import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commandsFor } from '../../src/cli/commands.ts';
import { type Certificate, type CertificateAuthority, createAuthority } from '../certificates.ts';
import { startRedisCluster } from '../redis-cluster.ts';
import { closedPort } from '../ports.ts';
import { type RedisTls, startRedisProcess } from '../redis-process.ts';
import { startSentinels } from '../redis-sentinel.ts';
import { runProcess } from './process.ts';
import { callsOfTheStore } from './calls-of-the-store.ts';
import { place } from './terminal.ts';

const RIG_MS = 120_000;
/**
 * Longer than the answer of a server takes to come, also on a busy machine: a command waits for that long
 * before it gives up.
 */
const connectTimeoutMs = '5000';
const commandTimeoutMs = '5000';
const env = { RIGHT: 'r1ght-s3cret', WRONG: 'wr0ng-s3cret' };
const config = [`user somebody on >${env.RIGHT} ~* &* +@all`];

interface Rig {
  readonly url: string;
  stop(): Promise<void>;
}

async function startSingle({ tls }: { readonly tls?: RedisTls }): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-single-'));
  const redis = await startRedisProcess({ folder, tls, config: () => ['save ""', ...config] });
  return {
    url: `redis${tls === undefined ? '' : 's'}://127.0.0.1:${redis.port}/0`,
    async stop() {
      await redis.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Topology {
  readonly name: string;
  readonly start: (options: { readonly tls?: RedisTls }) => Promise<Rig>;
  /** Its address where there is only one server, on this port. */
  readonly at: (port: number) => string;
}

const topologies: readonly Topology[] = [
  { name: 'one server', start: startSingle, at: (port) => `redis://127.0.0.1:${port}/0` },
  {
    name: 'Sentinels',
    start: (options) => startSentinels({ replicas: 0, sentinels: 1, config, ...options }),
    at: (port) => `redis-sentinel://127.0.0.1:${port}/main/0`,
  },
  {
    name: 'a Cluster',
    start: (options) => startRedisCluster({ primaries: 3, nodeTimeoutMs: 15_000, config, ...options }),
    at: (port) => `redis-cluster://127.0.0.1:${port}`,
  },
];

let authority: CertificateAuthority;
let stranger: CertificateAuthority;
let server: Certificate;
let client: Certificate;
let silent: Server;
/** Speaks TLS with a certificate of `authority`, and nonsense as soon as that has been shown. */
let garbled: Server;
let behind: Server;
beforeAll(async () => {
  [authority, stranger] = [createAuthority(), createAuthority()];
  [server, client] = [authority.issue('/CN=redis'), authority.issue('/CN=countersign')];
  // Takes connections, and never says anything.
  silent = createServer((socket) => void socket.on('error', () => socket.destroy())).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  behind = createTlsServer({ cert: server.cert, key: server.key }).listen(0, '127.0.0.1');
  behind.on('tlsClientError', () => undefined);
  await once(behind, 'listening');
  garbled = createServer(garble).listen(0, '127.0.0.1');
  await once(garbled, 'listening');
});
afterAll(() => {
  silent.close();
  garbled.close();
  behind.close();
  authority.close();
  stranger.close();
});

/**
 * The server's part of the handshake and the nonsense arrive as one, so that both are read before anything
 * else happens.
 */
function garble(socket: Socket): void {
  const through = connect(portOf(behind), '127.0.0.1');
  let shown: Buffer[] = [];
  let sending: NodeJS.Timeout | undefined;
  socket.on('error', () => through.destroy()).pipe(through);
  through.on('error', () => socket.destroy());
  through.on('data', (chunk: Buffer) => {
    shown.push(chunk);
    sending ??= setTimeout(() => {
      socket.write(Buffer.concat([...shown, Buffer.alloc(64, 0xff)]));
      [shown, sending] = [[], undefined];
    }, 50);
  });
}

const portOf = (listening: Server): number => (listening.address() as AddressInfo).port;
const secure = (url: string): string => url.replace('redis', 'rediss');
const plain = (url: string): string => url.replace('rediss', 'redis');
const shown = () => ({ certificate: client.certFile, key: { file: client.keyFile } });
const known = () => ({ ca: authority.certificate.certFile, ...shown() });

interface Rigs {
  readonly plain: Rig;
  readonly tls: Rig;
  readonly nobodyAt: number;
}

const refused = /does not answer: connect ECONNREFUSED 127\.0\.0\.1:\d+\. Check that it runs/;
const silence =
  /does not answer: (?:there was no connection within|it said nothing for) \d+ ms\. Check that it runs/;
const silenceOverTls =
  /does not answer: .* \d+ ms\. .*if it doesn't, write redis in place of rediss in store\.url/;
const untrusted = /shows a certificate of an authority that is not trusted here .* in store\.tls\.ca/;
const credentials = /refuses the credentials; correct user and password in the setting `store`/;

type Fault = readonly [
  name: string,
  settings: (rigs: Rigs, topology: Topology) => Readonly<Record<string, unknown>>,
  said: RegExp,
];
const faults: readonly Fault[] = [
  [
    'a wrong password',
    ({ plain: { url } }) => ({ url, username: 'somebody', password: { env: 'WRONG' } }),
    credentials,
  ],
  [
    'a wrong user',
    ({ plain: { url } }) => ({ url, username: 'nobody', password: { env: 'RIGHT' } }),
    credentials,
  ],
  [
    'a wrong password over TLS',
    ({ tls: { url } }) => ({ url, tls: known(), username: 'somebody', password: { env: 'WRONG' } }),
    credentials,
  ],
  ['nobody there', ({ nobodyAt }, { at }) => ({ url: at(nobodyAt) }), refused],
  [
    'nobody there, over TLS',
    ({ nobodyAt }, { at }) => ({ url: secure(at(nobodyAt)), tls: known() }),
    refused,
  ],
  ['a black hole', (_, { at }) => ({ url: at(portOf(silent)) }), silence],
  [
    'a black hole, over TLS',
    (_, { at }) => ({ url: secure(at(portOf(silent))), tls: known() }),
    silenceOverTls,
  ],
  ['no CA', ({ tls: { url } }) => ({ url, tls: shown() }), untrusted],
  [
    'no CA, and a server that breaks TLS',
    (_, { at }) => ({ url: secure(at(portOf(garbled))), tls: shown() }),
    untrusted,
  ],
  [
    'a wrong CA',
    ({ tls: { url } }) => ({ url, tls: { ...known(), ca: stranger.certificate.certFile } }),
    untrusted,
  ],
  [
    'no client certificate',
    ({ tls: { url } }) => ({ url, tls: { ca: authority.certificate.certFile } }),
    /client certificate.* in store\.tls\.certificate, and its key in store\.tls\.key/,
  ],
  [
    'plain text against TLS',
    ({ tls: { url } }) => ({ url: plain(url) }),
    /does not answer: .*\. If it speaks only TLS, write rediss in place of redis in store\.url/,
  ],
  ['TLS against plain text', ({ plain: { url } }) => ({ url: secure(url), tls: known() }), silenceOverTls],
];

describe.each(topologies)('a command on $name', (topology) => {
  let rigs: Rigs;
  beforeAll(async () => {
    const tls = {
      caFile: authority.certificate.certFile,
      certFile: server.certFile,
      keyFile: server.keyFile,
    };
    rigs = {
      plain: await topology.start({}),
      tls: await topology.start({ tls }),
      nobodyAt: await closedPort(),
    };
  }, RIG_MS);
  afterAll(async () => {
    await Promise.all([rigs.plain.stop(), rigs.tls.stop()]);
  });

  const run = (argv: readonly string[], store: Readonly<Record<string, unknown>>) =>
    runProcess(argv, { env, settings: { store: { connectTimeoutMs, commandTimeoutMs, ...store } } });

  it.concurrent.each([
    ['in plain text', () => ({ url: rigs.plain.url, username: 'somebody', password: { env: 'RIGHT' } })],
    ['over TLS', () => ({ url: rigs.tls.url, tls: known() })],
  ])('ends well where all is right, %s', async (_, settings) => {
    expect(await run(['policy', 'history'], settings())).toMatchObject({ code: 0, err: '' });
  });

  it.concurrent.each(faults)(
    'ends with 2, and says what is wrong and how to mend it: %s',
    async (_, settings, said) => {
      const { code, out, err } = await run(['policy', 'history'], settings(rigs, topology));
      const unreachable: unknown = expect.stringMatching(/^STORE_UNREACHABLE: Redis at .*\n$/);
      expect({ code, out, err }).toEqual({ code: 2, out: '', err: unreachable });
      expect(err).toMatch(said);
      expect(err).not.toMatch(/s3cret|enableOfflineQueue|Connection is closed|slots cache|sentinels are/);
    },
  );
});

describe('where the Sentinels are asked for a primary that they do not know', () => {
  it('a command says so', async () => {
    const rig = await startSentinels({ replicas: 0, sentinels: 1 });
    try {
      const store = { url: rig.url.replace('/main/', '/other/'), connectTimeoutMs };
      const { code, err } = await runProcess(['policy', 'history'], { settings: { store } });
      expect(code).toBe(2);
      expect(err).toMatch(
        /the Sentinel \S+ knows no primary of the name in store\.url\. Write the name that/,
      );
    } finally {
      await rig.stop();
    }
  });
});

/**
 * Those that open none, and those that say more than one fault: each has tests of its own. So have the
 * commands of the sandbox, which open none, and those of the platform, of which only `pay` opens one.
 */
const others: ReadonlySet<string> = new Set([
  'serve',
  'console serve',
  'doctor',
  'health',
  'completion',
  'openapi platform',
  'openapi service',
  'send payment',
  'send transfer',
  'send web3',
  'signature explain',
  // They need signers in the settings, before they open the store.
  'policy sign',
  'policy verify',
  'policy validate',
  'policy test',
  'policy backtest',
  'reconcile show',
  // For an embedded store.
  'store backup',
  'store restore',
  'replay',
  'journal verify',
  'journal export',
]);

describe('with credentials that the primary of the Sentinels refuses', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startSentinels({ replicas: 0, sentinels: 1, config });
  }, RIG_MS);
  afterAll(() => rig.stop());

  const settings = () => ({
    store: { url: rig.url, connectTimeoutMs, username: 'nobody', password: { env: 'WRONG' } },
    console: { passkeys: { host: 'localhost', origin: 'http://localhost:9090' } },
  });

  it('each command is tried', async () => {
    const paths = (await commandsFor([])).map(({ path }) => path);
    const missing = paths.filter(
      (path) =>
        !others.has(path) &&
        !path.startsWith('sandbox') &&
        !path.startsWith('platform ') &&
        !callsOfTheStore.some((call) => `${call} `.startsWith(`${path} `)),
    );
    expect(missing).toEqual([]);
  });

  it('each ends with 2', async () => {
    const { folder, runWith } = place({ settings: settings() });
    const run = runWith({ env });
    const ends = await Promise.all(
      callsOfTheStore.map(async (line) => ({
        line,
        ...(await run(...line.replace('FOLDER', folder).split(' '))),
      })),
    );
    for (const { line, code, out, err } of ends) {
      expect({ line, code, out, err }).toEqual({
        line,
        code: 2,
        out: '',
        err: expect.stringMatching(credentials),
      });
    }
  });

  it('doctor ends with 1, and has it among its findings', async () => {
    const { code, out } = await place({ settings: settings() }).runWith({ env })`doctor`;
    expect(code).toBe(1);
    expect(out).toMatch(credentials);
  });
});
