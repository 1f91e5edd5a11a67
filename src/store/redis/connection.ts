import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { isReply, storeFault } from './fault.ts';

/** Where Redis is: a URL (`redis://` or `rediss://`), a client's options (such as Sentinels), or nodes of a Cluster. */
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

/**
 * A connection that makes itself anew for as long as it takes, and never lets a command wait for that: while there is
 * no connection a command rejects at once. No command is ever sent twice. Rejections are CountersignErrors.
 */
export interface Connection {
  call(command: string, args: readonly (string | number)[]): Promise<unknown>;
  /** `INFO` of the server, or of each primary of a Cluster. */
  infos(): Promise<readonly string[]>;
  /** Resolves once connected, or when the time for connecting is over. */
  settled(): Promise<void>;
  /** Calls back for each message on the channel, and after each time that messages may have been missed. */
  subscribe(channel: string, heard: () => void): Subscription;
  /** Once what was asked is answered, or has failed. */
  close(): Promise<void>;
}

export interface Subscription {
  close(): void;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1000;
const SUBSCRIPTION_PING_MS = 5000;

export function createConnection(server: RedisServer, timeouts: RedisTimeouts): Connection {
  const client = createClient(server, timeouts);
  const name = nameOf(server);
  let lastError: string | undefined;
  client.on('error', (error: Error) => (lastError = error.message));
  client.on('ready', () => (lastError = undefined));

  const underWay = new Set<Promise<unknown>>();
  const gather = client instanceof Cluster ? () => undefined : gatherWrites(client);

  async function guarded<T>(ask: () => Promise<T>): Promise<T> {
    gather();
    const asked = ask();
    underWay.add(asked);
    try {
      return await asked;
    } catch (thrown) {
      if (isReply(thrown) && thrown.message.startsWith('NOSCRIPT')) throw thrown;
      throw storeFault(name, thrown, lastError);
    } finally {
      underWay.delete(asked);
    }
  }

  return {
    call: (command, args) => guarded(() => client.call(command, [...args])),
    infos: () =>
      guarded(() =>
        Promise.all(
          (client instanceof Cluster ? client.nodes('master') : [client]).map((node) => node.info()),
        ),
      ),
    settled: () => readyWithin(client, timeouts.connectTimeoutMs),
    subscribe: (channel, heard) => subscribe(createClient(server, timeouts), channel, heard),
    async close() {
      await Promise.allSettled(underWay);
      client.disconnect();
    },
  };
}

function createClient(server: RedisServer, timeouts: RedisTimeouts): Redis | Cluster {
  const retry = (attempt: number): number => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LAST_RETRY_MS);
  const options = {
    ...server.client,
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
    return new Cluster([...server.cluster], {
      enableOfflineQueue: false,
      clusterRetryStrategy: retry,
      clusterNodeRetryStrategy: retry,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshTimeout: timeouts.connectTimeoutMs,
      redisOptions: options,
    });
  }
  const standalone = {
    ...options,
    enableOfflineQueue: false,
    retryStrategy: retry,
    // After a failover the old address answers READONLY: ask the Sentinels, or the name, again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  };
  return 'url' in server ? new Redis(server.url, standalone) : new Redis(standalone);
}

/**
 * What is asked in one turn of the event loop is written at once: under load, writing costs more than all else here. Unlike
 * ioredis' own pipelining it waits for no reply, so that nothing is sent later than it was asked.
 */
function gatherWrites(client: Redis): () => void {
  let gathering = false;
  return () => {
    const { stream } = client;
    if (gathering || client.status !== 'ready') return;
    gathering = true;
    stream.cork();
    setImmediate(() => {
      gathering = false;
      stream.uncork();
    });
  };
}

function readyWithin(client: Redis | Cluster, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      client.off('ready', finish);
      resolve();
    };
    const timer = setTimeout(finish, withinMs);
    client.on('ready', finish);
    if (client.status === 'ready') finish();
  });
}

function subscribe(client: Redis | Cluster, channel: string, heard: () => void): Subscription {
  const ignore = (): void => {};
  client.on('error', ignore);
  client.on('ready', () => {
    client.subscribe(channel).then(heard, ignore);
  });
  client.on('message', heard);
  // Nothing else is sent here, by which a silent peer would be noticed.
  const pinging = setInterval(() => void client.ping().catch(ignore), SUBSCRIPTION_PING_MS).unref();
  return {
    close() {
      clearInterval(pinging);
      client.disconnect();
    },
  };
}

/** For messages: never the credentials. */
function nameOf(server: RedisServer): string {
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
