import type { KeyObject } from 'node:crypto';
import { publicTextOf, rsaKey } from './rsa-key.ts';

/*
 * Who calls in the fuzzing: payment sources with every scheme and combination of settings, co-signers with
 * every proof that a test can show. The same on every run, so that a seed names the same bytes.
 */

export type Scheme =
  | { readonly scheme: 'md5'; readonly secret: string; readonly emptyValues: 'keep' | 'skip' }
  | {
      readonly scheme: 'rsa';
      readonly platform: Pair;
      readonly digest: 'sha256' | 'sha1';
      readonly signs: 'string' | 'md5-hex';
      readonly emptyValues: 'keep' | 'skip';
    }
  | { readonly scheme: 'rsa-envelope'; readonly platform: Pair; readonly merchant: Pair };

export interface Pair {
  readonly name: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export interface PaymentParty {
  readonly name: string;
  readonly callback: 'payment';
  readonly appKey: string;
  readonly schemes: readonly Scheme[];
}

export interface CosignerParty {
  readonly name: string;
  readonly callback: 'cosigner';
  readonly withdraw: string | undefined;
  readonly web3: string | undefined;
  readonly header: { readonly name: string; readonly secret: string } | undefined;
  readonly pathSecret: string | undefined;
  /** The one address that it may have. */
  readonly address: string | undefined;
  readonly selfCheck: { readonly client: Pair; readonly verify: Pair } | undefined;
}

const pair = (name: string): Pair => ({ name, ...rsaKey(name) });
const platform = pair('platform');
const nextPlatform = pair('next platform');
export const merchant = pair('merchant');
const chestMerchant = pair('merchant of the chest');
/** Nobody's key: what it signs must never be believed. */
export const stranger = pair('stranger');

export const PAYMENT_PATH = '/nofity/transferToMerchantAuthCheck';

const md5 = (secret: string, emptyValues: 'keep' | 'skip' = 'keep'): Scheme => ({
  scheme: 'md5',
  secret,
  emptyValues,
});
const rsa = (by: Pair, changes: Partial<Extract<Scheme, { scheme: 'rsa' }>> = {}): Scheme => ({
  scheme: 'rsa',
  platform: by,
  digest: 'sha256',
  signs: 'string',
  emptyValues: 'keep',
  ...changes,
});
const envelope = (to: Pair): Scheme => ({ scheme: 'rsa-envelope', platform, merchant: to });

export const payments: readonly PaymentParty[] = [
  {
    name: 'shop',
    callback: 'payment',
    appKey: 'fuzz-shop',
    schemes: [md5('shop-secret'), rsa(platform), envelope(merchant)],
  },
  {
    name: 'stall',
    callback: 'payment',
    appKey: '0816016bb06417f5',
    schemes: [md5('stall-secret', 'skip'), md5('next-stall-secret', 'skip')],
  },
  {
    name: 'kiosk',
    callback: 'payment',
    // A name of a member within the appKey, where a text without separators is read wrongly first.
    appKey: 'userId7appOrderId',
    schemes: [
      rsa(platform, { signs: 'md5-hex' }),
      rsa(nextPlatform, { digest: 'sha1', emptyValues: 'skip' }),
    ],
  },
  { name: 'chest', callback: 'payment', appKey: 'fuzz-chest', schemes: [envelope(chestMerchant)] },
];

export const cosigners: readonly CosignerParty[] = [
  {
    name: 'vault',
    callback: 'cosigner',
    withdraw: '/cosigner/withdraw',
    web3: '/cosigner/web3',
    header: { name: 'authorization', secret: 'vault-token-of-the-fuzzing' },
    pathSecret: undefined,
    address: undefined,
    selfCheck: { client: merchant, verify: platform },
  },
  {
    name: 'strongroom',
    callback: 'cosigner',
    withdraw: '/strongroom',
    web3: '/strongroom',
    header: { name: 'x-token', secret: 'strongroom-token-of-the-fuzzing' },
    pathSecret: 'strongroom-path-of-the-fuzzing',
    address: '127.0.0.1',
    selfCheck: undefined,
  },
];

/** The greatest amounts that the policies let through. */
export const LIMITS = { payment: '1000', transfer: '10', web3: '5.5' } as const;
/** Above these, people must approve. */
export const WITHOUT_PEOPLE = { payment: '100', transfer: '2', web3: '1' } as const;

/** Secrets and keys by the name under which the settings refer to them. */
export const secrets: Readonly<Record<string, string>> = Object.fromEntries([
  ...payments.flatMap(({ name, schemes }) =>
    schemes.flatMap((scheme, at) =>
      scheme.scheme === 'md5' ? [[`${name}_${at}`, scheme.secret] as const] : [],
    ),
  ),
  ...cosigners.flatMap(({ name, header, pathSecret }) => [
    ...(header === undefined ? [] : [[`${name}_header`, header.secret] as const]),
    ...(pathSecret === undefined ? [] : [[`${name}_path`, pathSecret] as const]),
  ]),
  ...[platform, nextPlatform, merchant, chestMerchant].flatMap((each) => [
    [`${each.name} public`, publicTextOf(each.publicKey)] as const,
    [
      `${each.name} private`,
      each.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64url'),
    ] as const,
  ]),
]);
