import { setTimeout as pause } from 'node:timers/promises';
import type { ServiceState } from '../console/service-state.ts';
import { failure, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { createFailureBudgets } from '../pipeline/address-budgets.ts';
import { measureEventLoop } from '../pipeline/event-loop.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import type { Plugins } from '../plugins/plugins.ts';
import { isWithService } from '../settings/console.ts';
import { platformWarning } from '../settings/platform.ts';
import type { Settings } from '../settings/schema.ts';
import { type Secrets, createSecrets, demoCredentials } from '../settings/secrets.ts';
import { type Authenticator, sharedKeys } from '../signature/authenticate.ts';
import type { DecryptionThreads } from '../signature/blocks.ts';
import { createDecryptionThreads } from '../signature/decryption.ts';
import type { Clock } from '../values/clock.ts';
import { createArrivals } from '../http/arrivals.ts';
import { startHeartbeats } from './background.ts';
import { createConsoleProcess } from './console-process.ts';
import { type WatchedKeys, watchKeys } from './key-files.ts';
import { openPlugins } from './plugins.ts';
import { type Ports, openPorts } from './ports.ts';
import type { Reconciliation } from './reconciliation.ts';
import { type Runtime, createRuntime } from './runtime.ts';
import { answerFormats, schemeBinding } from './sources.ts';
import { groupsOf, missingStoreFile, openStore } from './store.ts';
import { portExpiries, tlsContext } from './tls.ts';

export interface Service {
  readonly publicUrl: string;
  readonly opsUrl: string;
  /** What the console shows of this service. */
  readonly state: () => Promise<ServiceState>;
  /**
   * Reports not ready for `public.shutdownDelayMs`, answers the callbacks in flight within
   * `public.shutdownGraceMs`, and closes everything.
   */
  stop(): Promise<void>;
}

export interface ServiceParts {
  readonly settings: Settings;
  /** Where the settings were read from; by default as loadSettings. */
  readonly settingsFile?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often files of secrets are checked for changes. */
const SECRETS_POLL_MS = 1000;

/**
 * Builds the parts and serves. The ports are opened before anything is written, and requests wait until the
 * store is prepared.
 *
 * Rejects for a fault in settings, keys, ports or the safety of the store; no request was answered then. A
 * store that can't be reached is not a fault: the service answers FAILURE until the store answers, and
 * `/readyz` says so.
 */
export async function startService(parts: ServiceParts): Promise<Service> {
  const undos: Undo[] = [];
  try {
    return await start(parts, (undo) => undos.push(undo));
  } catch (thrown) {
    await undoAll(undos, parts.log);
    throw thrown;
  }
}

type Undo = () => void | Promise<unknown>;

/**
 * Undoes the last step first. A failed undo is only logged. It must not hide the fault of the start, or
 * prevent the other undos.
 */
async function undoAll(undos: readonly Undo[], log: Log): Promise<void> {
  for (const undo of undos.toReversed()) {
    try {
      await undo();
    } catch (thrown) {
      log.error('not-closed', { because: messageOf(thrown) });
    }
  }
}

/** Calls `onOpened` with a function for each part that must be closed if the start fails. */
async function start(parts: ServiceParts, onOpened: (undo: Undo) => void): Promise<Service> {
  const { settings, log, clock } = parts;
  const secrets = createSecrets({ env: parts.env, pollMs: SECRETS_POLL_MS });
  const threads = createDecryptionThreads();
  onOpened(() => threads.close());
  const keys = watchKeys(settings, secrets.read, { log, threads });
  const missing = missingStoreFile(settings.store);
  const groups = groupsOf(settings);
  const store = await openStore(settings.store, secrets.read, clock, { as: 'service', groups });
  onOpened(() => store.close());
  if (missing !== undefined) {
    const because =
      `there was no store at ${missing}: a new one was created, ` +
      'which knows no decisions, no limits and no lists';
    log.warn('store-created', { because });
  }
  let reconciliation: Reconciliation | undefined;
  const state = (): Promise<ServiceState> => stateOf(runtime, reconciliation);
  const console = createConsoleProcess({ ...parts, state });
  onOpened(() => console.close());
  const runtime = createRuntime({
    settings,
    clock,
    log,
    store,
    unreadableKeys: keys.unreadable,
    consoleHealth: isWithService(settings.console) ? console.health : undefined,
  });
  onOpened(() => runtime.stop());
  const plugins = await openPlugins(parts, secrets, runtime.pluginAnswered);
  onOpened(() => plugins.close());
  const opened = { runtime, keys, plugins, threads };
  const { stop: stopPipeline, ...served } = composePipeline(parts, opened);
  onOpened(stopPipeline);
  const ports = await openPorts(parts, { secrets, ...served, runtime, console });
  onOpened(() => Promise.all([ports.public.stop(0), ports.ops.stop(0)]));
  await runtime.start();
  ports.begin();
  if (isWithService(settings.console)) void console.target();
  const stopWatching = reloadChangedFiles(parts, secrets, { ...opened, ports });
  const heartbeats = startHeartbeats({ ...runtime, log });
  describeSources(settings, secrets, keys.current(), log);
  for (const because of plugins.describe()) log.info('inquiry', { because });
  reconciliation = await reconcileDays(parts, runtime);
  return {
    publicUrl: ports.public.url,
    opsUrl: ports.ops.url,
    state,
    async stop() {
      const { shutdownDelayMs, shutdownGraceMs } = settings.public;
      runtime.beginShutdown();
      const reconciliationStopped = reconciliation?.stop();
      ports.public.drain();
      await pause(shutdownDelayMs);
      stopWatching();
      await ports.public.stop(shutdownGraceMs);
      // All clients were answered or disconnected. Decisions that the store still makes have their own
      // time-outs.
      const idleMs = Math.max(shutdownGraceMs, settings.answerTimeoutMs);
      await Promise.race([served.pipeline.idle(), pause(idleMs, undefined, { ref: false })]);
      stopPipeline();
      await threads.close();
      await plugins.close();
      await heartbeats.stop();
      await ports.ops.stop(0);
      runtime.stop();
      await reconciliationStopped;
      await console.close();
      await store.close();
    },
  };
}

/** What `start` has opened before the pipeline. */
interface OpenedParts {
  readonly runtime: Runtime;
  readonly keys: WatchedKeys;
  readonly plugins: Plugins;
  readonly threads: DecryptionThreads;
}

function composePipeline(
  { settings, clock }: ServiceParts,
  { runtime, keys, plugins, threads }: OpenedParts,
) {
  const { callbacks, failuresPerSecond, outputs } = settings.public.limits;
  const groups = groupsOf(settings);
  const nowMs = (): number => performance.now();
  const budgets = createFailureBudgets({ failuresPerSecond, nowMs });
  const loop = measureEventLoop(nowMs, settings.answerTimeoutMs, () => threads.waitMs());
  const pipeline = createPipeline({
    store: runtime.store,
    authenticator: keys.current,
    policies: runtime.follower,
    ask: plugins.ask,
    notReady() {
      const because = runtime.unpreparedReason();
      return because === undefined ? undefined : failure('NOT_READY', because);
    },
    answerFormat: answerFormats(settings.sources),
    bindsScheme: schemeBinding(settings.sources),
    groupOf: (source) => groups.get(source),
    report: runtime.report,
    onTurnedAway: (callback) => runtime.load.callbackTurnedAway(callback),
    budgets,
    capacity: () => loop.capacity(),
    callbacks,
    outputs,
    answerTimeoutMs: settings.answerTimeoutMs,
    clock,
  });
  return { pipeline, budgets, arrivals: createArrivals(loop, nowMs), stop: () => loop.stop() };
}

/** What the console shows of this service. */
async function stateOf(
  { readiness, activity }: Pick<Runtime, 'readiness' | 'activity'>,
  reconciliation: Reconciliation | undefined,
): Promise<ServiceState> {
  return {
    readiness: await readiness(),
    activity: {
      sinceMs: activity.sinceMs,
      over: { hour: activity.over('hour'), day: activity.over('day'), week: activity.over('week') },
      alarms: activity.alarms(),
    },
    reconciliationFailure: reconciliation?.failure(),
  };
}

/** Reconciles each day if the settings say so. The module is loaded only then. */
async function reconcileDays(
  { settings: { reconcile }, settingsFile, env, clock, log }: ServiceParts,
  { reconcileMetrics: metrics }: Runtime,
): Promise<Reconciliation | undefined> {
  const { directory } = reconcile;
  if (directory === undefined) return undefined;
  const { startReconciliation } = await import('./reconciliation.ts');
  const settings = { ...reconcile, directory };
  return startReconciliation({ settings, settingsFile, env, clock, log, metrics });
}

/**
 * Reads keys, secrets and certificates again when their files change. Returns the function that ends this.
 */
function reloadChangedFiles(
  { settings, log }: ServiceParts,
  secrets: Secrets,
  { keys, plugins, ports, runtime }: OpenedParts & { readonly ports: Ports },
): () => void {
  return secrets.watch(() => {
    keys.reload();
    if (settings.services.length > 0) reloadFiles(log, 'inquiry-keys', plugins.reload);
    for (const port of ['public', 'ops'] as const) {
      if (settings[port].tls === undefined) continue;
      reloadFiles(log, 'tls', () => {
        const context = tlsContext(settings, port, secrets);
        if (context === undefined) return;
        ports[port].useTls(context);
        runtime.showExpiries(portExpiries(port, context));
      });
    }
  });
}

function reloadFiles(log: Log, what: 'tls' | 'inquiry-keys', read: () => void): void {
  try {
    read();
    log.info(`${what}-reread`);
  } catch (thrown) {
    log.error(`${what}-unreadable`, { because: `${messageOf(thrown)}; what was read before stays in use` });
  }
}

/** Logs the fingerprints of each source's keys, and a warning for each weakness. */
function describeSources(settings: Settings, secrets: Secrets, authenticator: Authenticator, log: Log): void {
  const described = authenticator.describe();
  for (const { source, accepts, keys, warnings } of described) {
    const fingerprints = keys.map(({ role, fingerprint }) => `${role} ${fingerprint}`);
    log.info('source', { source, authenticatedBy: accepts.join(', '), because: fingerprints.join(', ') });
    for (const because of warnings) log.warn('source-weak', { source, because });
  }
  for (const because of sharedKeys(described)) log.warn('source-weak', { because });
  const weakPlatform = platformWarning(settings.platform);
  if (weakPlatform !== undefined) log.warn('platform-weak', { because: weakPlatform });
  const weak = [...demoCredentials(settings, secrets.read), ...secrets.warnings()];
  for (const because of weak) log.warn('secret-weak', { because });
}
