import { messageOf } from '../errors.ts';

export interface Posting {
  readonly url: string;
  readonly body: string;
  /** The time limit for the whole answer, including its body. */
  readonly timeoutMs: number;
  /** The most bytes of an answer's body, after decompression. */
  readonly answerBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** What came of one HTTP request. */
export type Posted =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly contentType: string;
      /** Where a redirect leads, without its query. It is not followed. */
      readonly location: string | undefined;
      readonly body: Uint8Array;
    }
  /** `sent` is false if nothing reached the platform. */
  | { readonly kind: 'too-large' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'cancelled'; readonly sent: boolean }
  | { readonly kind: 'broken'; readonly because: string; readonly sent: boolean };

/** Sends one POST with a JSON body, and reads the whole answer within its bounds. Never rejects. */
export async function post({ url, body, timeoutMs, answerBytes, signal }: Posting): Promise<Posted> {
  if (isAborted(signal)) return { kind: 'cancelled', sent: false };
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body,
      redirect: 'manual',
      signal: signal === undefined ? late : AbortSignal.any([late, signal]),
    });
    const read = await readBody(response, answerBytes);
    if (read === undefined) return { kind: 'too-large' };
    return {
      kind: 'answer',
      status: response.status,
      contentType: response.headers.get('content-type') ?? '',
      location: placeOf(response.headers.get('location'), url),
      body: read,
    };
  } catch (thrown) {
    if (isAborted(signal)) return { kind: 'cancelled', sent: true };
    if (late.aborted) return { kind: 'timeout' };
    return { kind: 'broken', because: causeOf(thrown), sent: !isBeforeSending(thrown) };
  }
}

// A function, because the signal can be aborted between two reads of it.
const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** Undefined if the body is larger. The rest is then not read. */
async function readBody(response: Response, most: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function placeOf(location: string | null, base: string): string | undefined {
  if (location === null || !URL.canParse(location, base)) return undefined;
  const { origin, pathname } = new URL(location, base);
  return `${origin}${pathname}`;
}

function causeOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause === undefined ? messageOf(thrown) : messageOf(cause) || codeOf(cause);
}

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** These errors only occur before the first byte of the request. */
function isBeforeSending(thrown: unknown): boolean {
  return thrown instanceof Error && NOT_CONNECTED.has(codeOf(thrown.cause));
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : '';
}
