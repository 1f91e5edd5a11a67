import { type Agent, type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { messageOf } from '../errors.ts';
import { ANSWER_BYTES, type Received } from './answer.ts';
import { SIGNATURE_HEADER } from './signing.ts';
import { Unanswered } from './unanswered.ts';

export interface Post {
  readonly url: URL;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

const HEADER_BYTES = 8192;

/**
 * A connection that was kept was closed before a byte of an answer came: the question may never have arrived.
 */
export class ConnectionLost extends Unanswered {}

/**
 * One POST and its answer, both within `timeoutMs` and the bounds of an answer; rejects with Unanswered. It
 * is `node:http` and not `fetch`, because that lets headers be bounded, a connection be made with an
 * authority of one's own, and nothing be followed or unpacked.
 */
export async function post({ url, agent, headers, body, timeoutMs }: Post): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
  const request = send(url, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    maxHeaderSize: HEADER_BYTES,
  });
  const timer = setTimeout(() => reject(new Unanswered(`no answer within ${timeoutMs} ms`)), timeoutMs);
  request.on('error', (thrown) => reject(unreachable(request, thrown)));
  request.on('response', (response) => receive(response, resolve, reject));
  request.end(body);
  try {
    return await promise;
  } catch (thrown) {
    request.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

function receive(
  response: IncomingMessage,
  resolve: (received: Received) => void,
  reject: (because: Unanswered) => void,
): void {
  const { statusCode: status = 0, headersDistinct } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('error', () => reject(new Unanswered('the connection ended in the middle of its answer')));
  if (status !== 200) {
    const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
    reject(new Unanswered(`it answered with HTTP status ${status}${redirect}`));
    return;
  }
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= ANSWER_BYTES) chunks.push(chunk);
    else reject(new Unanswered(`its answer has more than ${ANSWER_BYTES} bytes`));
  });
  response.on('end', () => {
    const [signature, ...more] = headersDistinct[SIGNATURE_HEADER] ?? [];
    resolve({ status, signature: more.length > 0 ? undefined : signature, body: Buffer.concat(chunks) });
  });
}

function unreachable(request: ClientRequest, thrown: Error): Unanswered {
  const code = 'code' in thrown ? String(thrown.code) : '';
  if (request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')) {
    return new ConnectionLost('the connection that was kept is closed');
  }
  const because = code === 'HPE_HEADER_OVERFLOW' ? `its headers are too long` : messageOf(thrown);
  return new Unanswered(`it can't be asked: ${because}`);
}
