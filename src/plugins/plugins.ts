import { z } from 'zod';
import { type Callback, subjectOf } from '../callback/callback.ts';
import { messageOf } from '../errors.ts';
import { pluginTraces, traced } from '../observe/traces.ts';
import type { AskPlugin } from '../pipeline/decide.ts';
import type { PluginAnswer, PluginQuestion } from '../policy/facts.ts';
import { movementText } from '../policy/movements.ts';
import { formatAmount } from '../values/amount.ts';
import type { Clock } from '../values/clock.ts';
import { type ReadSecret, acceptedSecrets } from '../values/secret.ts';
import type { ModuleConfig, ServiceConfig } from './config.ts';
import { type Limiter, type ReportPlugin, createLimiter, failedAnswer } from './limiter.ts';
import type { PluginInput } from './module-interface.ts';
import { startModule } from './module.ts';
import { type ServiceClient, type ServiceKeys, createServiceClient } from './service.ts';

export interface PluginsParts {
  readonly services: readonly ServiceConfig[];
  readonly modules: readonly ModuleConfig[];
  readonly readSecret: ReadSecret;
  /** Reads the text of a PEM file; `setting` names the setting in an error. */
  readonly readPem: (file: string, setting: string) => string;
  readonly clock: Clock;
  readonly report: ReportPlugin;
  /** Called after each question to a plugin of the settings. */
  readonly answered: (
    question: Pick<PluginQuestion, 'type' | 'name'>,
    verdict: PluginAnswer['verdict'],
  ) => void;
  /** Called for each answer of a service, with which of its secrets signed it. */
  readonly secretUsed: (service: string, secret: string) => void;
}

