import { X509Certificate } from 'node:crypto';
import type { TlsContext } from '../http/server.ts';
import type { Settings } from '../settings/schema.ts';
import { storeAddress } from '../settings/store.ts';
import { readPem } from './store.ts';

/**
 * When the certificates that a setting names expire; undefined where its file holds none that can be read.
 */
export type Expiries = readonly (readonly [setting: string, expiresAtMs: number | undefined])[];

/** Of the public port, and of the authorities of its clients. */
export function publicExpiries({ cert, ca }: TlsContext): Expiries {
  const own = ['public.tls.certificate', expiryOf(cert)] as const;
  return ca === undefined ? [own] : [own, ['public.tls.clientCa', expiryOf(ca)]];
}

/**
 * Of what is shown to a Redis over TLS, and of its authorities. They are read at the start alone, as the
 * store reads them.
 */
export function storeExpiries({ url, tls }: Settings['store']): Expiries {
  const address = storeAddress(url);
  if (tls === undefined || address === undefined || address.kind === 'embedded' || !address.tls) return [];
  return (['certificate', 'ca'] as const).flatMap((name) => {
    const file = tls[name];
    const setting = `store.tls.${name}`;
    return file === undefined ? [] : [[setting, expiryOf(readPem(file, setting))] as const];
  });
}

/** A chain and a list of authorities are as good as the first of them to expire. */
function expiryOf(pem: string): number | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const expiries = blocks.map(notAfterMs);
  return expiries.length === 0 || expiries.includes(NaN) ? undefined : Math.min(...expiries);
}

function notAfterMs(block: string): number {
  try {
    return Date.parse(new X509Certificate(block).validTo);
  } catch {
    return NaN;
  }
}
