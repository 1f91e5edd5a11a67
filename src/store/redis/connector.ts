import { createConnection } from 'node:net';
import { connect } from 'node:tls';
import { AbstractConnector, type RedisOptions, SentinelConnector } from 'ioredis';

type Socket = Awaited<ReturnType<SentinelConnector['connect']>>;

/*
 * Opens a client's connections. A TLS connection can fail twice: its certificate isn't trusted, and then the
 * peer complains about how the connection ended. ioredis handles only the first error of a socket; the second
 * one would end the process.
 */

/** The `Connector` for a client with these options. */
export function connectorFor({ sentinels }: Pick<RedisOptions, 'sentinels'>): RedisOptions['Connector'] {
  return sentinels === undefined ? DirectConnector : ConnectorBySentinel;
}

class DirectConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const given = givenBy(options);
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

class ConnectorBySentinel extends SentinelConnector {
  constructor(options: unknown) {
    super(givenBy(options));
    // ioredis asks the Sentinels through a client of its own.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- ioredis declares it private, without its type
    const inner = this as unknown as { connectToSentinel: ConnectToSentinel };
    const connectToSentinel = inner.connectToSentinel.bind(this);
    inner.connectToSentinel = (sentinel, more) =>
      connectToSentinel(sentinel, { ...more, Connector: DirectConnector });
  }

  override async connect(...given: Parameters<SentinelConnector['connect']>): Promise<Socket> {
    return handlingErrors(await super.connect(...given));
  }
}

function handlingErrors(socket: Socket): Socket {
  return socket.on('error', () => undefined);
}

/** ioredis gives a connector the options of its client, and leaves their type open. */
function givenBy(options: unknown): RedisOptions {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return options as RedisOptions;
}
