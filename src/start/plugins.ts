import type { Log } from '../observe/log.ts';
import { type Plugins, type PluginsParts, createPlugins } from '../plugins/plugins.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { Clock } from '../values/clock.ts';

/** Starts the services and modules of the settings. */
export function openPlugins(
  { settings, clock, log }: { readonly settings: Settings; readonly clock: Clock; readonly log: Log },
  secrets: Secrets,
  observers: Pick<PluginsParts, 'answered' | 'secretUsed'>,
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
    ...observers,
  });
}
