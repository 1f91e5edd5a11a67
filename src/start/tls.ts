import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CountersignError, messageOf } from '../errors.ts';
import type { TlsContext } from '../http/server.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import { storeAddress } from '../settings/store.ts';

/** Reads a certificate. It is no secret, so errors name its path. Throws SETTINGS_INVALID. */
export function readPem(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new CountersignError('SETTINGS_INVALID', `${setting}: can't read ${file}: ${messageOf(thrown)}`);
  }
}

export type PortName = 'public' | 'ops';

/** Reads the certificate of a port, and follows its files from now on. Undefined for a port without TLS. */
export function tlsContext(settings: Settings, port: PortName, secrets: Secrets): TlsContext | undefined {
  const tls: Settings['public']['tls'] = settings[port].tls;
  if (tls === undefined) return undefined;
  const read = (file: string, setting: string): string => {
    secrets.watchFile(file);
    return readPem(file, setting);
  };
  return {
    cert: read(tls.certificate, `${port}.tls.certificate`),
    key: secrets.read(tls.key),
    ca: tls.clientCa === undefined ? undefined : read(tls.clientCa, `${port}.tls.clientCa`),
  };
}

/** When the certificates of a setting expire; undefined if its file holds no certificate that can be read. */
export type Expiries = readonly (readonly [setting: string, expiresAtMs: number | undefined])[];

/** The certificate of a port, and the authorities of its clients. */
export function portExpiries(port: PortName, { cert, ca }: TlsContext): Expiries {
  const own = [`${port}.tls.certificate`, expiryOf(cert)] as const;
  return ca === undefined ? [own] : [own, [`${port}.tls.clientCa`, expiryOf(ca)]];
}

/** The client certificate for Redis, and its authorities. The store reads them only at the start. */
export function storeExpiries({ url, tls }: Settings['store']): Expiries {
  const address = storeAddress(url);
  if (tls === undefined || address === undefined || address.kind === 'embedded' || !address.tls) return [];
  return (['certificate', 'ca'] as const).flatMap((name) => {
    const file = tls[name];
    const setting = `store.tls.${name}`;
    return file === undefined ? [] : [[setting, expiryOf(readPem(file, setting))] as const];
  });
}

/** A chain, or a list of authorities, is valid until its first certificate expires. */
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
