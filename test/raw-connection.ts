import { once } from 'node:events';
import { type Socket, connect } from 'node:net';

/** A TCP connection on which a test writes whatever it likes. */
export interface RawConnection {
  /** Bytes as they stand; a string is Latin-1. */
  write(bytes: string | Uint8Array): void;
  /** Says that nothing more will be written, and goes on reading. */
  finish(): void;
  /** Breaks it off. */
  reset(): void;
  /** All that came back until the other side closed, or until `enough` says so; rejects after `withinMs`. */
  received(withinMs: number, enough?: (text: string) => boolean): Promise<string>;
}

/** Resolves when the socket is closed, also by an error, by which `once` would reject. */
export const untilClosed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.on('error', () => undefined).once('close', () => resolve());
  });

export async function rawConnection(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  // A reset by the other side ends what is received, and is no fault of the test's.
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await once(socket, 'connect');
  return {
    write: (bytes) => void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    finish: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    received: (withinMs, enough = () => false) =>
      new Promise((resolve, reject) => {
        const done = (): void => {
          clearTimeout(timer);
          socket.destroy();
          resolve(text);
        };
        const timer = setTimeout(() => {
          socket.destroy();
          reject(
            new Error(`the connection was not closed within ${withinMs} ms; so far: ${JSON.stringify(text)}`),
          );
        }, withinMs);
        const look = (): void => (enough(text) ? done() : undefined);
        socket.on('data', look);
        socket.once('end', done).once('close', done);
        if (socket.readableEnded || socket.destroyed) done();
        else look();
      }),
  };
}

/** One answer of HTTP/1.1 and what comes after it; undefined where there is no whole one. */
function firstAnswer(
  text: string,
):
  | { readonly status: number; readonly head: string; readonly body: string; readonly rest: string }
  | undefined {
  const end = text.indexOf('\r\n\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
  if (end === -1 || status === undefined) return undefined;
  const head = text.slice(0, end);
  const from = end + 4;
  if (Number(status) < 200) return firstAnswer(text.slice(from));
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  const chunked = /^transfer-encoding: chunked$/im.test(head);
  if (chunked) {
    const closing = text.indexOf('0\r\n\r\n', from);
    if (closing === -1) return undefined;
    const body = text
      .slice(from, closing)
      .replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/gi, '')
      .replace(/\r\n$/, '');
    return { status: Number(status), head, body, rest: text.slice(closing + 5) };
  }
  // Without a length the answer ends with the connection.
  const until = length === undefined ? text.length : from + Number(length);
  if (text.length < until) return undefined;
  return { status: Number(status), head, body: text.slice(from, until), rest: text.slice(until) };
}

/** All answers on a connection, in order. */
export function answersIn(text: string): readonly { readonly status: number; readonly body: string }[] {
  const found: { status: number; body: string }[] = [];
  for (let answer = firstAnswer(text); answer !== undefined; answer = firstAnswer(answer.rest))
    found.push({ status: answer.status, body: answer.body });
  return found;
}