/** The services and modules of the settings. */
export interface Plugins {
  readonly ask: AskPlugin;
  /**
   * Asks about a simulated callback. The plugin is told so, and its answer counts neither for its breaker nor as
   * `answered`.
   */
  readonly askSimulated: AskPlugin;
  /** Reads all secrets and certificate authorities again. If it throws, all of them stay as they were. */
  readonly reload: () => void;
  /** The secrets of each service, as `secretUsed` names them. */
  readonly secrets: () => readonly (readonly [service: string, secrets: readonly string[]])[];
  /** A sentence for each plugin, without secrets. */
  readonly describe: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** One plugin and its limits. */
interface Plugin {
  readonly limiter: Limiter;
  /** The URL of a service. */
  readonly url?: URL;
  readonly ask: ServiceClient['ask'];
}

/**
 * Loads the modules and creates the clients of the services. Rejects with SETTINGS_INVALID or
 * SECRET_UNREADABLE. An unreachable service is not an error.
 */
export async function createPlugins(parts: PluginsParts): Promise<Plugins> {
  const { services, modules, report, clock } = parts;
  const plugins = new Map<string, Plugin>();
  const clients = services.map((config) => ({
    config,
    client: createServiceClient(config, keysOf(config, parts), {
      clock,
      secretUsed: (secret) => parts.secretUsed(config.name, secret),
    }),
  }));
  const closeModules: (() => Promise<void>)[] = [];
  let closed = false;

  async function close(): Promise<void> {
    closed = true;
    for (const { client } of clients) client.close();
    await Promise.all(closeModules.map((closeModule) => closeModule()));
  }
  for (const { config, client } of clients) {
    const limiter = createLimiter(`service ${config.name}`, config, report);
    plugins.set(`service:${config.name}`, { limiter, url: new URL(config.url), ask: client.ask });
  }
  try {
    for (const config of modules) {
      const module = await startModule(config, report);
      closeModules.push(module.close);
      const limiter = createLimiter(`module ${config.name}`, config, report);
      const ask: Plugin['ask'] = (input) => module.ask({ ...input, module: config.name });
      plugins.set(`module:${config.name}`, { limiter, ask });
    }
  } catch (thrown) {
    await close();
    throw thrown;
  }
  const asking =
    (simulated: boolean): AskPlugin =>
    async (question, callback, timeoutMs) => {
      const { type, name } = question;
      const plugin = plugins.get(`${type}:${name}`);
      if (plugin === undefined) {
        return failedAnswer(unknownPlugin(question, type === 'service' ? services : modules));
      }
      if (closed) return failedAnswer('Countersign is shutting down');
      const inputNow = (): PluginInput => ({
        ...inputOf(question, callback, clock()),
        ...(simulated && { simulated }),
      });
      const message = { type, name, url: plugin.url, headers: {} };
      const ask: Plugin['ask'] = (input) => plugin.ask(input, message.headers);
      const answer = await traced(pluginTraces, message, () =>
        askPlugin({ ...plugin, ask }, question, inputNow, { timeoutMs, simulated }),
      );
      if (!simulated) parts.answered({ type, name }, answer.verdict);
      return answer;
    };
  return {
    ask: asking(false),
    askSimulated: asking(true),
    reload: () => reloadKeys(clients, parts),
    secrets: () => clients.map(({ config, client }) => [config.name, client.secrets()]),
    describe: () => [
      ...services.map(({ name, url }) => `service ${name} is called at ${new URL(url).origin}`),
      ...modules.map(({ name, file, sha256 }) => `module ${name} is ${file}, SHA-256 ${sha256}`),
    ],
    close,
  };
}

async function askPlugin(
  { limiter, ask }: Plugin,
  { type, name }: PluginQuestion,
  inputNow: () => PluginInput,
  { timeoutMs, simulated }: { readonly timeoutMs: number; readonly simulated: boolean },
): Promise<PluginAnswer> {
  try {
    const input = inputNow();
    return await limiter(() => ask(input), timeoutMs, simulated);
  } catch (thrown) {
    return failedAnswer(`${type} ${name} can't be asked: ${messageOf(thrown)}`);
  }
}

const texts = z.record(z.string(), z.string());

/** A callback as plugins get it. Throws if a parameter of the policy is not a text. */
function inputOf({ parameters, movements }: PluginQuestion, callback: Callback, nowMs: number): PluginInput {
  const { source, kind, id, question, values, payouts } = callback;
  const members = [...values].flatMap(([name, memberTexts]): [string, string | readonly string[]][] => {
    const [only, ...others] = memberTexts;
    if (only === undefined) return [];
    return [[name, others.length === 0 ? only : memberTexts]];
  });
  return {
    version: 1,
    at: new Date(nowMs).toISOString(),
    source,
    kind,
    id,
    subject: subjectOf(callback),
    question: { type: question.type, speedUp: question.speedUp },
    members: Object.fromEntries(members),
    payouts: payouts.map(({ to, amount }) => ({ to, amount: formatAmount(amount) })),
    ...(movements === undefined ? {} : { movements: movements.map(movementText) }),
    with: texts.parse(parameters),
  };
}

type KeyReaders = Pick<PluginsParts, 'readSecret' | 'readPem'>;

/** Reads all keys before it changes any client. */
function reloadKeys(
  clients: readonly { readonly config: ServiceConfig; readonly client: ServiceClient }[],
  readers: KeyReaders,
): void {
  const read = clients.map(({ config, client }) => ({ client, keys: keysOf(config, readers) }));
  for (const { client, keys } of read) client.useKeys(keys);
}

function keysOf({ name, secret, ca }: ServiceConfig, { readSecret, readPem }: KeyReaders): ServiceKeys {
  return {
    secrets: acceptedSecrets(secret, readSecret),
    ca: ca === undefined ? undefined : readPem(ca, `the ca of service ${name}`),
  };
}

function unknownPlugin({ type, name }: PluginQuestion, known: readonly { readonly name: string }[]): string {
  const names = known.length === 0 ? 'none' : known.map((each) => each.name).join(', ');
  return `the settings have no ${type} ${name}; they have ${names}`;
}
