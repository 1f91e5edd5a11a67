import { onTestFinished } from 'vitest';
import { readFileSync } from 'node:fs';
import { type Plugins, createPlugins } from '../../src/plugins/plugins.ts';
import type { ModuleConfig, ServiceConfig } from '../../src/plugins/config.ts';
import type { PluginAnswer } from '../../src/policy/facts.ts';
import type { Clock } from '../../src/values/clock.ts';
import type { Json } from '../../src/values/canonical.ts';
import type { Callback } from '../../src/callback/callback.ts';
import { payment } from '../policy/callbacks.ts';
import { SECRET } from './other-side.ts';

export const NOW_MS = Date.UTC(2026, 2, 2, 10);

/** A busy machine must not make a test fail: what should answer has this long. */
const PATIENCE_MS = 5000;

const LIMITS = {
  timeoutMs: PATIENCE_MS,
  concurrency: 4,
  waiting: 4,
  breaker: { failures: 100, cooldownMs: 50 },
} as const;

export interface TestAsking {
  readonly plugins: Plugins;
  /** What the one service or module answers. */
  readonly ask: (
    over?: { readonly parameters?: Json; readonly callback?: Callback; readonly withinMs?: number },
    name?: string,
  ) => Promise<PluginAnswer>;
  /** `event: because`, as an operator is told. */
  readonly told: readonly string[];
  readonly counted: readonly string[];
  /** From now on the secret is this one; none can't be read. */
  readonly setSecret: (secret: string | undefined) => void;
}

async function askingOf(
  type: 'service' | 'module',
  configs: {
    readonly services?: readonly ServiceConfig[];
    readonly modules?: readonly ModuleConfig[];
    readonly clock?: Clock | undefined;
  },
): Promise<TestAsking> {
  let secret: string | undefined = SECRET;
  const told: string[] = [];
  const counted: string[] = [];
  const plugins = await createPlugins({
    services: configs.services ?? [],
    modules: configs.modules ?? [],
    clock: configs.clock ?? (() => NOW_MS),
    readSecret: () => {
      if (secret === undefined) throw new Error('no secret is there');
      return secret;
    },
    readPem: (file) => readFileSync(file, 'utf8'),
    report: (event, because) => void told.push(`${event}: ${because}`),
    secretUsed: () => undefined,
    answered: (question, verdict) => void counted.push(`${question.type} ${question.name} ${verdict}`),
  });
  onTestFinished(() => plugins.close());
  const [first] = [...(configs.services ?? []), ...(configs.modules ?? [])];
  return {
    plugins,
    told,
    counted,
    ask: (
      { parameters = {}, callback = payment(), withinMs = 60_000 } = {},
      name = first?.name ?? 'nobody',
    ) => plugins.ask({ type, name, parameters }, callback, withinMs),
    setSecret: (next) => void (secret = next),
  };
}

/** One service, called `risk`. */
export function askingService(
  url: string,
  over: Partial<ServiceConfig> = {},
  clock?: Clock,
): Promise<TestAsking> {
  const risk = { ...LIMITS, name: 'risk', url, secret: { env: 'S' }, ...over };
  return askingOf('service', { services: [risk], clock });
}

/** One module, called `own-check`. */
export function askingModule(
  config: Pick<ModuleConfig, 'file' | 'sha256'> & Partial<ModuleConfig>,
): Promise<TestAsking> {
  return askingOf('module', {
    modules: [
      { ...LIMITS, name: 'own-check', memoryMb: 64, ...config, concurrency: config.concurrency ?? 1 },
    ],
  });
}
