import { Cluster, type Redis } from 'ioredis';
import { createInFlight } from '../../values/in-flight.ts';
import {
  type RedisClient,
  type RedisServer,
  type RedisTimeouts,
  createClient,
  greetingOf,
  nameOf,
  usesTls,
} from './client.ts';
import { createConnectionErrors, isUnknownScript, storeFault } from './faults.ts';

export type { RedisServer, RedisTimeouts };

export type Command = readonly [name: string, ...args: (string | number)[]];

/**
 * A connection to Redis. It reconnects until it succeeds. Without a connection, a command rejects at once. No
 * command is sent twice, except as `pipeline` says. Rejections are CountersignErrors.
 */
export interface Connection {
  /** True on a Cluster: keys of different slots may be on different servers. */
  readonly isCluster: boolean;
  call(command: string, args: (string | number)[]): Promise<unknown>;
  /**
   * Sends commands over one connection, in order and without waiting between them. Resolves with the replies
   * in order, and rejects if one of them is an error.
   *
   * On a Cluster all keys must be in one slot. If the slot has moved, all commands are sent once more to its
   * new owner, so it must be harmless to repeat them.
   */
  pipeline(commands: readonly Command[]): Promise<readonly unknown[]>;
  /**
   * `INFO` of the server, or of each primary of a Cluster, and its replies to these commands. If Redis
   * replies to one of them with an error, the error is its reply.
   */
  inspect(commands: readonly Command[]): Promise<readonly ServerReplies[]>;
  /** Resolves once connected, or after `connectTimeoutMs`. */
  connectedOrTimedOut(): Promise<void>;
  /** Calls back for each message on the channel, and each time that it may have missed messages. */
  subscribe(channel: string, onMessage: () => void): Subscription;
  /** Replaces the connection. Commands in flight reject. */
  renew(): void;
  /** Closes the connection once every command in flight has a reply or has failed. */
  close(): Promise<void>;
}

export interface Subscription {
  close(): void;
}

export interface ServerReplies {
  readonly info: string;
  readonly replies: readonly unknown[];
}

const SUBSCRIPTION_PING_MS = 5000;

export function createConnection(server: RedisServer, timeouts: RedisTimeouts): Connection {
  const errors = createConnectionErrors(greetingOf);
  const { redis: client, end } = createClient(server, timeouts, errors.onPeerError);
  errors.collectFrom(client);
  const [name, tls] = [nameOf(server), usesTls(server)];

  if (client instanceof Cluster) connectToNodes(client);
  const inFlight = createInFlight();
  const batchWrites = client instanceof Cluster ? () => undefined : createWriteBatches(client);

  async function guarded<T>(send: () => Promise<T>): Promise<T> {
    batchWrites();
    inFlight.enter();
    try {
      return await send();
    } catch (thrown) {
      if (isUnknownScript(thrown)) throw thrown;
      const target = { server: name, tls, wasReady: errors.wasReady(), timeouts };
      throw storeFault(target, thrown, errors.last());
    } finally {
      inFlight.leave();
    }
  }

  return {
    isCluster: client instanceof Cluster,
    call: (command, args) => guarded(() => client.call(command, args)),
    pipeline: (commands) => guarded(() => sendPipeline(client, commands)),
    inspect: (commands) =>
      guarded(() =>
        Promise.all(
          (client instanceof Cluster ? client.nodes('master') : [client]).map(async (node) => {
            const [info, replies] = await Promise.all([node.info(), execute(node, commands)]);
            return { info, replies: replies.map(([error, reply]) => error ?? reply) };
          }),
        ),
      ),
    connectedOrTimedOut: () => connectedWithin(client, timeouts.connectTimeoutMs),
    subscribe: (channel, onMessage) => subscribe(createClient(server, timeouts), channel, onMessage),
    renew: () => client.disconnect(true),
    async close() {
      await inFlight.idle();
      end();
    },
  };
}

/**
 * Writes all commands of one turn of the event loop to the socket at once. Unlike the auto-pipelining of
 * ioredis, it does not wait for replies, so it does not delay commands.
 */
function createWriteBatches(client: Redis): () => void {
  let corked = false;
  return () => {
    const { stream } = client;
    if (corked || client.status !== 'ready') return;
    corked = true;
    stream.cork();
    setImmediate(() => {
      corked = false;
      stream.uncork();
    });
  };
}

/**
 * Connects to each server as soon as the client knows it. Otherwise the first command would start the
 * connection, and all commands until it is ready would reject.
 */
function connectToNodes(cluster: Cluster): void {
  cluster.on('+node', (node: Redis) => {
    if (node.status === 'wait') node.connect().catch(() => undefined);
  });
}

/** Resolves once connected, or after `withinMs`. */
async function connectedWithin(client: Redis | Cluster, withinMs: number): Promise<void> {
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

function subscribe(
  { redis: client, end }: RedisClient,
  channel: string,
  onMessage: () => void,
): Subscription {
  const ignore = (): void => {};
  client.on('error', ignore);
  client.on('ready', () => {
    client.subscribe(channel).then(onMessage, ignore);
  });
  client.on('message', onMessage);
  // This connection sends nothing else, so only a ping detects that the server is silent.
  const pinging = setInterval(() => void client.ping().catch(ignore), SUBSCRIPTION_PING_MS).unref();
  return {
    close() {
      clearInterval(pinging);
      end();
    },
  };
}

// ---- pipelines ----

async function sendPipeline(
  client: Redis | Cluster,
  commands: readonly Command[],
): Promise<readonly unknown[]> {
  const replies = await execute(client, commands);
  const error = errorIn(replies);
  if (error === undefined) return replies.map(([, reply]) => reply);
  if (!(client instanceof Cluster) || !error.message.startsWith('MOVED')) throw error;
  // ioredis does not redirect a pipeline. A command that got MOVED had no effect, so it can be sent again.
  await new Promise<void>((resolve) => client.refreshSlotsCache(() => resolve()));
  const repeated = await execute(client, commands);
  const repeatedError = errorIn(repeated);
  if (repeatedError !== undefined) throw repeatedError;
  return repeated.map(([, reply]) => reply);
}

type Replies = readonly (readonly [error: Error | null, reply: unknown])[];

async function execute(client: Redis | Cluster, commands: readonly Command[]): Promise<Replies> {
  // Without this check, a pipeline of a Cluster waits until the Cluster is ready.
  if (client.status !== 'ready') throw new Error('Connection is closed.');
  const pipeline = client.pipeline();
  for (const [name, ...args] of commands) pipeline.call(name, ...args);
  const replies = (await pipeline.exec()) ?? [];
  if (replies.length !== commands.length) throw new Error('some commands have no reply');
  return replies;
}

const errorIn = (replies: Replies): Error | undefined =>
  replies.find(([error]) => error !== null)?.[0] ?? undefined;
