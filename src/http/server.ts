import { type RequestListener, type Server, type ServerOptions, createServer } from 'node:http';
import { type Server as TlsServer, createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { CountersignError, messageOf } from '../errors.ts';
import { prefixOf } from '../values/damage.ts';
import type { Arrivals } from './arrivals.ts';
import { type Misuse, gateRequests, limitConnectionsPerAddress } from './connections.ts';
import { RequestGate, endConnection } from './request-gate.ts';

export interface ServerLimits {
  readonly headerBytes: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly connections: number;
  /** Connections of one address. Gateways are exempt. */
  readonly connectionsPerAddress: number;
  /** Requests over one connection; 0 for any number. */
  readonly requestsPerSocket: number;
}

/** PEM texts. With `ca`, clients are asked for a certificate. Their source decides whether it needs one. */
export interface TlsContext {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
}

/*
 * Monitoring, a back end and people need few connections. Reading the metrics takes milliseconds: more
 * connections must not take that time from the callbacks.
 */
const OPS_CONNECTIONS = 256;
const OPS_CONNECTIONS_PER_ADDRESS = 64;

export const opsLimits = (limits: ServerLimits): ServerLimits => ({
  ...limits,
  connections: OPS_CONNECTIONS,
  connectionsPerAddress: OPS_CONNECTIONS_PER_ADDRESS,
});

export interface Listening {
  readonly url: string;
  readonly connections: () => Promise<number>;
  /** Uses another certificate and key for new connections. */
  useTls(context: TlsContext): void;
  /** Closes each connection after its next answer, and still accepts new ones. */
  drain(): void;
  /**
   * Drains, accepts no more connections, waits for requests in flight, and closes the rest after `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: ServerLimits;
  readonly tls?: TlsContext | undefined;
  /** The setting that names the address, for errors. */
  readonly setting: string;
  readonly arrivals?: Pick<Arrivals, 'follow'>;
  /**
   * Whether this peer is in public.trustedProxies. Only the limit on all connections applies to it.
   */
  readonly isTrustedProxy?: (address: string) => boolean;
  /** Whether connections of this peer are closed unread. */
  readonly isBlocked?: (address: string) => boolean;
  /**
   * Called for each connection that is closed unread. With an address: because the address has too many
   * connections, or is blocked. Without one: because there are too many in total.
   */
  readonly onDropped?: (address?: string) => void;
  /** Called for each connection that is closed because its peer misuses it. */
  readonly onMisuse?: (address: string, misuse: Misuse) => void;
}

/**
 * Node ignores the headers beyond this number, among them perhaps one of a gateway, and thousands of headers
 * take milliseconds. So a request with this many is refused.
 */
const HEADERS_MAX = 100;

const ignore = (): void => undefined;
const never = (): boolean => false;

/**
 * Starts an HTTP or HTTPS server within bounds. It answers FAILURE to anything that is not HTTP, and closes
 * the connection.
 */
export async function listen(app: RequestListener, options: ListenOptions): Promise<Listening> {
  const { host, port, limits, tls, setting, arrivals } = options;
  const { onDropped = ignore, onMisuse = ignore, isTrustedProxy = never, isBlocked = never } = options;
  const http = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: 1000,
    // With it, Node would answer by itself with neither SUCCESS nor FAILURE. The public port ignores the
    // host.
    requireHostHeader: false,
  };
  let draining = false;
  const handle = limitHeaders(app, onMisuse);
  const server = serverOf(
    (request, response) => {
      if (draining) endConnection(response);
      if (!(request.socket instanceof RequestGate)) response.destroy();
      else if (request.socket.begin(request, response)) handle(request, response);
    },
    http,
    tls,
  );
  server.maxConnections = limits.connections;
  server.maxRequestsPerSocket = limits.requestsPerSocket;
  server.maxHeadersCount = HEADERS_MAX;
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
  const gates = gateRequests(server, {
    unreadMs: limits.requestTimeoutMs,
    onMisuse: ({ remoteAddress = '' }, misuse) => onMisuse(remoteAddress, misuse),
  });
  refuseOtherProtocols(server, onMisuse);
  server.on('drop', () => onDropped());
  const connected = followConnections(server);
  limitConnectionsPerAddress(server, {
    perAddress: limits.connectionsPerAddress,
    isTrustedProxy,
    isBlocked,
    onDropped,
  });
  arrivals?.follow(server);
  // With Node's own backlog of 511, the kernel drops the first packets of further connections. Their clients
  // believe that they are connected, and their requests arrive seconds later.
  await new Promise<void>((resolve, reject) => {
    const onListenError = (error: Error): void => reject(listenError(error, `${host}:${port}`, setting));
    server.once('error', onListenError).listen({ port, host, backlog: limits.connections }, () => {
      server.off('error', onListenError);
      resolve();
    });
  });
  const drain = (): void => {
    draining = true;
    for (const { response } of gates()) if (response !== undefined) endConnection(response);
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

function refuseOtherProtocols(
  server: Server | TlsServer,
  onMisuse: NonNullable<ListenOptions['onMisuse']>,
): void {
  // A tunnel is no callback.
  server.on('connect', (_request, gate: Duplex) => {
    if (gate instanceof RequestGate) gate.refuseMore();
    else gate.destroy();
  });
  server.on('clientError', (error: Error, gate: Duplex) => {
    if (gate instanceof RequestGate) {
      if (isMalformed(error, gate)) onMisuse(gate.remoteAddress ?? '', misuseIn(error));
      refuse(gate);
    } else {
      gate.destroy();
    }
  });
  // Nothing can be answered before TLS is established, and `end` would wait for TLS for ever.
  server.on('tlsClientError', (error: Error, socket: Socket) => {
    if (isMalformed(error, socket)) onMisuse(socket.remoteAddress ?? '', 'malformed');
    socket.destroy();
  });
}

function limitHeaders(
  app: RequestListener,
  onMisuse: NonNullable<ListenOptions['onMisuse']>,
): RequestListener {
  return (request, response) => {
    if (request.rawHeaders.length < HEADERS_MAX * 2) app(request, response);
    else {
      onMisuse(request.socket.remoteAddress ?? '', 'malformed');
      response.writeHead(400, { 'Content-Type': 'text/plain', Connection: 'close' }).end('FAILURE');
    }
  };
}

/** A peer that sends nothing, or resets the connection, may only check whether the port is open. */
function isMalformed(error: NodeJS.ErrnoException, { bytesRead }: Pick<Socket, 'bytesRead'>): boolean {
  return bytesRead > 0 && error.code !== 'ECONNRESET' && error.code !== 'EPIPE';
}

/** Node adds the bytes that it could not parse. */
function misuseIn(error: Error): Misuse {
  const bytes = 'rawPacket' in error ? error.rawPacket : undefined;
  return bytes instanceof Uint8Array && prefixOf(bytes)?.isProxyHeader === true
    ? 'proxy-protocol'
    : 'malformed';
}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  return `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}

/**
 * Turns of the event loop for requests that arrived before the stop: to accept the connection, to read it, to
 * finish.
 */
const TURNS_TO_ARRIVE = 3;
const CLOSE_EVERY_MS = 50;

function stop(server: Server | TlsServer, graceMs: number, connected: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    // A connection may become idle after its last answer. To Node, a connection without a request is not
    // idle.
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

/** All connections, also those before TLS or before their first request. */
function followConnections(server: Server | TlsServer): ReadonlySet<Socket> {
  const connected = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connected.add(socket);
    socket.once('close', () => connected.delete(socket));
  });
  return connected;
}

const REFUSED =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n' +
  'Connection: close\r\n\r\nFAILURE';

/**
 * Refuses a request that is not HTTP, is too slow or has too many headers: no path is known, so the answer is
 * FAILURE. If a request is in flight, the fault is in its body or after it: that request gets its answer, and
 * the connection is closed.
 */
function refuse(gate: RequestGate): void {
  const { response } = gate;
  if (!gate.writable) gate.destroy();
  else if (response === undefined) gate.end(REFUSED);
  else {
    if (!response.req.complete) response.req.emit('aborted');
    response.once('close', () => gate.destroySoon());
  }
}

function listenError(error: Error, address: string, setting: string): CountersignError {
  const because =
    'code' in error && error.code === 'EADDRINUSE'
      ? `${address} is in use by another program; stop it, or set another ${setting}.port`
      : `can't listen on ${address} (${messageOf(error)}); ` +
        `set a ${setting}.host of this machine and a ${setting}.port that this user may open`;
  return new CountersignError('SETTINGS_INVALID', `${setting}.port: ${because}`);
}
