import { messageOf } from '../errors.ts';
import type { AskPlugin } from '../pipeline/decide.ts';
import type { PluginAnswer, PluginQuestion } from '../policy/facts.ts';
import type { Clock } from '../values/clock.ts';
import type { ReadSecret } from '../values/secret.ts';
import type { ModuleConfig, ServiceConfig } from './config.ts';
import { type Guarded, type ReportPlugin, createGuard, failed } from './guard.ts';
import type { AskedCallback } from './module-interface.ts';
import { questionOf } from './question.ts';
import { type ServiceClient, type ServiceKeys, createServiceClient } from './service-client.ts';
import { startThreads } from './threads.ts';

export interface PluginsParts {
  readonly services: readonly ServiceConfig[];
  readonly modules: readonly ModuleConfig[];
  readonly readSecret: ReadSecret;
  /** The text of a PEM file; `setting` is for the fault if it can't be read. */
  readonly readPem: (file: string, setting: string) => string;
  readonly clock: Clock;
  readonly report: ReportPlugin;
  /** After each question to one that the settings name. */
  readonly answered: (
    question: Pick<PluginQuestion, 'of' | 'name'>,
    verdict: PluginAnswer['verdict'],
  ) => void;
}

/** Whoever the settings name, ready to be asked. */
export interface Plugins {
  readonly ask: AskPlugin;
  /** Reads secrets and authorities again. Throws if any can't be read; then all stay as they were. */
  readonly reload: () => void;
  /** A sentence for each, without a secret. */
  readonly describe: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** Somebody who can be asked, behind what bounds it. */
interface Asked {
  readonly guarded: Guarded;
  readonly ask: (question: AskedCallback) => Promise<PluginAnswer>;
}

/**
 * Loads the modules, and makes ready to ask services and modules. Rejects with SETTINGS_INVALID or
 * SECRET_UNREADABLE; a service that is not there does not keep it from starting.
 */
export async function createPlugins(parts: PluginsParts): Promise<Plugins> {
  const { services, modules, report, clock } = parts;
  const keysNow = (): readonly ServiceKeys[] => services.map((config) => keysOf(config, parts));
  const keys = keysNow();
  const known = new Map<string, Asked>();
  const clients: ServiceClient[] = [];
  const closing: (() => Promise<void>)[] = [];
  let closed = false;

  async function close(): Promise<void> {
    closed = true;
    for (const client of clients) client.close();
    await Promise.all(closing.map((end) => end()));
  }
  for (const [index, config] of services.entries()) {
    const own = keys[index];
    if (own === undefined) throw new Error(`service ${config.name} has no keys`);
    const client = createServiceClient(config, own, clock);
    clients.push(client);
    const guarded = createGuard(`service ${config.name}`, config, report);
    known.set(`service:${config.name}`, { guarded, ask: client.ask });
  }
  try {
    for (const config of modules) {
      const threads = await startThreads(config, report);
      closing.push(threads.close);
      const guarded = createGuard(`module ${config.name}`, config, report);
      const ask: Asked['ask'] = (question) => threads.ask({ ...question, module: config.name });
      known.set(`module:${config.name}`, { guarded, ask });
    }
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return {
    async ask(question, callback, timeoutMs) {
      const { of, name } = question;
      const asked = known.get(`${of}:${name}`);
      if (asked === undefined) return failed(unknown(question, of === 'service' ? services : modules));
      if (closed) return failed('the service is shutting down');
      const answer = await askOne(asked, question, () => questionOf(question, callback, clock()), timeoutMs);
      parts.answered({ of, name }, answer.verdict);
      return answer;
    },
    reload() {
      for (const [index, now] of keysNow().entries()) clients[index]?.useKeys(now);
    },
    describe: () => [
      ...services.map(({ name, url }) => `service ${name} is asked at ${new URL(url).origin}`),
      ...modules.map(({ name, file, sha256 }) => `module ${name} is ${file}, SHA-256 ${sha256}`),
    ],
    close,
  };
}

async function askOne(
  { guarded, ask }: Asked,
  { of, name }: PluginQuestion,
  question: () => AskedCallback,
  timeoutMs: number,
): Promise<PluginAnswer> {
  try {
    const asked = question();
    return await guarded(() => ask(asked), timeoutMs);
  } catch (thrown) {
    return failed(`${of} ${name} can't be asked: ${messageOf(thrown)}`);
  }
}

function keysOf(
  { name, secret, ca }: ServiceConfig,
  { readSecret, readPem }: Pick<PluginsParts, 'readSecret' | 'readPem'>,
): ServiceKeys {
  return {
    secret: readSecret(secret),
    ca: ca === undefined ? undefined : readPem(ca, `the ca of service ${name}`),
  };
}

function unknown({ of, name }: PluginQuestion, known: readonly { readonly name: string }[]): string {
  const names = known.length === 0 ? 'none' : known.map((each) => each.name).join(', ');
  return `no ${of} of the settings is called ${name}; known: ${names}`;
}
