import { type Platform, createPlatform } from '../client.ts';
import { PlatformError } from '../error.ts';
import type { PlatformConfig, PlatformParts } from '../connection.ts';
import { APP_KEY, type Received, SECRET, keys } from './plain-platform.ts';

/** Where the clock of these tests stands. */
export const NOW_MS = Date.UTC(2026, 2, 2, 12);

export function credentials(scheme: Received['scheme']): PlatformConfig['credentials'] {
  const { platform, merchant } = keys();
  return scheme === 'md5'
    ? { scheme, appKey: APP_KEY, secret: SECRET, platformKey: platform.publicText }
    : { scheme, appKey: APP_KEY, merchantKey: merchant.privateText, platformKey: platform.publicText };
}

/** A client whose pauses take no time. `pauses` receives their lengths. */
export function client(
  url: string,
  {
    scheme = 'md5',
    pauses = [],
    ...config
  }: Partial<PlatformConfig> & { scheme?: Received['scheme']; pauses?: number[] } = {},
): Platform {
  const parts: PlatformParts = {
    clock: () => NOW_MS,
    random: () => 0.5,
    pause(ms, signal) {
      pauses.push(ms);
      return signal?.aborted === true ? Promise.reject(new Error('aborted')) : Promise.resolve();
    },
  };
  return createPlatform({ url, credentials: credentials(scheme), timeoutMs: 60_000, ...config }, parts);
}

/** The PlatformError with which a call ends. */
export async function errorOf(call: Promise<unknown>): Promise<PlatformError> {
  const ended = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (ended instanceof PlatformError) return ended;
  throw new Error('the call did not end with a PlatformError', { cause: ended });
}
