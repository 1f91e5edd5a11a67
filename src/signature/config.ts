import type { SecretRef } from '../values/secret.ts';

/**
 * One accepted scheme of a payment source. Two entries of one scheme are two keys, such as during a rotation.
 */
export type SchemeConfig =
  | { readonly scheme: 'md5'; readonly secret: SecretRef; readonly emptyValues: 'keep' | 'skip' }
  | { readonly scheme: 'rsa-envelope'; readonly platformKey: SecretRef; readonly merchantKey: SecretRef }
  | {
      readonly scheme: 'rsa';
      readonly platformKey: SecretRef;
      /** Signs requests to the platform. Callbacks don't need it. */
      readonly merchantKey?: SecretRef | undefined;
      readonly digest: 'sha256' | 'sha1';
      /** The signed text: the canonical string, or its MD5 in lower-case hexadecimal. */
      readonly signs: 'string' | 'md5-hex';
      readonly emptyValues: 'keep' | 'skip';
    };

export type SchemeName = SchemeConfig['scheme'];

export interface PaymentSourceConfig {
  readonly name: string;
  readonly callback: 'payment';
  readonly appKey: string;
  readonly signatures: readonly SchemeConfig[];
}

/**
 * One credential that a co-signer must present. All credentials of the list are required. `none` must be the
 * only entry.
 */
export type CosignerCredential =
  | { readonly addresses: readonly string[] }
  | { readonly header: { readonly name: string; readonly secret: SecretRef } }
  /** A secret last path segment, after one of the source's paths, that only the co-signer knows. */
  | { readonly path: { readonly secret: SecretRef } }
  | {
      readonly certificate: {
        /**
         * The gateway's header with the fingerprint or subject. Without it, the certificate of the TLS
         * connection is checked.
         */
        readonly header?: string | undefined;
        /** SHA-256, hexadecimal, with or without colons. */
        readonly fingerprints?: readonly string[] | undefined;
        /** Distinguished names, compared as text. */
        readonly subjects?: readonly string[] | undefined;
      };
    }
  | 'none';

export interface CosignerSourceConfig {
  readonly name: string;
  readonly callback: 'cosigner';
  readonly paths: { readonly withdraw?: string | undefined; readonly web3?: string | undefined };
  readonly authenticate: readonly CosignerCredential[];
  /** The two public keys of the self-check. Without them both answers are FAILURE. */
  readonly selfCheck?: { readonly clientSystemKey: SecretRef; readonly verifySignKey: SecretRef } | undefined;
}

export type SourceConfig = PaymentSourceConfig | CosignerSourceConfig;
