import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * A TCP proxy on a free port of 127.0.0.1, which can do to replies what networks do. It begins by passing
 * them.
 */
export interface BlackHoleProxy {
  readonly port: number;
  /** `redis://` at the proxy. */
  readonly url: string;
  /** Replies pass again, on connections that have lost none; the others stay silent for ever. */
  pass(): void;
  /** Requests arrive, replies are lost, connections stay open and are taken. */
  swallow(): void;
  /** Replies wait for `pass`, and then come in order. */
  hold(): void;
  /** Every reply comes so much later, in order. */
  delay(delayMs: number): void;
  /**
   * Each connection lets `bytes` more bytes of replies through and is then cut, in the middle of whatever it
   * is.
   */
  cutAfter(bytes: number): void;
  close(): Promise<void>;
}

type Mode =
  | { readonly kind: 'pass' | 'swallow' }
  | { readonly kind: 'hold'; readonly released: Promise<void> }
  | { readonly kind: 'delay'; readonly delayMs: number }
  | { readonly kind: 'cut'; readonly bytes: number };

export async function startBlackHoleProxy(targetPort: number): Promise<BlackHoleProxy> {
  let mode: Mode = { kind: 'pass' };
  let release = (): void => undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    const cut = (): void => {
      for (const socket of [client, target]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', cut).on('close', cut);
    }
    client.on('data', (request) => target.write(request));
    target.on(
      'data',
      replyPasser(client, cut, () => mode),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    port,
    url: `redis://127.0.0.1:${port}/0`,
    pass() {
      mode = { kind: 'pass' };
      release();
    },
    hold() {
      const held = Promise.withResolvers<void>();
      release = held.resolve;
      mode = { kind: 'hold', released: held.promise };
    },
    swallow: () => (mode = { kind: 'swallow' }),
    delay: (delayMs) => (mode = { kind: 'delay', delayMs }),
    cutAfter: (bytes) => (mode = { kind: 'cut', bytes }),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What a reply waits for. */
function waitIn(mode: Mode): Promise<unknown> | undefined {
  if (mode.kind === 'hold') return mode.released;
  return mode.kind === 'delay' ? pause(mode.delayMs) : undefined;
}

/**
 * Does to one connection's replies what the mode of the moment wants, and keeps their order when it changes.
 */
function replyPasser(client: Socket, cut: () => void, mode: () => Mode): (reply: Buffer) => void {
  let silent = false;
  let passed: { readonly by: Mode; readonly bytes: number } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const write = (reply: Buffer, after?: Promise<unknown>): void => {
    last = Promise.all([last, after]).then(() => client.write(reply));
  };
  return (reply) => {
    const now = mode();
    silent ||= now.kind === 'swallow';
    if (silent) return;
    if (now.kind !== 'cut') {
      write(reply, waitIn(now));
      return;
    }
    const before = passed?.by === now ? passed.bytes : 0;
    passed = { by: now, bytes: before + reply.length };
    write(reply.subarray(0, now.bytes - before));
    silent = passed.bytes > now.bytes;
    if (silent) void last.then(cut);
  };
}
