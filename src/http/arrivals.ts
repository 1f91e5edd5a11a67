import type { IncomingMessage, Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type EventLoop, NOTABLE_MS } from '../pipeline/event-loop.ts';

/** When requests can have arrived, however late they are read. */
export interface Arrivals {
  /** Call it once, before the server listens. */
  follow(server: Server | TlsServer): void;
  /** The earliest instant at which this request can have arrived, in milliseconds of `nowMs`. */
  of(request: IncomingMessage): number;
  /** Call it when a request is read that is served later. `of` then returns what it would return now. */
  note(request: IncomingMessage): void;
}

/** A connection that waited before it was accepted. */
interface QueuedConnection {
  readonly queuedMs: number;
  readonly acceptedMs: number;
  /** A request that arrived after this instant has not waited with its connection. */
  openMs: number;
}

/** A client with a request sends it within this time after the TLS handshake. */
const FIRST_REQUEST_MS = 1000;

/**
 * The wait of a connection counts as time of its first request, which may have arrived with it. Over TLS, the
 * request itself arrives after the handshake, but its sender has waited all the same.
 */
export function createArrivals(loop: EventLoop, nowMs: () => number): Arrivals {
  const queued = new Map<string, QueuedConnection>();
  const noted = new WeakMap<IncomingMessage, number>();

  function arrivalOf({ socket }: IncomingMessage): number {
    const now = nowMs();
    const readMs = loop.readMs();
    const connection = queued.size === 0 ? undefined : queued.get(peerOf(socket));
    if (connection !== undefined) {
      queued.delete(peerOf(socket));
      const { queuedMs, acceptedMs, openMs } = connection;
      if (readMs < openMs) return Math.max(readMs, acceptedMs) - queuedMs;
    }
    return now - readMs < NOTABLE_MS ? now : readMs;
  }

  return {
    follow(server) {
      const isTls = 'setSecureContext' in server;
      server.prependListener('connection', (socket: Socket) => {
        const acceptedMs = nowMs();
        const queuedMs = acceptedMs - loop.connectedMs();
        if (queuedMs < NOTABLE_MS) return;
        const peer = peerOf(socket);
        const connection = { queuedMs, acceptedMs, openMs: isTls ? Infinity : acceptedMs };
        queued.set(peer, connection);
        socket.once('close', () => queued.get(peer) === connection && queued.delete(peer));
      });
      server.on('drop', () => void loop.connectedMs());
      server.on('secureConnection', (socket: TLSSocket) => {
        const connection = queued.get(peerOf(socket));
        if (connection !== undefined) connection.openMs = nowMs() + FIRST_REQUEST_MS;
      });
    },
    of: (request) => noted.get(request) ?? arrivalOf(request),
    note: (request) => void noted.set(request, arrivalOf(request)),
  };
}

/** The socket of a request over TLS is not the one that was accepted, but has the same peer. */
const peerOf = ({ remoteAddress = '', remotePort = 0 }: Socket): string => `${remoteAddress} ${remotePort}`;
