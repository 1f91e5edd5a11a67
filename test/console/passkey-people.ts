import { passkeyChallenge } from '../../src/signature/passkey-statement.ts';
import { type Over, createAuthenticator } from './authenticator.ts';
import type { Shown } from './console.ts';

/*
 * People who sign with passkeys, on devices that were made once.
 */

export const SITE = { host: 'localhost', origin: 'http://localhost:9090' };

const devices = {
  ada: createAuthenticator(SITE),
  ben: createAuthenticator(SITE),
  dan: createAuthenticator(SITE),
  mallory: createAuthenticator(SITE),
};
export type Name = keyof typeof devices;

export const passkeyIdOf = (name: Name): string => devices[name].passkey.id;

/** The passkey of a person, as people.yaml has it. */
export const passkeyOf = (name: Name): string => {
  const { id, publicKey } = devices[name].passkey;
  return `    passkeys: [{ id: ${id}, publicKey: ${publicKey} }]\n`;
};

/** What the page of a request says that people sign. */
export const statementIn = (page: Shown): string => {
  const [, statement = ''] = /<pre tabindex="0">(countersign-[^<]*)<\/pre>/.exec(page.text) ?? [];
  const signs = { '&quot;': '"', '&lt;': '<', '&gt;': '>', '&#39;': "'", '&amp;': '&' };
  return Object.entries(signs).reduce((text, [from, to]) => text.replaceAll(from, to), statement);
};

/** What the browser of a person sends for a statement. */
export const signed = (by: Name, statement: string, over: Over = {}): string =>
  JSON.stringify(
    devices[by].signIn({ challenge: passkeyChallenge(Buffer.from(statement)) }, { userHandle: 'x', ...over }),
  );

/** What a signature is refused for. */
export const REFUSED: readonly (readonly [string, Over, string])[] = [
  ['another statement', { challenge: passkeyChallenge(Buffer.from('x')) }, 'signed something else'],
  ['another origin', { origin: 'https://evil.example' }, 'origin'],
  ['another host', { host: 'evil.example' }, 'RP ID'],
  ['no knowledge of the person', { userVerified: false }, 'User verification'],
  ['a frame of another site', { crossOrigin: true }, 'inside one of another site'],
  ['another signature', { signature: Buffer.alloc(70) }, 'refused'],
];
