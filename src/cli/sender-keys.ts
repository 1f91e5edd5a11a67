import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { messageOf, usageError } from '../errors.ts';
import type { SourceSettings } from '../settings/schema.ts';
import { readKey } from '../signature/keys.ts';
import type { SignerConfig } from '../signature/scheme.ts';
import type { ReadSecret } from '../values/secret.ts';

/** The sources of one kind of callback. */
export type SourceOf<K extends SourceSettings['callback']> = Extract<
  SourceSettings,
  { readonly callback: K }
>;

type Accepted = SourceOf<'payment'>['signatures'][number];

/**
 * The signer of the platform for an accepted scheme, with the shared secret or the platform's private key.
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
    throw usageError(`--key: can't read ${file}: ${messageOf(thrown)}. Name a file with a private key`);
  }
}

/** The credentials that a source requires of a co-signer and that a client can send in a request. */
export interface CosignerCredentials {
  readonly headers: Readonly<Record<string, string>>;
  /** A slash and the secret segment after the path, or the empty text. */
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

/** The path of the service for callbacks of a kind. Throws USAGE if the source has none. */
export function cosignerPath({ name, paths }: SourceOf<'cosigner'>, kind: 'transfer' | 'web3'): string {
  const path = kind === 'transfer' ? paths.withdraw : paths.web3;
  if (path !== undefined) return path;
  throw usageError(`the source ${name} has no path for ${kind} callbacks. Set its paths`);
}
