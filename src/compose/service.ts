import { type AnswerFormat, jsonAnswer, plainAnswer } from '../callback/answer.ts';
import { type Failure, failure, messageOf } from '../errors.ts';
import { createOpsApp } from '../http/ops.ts';
import { type CallbackUrl, PAYMENT_PATH, createPublicApp } from '../http/public.ts';
import { type Listening, type TlsContext, listen } from '../http/server.ts';
import type { Log } from '../observe/log.ts';
import { type Pipeline, createPipeline } from '../pipeline/pipeline.ts';
import { demoCredentials } from '../settings/demo.ts';
import type { Settings, SourceSettings } from '../settings/schema.ts';
import { type Secrets, createSecrets } from '../settings/secrets.ts';
import type { Authenticator } from '../signature/authenticate.ts';
import type { Clock } from '../values/clock.ts';
import { type Backstage, createBackstage } from './backstage.ts';
import { authenticatorOf } from './keys.ts';
import { openStore, readPem } from './store.ts';

export interface Service {
  readonly publicUrl: string;
  readonly opsUrl: string;
  /** Answers what is under way, within `public.shutdownGraceMs`, and closes everything. */
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
 * Puts the parts together and serves. Faults in settings, keys or the store's safety reject before a port is open; a store
 * that can't be reached does not: the service answers FAILURE until it is there, and `/readyz` says so.
 */
export async function startService(parts: ServiceParts): Promise<Service> {
  const { settings, log } = parts;
  const secrets = createSecrets({ env: parts.env, pollMs: SECRETS_POLL_MS });
  const keys = followKeys(settings, secrets, log);
  const opened = await openStore(settings.store, secrets.read, parts.clock);
  const backstage = await createBackstage({ ...parts, opened }).catch(async (thrown: unknown) => {
    await opened.store.close();
    throw thrown;
  });
  const pipeline = createPipeline({
    store: backstage.store,
    authenticator: keys.current,
    following: backstage.follower,
    admit: () => admit(backstage),
    answerFormat: answerFormats(settings.sources),
    report: backstage.report,
    clock: parts.clock,
    answerTimeoutMs: settings.answerTimeoutMs,
  });
  const servers = await openPorts(settings, secrets, pipeline, backstage).catch(async (thrown: unknown) => {
    backstage.stop();
    await opened.store.close();
    throw thrown;
  });
  const stopWatching = secrets.watch(() => {
    keys.reload();
    const { tls } = settings.public;
    if (tls !== undefined) reread(log, 'tls', () => servers.public.useTls(tlsContext(tls, secrets)));
  });
  describeSources(settings, secrets, keys.current(), log);
  return {
    publicUrl: servers.public.url,
    opsUrl: servers.ops.url,
    async stop() {
      backstage.shuttingDown();
      stopWatching();
      await servers.public.stop(settings.public.shutdownGraceMs);
      await pipeline.idle();
      await servers.ops.stop(0);
      backstage.stop();
      await opened.store.close();
    },
  };
}

/** Until the store has been looked at, nothing may be approved. */
function admit(backstage: Backstage): Failure | undefined {
  const { unprepared } = backstage;
  const because = unprepared();
  return because === undefined ? undefined : failure('NOT_READY', because);
}

interface Keys {
  readonly current: () => Authenticator;
  readonly reload: () => void;
}

/** The sources' keys, read again when a file changed. Files that can't be read leave the keys as they were, with an alarm. */
function followKeys(settings: Settings, secrets: Secrets, log: Log): Keys {
  let authenticator = authenticatorOf(settings, secrets.read);
  return {
    current: () => authenticator,
    reload: () =>
      reread(log, 'keys', () => {
        authenticator = authenticatorOf(settings, secrets.read);
      }),
  };
}

function reread(log: Log, what: 'keys' | 'tls', read: () => void): void {
  try {
    read();
    log.info(`${what}-reread`);
  } catch (thrown) {
    log.error(`${what}-unreadable`, { because: `${messageOf(thrown)}; what was read before stays in use` });
  }
}

async function openPorts(
  settings: Settings,
  secrets: Secrets,
  pipeline: Pipeline,
  backstage: Backstage,
): Promise<{ public: Listening; ops: Listening }> {
  const { host, port, limits, tls, trustedProxies } = settings.public;
  const opsApp = createOpsApp({ readiness: backstage.readiness, metrics: backstage.metrics });
  const ops = await listen(opsApp, { ...settings.ops, limits: settings.public.limits, setting: 'ops' });
  try {
    const urls = settings.sources.flatMap(urlsOf);
    const payments: CallbackUrl = { path: PAYMENT_PATH, route: { callback: 'payment' }, secret: false };
    const app = createPublicApp({
      pipeline,
      urls: [payments, ...urls],
      trustedProxies,
      bodyBytes: limits.bodyBytes,
    });
    const context = tls === undefined ? undefined : tlsContext(tls, secrets);
    return { ops, public: await listen(app, { host, port, limits, tls: context, setting: 'public' }) };
  } catch (thrown) {
    await ops.stop(0);
    throw thrown;
  }
}

function tlsContext(tls: NonNullable<Settings['public']['tls']>, secrets: Secrets): TlsContext {
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

function answerFormats(sources: Settings['sources']): (source: string) => AnswerFormat {
  const formats = new Map(sources.map((source) => [source.name, formatOf(source)]));
  return (source) => formats.get(source) ?? plainAnswer;
}

function formatOf(source: SourceSettings): AnswerFormat {
  if (source.callback !== 'payment' || source.answer === 'plain') return plainAnswer;
  return source.answer === 'json' ? jsonAnswer : source.answer;
}

/** One line a source with the fingerprints of its keys, and a warning for whatever weakens it. */
function describeSources(settings: Settings, secrets: Secrets, authenticator: Authenticator, log: Log): void {
  for (const { source, accepts, keys, warnings } of authenticator.describe()) {
    const fingerprints = keys.map(({ role, fingerprint }) => `${role} ${fingerprint}`);
    log.info('source', { source, authenticatedBy: accepts.join(', '), because: fingerprints.join(', ') });
    for (const because of warnings) log.warn('source-weak', { source, because });
  }
  const weak = [...demoCredentials(settings, secrets.read), ...secrets.warnings()];
  for (const because of weak) log.warn('secret-weak', { because });
}
