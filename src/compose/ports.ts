import { followAcceptQueue } from '../http/admission-queue.ts';
import { messagesOf } from '../http/messages.ts';
import { createOpsApp } from '../http/ops.ts';
import { type CallbackUrl, PAYMENT_PATH, createPublicApp } from '../http/public.ts';
import { type Listening, type TlsContext, listen } from '../http/server.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { Settings, SourceSettings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { Clock } from '../values/clock.ts';
import type { Backstage } from './backstage.ts';
import { publicExpiries } from './certificates.ts';
import { orderSources } from './sources.ts';
import { readPem } from './store.ts';

/** Opens both ports, or neither. */
export async function openPorts(
  { settings, clock }: { readonly settings: Settings; readonly clock: Clock },
  {
    secrets,
    pipeline,
    backstage,
  }: { readonly secrets: Secrets; readonly pipeline: Pipeline; readonly backstage: Backstage },
): Promise<{ public: Listening; ops: Listening }> {
  const { host, port, limits, tls, trustedProxies } = settings.public;
  const { readiness, metrics, store } = backstage;
  const { token } = settings.ops;
  const api = {
    store,
    sources: orderSources(settings),
    token: token && (() => secrets.read(token)),
    clock,
    denied: backstage.apiDenied,
  };
  const opsApp = createOpsApp({ readiness, metrics, api });
  const ops = await listen(opsApp, { ...settings.ops, limits: settings.public.limits, setting: 'ops' });
  try {
    const queue = followAcceptQueue(() => performance.now());
    const urls = settings.sources.flatMap(urlsOf);
    const payments: CallbackUrl = { path: PAYMENT_PATH, route: { callback: 'payment' }, secret: false };
    const app = createPublicApp({
      pipeline,
      urls: [payments, ...urls],
      trustedProxies,
      bodyBytes: limits.bodyBytes,
      queuedMs: (connection) => queue.waitedMs(connection),
    });
    const context = tls === undefined ? undefined : tlsContext(tls, secrets);
    if (context !== undefined) backstage.showExpiries(publicExpiries(context));
    const dropped = (): void => backstage.tally.dropped();
    const outer = { host, port, limits, tls: context, setting: 'public', dropped, queue };
    return { ops, public: await listen(app, { ...outer, messages: messagesOf(app) }) };
  } catch (thrown) {
    await ops.stop(0);
    throw thrown;
  }
}

/** The certificate of the public port, read anew, and followed from here on. */
export function tlsContext(tls: NonNullable<Settings['public']['tls']>, secrets: Secrets): TlsContext {
  const read = (file: string, setting: string): string => {
    secrets.follow(file);
    return readPem(file, setting);
  };
  return {
    cert: read(tls.certificate, 'public.tls.certificate'),
    key: secrets.read(tls.key),
    ca: tls.clientCa === undefined ? undefined : read(tls.clientCa, 'public.tls.clientCa'),
  };
}

function urlsOf(source: SourceSettings): readonly CallbackUrl[] {
  if (source.callback === 'payment') return [];
  const { withdraw, web3 } = source.paths;
  const secret = source.authenticate.some((proof) => typeof proof === 'object' && 'path' in proof);
  const paths = new Set([withdraw, web3].filter((path) => path !== undefined));
  return [...paths].map((path) => ({
    path,
    secret,
    route: {
      callback: 'cosigner',
      source: source.name,
      expected: [
        ...(path === withdraw ? (['transfer'] as const) : []),
        ...(path === web3 ? (['web3'] as const) : []),
      ],
    },
  }));
}
