import { createConnection } from 'node:net';
import { connect } from 'node:tls';
import { AbstractConnector, Cluster, Redis, type RedisOptions, SentinelConnector } from 'ioredis';

/**
 * Where Redis is: a URL (`redis://` or `rediss://`), options of ioredis (such as Sentinels), or nodes of a
 * Cluster.
 */
export type RedisServer =
  | { readonly url: string; readonly client?: RedisOptions }
  | { readonly client: RedisOptions }
  | {
      readonly cluster: readonly { readonly host: string; readonly port: number }[];
      readonly client?: RedisOptions;
    };

export interface RedisTimeouts {
  /** A command that takes longer rejects, and the client opens a new connection. */
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1000;
const SLOTS_REFRESH_MS = 1000;

export interface RedisClient {
  readonly redis: Redis | Cluster;
  /**
   * Closes all connections, including those to Sentinels. `disconnect` of ioredis is not enough: it emits no
   * `end` while the client waits for its next attempt to connect.
   */
  readonly end: () => void;
}

/**
 * Receives the errors of connections other than the client's own: those to a Sentinel or to a node of a
 * Cluster. `error` is undefined when that connection is ready.
 */
export type OnPeerError = (peer: string, error: Error | undefined) => void;

/** Creates a client that reports each failure at once: no command waits for a connection or is sent twice. */
export function createClient(
  server: RedisServer,
  timeouts: RedisTimeouts,
  onPeerError: OnPeerError = () => undefined,
): RedisClient {
  const options = commonOptions(server, timeouts);
  if ('cluster' in server) {
    const cluster = new Cluster([...server.cluster], {
      enableOfflineQueue: false,
      // ioredis may send the ready check to a server before its connection is ready, and would then start
      // over.
      enableReadyCheck: false,
      clusterRetryStrategy: retryDelayMs,
      clusterNodeRetryStrategy: retryDelayMs,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      // If one server hangs, there is time left to ask another one.
      slotsRefreshTimeout: Math.ceil(timeouts.connectTimeoutMs / 2),
      // Without it, the client learns of a moved slot only from a server that is still alive.
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      redisOptions: options,
    });
    reportNodeErrors(cluster, onPeerError);
    return { redis: cluster, end: () => cluster.disconnect() };
  }
  const standalone = {
    ...options,
    enableOfflineQueue: false,
    retryStrategy: retryDelayMs,
    // After a failover the old address answers READONLY: look up the primary again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  const client = 'url' in server ? new Redis(server.url, standalone) : new Redis(standalone);
  const stopFollowing = followFailovers(client, standalone, onPeerError);
  client.once('end', stopFollowing);
  return {
    redis: client,
    end() {
      stopFollowing();
      client.disconnect();
    },
  };
}

function retryDelayMs(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LAST_RETRY_MS);
}

function commonOptions(server: RedisServer, timeouts: RedisTimeouts) {
  return {
    ...server.client,
    Connector: connectorFor(server.client ?? {}),
    // Hashes arrive as flat arrays with both versions of the protocol.
    replyMapping: 'legacy',
    connectTimeout: timeouts.connectTimeoutMs,
    commandTimeout: timeouts.commandTimeoutMs,
    // The client destroys the socket of a silent server and reconnects.
    socketTimeout: timeouts.commandTimeoutMs,
    disconnectTimeout: timeouts.commandTimeoutMs,
    sentinelCommandTimeout: timeouts.commandTimeoutMs,
    // A lost connection rejects the commands in flight at once and does not resend them.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxLoadingRetryTime: LAST_RETRY_MS,
  } satisfies RedisOptions;
}

function reportNodeErrors(cluster: Cluster, onPeerError: OnPeerError): void {
  const name = (address: string): string => `its node ${address}`;
  cluster.on('node error', (error: Error, address: string) => onPeerError(name(address), error));
  cluster.on('+node', (node: Redis) => {
    const peer = name(`${node.options.host}:${node.options.port}`);
    node.on('ready', () => onPeerError(peer, undefined));
  });
}

export function usesTls(server: RedisServer): boolean {
  return 'url' in server ? server.url.startsWith('rediss:') : server.client?.tls !== undefined;
}

/** The address for messages, without credentials. */
export function nameOf(server: RedisServer): string {
  if ('cluster' in server) return server.cluster.map(({ host, port }) => `${host}:${port}`).join(', ');
  if ('url' in server) {
    return URL.canParse(server.url)
      ? new URL(server.url).host || new URL(server.url).pathname
      : 'the URL given';
  }
  const { sentinels, path, host = 'localhost', port = 6379 } = server.client;
  if (sentinels) return `Sentinels ${sentinels.map((s) => `${s.host}:${s.port}`).join(', ')}`;
  return path ?? `${host}:${port}`;
}

// ---- failovers that Sentinels announce ----

const CHANNEL = '+switch-master';

/**
 * Disconnects the client from a primary as soon as a Sentinel announces its replacement, so that the client
 * asks the Sentinels again. An old primary that is only partly cut off would accept commands until it learns
 * that it is a replica now. Returns a function that stops this. Without Sentinels in the options it does
 * nothing.
 *
 * The failover detector of ioredis is not used, because it also leaves the new primary each time that another
 * Sentinel announces it, and it writes to the console when a Sentinel is down.
 */
function followFailovers(client: Redis, options: RedisOptions, onPeerError: OnPeerError): () => void {
  const { sentinels = [], name = '' } = options;
  let announced: Address | undefined;

  // Acts once for each announcement. If `disconnect` is called while ioredis connects, ioredis does not
  // reconnect.
  function leaveOldPrimary(): void {
    if (client.status !== 'ready' || announced === undefined) return;
    const { host, port } = announced;
    announced = undefined;
    const { remoteAddress, remotePort } = client.stream;
    if (remoteAddress !== host || String(remotePort) !== port) client.disconnect(true);
  }

  client.on('ready', leaveOldPrimary);
  const listeners = sentinels.map(({ host = 'localhost', port = 26_379 }) => {
    const listener = listen({ ...sentinelOptions(options), host, port }, (message) => {
      const address = newPrimaryIn(name, message);
      if (address === undefined) return;
      announced = address;
      leaveOldPrimary();
    });
    // The client itself reports that all Sentinels are down, but not why each connection failed.
    const peer = `the Sentinel ${host}:${port}`;
    listener.on('error', (error) => onPeerError(peer, error)).on('ready', () => onPeerError(peer, undefined));
    return listener;
  });
  return () => listeners.forEach((sentinel) => sentinel.disconnect());
}

interface Address {
  readonly host: string;
  readonly port: string;
}

/** Reads `mymaster 10.0.0.1 6379 10.0.0.2 6379`: the name, the old primary, the new primary. */
function newPrimaryIn(name: string, message: string): Address | undefined {
  const [primary, , , host, port] = message.split(' ');
  return primary === name && host !== undefined && port !== undefined ? { host, port } : undefined;
}

function listen(options: SentinelOptions, onMessage: (message: string) => void): Redis {
  const sentinel = new Redis(options);
  sentinel.on('ready', () => {
    sentinel.subscribe(CHANNEL).catch(() => undefined);
  });
  sentinel.on('message', (_channel, message: string) => onMessage(message));
  return sentinel;
}

type SentinelOptions = Omit<RedisOptions, 'replyMapping'>;

function sentinelOptions(options: RedisOptions): SentinelOptions {
  return {
    username: options.sentinelUsername ?? undefined,
    password: options.sentinelPassword ?? undefined,
    tls: options.sentinelTLS,
    Connector: connectorFor({}),
    connectTimeout: options.connectTimeout,
    commandTimeout: options.commandTimeout,
    retryStrategy: options.retryStrategy,
    enableReadyCheck: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
  };
}

// ---- sockets ----

/** What a server says to a client that says nothing; '' if it says nothing itself. */
export type Greeting = (address: { readonly host: string; readonly port: number }) => Promise<string>;

const GREETING_MS = 500;

/** See Greeting. A server that speaks TLS says nothing here. */
export const greetingOf: Greeting = ({ host, port }) =>
  new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: GREETING_MS }).unref();
    const end = (said: string): void => {
      socket.destroy();
      resolve(said);
    };
    socket
      .once('data', (said: Buffer) => end(said.toString('latin1').slice(0, 200)))
      .once('timeout', () => end(''))
      .once('error', () => end(''))
      .once('close', () => end(''));
  });

