import type { SecretRef } from '../values/secret.ts';

/**
 * One way in which a payment source may sign. Two entries of one scheme are two keys: one is being rotated.
 */
export type SchemeConfig =
  | { readonly scheme: 'md5'; readonly secret: SecretRef; readonly emptyValues: 'keep' | 'skip' }
  | { readonly scheme: 'rsa-envelope'; readonly platformKey: SecretRef; readonly merchantKey: SecretRef }
  | {
      readonly scheme: 'rsa';
      readonly platformKey: SecretRef;
      readonly digest: 'sha256' | 'sha1';
      /** What is signed: the canonical string, or its MD5 in lower-case hexadecimal. */
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

/** One thing that a co-signer must show. All that are listed must hold; `none` stands alone. */
export type CosignerCredential =
  | { readonly addresses: readonly string[] }
  | { readonly header: { readonly name: string; readonly secret: SecretRef } }
  /** A last path segment after the source's paths, known to the co-signer alone. */
  | { readonly path: { readonly secret: SecretRef } }
  | {
      readonly certificate: {
        /**
         * The gateway's header with the fingerprint or subject; without it, the certificate of the TLS
         * connection.
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
  /** The two public keys of the self-check; without them it is answered FAILURE for both. */
  readonly selfCheck?: { readonly clientSystemKey: SecretRef; readonly verifySignKey: SecretRef } | undefined;
}

export type SourceConfig = PaymentSourceConfig | CosignerSourceConfig;
