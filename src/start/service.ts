import { setTimeout as pause } from 'node:timers/promises';
import type { ServiceState } from '../console/service-state.ts';
import { messageOf } from '../errors.ts';
import { createAlarms } from '../notifications/alarms.ts';
import { type Notifications, createNotifications } from '../notifications/notifications.ts';
import type { Log } from '../observe/log.ts';
import type { Plugins } from '../plugins/plugins.ts';
import { isWithService, originOf } from '../settings/console.ts';
import { platformWarning } from '../settings/platform.ts';
import type { Settings } from '../settings/schema.ts';
import { type Secrets, createSecrets, demoCredentials } from '../settings/secrets.ts';
import { type Authenticator, sharedKeys } from '../signature/authenticate.ts';
import { createDecryptionThreads } from '../signature/decryption.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { replicaName } from './background.ts';
import { createConsoleProcess } from './console-process.ts';
import { type WatchedKeys, acceptedKeys, watchKeys } from './files.ts';
import { closeIfFailed } from './opened.ts';
import { openPlugins } from './plugins.ts';
import { type Ports, openPorts } from './ports.ts';
import type { Reconciliation } from './reconciliation.ts';
import { type Runtime, createRuntime } from './runtime.ts';
import { groupsOf, missingStoreFile, openStore } from './store.ts';
import { watchRequests } from './waiting-requests.ts';
import { openTracing } from './tracing.ts';

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

/**
 * Builds the parts and serves. The ports are opened before anything is written, and requests wait until the
 * store is prepared.
 *
 * Rejects for a fault in settings, keys, ports or the safety of the store; no request was answered then. A
 * store that can't be reached is not a fault: the service answers FAILURE until the store answers, and
 * `/readyz` says so.
 */
export function startService(parts: ServiceParts): Promise<Service> {
  return closeIfFailed(parts.log, (opened) => start(parts, opened));
}

/** At a stop, how long notifications that wait are tried, within `public.shutdownGraceMs`. */
const NOTIFIED_MS = 2000;

/** What is pushed on the stack last is closed first: a stop first finishes the callbacks. */
async function start(given: ServiceParts, opened: AsyncDisposableStack): Promise<Service> {
  const { settings, env, clock } = given;
  const secrets = createSecrets({ env });
  const passkeys = settings.console?.passkeys;
  const notifications = createNotifications({
    settings: settings.notifications,
    deployment: settings.deployment,
    consoleOrigin: passkeys && originOf(passkeys),
    store: () => store,
    readSecret: secrets.read,
    clock,
    log: given.log,
  });
  const { notify } = notifications;
  const alarms = createAlarms({ notify, replica: replicaName() });
  const log = alarms.watch(given.log);
  const parts = { ...given, log };
  opened.defer(await openTracing(settings, secrets, log));
  const threads = createDecryptionThreads();
  opened.defer(() => threads.close());
  const keys = watchKeys(settings, secrets.read, { log, threads });
  const store = await openServiceStore(parts, secrets);
  opened.defer(() => store.close());
  opened.defer(() => {
    alarms.close();
    return notifications.close(Math.min(NOTIFIED_MS, settings.public.shutdownGraceMs));
  });
  let reconciliation: Reconciliation | undefined;
  const state = (): Promise<ServiceState> => stateOf(runtime, reconciliation);
  const console = createConsoleProcess({ ...parts, state });
  opened.defer(() => console.close());
  const consoleHealth = isWithService(settings.console) ? console.health : undefined;
  const runtime = createRuntime({
    settings,
    clock,
    log,
    notify,
    store,
    unreadableKeys: keys.unreadable,
    consoleHealth,
  });
  opened.defer(() => runtime.stop());
  const { metrics } = runtime;
  metrics.notifications(notifications.state);
  const plugins = await openPlugins(parts, secrets, {
    answered: metrics.pluginAnswered,
    secretUsed: (service, secret) => metrics.keyUsed(`service ${service}`, secret, clock()),
  });
  opened.defer(() => plugins.close());
  const ports = await openPorts({ ...parts, secrets, keys, threads, plugins, runtime, console }, opened);
  await runtime.start();
  ports.begin();
  if (isWithService(settings.console)) void console.target();
  opened.defer(reloadChangedFiles(parts, secrets, { keys, plugins, notifications, ports }));
  metrics.acceptedKeys(() => acceptedKeys(settings, secrets.read, { keys, plugins }));
  describeSources(settings, secrets, keys.current(), log);
  for (const because of plugins.describe()) log.info('inquiry', { because });
  for (const because of notifications.describe()) log.info('notifications', { because });
  const stopWatching = watchRequests({ settings, store: runtime.store, clock, log, notify, metrics });
  opened.defer(stopWatching);
  reconciliation = await reconcileDays(parts, runtime);
  opened.defer(() => finishCallbacks(settings, { ports, runtime, reconciliation }));
  const { url: publicUrl } = ports.public;
  return { publicUrl, opsUrl: ports.ops.url, state, stop: () => opened.disposeAsync() };
}

