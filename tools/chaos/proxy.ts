import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

/** What a network does to the connections between one receiver and its Redis. */
export type Network =
  | { readonly kind: 'pass' }
  /** Nothing arrives any more, in either direction, and nobody is told. */
  | { readonly kind: 'drop'; readonly what: 'requests' | 'replies' }
  /** Each part comes so much later, in order. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** Replies come a few bytes at a time. */
  | { readonly kind: 'trickle'; readonly bytes: number }
  /** After so many more bytes in that direction, each connection is cut, in the middle of whatever it is. */
  | { readonly kind: 'cut'; readonly what: 'requests' | 'replies'; readonly bytes: number }
  /** All connections are cut, and no new one comes about. */
  | { readonly kind: 'refuse' };

export interface Proxy {
  readonly url: string;
  readonly set: (network: Network) => void;
  /** The number of parts, as sockets received them, that were not carried on. */
  readonly lostParts: () => number;
  readonly close: () => Promise<void>;
}

/**
 * A TCP proxy on a free port of 127.0.0.1; passes all to begin with. Connections that have lost bytes are
 * never mended.
 */
export async function startProxy(targetPort: number): Promise<Proxy> {
  let network: Network = { kind: 'pass' };
  let lostParts = 0;
  const onLost = (): void => void (lostParts += 1);
  const open = new Set<() => void>();
  const server = createServer((client) => {
    if (network.kind === 'refuse') {
      client.destroy();
      return;
    }
    const target = connect(targetPort, '127.0.0.1');
    const cut = (): void => {
      client.destroy();
      target.destroy();
      open.delete(cut);
    };
    open.add(cut);
    for (const socket of [client, target]) socket.setNoDelay(true).on('error', cut).on('close', cut);
    client.on('data', carrier('requests', target, { cut, onLost, network: () => network }));
    target.on('data', carrier('replies', client, { cut, onLost, network: () => network }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `redis://127.0.0.1:${port}/0`,
    set(becomes) {
      network = becomes;
      if (becomes.kind === 'refuse') for (const cut of open) cut();
    },
    lostParts: () => lostParts,
    async close() {
      for (const cut of open) cut();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Line {
  readonly cut: () => void;
  readonly onLost: () => void;
  readonly network: () => Network;
}

/**
 * Carries one direction of one connection, as the network of the moment lets it. Whatever it does, bytes
 * arrive in the order in which they were sent, and none after one that is lost: anything else is not what TCP
 * would do.
 */
function carrier(way: 'requests' | 'replies', to: Socket, line: Line): (part: Buffer) => void {
  let isLost = false;
  let under: Network | undefined;
  let passed = 0;
  const { write, end } = queueTo(to, line.cut);
  return (part) => {
    const network = line.network();
    if (network !== under) passed = 0;
    under = network;
    isLost ||= network.kind === 'drop' && network.what === way;
    if (isLost) {
      line.onLost();
      return;
    }
    if (network.kind === 'delay') write(part, network.delayMs);
    else if (network.kind === 'trickle' && way === 'replies') {
      for (let from = 0; from < part.length; from += network.bytes)
        write(part.subarray(from, from + network.bytes), (from / network.bytes) * PIECE_MS);
    } else if (network.kind === 'cut' && network.what === way) {
      const left = Math.max(0, network.bytes - passed);
      passed += part.length;
      write(part.subarray(0, left), 0);
      isLost = part.length > left;
      if (isLost) end();
    } else write(part, 0);
  };
}

/** Between two pieces of a reply that comes in pieces. */
const PIECE_MS = 1;

interface Queue {
  /** Not before `delayMs` from now, and not before what was written earlier. */
  readonly write: (part: Buffer, delayMs: number) => void;
  /** Cuts the connection once all that was written has been carried. */
  readonly end: () => void;
}

/** One timer at a time: two that are due at once would fire in any order. */
function queueTo(to: Socket, cut: () => void): Queue {
  const waiting: { readonly part: Buffer | 'end'; readonly dueMs: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  const carry = (): void => {
    timer = undefined;
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const leftMs = next.dueMs - performance.now();
      if (leftMs > 0) {
        timer = setTimeout(carry, leftMs);
        return;
      }
      waiting.shift();
      if (next.part === 'end') cut();
      else to.write(next.part);
    }
  };
  const add = (part: Buffer | 'end', delayMs: number): void => {
    waiting.push({ part, dueMs: performance.now() + delayMs });
    if (timer === undefined) carry();
  };
  return { write: add, end: () => add('end', 0) };
}
