import { createHmac, randomBytes } from 'node:crypto';
import {
  type AgentOptions,
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { messageOf } from '../errors.ts';
import type { AcceptedSecret } from '../values/secret.ts';
import { PluginError } from './limiter.ts';

/*
 * Requests that are signed with a shared secret: the questions to services, and notifications. docs/ask.md
 * describes the headers.
 */

export type Headers = Readonly<Record<string, string>>;

/** The header with the signatures of a request, one for each secret, and with the signature of its answer. */
export const SIGNATURE_HEADER = 'countersign-signature';

/**
 * `v1=` and the hexadecimal HMAC-SHA256 of `prefix` and `body`. The prefix is `timestamp.nonce.` for a
 * request and `answer.nonce.` for its answer. A timestamp begins with a digit, so neither signature is valid
 * for the other.
 */
export function sign(secret: string, prefix: string, body: Uint8Array): string {
  return `v1=${createHmac('sha256', secret).update(prefix).update(body).digest('hex')}`;
}

export const newNonce = (): string => randomBytes(18).toString('base64url');

/** Connections to a URL of http or https. `ca`: the PEM text of the authority, if Node doesn't trust it. */
export function agentFor(url: URL, ca: string | undefined, options: AgentOptions = {}): PlainAgent {
  return url.protocol === 'https:'
    ? new TlsAgent({ ...options, ...(ca === undefined ? {} : { ca }) })
    : new PlainAgent(options);
}

export interface SignedPost {
  readonly url: URL;
  readonly agent: PlainAgent;
  readonly secrets: readonly AcceptedSecret[];
  readonly timestampMs: number;
  readonly nonce: string;
  /** Further headers, which are not signed. */
  readonly headers?: Headers;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Reads the response, and resolves or rejects. */
export type Receive<T> = (
  response: IncomingMessage,
  resolve: (received: T) => void,
  reject: (because: PluginError) => void,
) => void;

const HEADER_BYTES = 8192;

/** A connection was closed while it was idle, so the other side may never have received the request. */
export class ConnectionLost extends PluginError {}

/**
 * One signed POST of JSON, and what `receive` makes of its response, both within `timeoutMs`. Rejects with
 * PluginError. It uses `node:http` because `fetch` has no bound on headers and no certificate authority for
 * one request. It follows no redirect and decompresses nothing.
 */
export async function signedPost<T>(
  { url, agent, secrets, timestampMs, nonce, headers, body, timeoutMs, signal }: SignedPost,
  receive: Receive<T>,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
  const bytes = Buffer.from(body);
  const request = send(url, {
    method: 'POST',
    agent,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'countersign-timestamp': `${timestampMs}`,
      'countersign-nonce': nonce,
      [SIGNATURE_HEADER]: secrets.map(({ text }) => sign(text, `${timestampMs}.${nonce}.`, bytes)).join(', '),
      'content-length': bytes.length,
    },
    maxHeaderSize: HEADER_BYTES,
    signal,
  });
  const timer = setTimeout(() => reject(new PluginError(`no answer within ${timeoutMs} ms`)), timeoutMs);
  request.on('error', (thrown) => reject(requestError(request, thrown)));
  request.on('response', (response) => receive(response, resolve, reject));
  request.end(bytes);
  try {
    return await promise;
  } catch (thrown) {
    request.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

/** Why a response with this status is not taken. */
export function describeStatus(status: number): string {
  const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  return `it answered with HTTP status ${status}${redirect}`;
}

function requestError(request: ClientRequest, thrown: Error): PluginError {
  const code = 'code' in thrown ? String(thrown.code) : '';
  if (request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')) {
    return new ConnectionLost('the kept connection is closed');
  }
  const because =
    code === 'HPE_HEADER_OVERFLOW' ? `its headers have more than ${HEADER_BYTES} bytes` : messageOf(thrown);
  return new PluginError(`it can't be reached: ${because}`);
}
