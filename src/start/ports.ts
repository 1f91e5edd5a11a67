import type { RequestListener } from 'node:http';
import { failure } from '../errors.ts';
import { type Arrivals, createArrivals } from '../http/arrivals.ts';
import { createForwards } from '../http/forward.ts';
import { createOpsApp } from '../http/ops.ts';
import { createPublicApp, createProxyCheck } from '../http/public.ts';
import { type ListenOptions, type Listening, listen, opsLimits } from '../http/server.ts';
import { createCallbackObserver, createDenialObserver } from '../observe/callbacks.ts';
import type { Log } from '../observe/log.ts';
import { logOpsFailures } from '../observe/ops-failures.ts';
import { createFailureBudgets } from '../pipeline/address-budgets.ts';
import { type EventLoop, measureEventLoop } from '../pipeline/event-loop.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import type { Plugins } from '../plugins/plugins.ts';
import { isWithService } from '../settings/console.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { DecryptionThreads } from '../signature/blocks.ts';
import type { Clock } from '../values/clock.ts';
import { acceptedSecrets } from '../values/secret.ts';
import type { ConsoleProcess } from './console-process.ts';
import { type PortName, type WatchedKeys, showPortExpiries, tlsContext } from './files.ts';
import { fourEyesOf, peopleOf } from './people.ts';
import type { Runtime } from './runtime.ts';
import { answerFormats, callbackUrls, orderSources, schemeBinding } from './sources.ts';
import { groupsOf } from './store.ts';

/*
 * The two ports: callbacks arrive at the public one, and everything else of a service at the ops port.
 */

export interface Ports {
  readonly public: Port;
  readonly ops: Port;
  /** Serves the requests that have waited, and all later ones. */
  readonly begin: () => void;
  /** Resolves when no callback is in flight any more, late decisions included. */
  readonly idle: () => Promise<void>;
}

export interface Port extends Listening {
  /** Uses the certificate that is in its files now. */
  readonly reloadTls: () => void;
}

export interface PortsParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly keys: WatchedKeys;
  readonly threads: DecryptionThreads;
  readonly plugins: Plugins;
  readonly runtime: Runtime;
  readonly console: ConsoleProcess;
}

type Open = (port: PortName, app: RequestListener, options: PortOptions) => Promise<Port>;
type PortOptions = Omit<ListenOptions, 'host' | 'port' | 'tls' | 'setting'>;

const nowMs = (): number => performance.now();

/** Opens both ports. Requests wait for `begin`. */
export async function openPorts(parts: PortsParts, opened: AsyncDisposableStack): Promise<Ports> {
  const { settings, threads } = parts;
  const loop = measureEventLoop(nowMs, settings.answerTimeoutMs, () => threads.waitMs());
  opened.defer(loop.stop);
  const arrivals = createArrivals(loop, nowMs);
  const gate = createGate(arrivals);
  const open: Open = async (port, app, options) => {
    const listening = await openPort(parts, port, gate.before(app), options);
    opened.defer(() => listening.stop(0));
    return listening;
  };
  const ops = await openOps(parts, open);
  const { idle, listening } = await openPublic(parts, { loop, arrivals }, open);
  return { public: listening, ops, begin: gate.open, idle };
}

async function openPort(
  { settings, secrets, runtime: { metrics } }: PortsParts,
  name: PortName,
  app: RequestListener,
  options: PortOptions,
): Promise<Port> {
  const { host, port } = settings[name];
  const tls = tlsContext(settings, name, secrets);
  if (tls !== undefined) showPortExpiries(metrics, name, tls);
  const listening = await listen(app, { ...options, host, port, tls, setting: name });
  return {
    ...listening,
    reloadTls() {
      const context = tlsContext(settings, name, secrets);
      if (context === undefined) return;
      listening.useTls(context);
      showPortExpiries(metrics, name, context);
    },
  };
}

