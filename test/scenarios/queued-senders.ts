import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';

/*
 * Senders in a thread of their own. Each opens a connection and writes its request at once. `queued` is set
 * when the kernel has all connections, whether or not the service has accepted one. Then the answers follow,
 * in the order of the requests; an empty one if the connection was closed without.
 */

export interface QueuedSenders {
  readonly port: number;
  readonly tls: boolean;
  readonly requests: readonly string[];
  readonly queued: Int32Array;
}

const { port, tls, requests, queued } = workerData as QueuedSenders;
const at = { port, host: '127.0.0.1' };

const connections = requests.map((request) => {
  const tcp = connect(at);
  const socket = tls ? connectTls({ socket: tcp, rejectUnauthorized: false }) : tcp;
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('error', () => undefined);
  socket.write(request);
  const answered = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  return { connected: once(tcp, 'connect'), answered };
});

await Promise.all(connections.map(({ connected }) => connected));
Atomics.store(queued, 0, 1);
Atomics.notify(queued, 0);
const answers = await Promise.all(connections.map(({ answered }) => answered));
parentPort?.postMessage(
  answers.map((text) => text.split('\r\n\r\n')[1] ?? ''),
  [],
);
