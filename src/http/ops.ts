import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { messageOf } from '../errors.ts';
import { type ApiParts, type OnFailed, createApi, requestName } from './api.ts';
import { FAILED, type Readiness, probeRoutes } from './routes.ts';

export interface OpsAppParts {
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly api: ApiParts;
  /** Forwards to the process of the console. Undefined if nobody can sign in: there is no console then. */
  readonly console?: RequestHandler | undefined;
  /** Names by which the port may be called, besides localhost and IP addresses. */
  readonly hosts: readonly string[];
  readonly onFailed: OnFailed;
}

/** The app of the ops port: liveness, readiness, metrics, the API and the console. */
export function createOpsApp({ readiness, metrics, api, console, hosts, onFailed }: OpsAppParts): Express {
  const app = namedApp(hosts);
  app.get(probeRoutes.readiness.path, async (request, response) => {
    const state = await readiness().catch((thrown: unknown) => {
      onFailed(requestName(request), messageOf(thrown));
      return NOT_READY;
    });
    response.status(state.ready ? 200 : 503).json(state);
  });
  app.get(probeRoutes.metrics.path, async (_request, response) => {
    const { contentType, text } = await metrics();
    response.set('Content-Type', contentType).send(text);
  });
  app.use('/api', createApi(api, onFailed));
  if (console !== undefined) app.use('/console', console);
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('/healthz, /readyz, /metrics, /api\n');
  });
  app.use(answerFailure(onFailed));
  return app;
}

/** An app whose answers say nothing of what serves them. */
export function plainApp(): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  return app;
}

/** An app that is called by one of its names, and says that it is alive. */
export function namedApp(hosts: readonly string[]): Express {
  const app = plainApp();
  app.use(requireHost(hosts));
  app.get(probeRoutes.health.path, (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  return app;
}

export const answerFailure =
  (onFailed: OnFailed): ErrorRequestHandler =>
  (thrown: unknown, request, response, _next) => {
    onFailed(requestName(request), messageOf(thrown));
    response.status(500).type('text/plain').send(FAILED);
  };

/** Refuses a request that calls this port by another name: see createHostCheck. */
function requireHost(hosts: readonly string[]): RequestHandler {
  const refusalOf = createHostCheck(hosts);
  return (request, response, next) => {
    const refusal = refusalOf(request);
    if (refusal === undefined) next();
    else
      response
        .status(refusal.status)
        .set('Connection', 'close')
        .type('text/plain')
        .send(`${refusal.because}\n`);
  };
}

const NOT_READY: Readiness = {
  ready: false,
  checks: [{ name: 'readiness', ok: false, because: FAILED.trim() }],
};

interface HostRefusal {
  readonly status: 400 | 421;
  readonly because: string;
}

const AUTHORITY = /^(\[[^[\]]+\]|[^[\]:]+)(?::(\d{1,5}))?$/;
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\//i;
const SHOWN_MAX = 80;

/**
 * Checks the name by which a request calls this port. A web page can make its own host name point to this
 * machine, so that the browser reads this port (DNS rebinding). But the browser then sends that host name. So
 * only `localhost`, IP addresses and `names` are served. HTTP/1.0 may have no Host header: simple probes send
 * none, and browsers don't use HTTP/1.0.
 */
function createHostCheck(names: readonly string[]): (request: IncomingMessage) => HostRefusal | undefined {
  const allowed = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);

  function isAllowed(authority: string): boolean {
    const [, host = '', port = '0'] = AUTHORITY.exec(authority) ?? [];
    if (Number(port) > 65_535) return false;
    if (host.startsWith('[')) return isIPv6(host.slice(1, -1)) && !host.includes('%');
    return isIPv4(host) || allowed.has(host.toLowerCase().replace(/\.$/, ''));
  }

  return ({ url = '', rawHeaders, httpVersion }) => {
    const hosts = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'host');
    const target = targetAuthority(url);
    const [host = target] = hosts;
    if (hosts.length > 1) return { status: 400, because: 'there is more than one Host header; send one' };
    if (hosts.length === 0 && httpVersion !== '1.0')
      return { status: 400, because: 'there is no Host header; send one' };
    for (const authority of [host, target])
      if (authority !== undefined && !isAllowed(authority)) return misdirected(authority);
    return undefined;
  };
}

/**
 * The authority of a target such as `http://localhost:9090/readyz`, which overrides the Host header;
 * undefined for a path.
 */
function targetAuthority(url: string): string | undefined {
  if (!ABSOLUTE.test(url)) return undefined;
  const [scheme = '', rest = ''] = url.split('://', 2);
  const [authority = ''] = rest.split(/[/?#\\]/, 1);
  return /^https?$/i.test(scheme) ? authority : url;
}

function misdirected(authority: string): HostRefusal {
  const shown = JSON.stringify(authority.slice(0, SHOWN_MAX));
  const because =
    `${shown} is not a name of this port: ` +
    'call it as localhost or by its IP address, or add the name to ops.hosts';
  return { status: 421, because };
}
