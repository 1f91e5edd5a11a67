import {
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  createServer,
} from 'node:http';
import { type Server as TlsServer, createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { CountersignError, messageOf } from '../errors.ts';
import { type Misuse, boundAddresses, boundRequests, endConnection } from './connections.ts';

export interface ServerLimits {
  readonly headerBytes: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly connections: number;
  /** Of one address, gateways aside. */
  readonly connectionsPerAddress: number;
  /** Requests over one connection; 0 for any number. */
  readonly requestsPerSocket: number;
}

/**
 * PEM texts. With `clientCa`, clients are asked for a certificate; whether one must be there is the source's
 * to say.
 */
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
  /** Ends each connection with its next answer from here on, and still takes new ones. */
  drain(): void;
  /**
   * Drains; takes no more connections, lets requests under way end, and cuts off what is left after
   * `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: ServerLimits;
  readonly tls?: TlsContext | undefined;
  /** For messages: which setting names the address. */
  readonly setting: string;
  /** Whether many call through this peer: its connections are bounded in all alone. */
  readonly isGateway?: (address: string) => boolean;
  /** Whether connections of this peer are closed unread. */
  readonly isShutOut?: (address: string) => boolean;
  /**
   * Called for each connection that is closed for being one too many: of its address, where that is given.
   */
  readonly dropped?: (address?: string) => void;
  /** Called for each connection that is closed for what its peer does. */
  readonly misused?: (address: string, misuse: Misuse) => void;
}

/**
 * Node leaves out the headers beyond this number, such as one that a gateway adds, and thousands of them take
 * milliseconds. So whoever sends that many is refused.
 */
const HEADERS_MAX = 100;

const ignore = (): void => undefined;
const never = (): boolean => false;

/** A bounded HTTP or HTTPS server that answers whatever is no HTTP with FAILURE, and closes. */
export async function listen(app: RequestListener, options: ListenOptions): Promise<Listening> {
  const { host, port, limits, tls, setting } = options;
  const { dropped = ignore, misused = ignore, isGateway = never, isShutOut = never } = options;
  const bounds = boundRequests({
    unreadMs: limits.requestTimeoutMs,
    misused: ({ remoteAddress = '' }, misuse) => misused(remoteAddress, misuse),
  });
  const http = {
    ...bounds.classes,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: 1000,
    // Without it Node would answer by itself, and with neither SUCCESS nor FAILURE; nobody here asks for the
    // host.
    requireHostHeader: false,
  };
  const server = serverOf(boundHeaders(app, misused), http, tls);
  server.maxConnections = limits.connections;
  server.maxRequestsPerSocket = limits.requestsPerSocket;
  server.maxHeadersCount = HEADERS_MAX;
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  bounds.follow(server);
  let draining = false;
  server.prependListener('request', (_request, response: ServerResponse) => {
    if (draining) endConnection(response);
  });
  server.on('clientError', (error: Error, socket: Socket) => {
    if (isMalformed(error, socket)) misused(socket.remoteAddress ?? '', 'malformed');
    refuse(socket, bounds.responseOn(socket));
  });
  // Before TLS stands nothing can be answered, and a connection that is ended waits for that for ever.
  server.on('tlsClientError', (error: Error, socket: Socket) => {
    if (isMalformed(error, socket)) misused(socket.remoteAddress ?? '', 'malformed');
    socket.destroy();
  });
  server.on('drop', () => dropped());
  const connected = followConnections(server);
  boundAddresses(server, { perAddress: limits.connectionsPerAddress, isGateway, isShutOut, dropped });
  // With Node's own backlog of 511 the kernel loses the beginnings of more connections than that at once:
  // their callers believe to be connected, and what they send is read seconds later, when it is sent again.
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error): void => reject(unlistenable(error, `${host}:${port}`, setting));
    server.once('error', failed).listen({ port, host, backlog: limits.connections }, () => {
      server.off('error', failed);
      resolve();
    });
  });
  const drain = (): void => {
    draining = true;
    for (const response of bounds.responses()) endConnection(response);
  };
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${addressOf(server)}`,
    connections: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
    useTls: (context) => 'setSecureContext' in server && server.setSecureContext(context),
    drain,
    async stop(graceMs) {
      drain();
      for (let turns = 0; turns < TURNS_TO_ARRIVE; turns++) await turn();
      await stop(server, graceMs, connected);
    },
  };
}

function serverOf(
  handler: RequestListener,
  http: ServerOptions,
  tls: TlsContext | undefined,
): Server | TlsServer {
  if (tls === undefined) return createServer(http, handler);
  const secure = {
    ...http,
    ...tls,
    ...(http.headersTimeout === undefined ? {} : { handshakeTimeout: http.headersTimeout }),
    requestCert: tls.ca !== undefined,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
  } as const;
  return createTlsServer(secure, handler);
}

function boundHeaders(app: RequestListener, misused: NonNullable<ListenOptions['misused']>): RequestListener {
  return (request, response) => {
    if (request.rawHeaders.length < HEADERS_MAX * 2) app(request, response);
    else {
      misused(request.socket.remoteAddress ?? '', 'malformed');
      response.writeHead(400, { 'Content-Type': 'text/plain', Connection: 'close' }).end('FAILURE');
    }
  };
}

/** Who says nothing, or breaks off, may be a check whether the port is open. */
function isMalformed(error: NodeJS.ErrnoException, { bytesRead }: Socket): boolean {
  return bytesRead > 0 && error.code !== 'ECONNRESET' && error.code !== 'EPIPE';
}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  return `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}

/**
 * What has come in before the stop is still taken: a turn to accept its connection, one to read it, one for
 * what is half done.
 */
const TURNS_TO_ARRIVE = 3;
const CLOSE_EVERY_MS = 50;

function stop(server: Server | TlsServer, graceMs: number, connected: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    // A connection may get idle without having been told to end, and one on which nothing was ever said is
    // not idle to Node.
    const closing = setInterval(() => {
      server.closeIdleConnections();
      for (const socket of connected) if (socket.bytesRead === 0) socket.destroy();
    }, CLOSE_EVERY_MS);
    const cutOff = setTimeout(() => {
      server.closeAllConnections();
      for (const socket of connected) socket.destroy();
    }, graceMs);
    server.close(() => {
      clearTimeout(cutOff);
      clearInterval(closing);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** All connections, those included that are still before TLS or their first request. */
function followConnections(server: Server | TlsServer): ReadonlySet<Socket> {
  const connected = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connected.add(socket);
    socket.once('close', () => connected.delete(socket));
  });
  return connected;
}

const REFUSED =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 7\r\nConnection: close\r\n\r\nFAILURE';

/**
 * Not HTTP, too slow, or headers beyond the bound: no path is known, and the answer is no. Where a request is
 * under way, the fault is in its body, which then has no end, or comes after it: it is answered as it
 * deserves, and nothing more.
 */
function refuse(socket: Socket, response: ServerResponse | undefined): void {
  if (!socket.writable) socket.destroy();
  else if (response === undefined) socket.end(REFUSED);
  else {
    if (!response.req.complete) response.req.emit('aborted');
    response.once('close', () => socket.destroySoon());
  }
}

function unlistenable(error: Error, address: string, setting: string): CountersignError {
  const because =
    'code' in error && error.code === 'EADDRINUSE'
      ? `${address} is taken by another program; end it, or set another ${setting}.port`
      : `can't listen on ${address}: ${messageOf(error)}; set a ${setting}.host of this machine and a ${setting}.port that this user may open`;
  return new CountersignError('SETTINGS_INVALID', `${setting}.port: ${because}`);
}
