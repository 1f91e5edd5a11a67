import express, { type Express } from 'express';
import { type ApiParts, createApi } from './api/api.ts';
import { createHostCheck } from './ops-hosts.ts';

export interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly because: string;
    /** False where it does not count for `ready`. */
    readonly decisive?: false;
  }[];
}

export interface OpsAppParts {
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly api: ApiParts;
  /** Names by which the port may be called, beside localhost and IP addresses. */
  readonly hosts: readonly string[];
}

/** The app of the ops port: alive, ready and why not, the metrics, and the API. */
export function createOpsApp({ readiness, metrics, api, hosts }: OpsAppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  const refusalOf = createHostCheck(hosts);
  app.use((request, response, next) => {
    const refusal = refusalOf(request);
    if (refusal === undefined) next();
    else
      response
        .status(refusal.status)
        .set('Connection', 'close')
        .type('text/plain')
        .send(`${refusal.because}\n`);
  });
  app.get('/healthz', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/readyz', async (_request, response) => {
    const state = await readiness();
    response.status(state.ready ? 200 : 503).json(state);
  });
  app.get('/metrics', async (_request, response) => {
    const { contentType, text } = await metrics();
    response.set('Content-Type', contentType).send(text);
  });
  app.use('/api', createApi(api));
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('/healthz, /readyz, /metrics, /api\n');
  });
  return app;
}
