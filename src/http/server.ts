import { type RequestListener, type Server, type ServerResponse, createServer } from 'node:http';
import { type Server as TlsServer, createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { CountersignError, messageOf } from '../errors.ts';

export interface ServerLimits {
  readonly headerBytes: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly connections: number;
  /** Requests over one connection; 0 for any number. */
  readonly requestsPerSocket: number;
}

/** PEM texts. With `clientCa`, clients are asked for a certificate; whether one must be there is the source's to say. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
}

export interface Listening {
  readonly url: string;
  readonly connections: () => Promise<number>;
  /** Takes another certificate and key for connections from here on. */
  useTls(context: TlsContext): void;
  /** Takes no more connections, lets requests under way end, and cuts off what is left after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: ServerLimits;
  readonly tls?: TlsContext | undefined;
  /** For messages: which setting names the address. */
  readonly setting: string;
}

/** A bounded HTTP or HTTPS server that answers whatever is no HTTP with FAILURE, and closes. */
export async function listen(app: RequestListener, options: ListenOptions): Promise<Listening> {
  const { host, port, limits, tls, setting } = options;
  const http = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: 1000,
    // Without it Node would answer by itself, and with neither SUCCESS nor FAILURE; nobody here asks for the host.
    requireHostHeader: false,
  };
  const server: Server | TlsServer =
    tls === undefined
      ? createServer(http, app)
      : createTlsServer(
          {
            ...http,
            ...tls,
            handshakeTimeout: limits.headersTimeoutMs,
            requestCert: tls.ca !== undefined,
            rejectUnauthorized: false,
            minVersion: 'TLSv1.2',
          },
          app,
        );
  server.maxConnections = limits.connections;
  server.maxRequestsPerSocket = limits.requestsPerSocket;
  server.on('checkExpectation', app);
  const answering = new Map<Socket, ServerResponse>();
  let stopping = false;
  server.prependListener('request', (request, response) => {
    const { socket } = request;
    answering.set(socket, response);
    if (stopping) endConnection(response);
    response.once('close', () => answering.get(socket) === response && answering.delete(socket));
  });
  server.on('clientError', (_error: Error, socket: Socket) => refuse(socket, answering.get(socket)));
  // Before TLS stands nothing can be answered, and a connection that is ended waits for that for ever.
  server.on('tlsClientError', (_error: Error, socket: Socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(unlistenable(error, `${host}:${port}`, setting));
    server.once('error', failed).listen(port, host, () => {
      server.off('error', failed);
      resolve();
    });
  });
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${addressOf(server)}`,
    connections: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    useTls: (context) => 'setSecureContext' in server && server.setSecureContext(context),
    stop(graceMs) {
      stopping = true;
      for (const response of answering.values()) endConnection(response);
      return stop(server, graceMs);
    },
  };
}

/** A connection that is kept after its last answer would hold up the stop until the grace is over. */
function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  return `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}

function stop(server: Server | TlsServer, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cutOff);
      resolve();
    });
    server.closeIdleConnections();
  });
}

const REFUSED =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 7\r\nConnection: close\r\n\r\nFAILURE';

/**
 * Not HTTP, too slow, or headers beyond the bound: no path is known, and the answer is no. Where a request is under way, the
 * fault is in its body, which then has no end, or comes after it: it is answered as it deserves, and nothing more.
 */
function refuse(socket: Socket, underWay: ServerResponse | undefined): void {
  if (!socket.writable) socket.destroy();
  else if (underWay === undefined) socket.end(REFUSED);
  else {
    if (!underWay.req.complete) underWay.req.emit('aborted');
    underWay.once('close', () => socket.destroySoon());
  }
}

function unlistenable(error: Error, address: string, setting: string): CountersignError {
  const cure =
    'code' in error && error.code === 'EADDRINUSE'
      ? `another program has it; stop that, or set ${setting}.port`
      : `check ${setting}.host and ${setting}.port`;
  return new CountersignError('SETTINGS_INVALID', `can't listen on ${address}: ${messageOf(error)}; ${cure}`);
}
