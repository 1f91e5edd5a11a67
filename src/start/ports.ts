import type { RequestListener } from 'node:http';
import { type FailureBudgets, createFailureBudgets } from '../pipeline/address-budgets.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { Arrivals } from '../http/arrivals.ts';
import { createForwards } from '../http/forward.ts';
import { createOpsApp } from '../http/ops.ts';
import { createPublicApp, createProxyCheck } from '../http/public.ts';
import { type Listening, listen, opsLimits } from '../http/server.ts';
import { isWithService } from '../settings/console.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { Clock } from '../values/clock.ts';
import type { ConsoleProcess } from './console-process.ts';
import type { Runtime } from './runtime.ts';
import { orderSources } from './sources.ts';
import { portExpiries, tlsContext } from './tls.ts';
import { callbackUrls } from './urls.ts';

export interface Ports {
  readonly public: Listening;
  readonly ops: Listening;
  /** Serves the requests that have waited, and all later ones. */
  begin(): void;
}

/** Opens both ports, or neither. Requests wait for `begin`. */
export async function openPorts(
  { settings, clock }: { readonly settings: Settings; readonly clock: Clock },
  {
    secrets,
    pipeline,
    budgets,
    arrivals,
    runtime,
    console,
  }: {
    readonly secrets: Secrets;
    readonly pipeline: Pipeline;
    readonly arrivals: Arrivals;
    readonly budgets: FailureBudgets;
    readonly runtime: Runtime;
    readonly console: ConsoleProcess;
  },
): Promise<Ports> {
  const { host, port, limits, trustedProxies } = settings.public;
  const { load } = runtime;
  const gate = createGate(arrivals);
  const ops = await openOps({ settings, clock }, secrets, { runtime, gate, console });
  try {
    const app = createPublicApp({
      pipeline,
      urls: callbackUrls(settings.sources),
      trustedProxies,
      bodyBytes: limits.bodyBytes,
      arrivals,
      onUnserved(unserved) {
        load.unserved(unserved);
        budgets.charge(unserved.address, 'unserved');
        return budgets.excessReason(unserved.address) === undefined ? 'keep' : 'close';
      },
    });
    const tls = tlsContext(settings, 'public', secrets);
    if (tls !== undefined) runtime.showExpiries(portExpiries('public', tls));
    const isTrustedProxy = createProxyCheck(app);
    const publicServer = await listen(gate.before(app), {
      host,
      port,
      limits,
      tls,
      setting: 'public',
      arrivals,
      isTrustedProxy,
      isBlocked: (address) => budgets.isBlocked(address),
      onDropped: (address) => load.connectionClosed(address),
      onMisuse(address, reason) {
        load.unserved({ reason, address });
        // The sender of a request that a gateway passed on is not known.
        if (!isTrustedProxy(address)) budgets.charge(address, 'misuse');
      },
    });
    return { ops, public: publicServer, begin: () => gate.open() };
  } catch (thrown) {
    await ops.stop(0);
    throw thrown;
  }
}

const nowMs = (): number => performance.now();

async function openOps(
  { settings, clock }: { readonly settings: Settings; readonly clock: Clock },
  secrets: Secrets,
  {
    runtime,
    gate,
    console,
  }: {
    readonly runtime: Runtime;
    readonly gate: Gate;
    readonly console: ConsoleProcess;
  },
): Promise<Listening> {
  const { readiness, metrics, store, load, apiDenied, opsFailed } = runtime;
  const { token, hosts, releases } = settings.ops;
  const forwards = createForwards(console.target);
  const api = {
    store,
    sources: orderSources(settings),
    token: token && (() => secrets.read(token)),
    releases,
    simulate: forwards.simulate,
    clock,
    onDenied: apiDenied,
  };
  const budgets = createFailureBudgets({ failuresPerSecond: OPS_FAILURES_PER_SECOND, nowMs });
  const pages = isWithService(settings.console) ? forwards.pages : undefined;
  const app = createOpsApp({ readiness, metrics, api, console: pages, hosts, onFailed: opsFailed });
  const tls = tlsContext(settings, 'ops', secrets);
  if (tls !== undefined) runtime.showExpiries(portExpiries('ops', tls));
  return listen(gate.before(app), {
    ...settings.ops,
    tls,
    limits: opsLimits(settings.public.limits),
    setting: 'ops',
    isBlocked: (address) => budgets.isBlocked(address),
    onMisuse(address, reason) {
      load.unserved({ reason, address });
      budgets.charge(address, 'misuse');
    },
  });
}

const OPS_FAILURES_PER_SECOND = 20;

interface Gate {
  before(app: RequestListener): RequestListener;
  open(): void;
}

/**
 * While the gate is closed, requests wait in their order. Their number is bounded by the connections, and no
 * body is read. The wait counts as time of a callback.
 */
function createGate(arrivals: Pick<Arrivals, 'note'>): Gate {
  let waiting: (() => void)[] | undefined = [];
  return {
    before: (app) => (request, response) => {
      if (waiting === undefined) app(request, response);
      else {
        arrivals.note(request);
        waiting.push(() => app(request, response));
      }
    },
    open() {
      const all = waiting ?? [];
      waiting = undefined;
      for (const each of all) each();
    },
  };
}
