import { Cluster, type Redis } from 'ioredis';
import {
  type RedisClient,
  type RedisServer,
  type RedisTimeouts,
  createClient,
  nameOf,
  speaksTls,
} from './client.ts';
import { createInFlight } from '../../values/in-flight.ts';
import { isReply, storeFault } from './fault.ts';
import { type Command, together } from './together.ts';
import { createTroubles } from './trouble.ts';

export type { RedisServer, RedisTimeouts };

/**
 * A connection that makes itself anew for as long as it takes, and never lets a command wait for that: while
 * there is no connection a command rejects at once. No command is ever sent twice. Rejections are
 * CountersignErrors.
 */
export interface Connection {
  /** True on a Cluster: keys of different slots may lie on different servers. */
  readonly spreads: boolean;
  call(command: string, args: readonly (string | number)[]): Promise<unknown>;
  /**
   * Sends commands over one connection, in order, at once. Resolves with the answers, in order, and rejects
   * if any of them is an error. On a Cluster all their keys lie in one slot, and what a server answers that
   * has it no more is asked once again of the one that has: all of it, so it must be harmless to ask twice.
   */
  together(commands: readonly Command[]): Promise<readonly unknown[]>;
  /** `INFO` of the server, or of each primary of a Cluster. */
  infos(): Promise<readonly string[]>;
  /** Resolves once connected, or when the time for connecting is over. */
  settled(): Promise<void>;
  /** Calls back for each message on the channel, and after each time that messages may have been missed. */
  subscribe(channel: string, heard: () => void): Subscription;
  /** Leaves the connection for a new one; what is under way rejects. */
  renew(): void;
  /** Once what was asked is answered, or has failed. */
  close(): Promise<void>;
}

export interface Subscription {
  close(): void;
}

const SUBSCRIPTION_PING_MS = 5000;

export function createConnection(server: RedisServer, timeouts: RedisTimeouts): Connection {
  const troubles = createTroubles();
  const { redis: client, end } = createClient(server, timeouts, troubles.beside);
  troubles.follow(client);
  const [name, tls] = [nameOf(server), speaksTls(server)];

  if (client instanceof Cluster) connectToNodes(client);
  const inFlight = createInFlight();
  const gather = client instanceof Cluster ? () => undefined : gatherWrites(client);

  async function guarded<T>(ask: () => Promise<T>): Promise<T> {
    gather();
    inFlight.enter();
    try {
      return await ask();
    } catch (thrown) {
      if (isReply(thrown) && thrown.message.startsWith('NOSCRIPT')) throw thrown;
      const asked = { server: name, tls, wasReady: troubles.wasReady(), timeouts };
      throw storeFault(asked, thrown, troubles.last());
    } finally {
      inFlight.leave();
    }
  }

  return {
    spreads: client instanceof Cluster,
    call: (command, args) => guarded(() => client.call(command, [...args])),
    together: (commands) => guarded(() => together(client, commands)),
    infos: () =>
      guarded(() =>
        Promise.all(
          (client instanceof Cluster ? client.nodes('master') : [client]).map((node) => node.info()),
        ),
      ),
    settled: () => settledWithin(client, timeouts.connectTimeoutMs),
    subscribe: (channel, heard) => subscribe(createClient(server, timeouts), channel, heard),
    renew: () => client.disconnect(true),
    async close() {
      await inFlight.none();
      end();
    },
  };
}

/**
 * What is asked in one turn of the event loop is written at once: under load, writing costs more than all
 * else here. Unlike ioredis' own pipelining it waits for no reply, so that nothing is sent later than it was
 * asked.
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

/**
 * Connects to each server as soon as it is known. Otherwise the first command would, and all others that come
 * before this is done would be rejected.
 */
function connectToNodes(cluster: Cluster): void {
  cluster.on('+node', (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => undefined);
  });
}

async function settledWithin(client: Redis | Cluster, withinMs: number): Promise<void> {
  const sinceMs = performance.now();
  await readyWithin(client, withinMs);
  if (!(client instanceof Cluster)) return;
  const leftMs = Math.max(0, withinMs - (performance.now() - sinceMs));
  await Promise.all(client.nodes('master').map((node) => readyWithin(node, leftMs)));
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

function subscribe({ redis: client, end }: RedisClient, channel: string, heard: () => void): Subscription {
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
      end();
    },
  };
}
