import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { messageOf } from '../../src/errors.ts';

export interface Posting {
  readonly url: string;
  readonly body: string;
  /** The time limit for the whole answer, including its body. */
  readonly timeoutMs: number;
  /** The most bytes of an answer's body. */
  readonly answerBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** What came of one HTTP request. */
export type Posted =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly contentType: string;
      /** How the body is compressed, which is never asked for; `identity` if it isn't. */
      readonly encoding: string;
      /** Where a redirect leads, without its query. It is not followed. */
      readonly location: string | undefined;
      readonly body: Uint8Array;
    }
  /** `sent` is false if nothing reached the platform. */
  | { readonly kind: 'too-large' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled'; readonly sent: boolean }
  | { readonly kind: 'broken'; readonly because: string; readonly sent: boolean };

/**
 * Sends one POST with a JSON body over a connection of its own, and reads the whole answer within its bounds.
 * Never rejects. `fetch` is not used, because it sends a request again by itself after status 421.
 */
export async function post({ url, body, timeoutMs, answerBytes, signal }: Posting): Promise<Posted> {
  if (isAborted(signal)) return { kind: 'cancelled', sent: false };
  const late = AbortSignal.timeout(timeoutMs);
  let isConnected = false;
  try {
    const isSecure = url.startsWith('https:');
    const request = (isSecure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: false,
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        accept: 'application/json',
      },
      signal: signal === undefined ? late : AbortSignal.any([late, signal]),
    });
    // Not a byte of the request is sent before.
    request.once('socket', (socket) => {
      socket.once(isSecure ? 'secureConnect' : 'connect', () => (isConnected = true));
    });
    // An error after the response also ends the reading of the body, which reports it.
    request.on('error', () => undefined);
    const response = await responseTo(request.end(body));
    const read = await readBody(response, answerBytes);
    if (read === undefined) return { kind: 'too-large' };
    const { statusCode = 0, headers } = response;
    return {
      kind: 'answer',
      status: statusCode,
      contentType: headers['content-type'] ?? '',
      encoding: headers['content-encoding'] ?? 'identity',
      location: placeOf(headers.location, url),
      body: read,
    };
  } catch (thrown) {
    if (isAborted(signal)) return { kind: 'cancelled', sent: isConnected };
    if (late.aborted) return { kind: 'timeout' };
    return { kind: 'broken', because: messageOf(thrown) || codeOf(thrown), sent: isConnected };
  }
}

function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
}

// A function, because the signal can be aborted between two reads of it.
const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** Undefined if the body is larger. The rest is then not read. */
async function readBody(response: IncomingMessage, most: number): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function placeOf(location: string | undefined, base: string): string | undefined {
  if (location === undefined || !URL.canParse(location, base)) return undefined;
  const { origin, pathname } = new URL(location, base);
  return `${origin}${pathname}`;
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
