import {
  type KeyObject,
  constants,
  createHash,
  privateDecrypt,
  publicEncrypt,
  sign,
  verify,
} from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type Pair, makePair } from '../../../test/signature/pairs.ts';

/*
 * The platform's side of the protocol, written again with nothing but node:crypto, so that a fault of the
 * client's own signing and reading can't hide.
 */

export const APP_KEY = 'key-of-the-shop';
export const SECRET = 'a-secret-that-nobody-may-see';

let pairs: { readonly platform: Pair; readonly merchant: Pair } | undefined;
export const keys = () => (pairs ??= { platform: makePair(), merchant: makePair() });

/** A request whose signature is right. */
export interface Received {
  readonly path: string;
  /** The parameters with their JSON kinds, without appKey and sign. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly scheme: 'md5' | 'rsa' | 'rsa-envelope';
  /** Whether the parameters were encrypted for the platform. */
  readonly encrypted: boolean;
  readonly body: string;
}

export interface PlainPlatform {
  readonly url: string;
  readonly received: readonly Received[];
  /** Requests, also those with a wrong signature. */
  readonly requests: () => number;
}

/** What the platform does with a request. */
export interface Behaviour {
  /** The JSON text of `data`. */
  readonly data?: (received: Received) => string;
  /** The whole JSON text of the answer, instead of an envelope around `data`. */
  readonly whole?: (received: Received) => string | Promise<string>;
  /** Answers by itself, with any bytes. Returns true if it did. */
  readonly raw?: (response: ServerResponse, attempt: number) => boolean;
}

const blocks = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
const padding = constants.RSA_PKCS1_PADDING;

export function encryptFor(key: KeyObject, plaintext: string): string {
  return Buffer.concat(
    blocks(Buffer.from(plaintext), 245).map((block) => publicEncrypt({ key, padding }, block)),
  ).toString('base64url');
}

function decryptWith(key: KeyObject, data: string): string {
  return Buffer.concat(
    blocks(Buffer.from(data, 'base64url'), 256).map((block) => privateDecrypt({ key, padding }, block)),
  ).toString();
}

const md5Hex = (plaintext: string): string => createHash('md5').update(plaintext).digest('hex');

export function signWith(key: KeyObject, plaintext: string): string {
  return sign('RSA-SHA256', Buffer.from(md5Hex(plaintext)), key).toString('base64url');
}

function joined(members: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(members).filter((name) => name !== 'sign' && members[name] !== null);
  return names
    .sort()
    .map((name) => name + String(members[name]))
    .join('');
}

function md5Sign(members: Readonly<Record<string, unknown>>, secret: string): string {
  return md5Hex(joined(members) + secret);
}

/** The answer of the scheme around a `data`. */
export function envelope(scheme: Received['scheme'], data: string): string {
  if (scheme !== 'rsa-envelope') return `{"code":"0","msg":"suc","message":null,"data":${data}}`;
  const { platform, merchant } = keys();
  return JSON.stringify({
    code: '0',
    msg: 'suc',
    data: encryptFor(merchant.publicKey, data),
    sign: signWith(platform.privateKey, data),
  });
}

/** JSON whose whole numbers above 2^53 are read as bigints. */
function parseExactly(json: string): Record<string, unknown> {
  const exact = (_: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^\d+$/.test(source ?? '')
      ? BigInt(source ?? '')
      : value;
  return JSON.parse(json, exact) as Record<string, unknown>;
}

const WRONG_SIGNATURE = '{"code":"50005","msg":"signature error","data":null}';

function authenticated(path: string, body: string): Received | undefined {
  const parsed = parseExactly(body);
  const { platform, merchant } = keys();
  if (typeof parsed['app_id'] === 'string') {
    const { app_id: appId, data, sign: signature } = parsed as Record<string, string>;
    const plaintext = decryptWith(platform.privateKey, data ?? '');
    const valid = verify(
      'RSA-SHA256',
      Buffer.from(md5Hex(plaintext)),
      merchant.publicKey,
      Buffer.from(signature ?? '', 'base64url'),
    );
    if (!valid || appId !== APP_KEY) return undefined;
    return { path, parameters: parseExactly(plaintext), scheme: 'rsa-envelope', encrypted: true, body };
  }
  const { appKey, sign: signature, ...parameters } = parsed;
  if (appKey !== APP_KEY || typeof signature !== 'string') return undefined;
  const scheme = signature.length === 32 ? 'md5' : 'rsa';
  const valid =
    scheme === 'md5'
      ? signature === md5Sign(parsed, SECRET)
      : verify(
          'RSA-SHA256',
          Buffer.from(joined(parsed)),
          merchant.publicKey,
          Buffer.from(signature, 'base64'),
        );
  if (!valid) return undefined;
  if (typeof parameters['data'] !== 'string') return { path, parameters, scheme, encrypted: false, body };
  const plaintext = decryptWith(platform.privateKey, parameters['data']);
  return { path, parameters: parseExactly(plaintext), scheme, encrypted: true, body };
}

/** Listens until the test is over. */
export async function startPlatform(behaviour: Behaviour): Promise<PlainPlatform> {
  const received: Received[] = [];
  let requests = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests++;
    const body = await text(request);
    if (behaviour.raw?.(response, requests) === true) return;
    const found = authenticated(request.url ?? '', body);
    if (found !== undefined) received.push(found);
    response.setHeader('content-type', 'application/json;charset=UTF-8');
    response.end(found === undefined ? WRONG_SIGNATURE : await answerTo(found, behaviour));
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((thrown: unknown) => response.destroy(thrown as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, received, requests: () => requests };
}

/** A confirmation of a payment, as the platform sends it with this scheme (section 6.1). */
export function confirmation(
  scheme: Received['scheme'],
  payment: Readonly<Record<string, unknown>>,
  nowMs: number,
): string {
  if (scheme === 'md5') {
    const members = { appKey: APP_KEY, ...payment };
    return JSON.stringify({ ...members, sign: md5Sign(members, SECRET) });
  }
  const { platform, merchant } = keys();
  if (scheme === 'rsa') {
    const members = { appKey: APP_KEY, ...payment };
    const signature = sign('RSA-SHA256', Buffer.from(joined(members)), platform.privateKey);
    return JSON.stringify({ ...members, sign: signature.toString('base64') });
  }
  const plaintext = JSON.stringify(payment);
  return JSON.stringify({
    app_id: APP_KEY,
    time: nowMs,
    data: encryptFor(merchant.publicKey, plaintext),
    sign: signWith(platform.privateKey, plaintext),
  });
}

async function answerTo(received: Received, { data, whole }: Behaviour): Promise<string> {
  return (await whole?.(received)) ?? envelope(received.scheme, data?.(received) ?? 'null');
}