async function openPublic(
  parts: PortsParts,
  { loop, arrivals }: { readonly loop: EventLoop; readonly arrivals: Arrivals },
  open: Open,
): Promise<{ readonly listening: Port; readonly idle: () => Promise<void> }> {
  const {
    sources,
    public: { limits, trustedProxies },
  } = parts.settings;
  const { load } = parts.runtime;
  const { failuresPerSecond } = limits;
  const budgets = createFailureBudgets({ failuresPerSecond, nowMs });
  const pipeline = createPipeline({ ...pipelineParts(parts), budgets, capacity: loop.capacity });
  const app = createPublicApp({
    pipeline,
    urls: callbackUrls(sources),
    trustedProxies,
    bodyBytes: limits.bodyBytes,
    arrivals,
    onUnserved(unserved) {
      load.unserved(unserved);
      budgets.charge(unserved.address, 'unserved');
      return budgets.excessReason(unserved.address) === undefined ? 'keep' : 'close';
    },
  });
  const isTrustedProxy = createProxyCheck(app);
  const listening = await open('public', app, {
    limits,
    arrivals,
    isTrustedProxy,
    isBlocked: budgets.isBlocked,
    onDropped: load.connectionClosed,
    onMisuse(address, reason) {
      load.unserved({ reason, address });
      // The sender of a request that a gateway passed on is not known.
      if (!isTrustedProxy(address)) budgets.charge(address, 'misuse');
    },
  });
  return { listening, idle: pipeline.idle };
}

function pipelineParts({ settings, clock, log, keys, plugins, runtime }: PortsParts) {
  const { store, metrics, activity, follower, load, unpreparedReason, isStopping } = runtime;
  const { callbacks, held, outputs } = settings.public.limits;
  const { unauthenticatedPerMinute } = settings.log;
  const groups = groupsOf(settings);
  return {
    store,
    authenticator: keys.current,
    policies: follower,
    ask: plugins.ask,
    people: peopleOf(settings, { store, clock, log }),
    notReady() {
      const because = unpreparedReason();
      return because === undefined ? undefined : failure('NOT_READY', because);
    },
    answerFormat: answerFormats(settings.sources),
    bindsScheme: schemeBinding(settings.sources),
    groupOf: (source: string) => groups.get(source),
    report: createCallbackObserver({ log, metrics, activity, clock, unauthenticatedPerMinute }),
    onTurnedAway: load.callbackTurnedAway,
    callbacks,
    held,
    isStopping,
    outputs,
    answerTimeoutMs: settings.answerTimeoutMs,
    clock,
  };
}

const OPS_FAILURES_PER_SECOND = 20;

async function openOps(
  { settings, clock, log, secrets, runtime, console }: PortsParts,
  open: Open,
): Promise<Port> {
  const { readiness, scrape, store, metrics, load } = runtime;
  const { token, hosts, releases } = settings.ops;
  const { unauthenticatedPerMinute } = settings.log;
  const forwards = createForwards(console.target);
  const api = {
    store,
    sources: orderSources(settings),
    deployment: settings.deployment,
    token: token && (() => acceptedSecrets(token, secrets.read)),
    tokenUsed: (used: string) => metrics.keyUsed('ops.token', used, clock()),
    releases,
    simulate: forwards.simulate,
    fourEyes: fourEyesOf(settings, { store: () => Promise.resolve(store), clock }),
    clock,
    onDenied: createDenialObserver({ log, metrics, clock, unauthenticatedPerMinute }),
  };
  const app = createOpsApp({
    readiness,
    metrics: scrape,
    api,
    console: isWithService(settings.console) ? forwards.pages : undefined,
    hosts,
    onFailed: logOpsFailures(log),
  });
  const budgets = createFailureBudgets({ failuresPerSecond: OPS_FAILURES_PER_SECOND, nowMs });
  return open('ops', app, {
    limits: opsLimits(settings.public.limits),
    isBlocked: budgets.isBlocked,
    onMisuse(address, reason) {
      load.unserved({ reason, address });
      budgets.charge(address, 'misuse');
    },
  });
}

interface Gate {
  readonly before: (app: RequestListener) => RequestListener;
  readonly open: () => void;
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
