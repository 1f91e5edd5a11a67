import { type Socket, connect } from 'node:net';

/*
 * A program of its own, so that an attack takes nothing from the event loop of the test: it keeps a number of
 * connections open to one service, each of which does one thing, and opens another for each that is closed.
 * It ends with its parent.
 */

export interface Attack {
  readonly url: string;
  /** Loopback addresses to call from, in turn. */
  readonly from: readonly string[];
  readonly connections: number;
  /** What each connection writes, in Latin-1, once it is open. */
  readonly opening: string;
  /** What it writes again and again after that, as fast as it is taken; nothing without it. */
  readonly again?: string;
  /** Without it, what comes back stays unread. */
  readonly reads?: boolean;
  /** Breaks each connection off as soon as it is open and the opening is written. */
  readonly leaves?: boolean;
}

export type AttackerSays = {
  /** Connections that were opened, and those that the service closed, so far. */
  readonly opened: number;
  readonly closed: number;
};

const CHUNK = 65_536;

function begin({ url, from, connections, opening, again, reads, leaves }: Attack): void {
  const { hostname, port } = new URL(url);
  const count = { opened: 0, closed: 0 };
  const first = Buffer.from(opening, 'latin1');
  const chunk =
    again === undefined ? undefined : Buffer.from(again.repeat(Math.ceil(CHUNK / again.length)), 'latin1');

  function pour(socket: Socket): void {
    if (chunk === undefined) return;
    while (socket.writable && socket.write(chunk));
    socket.once('drain', () => pour(socket));
  }

  function open(at: number): void {
    const localAddress = from[at % from.length];
    const to = {
      host: hostname,
      port: Number(port),
      ...(localAddress === undefined ? {} : { localAddress }),
    };
    const socket = connect(to);
    socket.on('error', () => undefined);
    if (reads === true) socket.resume();
    socket.once('connect', () => {
      count.opened += 1;
      socket.write(first);
      if (leaves === true) socket.resetAndDestroy();
      else pour(socket);
    });
    socket.once('close', () => {
      count.closed += 1;
      // At a pace that leaves this machine some of its ports.
      setTimeout(open, leaves === true ? 50 : 500, at + 1);
    });
  }

  for (let at = 0; at < connections; at++) open(at);
  setInterval(() => process.send?.(count satisfies AttackerSays), 20);
}

process.once('disconnect', () => process.exit());
begin(JSON.parse(process.argv[2] ?? '') as Attack);
