import { setTimeout as pause } from 'node:timers/promises';
import { type Failure, failure, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Settings } from '../settings/schema.ts';
import { type Secrets, createSecrets, demoCredentials } from '../settings/secrets.ts';
import { type Authenticator, sharedKeys } from '../signature/authenticate.ts';
import type { Clock } from '../values/clock.ts';
import { createFailureBudgets } from '../pipeline/address-budgets.ts';
import { followEventLoop } from '../pipeline/bounds.ts';
import { createPipeline } from '../pipeline/pipeline.ts';
import { openPlugins } from './plugins.ts';
import { showAttendance } from './attendance.ts';
import { type Runtime, createRuntime } from './runtime.ts';
import { publicExpiries } from './certificates.ts';
import { followKeys } from './followed-keys.ts';
import { openPorts, tlsContext } from './ports.ts';
import { answerFormats } from './sources.ts';
import { openStore } from './store.ts';

export interface Service {
  readonly publicUrl: string;
  readonly opsUrl: string;
  /**
   * Is not ready for `public.shutdownDelayMs`, answers what is under way, within `public.shutdownGraceMs`,
   * and closes everything.
   */
  stop(): Promise<void>;
}

export interface ServiceParts {
  readonly settings: Settings;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often files of secrets are looked at, in milliseconds. */
const SECRETS_POLL_MS = 1000;

/**
 * Puts the parts together and serves. The ports are taken before anything is written, and what comes in waits
 * until the store is prepared. Faults in settings, keys, ports or the store's safety reject, and nothing was
 * answered then; a store that can't be reached does not: the service answers FAILURE until it is there, and
 * `/readyz` says so.
 */
export async function startService(parts: ServiceParts): Promise<Service> {
  const opened: Undo[] = [];
  try {
    return await open(parts, (undo) => opened.push(undo));
  } catch (thrown) {
    await undoAll(opened, parts.log);
    throw thrown;
  }
}

/**
 * The last first. An undo that fails is logged: it hides neither the fault of the start nor the remaining
 * undos.
 */
async function undoAll(opened: readonly Undo[], log: Log): Promise<void> {
  for (const undo of opened.toReversed()) {
    try {
      await undo();
    } catch (thrown) {
      log.error('not-closed', { because: messageOf(thrown) });
    }
  }
}

type Undo = () => void | Promise<unknown>;

/** Names with `opens` what is to be closed if the start fails, the last first. */
async function open(parts: ServiceParts, opens: (undo: Undo) => void): Promise<Service> {
  const { settings, log } = parts;
  const secrets = createSecrets({ env: parts.env, pollMs: SECRETS_POLL_MS });
  const keys = followKeys(settings, secrets.read, log);
  const opened = await openStore(settings.store, secrets.read, parts.clock, { as: 'service' });
  opens(() => opened.store.close());
  if (opened.created !== undefined) {
    log.warn('store-created', {
      because: `there was no store at ${opened.created}: a new one was made, which knows no decision, no limit and no list`,
    });
  }
  const runtime = createRuntime({ ...parts, opened, unreadableKeys: keys.unreadable });
  opens(() => runtime.stop());
  const plugins = await openPlugins(parts, secrets, runtime);
  opens(() => plugins.close());
  const { callbacks, failuresPerSecond, outputs } = settings.public.limits;
  const nowMs = (): number => performance.now();
  const budgets = createFailureBudgets({ failuresPerSecond, nowMs });
  const loop = followEventLoop(nowMs);
  opens(() => loop.stop());
  const pipeline = createPipeline({
    store: runtime.store,
    authenticator: keys.current,
    following: runtime.follower,
    ask: plugins.ask,
    notReady: () => notReady(runtime),
    answerFormat: answerFormats(settings.sources),
    bindsScheme: schemeBinding(settings.sources),
    report: runtime.report,
    turnedAway: (turned) => runtime.tally.turnedAway(turned),
    budgets,
    lagMs: () => loop.lagMs(),
    callbacks,
    outputs,
    answerTimeoutMs: settings.answerTimeoutMs,
    clock: parts.clock,
  });
  const servers = await openPorts(parts, { secrets, pipeline, budgets, runtime });
  opens(() => Promise.all([servers.public.stop(0), servers.ops.stop(0)]));
  await runtime.start();
  servers.begin();
  const stopWatching = secrets.watch(() => {
    keys.reload();
    if (settings.services.length > 0) reread(log, 'inquiry-keys', plugins.reload);
    const { tls } = settings.public;
    if (tls === undefined) return;
    reread(log, 'tls', () => {
      const context = tlsContext(tls, secrets);
      servers.public.useTls(context);
      runtime.showExpiries(publicExpiries(context));
    });
  });
  const attendance = showAttendance({ ...runtime, log });
  describeSources(settings, secrets, keys.current(), log);
  for (const because of plugins.describe()) log.info('inquiry', { because });
  return {
    publicUrl: servers.public.url,
    opsUrl: servers.ops.url,
    async stop() {
      const { shutdownDelayMs, shutdownGraceMs } = settings.public;
      runtime.shuttingDown();
      servers.public.drain();
      await pause(shutdownDelayMs);
      stopWatching();
      await servers.public.stop(shutdownGraceMs);
      // Whoever waited has been answered or cut off; what is still with the store has its own time-outs, and
      // no more than this.
      const idleMs = Math.max(shutdownGraceMs, settings.answerTimeoutMs);
      await Promise.race([pipeline.idle(), pause(idleMs, undefined, { ref: false })]);
      loop.stop();
      await plugins.close();
      await attendance.stop();
      await servers.ops.stop(0);
      runtime.stop();
      await opened.store.close();
    },
  };
}

/** Until the store has been looked at, nothing may be approved. */
function notReady(runtime: Runtime): Failure | undefined {
  const { unprepared } = runtime;
  const because = unprepared();
  return because === undefined ? undefined : failure('NOT_READY', because);
}

function reread(log: Log, what: 'tls' | 'inquiry-keys', read: () => void): void {
  try {
    read();
    log.info(`${what}-reread`);
  } catch (thrown) {
    log.error(`${what}-unreadable`, { because: `${messageOf(thrown)}; what was read before stays in use` });
  }
}

function schemeBinding(sources: Settings['sources']): (source: string) => boolean {
  const free = new Set(
    sources.flatMap((source) => (source.callback === 'payment' && !source.bindScheme ? [source.name] : [])),
  );
  return (source) => !free.has(source);
}

/** One line a source with the fingerprints of its keys, and a warning for whatever weakens it. */
function describeSources(settings: Settings, secrets: Secrets, authenticator: Authenticator, log: Log): void {
  const described = authenticator.describe();
  for (const { source, accepts, keys, warnings } of described) {
    const fingerprints = keys.map(({ role, fingerprint }) => `${role} ${fingerprint}`);
    log.info('source', { source, authenticatedBy: accepts.join(', '), because: fingerprints.join(', ') });
    for (const because of warnings) log.warn('source-weak', { source, because });
  }
  for (const because of sharedKeys(described)) log.warn('source-weak', { because });
  const weak = [...demoCredentials(settings, secrets.read), ...secrets.warnings()];
  for (const because of weak) log.warn('secret-weak', { because });
}
