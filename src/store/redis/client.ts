import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { connectorFor } from './connector.ts';
import { leaveReplaced } from './replaced.ts';

/**
 * Where Redis is: a URL (`redis://` or `rediss://`), a client's options (such as Sentinels), or nodes of a
 * Cluster.
 */
export type RedisServer =
  | { readonly url: string; readonly client?: RedisOptions }
  | { readonly client: RedisOptions }
  | {
      readonly cluster: readonly { readonly host: string; readonly port: number }[];
      readonly client?: RedisOptions;
    };

/** Bounds on waiting, in milliseconds. */
export interface RedisTimeouts {
  /** How long a command may take. One that takes longer rejects, and its connection is made anew. */
  readonly commandTimeoutMs: number;
  /** How long a connection may take to be made. */
  readonly connectTimeoutMs: number;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1000;
const SLOTS_REFRESH_MS = 1000;

export interface RedisClient {
  readonly redis: Redis | Cluster;
  /**
   * Closes all its connections, those to Sentinels among them. `disconnect` of ioredis alone does not: of a
   * client that waits for its next attempt to connect there is no `end` by which others would know.
   */
  readonly end: () => void;
}

/**
 * Told of what a connection beside the client's own met, to a Sentinel or a node of a Cluster; undefined once
 * it stands.
 */
export type BesideError = (at: string, error: Error | undefined) => void;

/** Whatever fails is to be known at once: no command waits for a connection, and none is sent twice. */
export function createClient(
  server: RedisServer,
  timeouts: RedisTimeouts,
  beside: BesideError = () => undefined,
): RedisClient {
  const retry = (attempt: number): number => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LAST_RETRY_MS);
  const options = {
    ...server.client,
    Connector: connectorFor(server.client ?? {}),
    // Maps as flat arrays, in whichever protocol.
    replyMapping: 'legacy',
    connectTimeout: timeouts.connectTimeoutMs,
    commandTimeout: timeouts.commandTimeoutMs,
    // A peer that has gone silent is left: its socket is destroyed, and a new connection is made.
    socketTimeout: timeouts.commandTimeoutMs,
    disconnectTimeout: timeouts.commandTimeoutMs,
    sentinelCommandTimeout: timeouts.commandTimeoutMs,
    // What was under way when a connection broke is rejected at once, and not sent again.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxLoadingRetryTime: LAST_RETRY_MS,
  } satisfies RedisOptions;
  if ('cluster' in server) {
    const cluster = new Cluster([...server.cluster], {
      enableOfflineQueue: false,
      // It would be asked of a server whose connection may not be ready yet, and everything begun anew for
      // that.
      enableReadyCheck: false,
      clusterRetryStrategy: retry,
      clusterNodeRetryStrategy: retry,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      // A server that hangs leaves time to ask another one.
      slotsRefreshTimeout: Math.ceil(timeouts.connectTimeoutMs / 2),
      // Only a server that answers says that a slot has moved: from one that is dead it is not learnt.
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      redisOptions: options,
    });
    followNodes(cluster, beside);
    return { redis: cluster, end: () => cluster.disconnect() };
  }
  const standalone = {
    ...options,
    enableOfflineQueue: false,
    retryStrategy: retry,
    // After a failover the old address answers READONLY: ask the Sentinels, or the name, again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  const client = 'url' in server ? new Redis(server.url, standalone) : new Redis(standalone);
  const leaveSentinels = leaveReplaced(client, standalone, beside);
  client.once('end', leaveSentinels);
  return {
    redis: client,
    end() {
      leaveSentinels();
      client.disconnect();
    },
  };
}

function followNodes(cluster: Cluster, beside: BesideError): void {
  const name = (address: string): string => `its node ${address}`;
  cluster.on('node error', (error: Error, address: string) => beside(name(address), error));
  cluster.on('+node', (node: Redis) => {
    const at = name(`${node.options.host}:${node.options.port}`);
    node.on('ready', () => beside(at, undefined));
  });
}

export function speaksTls(server: RedisServer): boolean {
  return 'url' in server ? server.url.startsWith('rediss:') : server.client?.tls !== undefined;
}

/** For messages: never the credentials. */
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
