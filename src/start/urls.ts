import type { CallbackUrl } from '../http/public.ts';
import type { SourceSettings } from '../settings/schema.ts';
import { PAYMENT_PATH } from '../settings/sources.ts';

const PAYMENTS: CallbackUrl = { path: PAYMENT_PATH, route: { callback: 'payment' }, secret: false };

/** The URLs that the public port serves. */
export function callbackUrls(sources: readonly SourceSettings[]): readonly CallbackUrl[] {
  return [PAYMENTS, ...sources.flatMap(urlsOf)];
}

function urlsOf(source: SourceSettings): readonly CallbackUrl[] {
  if (source.callback === 'payment') return [];
  const { withdraw, web3 } = source.paths;
  const secret = source.authenticate.some(
    (credential) => typeof credential === 'object' && 'path' in credential,
  );
  const paths = new Set([withdraw, web3].filter((path) => path !== undefined));
  return [...paths].map((path) => ({
    path,
    secret,
    route: {
      callback: 'cosigner',
      source: source.name,
      expected: [
        ...(path === withdraw ? (['transfer'] as const) : []),
        ...(path === web3 ? (['web3'] as const) : []),
      ],
    },
  }));
}
