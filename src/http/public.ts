import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { TLSSocket } from 'node:tls';
import express, { type Express, type Request, type Response } from 'express';
import type { Answer } from '../callback/answer.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { Route } from '../pipeline/arrival.ts';
import type { Unserved } from './load.ts';
import { bodyReader } from './body.ts';

/**
 * One URL that callbacks are posted to. With `secret` it is followed by one more segment, known to the sender
 * alone.
 */
export interface CallbackUrl {
  readonly path: string;
  readonly route: Route;
  readonly secret: boolean;
}

export interface PublicAppParts {
  readonly pipeline: Pipeline;
  readonly urls: readonly CallbackUrl[];
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly bodyBytes: number;
  /**
   * A request was answered 404 or 405; whether its connection is to be closed, since its address has used up
   * its budget.
   */
  readonly unserved: (unserved: Unserved) => 'close' | 'keep';
}

/**
 * The app of the public port: callbacks get their answer with HTTP 200, anything else 404 or 405, and nobody
 * a reason.
 */
export function createPublicApp({
  pipeline,
  urls,
  trustedProxies,
  bodyBytes,
  unserved,
}: PublicAppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', [...trustedProxies]);
  app.set('query parser', false);

  for (const { path, route, secret } of urls) {
    const url = secret ? `${escapePath(path)}/:secret` : escapePath(path);
    app.post(url, (request, response) => answer(request, response, route));
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
  const isTrusted = gatewaysOf(app);
  const showRequest = requestShower(urls);

  function count(request: Request, response: Response, reason: 'not-found' | 'method'): void {
    const address = request.ip ?? '';
    if (unserved({ reason, address, request: showRequest(request) }) === 'close')
      response.set('Connection', 'close');
  }

  async function answer(request: Request, response: Response, route: Route): Promise<void> {
    const { secret } = request.params;
    const peer = request.socket.remoteAddress ?? '';
    const fromProxy = isTrusted(peer);
    const reply = await pipeline.receive({
      requestId: randomUUID(),
      route,
      // Only what a proxy sends before it is read at all.
      address: (fromProxy ? request.ip : peer) ?? '',
      header: (name) => headerOf(request, name),
      fromProxy,
      pathSecret: typeof secret === 'string' ? secret : undefined,
      certificate: certificateOf(request),
      body: () => readBody(request, response),
    });
    // A small body comes with its headers, and is there a turn later: then the connection can be kept.
    if (!request.complete) await turn();
    // A client that has ended its side is gone as well: its socket takes no answer any more.
    const there = !response.destroyed && request.socket.writable;
    let sent = false;
    try {
      if (there) {
        send(request, response, reply.answer);
        sent = true;
      }
    } finally {
      // After those that are answered in the same turn: written one right after the other, answers wake their
      // reader once.
      queueMicrotask(() => reply.delivered(sent));
    }
  }

  return app;
}

function send(request: Request, response: Response, { contentType, body }: Answer): void {
  // What is left of a body that was not read would be taken for the next request's beginning.
  if (!request.complete) response.set('Connection', 'close');
  response.statusCode = 200;
  response.setHeader('Content-Type', contentType);
  response.end(body);
}

/** Whether an address is one of `trustedProxies`. */
export function gatewaysOf(app: Express): (address: string) => boolean {
  const trusts: unknown = app.get('trust proxy fn');
  return (address) => typeof trusts === 'function' && trusts(address, 0) === true;
}

const SHOWN_MAX = 200;

/**
 * A request's method and path, for the log. Where a source has a secret path segment, whoever misspells the
 * rest of it has sent the secret to another path: then only segments that all paths are made of are shown.
 */
function requestShower(urls: readonly CallbackUrl[]): (request: Request) => string {
  const hides = urls.some(({ secret }) => secret);
  const known = new Set(urls.flatMap(({ path }) => path.split('/')));
  const show = (segment: string): string => (!hides || known.has(segment) ? segment : '…');
  return ({ method, originalUrl }) => {
    const [target = ''] = originalUrl.split('?', 1);
    const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '');
    const plain = path.slice(0, SHOWN_MAX).replace(/[^\x21-\x7e]/g, encodeURIComponent);
    return `${method} ${plain.split('/').map(show).join('/')}${path.length > SHOWN_MAX ? '…' : ''}`;
  };
}

/** The paths of the settings are literal; a path pattern would read some of their characters otherwise. */
function escapePath(path: string): string {
  return path.replace(/[{}()[\]+?!:*\\]/g, '\\$&');
}

/** Of a header that came twice, nobody knows which one the gateway wrote: it counts as not there. */
function headerOf(request: Request, name: string): string | undefined {
  const wanted = name.toLowerCase();
  const values = request.rawHeaders.filter(
    (_, at) => request.rawHeaders[at - 1]?.toLowerCase() === wanted && at % 2 === 1,
  );
  return values.length === 1 ? values[0] : undefined;
}

/**
 * The subject's names in the certificate's order, `O=Vault,CN=cosigner`. Node writes a name a line and
 * escapes what could be taken for the end of one, so that `O=Vault\,CN=cosigner` is another subject.
 */
function certificateOf(request: Request): { fingerprint256: string; subject: string } | undefined {
  const { socket } = request;
  const certificate =
    socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return undefined;
  return { fingerprint256: certificate.fingerprint256, subject: certificate.subject.replaceAll('\n', ',') };
}
