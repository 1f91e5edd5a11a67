import { type Asking, createAsk } from '../plugins/ask.ts';
import type { Log } from '../observe/log.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { Clock } from '../values/clock.ts';
import type { Runtime } from './runtime.ts';
import { readPem } from './store.ts';

/** The services and modules of the settings, ready to be asked. */
export function openAsking(
  { settings, clock, log }: { readonly settings: Settings; readonly clock: Clock; readonly log: Log },
  secrets: Secrets,
  { inquiryAnswered }: Pick<Runtime, 'inquiryAnswered'>,
): Promise<Asking> {
  const { services, modules } = settings;
  return createAsk({
    services,
    modules,
    clock,
    readSecret: secrets.read,
    readPem(file, setting) {
      secrets.follow(file);
      return readPem(file, setting);
    },
    tell: (event, because) =>
      event === 'inquiry-resumed' ? log.info(event, { because }) : log.error(event, { because }),
    answered: inquiryAnswered,
  });
}
