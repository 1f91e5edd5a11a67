import { Redis, type RedisOptions } from 'ioredis';
import type { BesideError } from './client.ts';
import { connectorFor } from './connector.ts';

const CHANNEL = '+switch-master';

/**
 * Makes the client leave a primary as soon as a Sentinel says that it was replaced, and ask the Sentinels
 * anew. One that lives on, half cut off, would take commands until it is told that it is a replica now.
 * Returns what ends this; without Sentinels in the options it does nothing.
 *
 * ioredis has a detector of its own, which also leaves the new primary each time that another Sentinel tells
 * of it, and writes to the console when a Sentinel is down.
 */
export function leaveReplaced(client: Redis, options: RedisOptions, beside: BesideError): () => void {
  const { sentinels = [], name = '' } = options;
  let replacement: Replacement | undefined;

  // Not while it connects: ioredis would give up for good. And once for each that was told of, whatever
  // became of it.
  function look(): void {
    if (client.status !== 'ready' || replacement === undefined) return;
    const { host, port } = replacement;
    replacement = undefined;
    const { remoteAddress, remotePort } = client.stream;
    if (remoteAddress !== host || String(remotePort) !== port) client.disconnect(true);
  }

  client.on('ready', look);
  const listeners = sentinels.map(({ host = 'localhost', port = 26_379 }) => {
    const listener = listen({ ...sentinelOptions(options), host, port }, (message) => {
      const found = replacementOf(name, message);
      if (found === undefined) return;
      replacement = found;
      look();
    });
    // One that is down is asked again. The client itself says when all are, but not what its connections met.
    const at = `the Sentinel ${host}:${port}`;
    listener.on('error', (error) => beside(at, error)).on('ready', () => beside(at, undefined));
    return listener;
  });
  return () => listeners.forEach((sentinel) => sentinel.disconnect());
}

interface Replacement {
  readonly host: string;
  readonly port: string;
}

/** `mymaster 10.0.0.1 6379 10.0.0.2 6379`: the name, the old one, and the new one. */
function replacementOf(name: string, message: string): Replacement | undefined {
  const [primary, , , host, port] = message.split(' ');
  return primary === name && host !== undefined && port !== undefined ? { host, port } : undefined;
}

function listen(options: SentinelOptions, heard: (message: string) => void): Redis {
  const sentinel = new Redis(options);
  sentinel.on('ready', () => {
    sentinel.subscribe(CHANNEL).catch(() => undefined);
  });
  sentinel.on('message', (_channel, message: string) => heard(message));
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