type Socket = Awaited<ReturnType<SentinelConnector['connect']>>;

/**
 * The `Connector` for a client with these options. A TLS socket can fail twice: its certificate isn't
 * trusted, and then the peer reports how the connection ended. ioredis handles only the first error, and the
 * second one would end the process, so these connectors handle every error.
 */
export function connectorFor({ sentinels }: Pick<RedisOptions, 'sentinels'>): RedisOptions['Connector'] {
  return sentinels === undefined ? DirectConnector : PrimaryConnector;
}

class DirectConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const given = optionsOf(options);
    super(given.disconnectTimeout ?? 0);
    this.#options = given;
  }

  // Async, so that options which node:tls rejects at once fail this connection and not the process.
  // oxlint-disable-next-line typescript/require-await -- see above
  async connect(): Promise<Socket> {
    const { host = 'localhost', port = 6379, path, family, tls } = this.#options;
    const where = path ? { path } : { host, port, family };
    this.connecting = true;
    this.stream = handlingErrors(tls ? connect({ ...where, ...tls }) : createConnection(where));
    this.stream.once('error', (error: Error) => (this.firstError = error));
    return this.stream;
  }
}

type ConnectToSentinel = (sentinel: unknown, options: RedisOptions | undefined) => unknown;

/** Asks the Sentinels for the primary and connects to it. */
class PrimaryConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(optionsOf(options));
    // ioredis asks the Sentinels through a separate client. It declares the method private, without its type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    const inner = this as unknown as { connectToSentinel: ConnectToSentinel };
    const connectToSentinel = inner.connectToSentinel.bind(this);
    inner.connectToSentinel = (sentinel, more) =>
      connectToSentinel(sentinel, { ...more, Connector: DirectConnector });
  }

  override async connect(...args: Parameters<SentinelConnector['connect']>): Promise<Socket> {
    return handlingErrors(await super.connect(...args));
  }
}

function handlingErrors(socket: Socket): Socket {
  return socket.on('error', () => undefined);
}

/** ioredis passes the options of its client to a connector, and leaves their type open. */
function optionsOf(options: unknown): RedisOptions {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return options as RedisOptions;
}
