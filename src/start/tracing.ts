import { CountersignError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import { VERSION } from '../values/version.ts';

/** The spans that wait at a stop are sent within this time, and within `public.shutdownGraceMs`. */
const STOP_MS = 2000;

/**
 * Sends traces if the settings say so. Its package is loaded only then. Returns the function that sends the rest.
 * Rejects with SETTINGS_INVALID if the package is not installed, and with SECRET_UNREADABLE.
 */
export async function openTracing(
  { tracing: { endpoint, headers: named, samplePercent }, public: { shutdownGraceMs } }: Settings,
  { read }: Pick<Secrets, 'read'>,
  log: Log,
): Promise<() => Promise<void>> {
  if (endpoint === undefined) return () => Promise.resolve();
  const headers = (): Record<string, string> =>
    Object.fromEntries(named.map(({ name, secret }) => [name, read(secret)]));
  headers();
  const { startTracing } = await loadPackage();
  const stop = startTracing({
    endpoint,
    headers,
    samplePercent,
    version: VERSION,
    reportLost: (count, because) => log.warn('traces-lost', { count, because }),
  });
  return () => stop(Math.min(STOP_MS, shutdownGraceMs));
}

async function loadPackage() {
  try {
    return await import('../../packages/opentelemetry/index.ts');
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND'))
      throw thrown;
    throw new CountersignError(
      'SETTINGS_INVALID',
      'tracing: the package countersign-opentelemetry is not installed; run `npm ci` where Countersign is ' +
        'installed, or delete the section',
    );
  }
}
