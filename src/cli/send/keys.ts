import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CountersignError, messageOf } from '../../errors.ts';
import type { SourceSettings } from '../../settings/schema.ts';
import { readKey } from '../../signature/keys.ts';
import type { SignerConfig } from '../../signature/scheme.ts';
import type { ReadSecret } from '../../values/secret.ts';

/** Sources of one sort of callback. */
export type SourceOf<K extends SourceSettings['callback']> = Extract<
  SourceSettings,
  { readonly callback: K }
>;

type Accepted = SourceOf<'payment'>['signatures'][number];

/**
 * What the platform signs with where `accepted` is accepted: the shared secret, or its private key as text.
 */
export function platformSigner(
  accepted: Accepted,
  read: ReadSecret,
  platformKey: () => string,
): SignerConfig {
  if (accepted.scheme === 'md5') return { ...accepted, secret: read(accepted.secret) };
  const senderKey = platformKey();
  if (accepted.scheme === 'rsa') return { ...accepted, senderKey };
  return { scheme: 'rsa-envelope', senderKey, receiverKey: publicHalf(read(accepted.merchantKey)) };
}

const publicHalf = (privateKey: string): string =>
  createPublicKey(readKey(privateKey, 'private')).export({ type: 'spki', format: 'pem' });

/** The text of a file with a private key. Throws USAGE. */
export function keyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new CountersignError('USAGE', `--key: can't read ${file}: ${messageOf(thrown)}`);
  }
}

/** What the source asks a co-signer to show, as far as a client can show it by itself. */
export interface CosignerCredentials {
  readonly headers: Readonly<Record<string, string>>;
  /** What follows the path: a slash and the secret segment, or nothing. */
  readonly segment: string;
}

export function cosignerCredentials(source: SourceOf<'cosigner'>, read: ReadSecret): CosignerCredentials {
  const headers: Record<string, string> = {};
  let segment = '';
  for (const credential of source.authenticate) {
    if (typeof credential === 'string') continue;
    if ('header' in credential) headers[credential.header.name] = read(credential.header.secret);
    if ('path' in credential) segment = `/${encodeURIComponent(read(credential.path.secret))}`;
  }
  return { headers, segment };
}
