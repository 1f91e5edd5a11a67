import type { Server } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { networksOf } from '../values/address-networks.ts';
import { RequestGate } from './request-gate.ts';

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

const CHECK_EVERY_MS = 1000;

/**
 * Gives each connection of a server to its HTTP parser through a RequestGate, and disconnects a peer that
 * leaves an answer unread for `unreadMs`. Returns the gates of the open connections.
 */
export function gateRequests(
  server: Server | TlsServer,
  {
    unreadMs,
    onMisuse,
  }: { readonly unreadMs: number; readonly onMisuse: (gate: RequestGate, misuse: Misuse) => void },
): () => Iterable<RequestGate> {
  /** Consecutive checks that found a connection with an answer that the peer has not read. */
  const unreadChecks = new Map<RequestGate, number>();
  const event = server instanceof TlsServer ? 'secureConnection' : 'connection';
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  server.on(event, (socket: Socket) => {
    const gate = new RequestGate(socket, () => onMisuse(gate, 'pipelined'));
    unreadChecks.set(gate, 0);
    gate.once('close', () => unreadChecks.delete(gate));
    for (const listener of listeners) Reflect.apply(listener, server, [gate]);
  });
  const timer = setInterval(() => {
    for (const [gate, checks] of unreadChecks) {
      const isEnding = gate.writableEnded || gate.response?.writableEnded === true;
      unreadChecks.set(gate, isEnding ? checks + 1 : 0);
      if (!isEnding || (checks + 1) * CHECK_EVERY_MS <= unreadMs) continue;
      if (gate.socket.writableLength > 0) onMisuse(gate, 'unread');
      gate.destroy();
    }
  }, CHECK_EVERY_MS).unref();
  server.once('close', () => clearInterval(timer));
  return () => unreadChecks.keys();
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
