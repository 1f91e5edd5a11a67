import {
  type KeyObject,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
} from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CountersignError, messageOf } from '../../src/errors.ts';

/** What the platform's side and the merchant's side share, each with its own half of the keys. */
export interface Credentials {
  readonly appKey: string;
  readonly secret: string;
  /** Signs confirmations and answers, and decrypts requests. */
  readonly platformKey: KeyObject;
  /** Verifies requests, and encrypts confirmations and answers. */
  readonly merchantKey: KeyObject;
  /** The secret of the co-signer, for a header or the last segment of the path. */
  readonly token: string;
  /** The base64 of the public keys that the co-signer's self-check names. */
  readonly selfCheck: { readonly clientSystemKey: string; readonly verifySignKey: string };
}

const FILES = {
  secret: 'shop.secret',
  token: 'vault.token',
  platformPrivate: 'platform.private.pem',
  platformPublic: 'platform.public.pem',
  merchantPrivate: 'merchant.private.pem',
  merchantPublic: 'merchant.public.pem',
} as const;

/** Makes a folder of credentials, unless it is there. Returns whether it was made. */
export function ensureCredentials(folder: string): boolean {
  if (existsSync(folder)) return false;
  const pair = () =>
    generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
  const [platform, merchant] = [pair(), pair()];
  const texts: readonly (readonly [file: string, text: string])[] = [
    [FILES.secret, `${randomBytes(16).toString('hex')}\n`],
    [FILES.token, `${randomBytes(16).toString('hex')}\n`],
    [FILES.platformPrivate, platform.privateKey],
    [FILES.platformPublic, platform.publicKey],
    [FILES.merchantPrivate, merchant.privateKey],
    [FILES.merchantPublic, merchant.publicKey],
  ];
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [file, text] of texts) writeFileSync(join(folder, file), text, { mode: 0o600, flag: 'wx' });
  return true;
}

/** Reads a folder of credentials. Throws SECRET_UNREADABLE or KEY_UNREADABLE, which name the file. */
export function readCredentials(folder: string, appKey: string): Credentials {
  const platformKey = readKey(folder, FILES.platformPrivate, createPrivateKey);
  const merchantKey = readKey(folder, FILES.merchantPublic, createPublicKey);
  return {
    appKey,
    secret: readText(folder, FILES.secret),
    platformKey,
    merchantKey,
    token: readText(folder, FILES.token),
    selfCheck: {
      clientSystemKey: base64Of(merchantKey),
      verifySignKey: base64Of(createPublicKey(platformKey)),
    },
  };
}

function readText(folder: string, name: string): string {
  const file = join(folder, name);
  try {
    const text = readFileSync(file, 'utf8').trim();
    if (text !== '') return text;
  } catch (thrown) {
    throw new CountersignError(
      'SECRET_UNREADABLE',
      `can't read ${file}: ${messageOf(thrown)}. Name a folder that isn't there, and the sandbox makes one`,
    );
  }
  throw new CountersignError('SECRET_UNREADABLE', `${file} is empty; put the secret there`);
}

function readKey(folder: string, name: string, read: (pem: string) => KeyObject): KeyObject {
  const text = readText(folder, name);
  const key = undefinedIfThrown(() => read(text));
  if (key?.asymmetricKeyType === 'rsa') return key;
  throw new CountersignError('KEY_UNREADABLE', `${join(folder, name)} is not an RSA key; write it as PEM`);
}

function undefinedIfThrown<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const base64Of = (key: KeyObject): string => key.export({ type: 'spki', format: 'der' }).toString('base64');

/** The sources of the receiver's settings that fit a folder of credentials. */
export function settingsBlock(folder: string, appKey: string): string {
  const file = (name: keyof typeof FILES): string =>
    `{ file: ${JSON.stringify(resolve(folder, FILES[name]))} }`;
  return `sources:
  - name: shop
    callback: payment
    appKey: ${JSON.stringify(appKey)}
    signatures:
      - { scheme: md5, secret: ${file('secret')} }
      - scheme: rsa
        platformKey: ${file('platformPublic')}
        merchantKey: ${file('merchantPrivate')}
      - scheme: rsa-envelope
        platformKey: ${file('platformPublic')}
        merchantKey: ${file('merchantPrivate')}
  - name: vault
    callback: cosigner
    paths: { withdraw: /cosigner/withdraw, web3: /cosigner/web3 }
    authenticate:
      - header: { name: authorization, secret: ${file('token')} }
    selfCheck:
      clientSystemKey: ${file('merchantPublic')}
      verifySignKey: ${file('platformPublic')}
`;
}
