import { createConnection } from 'node:net';
import { connect } from 'node:tls';
import { AbstractConnector, type RedisOptions, SentinelConnector } from 'ioredis';

type Socket = Awaited<ReturnType<SentinelConnector['connect']>>;

/*
 * How a client makes its connections. A TLS connection can fail twice: its certificate is not trusted, and then the peer complains
 * of how the connection ended. ioredis handles the first error of a socket only, and the second one would end the process.
 */

/** What a client with these options must be given as its `Connector`. */
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

  connect(): Promise<Socket> {
    const { host = 'localhost', port = 6379, path, family, tls } = this.#options;
    const where = path === undefined ? { host, port, family } : { path };
    this.connecting = true;
    this.stream = handlingErrors(tls === undefined ? createConnection(where) : connect({ ...where, ...tls }));
    this.stream.once('error', (error: Error) => (this.firstError = error));
    return Promise.resolve(this.stream);
  }
}

type ConnectToSentinel = (sentinel: unknown, options: RedisOptions | undefined) => unknown;

class ConnectorBySentinel extends SentinelConnector {
  constructor(options: unknown) {
    super(givenBy(options));
    // What asks the Sentinels is a client of its own.
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
