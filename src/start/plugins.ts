import type { Log } from '../observe/log.ts';
import { type Plugins, type PluginsParts, createPlugins } from '../plugins/plugins.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { SimulationParts } from '../simulation/simulate-live.ts';
import { type Simulate, createSimulator } from '../simulation/simulator.ts';
import type { Clock } from '../values/clock.ts';
import { orderSources, schemeBinding } from './sources.ts';
import { groupsOf } from './store.ts';

/** Starts the services and modules of the settings. */
export function openPlugins(
  { settings, clock, log }: { readonly settings: Settings; readonly clock: Clock; readonly log: Log },
  secrets: Secrets,
  answered: PluginsParts['answered'],
): Promise<Plugins> {
  const { services, modules } = settings;
  return createPlugins({
    services,
    modules,
    clock,
    readSecret: secrets.read,
    readPem: secrets.readPem,
    report: (event, because) =>
      event === 'inquiry-resumed' ? log.info(event, { because }) : log.error(event, { because }),
    answered,
  });
}

/** Simulates callbacks of the sources of the settings. */
export function simulatorOf(
  settings: Settings,
  parts: Pick<SimulationParts, 'store' | 'policies' | 'clock' | 'ask'>,
): Simulate {
  const { sources, answerTimeoutMs } = settings;
  const { outputs } = settings.public.limits;
  const groups = groupsOf(settings);
  const groupOf = (source: string): string | undefined => groups.get(source);
  const bindsScheme = schemeBinding(sources);
  return createSimulator(
    { ...parts, answerTimeoutMs, outputs, bindsScheme, groupOf },
    orderSources(settings),
  );
}