/** Only a service creates an embedded store, and the log says so. */
async function openServiceStore({ settings, clock, log }: ServiceParts, secrets: Secrets): Promise<Store> {
  const missing = missingStoreFile(settings.store);
  const groups = groupsOf(settings);
  const store = await openStore(settings.store, secrets.read, clock, { as: 'service', groups });
  if (missing !== undefined) {
    const because =
      `there was no store at ${missing}: a new one was created, ` +
      'which knows no decisions, no limits and no lists';
    log.warn('store-created', { because });
  }
  return store;
}

interface ServingParts {
  readonly ports: Ports;
  readonly runtime: Runtime;
  readonly reconciliation: Reconciliation | undefined;
}

/** Says that the service is not ready, and answers what still arrives. */
async function finishCallbacks(
  { public: { shutdownDelayMs, shutdownGraceMs }, answerTimeoutMs }: Settings,
  { ports, runtime, reconciliation }: ServingParts,
): Promise<void> {
  runtime.beginShutdown();
  const reconciliationStopped = reconciliation?.stop();
  ports.public.drain();
  await pause(shutdownDelayMs);
  await ports.public.stop(shutdownGraceMs);
  // All clients were answered or disconnected. Decisions that the store still makes have their own
  // time-outs.
  const idleMs = Math.max(shutdownGraceMs, answerTimeoutMs);
  await Promise.race([ports.idle(), pause(idleMs, undefined, { ref: false })]);
  await reconciliationStopped;
}

/** What the console shows of this service. */
async function stateOf(
  { readiness, activity }: Pick<Runtime, 'readiness' | 'activity'>,
  reconciliation: Reconciliation | undefined,
): Promise<ServiceState> {
  return {
    readiness: await readiness(),
    activity: activity.state(),
    reconciliationFailure: reconciliation?.failure(),
  };
}

/** Reconciles each day if the settings say so. The module is loaded only then. */
async function reconcileDays(
  { settings: { reconcile }, settingsFile, env, clock, log }: ServiceParts,
  { metrics }: Runtime,
): Promise<Reconciliation | undefined> {
  const { directory } = reconcile;
  if (directory === undefined) return undefined;
  const { startReconciliation } = await import('./reconciliation.ts');
  const settings = { ...reconcile, directory };
  return startReconciliation({ settings, settingsFile, env, clock, log, metrics });
}

interface ReloadedParts {
  readonly keys: WatchedKeys;
  readonly plugins: Pick<Plugins, 'reload'>;
  readonly notifications: Pick<Notifications, 'reload'>;
  readonly ports: Ports;
}

/**
 * Reads keys, secrets and certificates again when their files change. Returns the function that ends this.
 */
function reloadChangedFiles(
  { settings, log }: ServiceParts,
  secrets: Secrets,
  { keys, plugins, notifications, ports }: ReloadedParts,
): () => void {
  return secrets.watch(() => {
    keys.reload();
    if (settings.services.length > 0) reloadFiles(log, 'inquiry-keys', plugins.reload);
    if (settings.notifications.length > 0) reloadFiles(log, 'notification-keys', notifications.reload);
    for (const port of ['public', 'ops'] as const) {
      if (settings[port].tls !== undefined) reloadFiles(log, 'tls', ports[port].reloadTls);
    }
  });
}

function reloadFiles(log: Log, what: 'tls' | 'inquiry-keys' | 'notification-keys', read: () => void): void {
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
