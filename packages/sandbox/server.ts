import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { messageOf, usageError } from '../../src/errors.ts';

/** A request that was read to its end. */
export interface ReadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface Reply {
  readonly status: number;
  readonly body: string;
  /** The connection ends without an answer. */
  readonly isLost?: boolean;
}

export interface Listening {
  readonly url: string;
  stop(): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly bytesMax: number;
  /** The option that sets the port, for errors. */
  readonly option: string;
  readonly answer: (request: ReadRequest) => Promise<Reply>;
  /** The answer to a body above `bytesMax`, or to any other fault. */
  readonly failed: (message: string) => Reply;
}

const REQUEST_TIMEOUT_MS = 30_000;

/** Listens on an address; port 0 is any free one. Throws USAGE if it can't. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { host, port, option } = options;
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    void respond(request, response, options);
  });
  await new Promise<void>((resolve, reject) => {
    const onError = (error: Error): void =>
      reject(usageError(`can't listen on ${host}:${port}: ${messageOf(error)}. Give another ${option}`));
    server.once('error', onError).listen({ host, port }, () => {
      server.off('error', onError);
      resolve();
    });
  });
  return { url: `http://${addressOf(server)}`, stop: () => stop(server) };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { bytesMax, answer, failed }: ListenOptions,
): Promise<void> {
  const write = (reply: Reply): void => deliver(reply, response);
  try {
    const text = await readText(request, bytesMax);
    if (text === undefined) return write(failed(`the body has more than ${bytesMax} bytes`));
    const { method = '', url = '', headers } = request;
    return write(await answer({ method, path: url.split('?')[0] ?? '', headers, text }));
  } catch {
    // The client went away, or the answer can't be made. The error itself is no matter of the client's.
    return response.headersSent ? undefined : write(failed('the sandbox failed'));
  }
}

function deliver({ status, body, isLost = false }: Reply, response: ServerResponse): void {
  if (isLost) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json;charset=UTF-8' }).end(body);
}

async function readText(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const part: unknown = chunk;
    if (!Buffer.isBuffer(part)) continue;
    bytes += part.length;
    if (bytes <= bytesMax) chunks.push(part);
  }
  return bytes > bytesMax ? undefined : Buffer.concat(chunks).toString('utf8');
}

function addressOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === 'string') return '';
  return `${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`;
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
