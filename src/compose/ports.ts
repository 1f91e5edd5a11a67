import type { RequestListener } from 'node:http';
import { type FailureBudgets, createFailureBudgets } from '../pipeline/address-budgets.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { createOpsApp } from '../http/ops.ts';
import { type CallbackUrl, createPublicApp, gatewaysOf } from '../http/public.ts';
import { type Listening, type ServerLimits, type TlsContext, listen } from '../http/server.ts';
import type { Settings, SourceSettings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import { PAYMENT_PATH } from '../settings/sources.ts';
import type { Clock } from '../values/clock.ts';
import type { Runtime } from './runtime.ts';
import { publicExpiries } from './certificates.ts';
import { orderSources } from './sources.ts';
import { readPem } from './store.ts';

export interface Ports {
  readonly public: Listening;
  readonly ops: Listening;
  /** Lets in what has waited for it, and all that comes from here on. */
  begin(): void;
}

/** Opens both ports, or neither. What comes in waits for `begin`. */
export async function openPorts(
  { settings, clock }: { readonly settings: Settings; readonly clock: Clock },
  {
    secrets,
    pipeline,
    budgets,
    runtime,
  }: {
    readonly secrets: Secrets;
    readonly pipeline: Pipeline;
    readonly budgets: FailureBudgets;
    readonly runtime: Runtime;
  },
): Promise<Ports> {
  const { host, port, limits, tls, trustedProxies } = settings.public;
  const { tally } = runtime;
  const gate = createGate();
  const ops = await openOps({ settings, clock }, secrets, { runtime, gate });
  try {
    const urls = settings.sources.flatMap(urlsOf);
    const payments: CallbackUrl = { path: PAYMENT_PATH, route: { callback: 'payment' }, secret: false };
    const app = createPublicApp({
      pipeline,
      urls: [payments, ...urls],
      trustedProxies,
      bodyBytes: limits.bodyBytes,
      unserved(unserved) {
        tally.unserved(unserved);
        budgets.charge(unserved.address, 'unserved');
        return budgets.exceeded(unserved.address) === undefined ? 'keep' : 'close';
      },
    });
    const context = tls === undefined ? undefined : tlsContext(tls, secrets);
    if (context !== undefined) runtime.showExpiries(publicExpiries(context));
    const isGateway = gatewaysOf(app);
    const outer = await listen(gate.before(app), {
      host,
      port,
      limits,
      tls: context,
      setting: 'public',
      isGateway,
      isShutOut: (address) => budgets.isShutOut(address),
      dropped: (address) => tally.dropped(address),
      misused(address, reason) {
        tally.unserved({ reason, address });
        // Whose request it was that a gateway passed on is not known.
        if (!isGateway(address)) budgets.charge(address, 'misuse');
      },
    });
    return { ops, public: outer, begin: () => gate.open() };
  } catch (thrown) {
    await ops.stop(0);
    throw thrown;
  }
}

const nowMs = (): number => performance.now();

async function openOps(
  { settings, clock }: { readonly settings: Settings; readonly clock: Clock },
  secrets: Secrets,
  { runtime, gate }: { readonly runtime: Runtime; readonly gate: Gate },
): Promise<Listening> {
  const { readiness, metrics, store, tally, apiDenied } = runtime;
  const { token, hosts } = settings.ops;
  const api = {
    store,
    sources: orderSources(settings),
    token: token && (() => secrets.read(token)),
    clock,
    denied: apiDenied,
  };
  const budgets = createFailureBudgets({ failuresPerSecond: OPS_FAILURES_PER_SECOND, nowMs });
  return listen(gate.before(createOpsApp({ readiness, metrics, api, hosts })), {
    ...settings.ops,
    limits: opsLimits(settings.public.limits),
    setting: 'ops',
    isShutOut: (address) => budgets.isShutOut(address),
    misused(address, reason) {
      tally.unserved({ reason, address });
      budgets.charge(address, 'misuse');
    },
  });
}

/*
 * Monitoring and a back end need few connections, and a look at the metrics takes milliseconds: that many
 * must not be able to take the callbacks' time.
 */
const OPS_CONNECTIONS = 256;
const OPS_CONNECTIONS_PER_ADDRESS = 64;
const OPS_FAILURES_PER_SECOND = 20;

function opsLimits(limits: Settings['public']['limits']): ServerLimits {
  return {
    ...limits,
    connections: OPS_CONNECTIONS,
    connectionsPerAddress: OPS_CONNECTIONS_PER_ADDRESS,
  };
}

interface Gate {
  before(app: RequestListener): RequestListener;
  open(): void;
}

/**
 * Requests that come while it is shut wait, in their order. They are as many as connections are allowed, and
 * no body is read.
 */
function createGate(): Gate {
  let waiting: (() => void)[] | undefined = [];
  return {
    before: (app) => (request, response) => {
      if (waiting === undefined) app(request, response);
      else waiting.push(() => app(request, response));
    },
    open() {
      const all = waiting ?? [];
      waiting = undefined;
      for (const each of all) each();
    },
  };
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
  const secret = source.authenticate.some(
    (credential) => typeof credential === 'object' && 'path' in credential,
  );
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
