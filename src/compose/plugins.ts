import { type Plugins, createPlugins } from '../plugins/plugins.ts';
import type { Log } from '../observe/log.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { Clock } from '../values/clock.ts';
import type { Runtime } from './runtime.ts';
import { readPem } from './store.ts';

/** The services and modules of the settings, ready to be asked. */
export function openPlugins(
  { settings, clock, log }: { readonly settings: Settings; readonly clock: Clock; readonly log: Log },
  secrets: Secrets,
  { pluginAnswered }: Pick<Runtime, 'pluginAnswered'>,
): Promise<Plugins> {
  const { services, modules } = settings;
  return createPlugins({
    services,
    modules,
    clock,
    readSecret: secrets.read,
    readPem(file, setting) {
      secrets.follow(file);
      return readPem(file, setting);
    },
    report: (event, because) =>
      event === 'inquiry-resumed' ? log.info(event, { because }) : log.error(event, { because }),
    answered: pluginAnswered,
  });
}
