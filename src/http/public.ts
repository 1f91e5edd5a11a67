import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import express, { type Express, type Request, type Response } from 'express';
import type { Answer } from '../callback/answer.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { Route } from '../pipeline/arrival.ts';
import { hostOf } from '../values/address-networks.ts';
import { closestMatch } from '../values/closest-match.ts';
import type { Arrivals } from './arrivals.ts';
import type { Unserved } from './load.ts';
import { bodyReader } from './body.ts';
import { RequestGate } from './request-gate.ts';

/** A URL for callbacks. With `secret`, one more path segment follows it, which only the sender knows. */
export interface CallbackUrl {
  readonly path: string;
  readonly route: Route;
  readonly secret: boolean;
}

export interface PublicAppParts {
  readonly pipeline: Pipeline;
  readonly urls: readonly CallbackUrl[];
  /** Addresses and networks whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly string[];
  readonly bodyBytes: number;
  readonly arrivals: Pick<Arrivals, 'of'>;
  /**
   * Called for a request that was answered 404 or 405. Returns 'close' if its address has exceeded its
   * budget.
   */
  readonly onUnserved: (unserved: Unserved) => 'close' | 'keep';
}

/**
 * The app of the public port. Callbacks are answered with HTTP 200, other requests with 404 or 405. No answer
 * contains a reason.
 */
export function createPublicApp({
  pipeline,
  urls,
  trustedProxies,
  bodyBytes,
  arrivals,
  onUnserved,
}: PublicAppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  trustProxies(app, trustedProxies);
  app.set('query parser', false);

  for (const served of urls) {
    const url = urlPattern(served);
    app.post(url, (request, response) => answer(request, response, served));
    app.all(url, (request, response) => {
      count(request, response, 'method');
      response.set('Allow', 'POST').status(405).end();
    });
  }
  app.use((request, response) => {
    count(request, response, 'not-found');
    response.status(404).end();
  });
  app.use((_error: unknown, _request: Request, response: Response, _next: () => void) => {
    response.status(400).type('text/plain').end('FAILURE');
  });

  const readBody = bodyReader(bodyBytes);
  const isTrustedProxy = createProxyCheck(app);
  const formatRequest = createRequestFormatter(urls);
  const paths = urls.map(({ path }) => path);

  function count(request: Request, response: Response, reason: 'not-found' | 'method'): void {
    const address = hostOf(request.ip ?? '');
    const meant = reason === 'not-found' ? closestPath(pathOf(request), paths) : undefined;
    if (onUnserved({ reason, address, request: formatRequest(request), meant }) === 'close')
      response.set('Connection', 'close');
  }

  async function answer(request: Request, response: Response, { path, route }: CallbackUrl): Promise<void> {
    const { secret } = request.params;
    const peer = request.socket.remoteAddress ?? '';
    const fromProxy = isTrustedProxy(peer);
    const reply = await pipeline.receive({
      requestId: randomUUID(),
      arrivedMs: arrivals.of(request),
      route,
      path,
      // X-Forwarded-For is read only if a trusted proxy sent it.
      address: hostOf((fromProxy ? request.ip : peer) ?? ''),
      header: (name) => headerOf(request, name),
      fromProxy,
      pathSecret: typeof secret === 'string' ? secret : undefined,
      certificate: certificateOf(request),
      body: () => readBody(request, response),
      isConnected: () => isConnected(request, response),
    });
    // A small body arrives one turn of the event loop after its headers. Then the connection can stay open.
    if (!request.complete) await turn();
    let sent = false;
    try {
      if (isConnected(request, response)) {
        send(request, response, reply.answer);
        sent = true;
      }
    } finally {
      // Reports run after all answers of this turn, so that the answers are written together.
      queueMicrotask(() => reply.delivered(sent));
    }
  }

  return app;
}

/** A client that has ended its side is gone too: its socket accepts no answer. */
const isConnected = ({ socket }: Request, { destroyed }: Response): boolean => !destroyed && socket.writable;

function send(request: Request, response: Response, { contentType, body }: Answer): void {
  // The rest of an unread body would be parsed as the next request.
  if (!request.complete) response.set('Connection', 'close');
  response.statusCode = 200;
  response.setHeader('Content-Type', contentType);
  response.end(body);
}

/** Trusts these addresses and networks, also where X-Forwarded-For has them with a port. */
function trustProxies(app: Express, trustedProxies: readonly string[]): void {
  app.set('trust proxy', [...trustedProxies]);
  const trusts = createProxyCheck(app);
  app.set('trust proxy', (address: string) => trusts(hostOf(address)));
}

/** Whether an address is one of `trustedProxies`. */
export function createProxyCheck(app: Express): (address: string) => boolean {
  const trusts: unknown = app.get('trust proxy fn');
  return (address) => typeof trusts === 'function' && trusts(address, 0) === true;
}

const SHOWN_MAX = 200;

/**
 * The method and path of a request, for the log. If a source has a secret path segment, a sender that
 * misspells the path sends the secret to another path. So only segments of known paths are shown.
 */
function createRequestFormatter(urls: readonly CallbackUrl[]): (request: Request) => string {
  const hidesSegments = urls.some(({ secret }) => secret);
  const known = new Set(urls.flatMap(({ path }) => path.split('/')));
  const show = (segment: string): string => (!hidesSegments || known.has(segment) ? segment : '…');
  return (request) => {
    const path = pathOf(request);
    const plain = path.slice(0, SHOWN_MAX).replace(/[^\x21-\x7e]/g, encodeURIComponent);
    return `${request.method} ${plain.split('/').map(show).join('/')}${path.length > SHOWN_MAX ? '…' : ''}`;
  };
}

/** The path as it was written, also of a request that names the whole URL. */
function pathOf({ originalUrl }: Request): string {
  const [target = ''] = originalUrl.split('?', 1);
  return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '');
}

/** The path of callbacks of which this is a misspelling, or of which it is one with a secret segment. */
function closestPath(path: string, paths: readonly string[]): string | undefined {
  return closestMatch(path, paths) ?? closestMatch(path.slice(0, path.lastIndexOf('/')), paths);
}

/** The paths of the settings are literal. Express would read some characters as a pattern. */
function urlPattern({ path, secret }: CallbackUrl): string {
  const escaped = path.replace(/[{}()[\]+?!:*\\]/g, '\\$&');
  return secret ? `${escaped}/:secret` : escaped;
}

/** A header that was sent twice counts as missing, because it is not known which value the gateway wrote. */
function headerOf(request: Request, name: string): string | undefined {
  const wanted = name.toLowerCase();
  const values = request.rawHeaders.filter(
    (_, at) => at % 2 === 1 && request.rawHeaders[at - 1]?.toLowerCase() === wanted,
  );
  return values.length === 1 ? values[0] : undefined;
}

/**
 * The names of the subject in the order of the certificate, `O=Vault,CN=cosigner`. Node writes one name a
 * line and escapes line ends, so `O=Vault\,CN=cosigner` is another subject.
 */
function certificateOf(request: Request): { fingerprint256: string; subject: string } | undefined {
  const { socket: gate } = request;
  const socket = gate instanceof RequestGate ? gate.socket : gate;
  const certificate =
    socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return undefined;
  return { fingerprint256: certificate.fingerprint256, subject: certificate.subject.replaceAll('\n', ',') };
}
