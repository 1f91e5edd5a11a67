import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlatformConfig } from '../../packages/platform/connection.ts';
import { type Place, place } from '../cli/terminal.ts';
import type { TestServiceOptions } from '../service.ts';
import {
  APP_KEY,
  type TestSandbox,
  type TestScheme,
  receiverSources,
  sharedCredentials,
} from '../../packages/sandbox/test/sandbox.ts';

/** What a client of the project needs to call a sandbox. It is patient, and asks once. */
export function configOf({ url }: Pick<TestSandbox, 'url'>, scheme: TestScheme): PlatformConfig {
  const text = (file: string): string => readFileSync(join(sharedCredentials(), file), 'utf8').trim();
  const own = { appKey: APP_KEY, platformKey: text('platform.public.pem') };
  const credentials =
    scheme === 'md5'
      ? { ...own, scheme, secret: text('shop.secret') }
      : { ...own, scheme, merchantKey: text('merchant.private.pem') };
  return { url: new URL(url).origin, credentials, timeoutMs: 60_000, retries: 0 };
}

/** A folder with settings for a sandbox, and a store in which no service ever ran. */
export function placeFor({ url }: Pick<TestSandbox, 'url'>, options: TestServiceOptions = {}): Place {
  const platform = { url: new URL(url).origin, timeoutMs: '60000', retries: '0' };
  return place({
    ...options,
    settings: { platform, sources: receiverSources(sharedCredentials()), ...options.settings },
  });
}
