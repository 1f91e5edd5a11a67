import { type KeyObject, generateKeyPairSync } from 'node:crypto';

export interface Pair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  /** One line of base64url without armour, as the platform writes keys. */
  readonly publicText: string;
  readonly privateText: string;
}

export function makePair(modulusLength = 2048): Pair {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength });
  return {
    publicKey,
    privateKey,
    publicText: publicKey.export({ type: 'spki', format: 'der' }).toString('base64url'),
    privateText: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64url'),
  };
}
