import { IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { networksOf } from '../values/address-networks.ts';

/** Behaviour that no sender of callbacks needs. The connection is closed. */
export type Misuse =
  /** The peer sent another request before the last one was answered. */
  | 'pipelined'
  /** The peer did not read its answer. */
  | 'unread'
  /** The peer sent something other than HTTP, or not all of its headers in time. */
  | 'malformed'
  /** The peer, a load balancer, began the connection with a header of the PROXY protocol. */
  | 'proxy-protocol';

/** One connection, from its first request on. */
interface Connection {
  /** The response to the last request, until it is sent. */
  response: ServerResponse | undefined;
  /** Responses that the operating system has not accepted yet. */
  unsent: number;
  /** A request came before the last one was answered. */
  isPipelined: boolean;
  /** Consecutive checks that found an ended connection whose peer has not read everything. */
  unreadChecks: number;
}

export interface RequestBounds {
  /** Classes for the server. They recognise a request that comes too early. */
  readonly classes: { readonly IncomingMessage: typeof IncomingMessage };
  attachTo(server: Server | TlsServer): void;
  /** The unsent response of this connection. */
  responseOn(socket: Socket): ServerResponse | undefined;
  responses(): Iterable<ServerResponse>;
}

const CHECK_EVERY_MS = 1000;

/**
 * Limits each connection to one request at a time. After a second request, nothing more is read, and the
 * connection is closed once the first request is answered. A peer that leaves an answer unread is
 * disconnected after `unreadMs`.
 *
 * Node parses all requests of one chunk, perhaps thousands, before anything else runs; neither `pause` nor
 * `destroy` ends that. A request for an upgrade does, because another protocol follows it. So a request that
 * comes too early is treated as one.
 */
export function limitRequests({
  unreadMs,
  onMisuse,
}: {
  readonly unreadMs: number;
  readonly onMisuse: (socket: Socket, misuse: Misuse) => void;
}): RequestBounds {
  const { connections, connectionOf } = createConnections();
  const isTooEarly = (socket: Socket): boolean => {
    const connection = connections.get(socket);
    if (connection === undefined || connection.unsent === 0) return false;
    // TLS reports an accepted answer one turn of the event loop later, when the next request may have
    // arrived.
    const isSent =
      socket instanceof TLSSocket && connection.unsent === 1 && connection.response?.writableEnded === true;
    connection.isPipelined ||= !isSent;
    return !isSent;
  };
  const classes = { IncomingMessage: class extends IncomingMessage {} };
  upgradeEarlyRequests(classes.IncomingMessage, isTooEarly);

  /** Closes a connection from which nothing more is read, once its answer is sent. */
  function end({ socket }: IncomingMessage): void {
    // Node has removed its own listeners.
    socket.on('error', () => undefined);
    const { response, isPipelined = false } = connections.get(socket) ?? {};
    if (isPipelined) onMisuse(socket, 'pipelined');
    // Node may call this after the answer was sent.
    if (response === undefined) socket.destroySoon();
    else {
      endConnection(response);
      response.once('close', () => socket.destroySoon());
    }
  }

  function disconnectUnread(): void {
    for (const [socket, connection] of connections) {
      const ending = socket.writableEnded || connection.response?.writableEnded === true;
      connection.unreadChecks = ending ? connection.unreadChecks + 1 : 0;
      if (connection.unreadChecks * CHECK_EVERY_MS <= unreadMs) continue;
      if (socket.writableLength > 0) onMisuse(socket, 'unread');
      socket.destroy();
    }
  }

  return {
    classes,
    attachTo(server) {
      // Without this, Node would end each connection whose client offers another protocol.
      const shouldUpgradeCallback = ({ socket }: IncomingMessage): boolean => isTooEarly(socket);
      Object.assign(server, { shouldUpgradeCallback });
      server.on('upgrade', end);
      server.on('connect', end);
      server.prependListener('request', ({ socket }, response: ServerResponse) => {
        const connection = connectionOf(socket);
        connection.response = response;
        connection.unsent += 1;
        connection.unreadChecks = 0;
        response.once('close', () => {
          connection.unsent -= 1;
          if (connection.response === response) connection.response = undefined;
        });
      });
      // Node answers these itself, with a response that is not tracked here.
      server.on('dropRequest', (_request, socket: Socket) => (connectionOf(socket).unsent += 1));
      server.on('clientError', (_error: Error, socket: Socket) => {
        if (socket.writable) connectionOf(socket);
      });
      const timer = setInterval(disconnectUnread, CHECK_EVERY_MS).unref();
      server.once('close', () => clearInterval(timer));
    },
    responseOn: (socket) => connections.get(socket)?.response,
    *responses() {
      for (const { response } of connections.values()) if (response !== undefined) yield response;
    },
  };
}

function createConnections(): {
  readonly connections: ReadonlyMap<Socket, Connection>;
  readonly connectionOf: (socket: Socket) => Connection;
} {
  // An entry for each connection, not for each request: adding thousands of entries a second costs too much.
  const connections = new Map<Socket, Connection>();
  const connectionOf = (socket: Socket): Connection => {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const made: Connection = { response: undefined, unsent: 0, isPipelined: false, unreadChecks: 0 };
    connections.set(socket, made);
    socket.once('close', () => connections.delete(socket));
    return made;
  };
  return { connections, connectionOf };
}

/** Node sets `upgrade` when it has read the headers of a request, and reads it before it continues. */
function upgradeEarlyRequests(
  { prototype }: typeof IncomingMessage,
  isTooEarly: (socket: Socket) => boolean,
): void {
  Object.defineProperty(prototype, 'upgrade', {
    get: () => false,
    set(this: IncomingMessage, asked: boolean | null) {
      const isEarly = asked !== null && isTooEarly(this.socket);
      if (asked !== true && !isEarly) return;
      Object.defineProperty(this, 'upgrade', { value: true, writable: true });
    },
  });
}

/**
 * Closes the connection after this answer. Otherwise it would delay a stop until the grace period is over.
 */
export function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

/**
 * Closes a connection before anything is read if its address has `perAddress` connections, or is blocked. An
 * IPv6 /64 is one address. Connections of a gateway are not counted.
 */
export function limitConnectionsPerAddress(
  server: Server | TlsServer,
  {
    perAddress,
    isTrustedProxy,
    isBlocked,
    onDropped,
  }: {
    readonly perAddress: number;
    readonly isTrustedProxy: (address: string) => boolean;
    readonly isBlocked: (address: string) => boolean;
    readonly onDropped: (address: string) => void;
  },
): void {
  const counts = new Map<string, number>();
  const admits = (socket: Socket): boolean => {
    const { remoteAddress = '' } = socket;
    if (isTrustedProxy(remoteAddress)) return true;
    const [key] = networksOf(remoteAddress);
    const count = counts.get(key) ?? 0;
    if (count >= perAddress || isBlocked(remoteAddress)) {
      onDropped(remoteAddress);
      return false;
    }
    counts.set(key, count + 1);
    socket.once('close', () => {
      const left = (counts.get(key) ?? 1) - 1;
      if (left > 0) counts.set(key, left);
      else counts.delete(key);
    });
    return true;
  };
  // Node's own listeners set up TLS and a parser even for a connection that is already closed.
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (!admits(socket)) socket.destroy();
    else for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  });
}
