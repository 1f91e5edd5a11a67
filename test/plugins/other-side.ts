import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingHttpHeaders, type Server, type ServerResponse, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { onTestFinished } from 'vitest';

export const SECRET = 'inquiry-secret-of-the-tests';

/** A question as it arrived. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly nonce: string;
  readonly json: Readonly<Record<string, unknown>>;
  /** Whether a signature is that of our secret, written down here once more. */
  readonly signed: boolean;
}

export interface OtherSide {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Connections that were opened. */
  readonly connections: () => number;
  /** From now on it answers so. */
  readonly answerWith: (answer: AnswerWith) => void;
  readonly server: Server;
}

export type AnswerWith = (response: ServerResponse, asked: Asked) => void;

const hmac = (secret: string, text: string): string =>
  `v1=${createHmac('sha256', secret).update(text).digest('hex')}`;

/** Sends this body, signed for the nonce. */
export function sendSigned(
  response: ServerResponse,
  nonce: string,
  body: string,
  { secret = SECRET, status = 200 } = {},
): void {
  response.writeHead(status, { 'countersign-signature': hmac(secret, `answer.${nonce}.${body}`) });
  response.end(body);
}

/** Answers as it should, with this verdict. */
export const says =
  (verdict: 'yes' | 'no', because?: string): AnswerWith =>
  (response, { nonce }) =>
    sendSigned(response, nonce, JSON.stringify({ nonce, verdict, because }));

/** A service on a port of its own, gone when the test is over; with a certificate, over TLS. */
export async function otherSide(
  answer: AnswerWith,
  {
    secret = () => SECRET,
    tls,
  }: { readonly secret?: () => string; readonly tls?: { cert: string; key: string } } = {},
): Promise<OtherSide> {
  let answerWith = answer;
  let connections = 0;
  const asked: Asked[] = [];
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('request', (request, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const { headers, method = '', url: path = '' } = request;
      const nonce = String(headers['countersign-nonce']);
      const expected = Buffer.from(
        hmac(secret(), `${String(headers['countersign-timestamp'])}.${nonce}.${body}`),
      );
      const signed = String(headers['countersign-signature'])
        .split(', ')
        .map((each) => Buffer.from(each))
        .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
      const question = { method, path, headers, body, nonce, json: JSON.parse(body), signed };
      asked.push(question);
      answerWith(response, question);
    });
  });
  server.on(tls === undefined ? 'connection' : 'secureConnection', () => (connections += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${address.port}/ask`,
    asked,
    connections: () => connections,
    answerWith: (next) => void (answerWith = next),
    server,
  };
}
