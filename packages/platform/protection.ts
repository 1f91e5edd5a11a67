import { CountersignError, type Failure, failure, usageError } from '../../src/errors.ts';
import { canDecryptBlocks } from '../../src/signature/blocks.ts';
import { readKey, readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { openEnvelope, sealEnvelope } from '../../src/signature/rsa-envelope.ts';
import type { Signer } from '../../src/signature/scheme.ts';
import { compileSigner } from '../../src/signature/schemes.ts';
import { type Member, type Members, membersJson, stringMember } from '../../src/values/members.ts';

/** What the platform issued to the merchant, and the merchant's own key. Keys are texts (PEM or base64). */
export type PlatformCredentials =
  | {
      readonly scheme: 'md5';
      readonly appKey: string;
      readonly secret: string;
      /** Whether the name of an empty value is part of the signed text. By default `keep`. */
      readonly emptyValues?: 'keep' | 'skip';
      /** The platform's public key, which only the code exchange (4.1) needs. */
      readonly platformKey?: string;
    }
  | {
      readonly scheme: 'rsa';
      readonly appKey: string;
      /** The merchant's private key, which signs requests. */
      readonly merchantKey: string;
      /** By default `sha256`. */
      readonly digest?: 'sha256' | 'sha1';
      /** The signed text: the members themselves (the default), or their MD5 in hexadecimal. */
      readonly signs?: 'string' | 'md5-hex';
      /** Whether the name of an empty value is part of the signed text. By default `keep`. */
      readonly emptyValues?: 'keep' | 'skip';
      /** The platform's public key, which only the code exchange (4.1) needs. */
      readonly platformKey?: string;
    }
  | {
      readonly scheme: 'rsa-envelope';
      readonly appKey: string;
      /** The merchant's private key. It signs requests and decrypts answers. */
      readonly merchantKey: string;
      /** The platform's public key. It encrypts requests and verifies answers. */
      readonly platformKey: string;
    };

/** Signs requests, and opens answers. */
export interface Protection {
  /** The body of a request, from its parameters. */
  seal(parameters: Members, nowMs: number): string;
  /** The body of a request whose parameters must be encrypted. A text says why that can't be done. */
  sealEncrypted(parameters: Members, nowMs: number): { readonly body: string } | string;
  /** The member `data` of an answer, decrypted and verified if the scheme does so. */
  open(data: Member, sign: Member | undefined): Opened | Failure;
  /** Whether answers are signed. One without data has no signature. */
  readonly signsAnswers: boolean;
  /** The texts that no error may show. */
  readonly secrets: readonly string[];
}

/** `plain` is the member itself; `text` is a decrypted JSON text. */
export type Opened =
  { readonly ok: true; readonly plain: Member } | { readonly ok: true; readonly text: Uint8Array };

/** Blocks of 245 bytes in an answer: 16 MiB of base64 have about 49,000. */
const ANSWER_BLOCKS_MAX = 65_536;

/**
 * Reads the keys. Throws KEY_UNREADABLE, or USAGE for an empty secret or appKey, or if Node can't decrypt.
 */
export function createProtection(credentials: PlatformCredentials): Protection {
  if (credentials.appKey === '') throw missing('appKey');
  return credentials.scheme === 'rsa-envelope'
    ? envelopeProtection(credentials)
    : flatProtection(credentials);
}

function missing(name: string): CountersignError {
  return usageError(`${name} of the platform's credentials is empty; give its value`);
}

/** Reads a key. Its error begins with the name. */
function named<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    const because = `${name} of the platform's credentials ${thrown.message}`;
    throw new CountersignError(thrown.code, because, thrown.data, thrown);
  }
}

type FlatCredentials = Exclude<PlatformCredentials, { readonly scheme: 'rsa-envelope' }>;

function flatSigner(credentials: FlatCredentials): Signer {
  const { emptyValues = 'keep' } = credentials;
  if (credentials.scheme === 'md5') {
    if (credentials.secret === '') throw missing('secret');
    return compileSigner({ scheme: 'md5', secret: credentials.secret, emptyValues });
  }
  const { scheme, merchantKey: senderKey, digest = 'sha256', signs = 'string' } = credentials;
  return named('merchantKey', () => compileSigner({ scheme, senderKey, digest, signs, emptyValues }));
}

/** `md5` and `rsa`: flat members. Answers are not signed. */
function flatProtection(credentials: FlatCredentials): Protection {
  const { appKey, platformKey } = credentials;
  const signer = flatSigner(credentials);
  const receiverKey =
    platformKey === undefined ? undefined : named('platformKey', () => readPublicKey(platformKey));
  const own: readonly [string, Member] = ['appKey', stringMember(appKey)];
  return {
    seal: (parameters, nowMs) => signer.sign(new Map([own, ...parameters]), nowMs),
    sealEncrypted(parameters, nowMs) {
      if (receiverKey === undefined) {
        return (
          'platformKey is missing from the credentials; ' +
          "add the platform's public key, which encrypts the parameters"
        );
      }
      const plaintext = Buffer.from(membersJson(new Map([own, ...parameters])));
      const room = receiverKey.bytes - 11;
      const blocks = Array.from({ length: Math.ceil(plaintext.length / room) }, (_, at) =>
        receiverKey.encrypt(plaintext.subarray(at * room, (at + 1) * room)),
      );
      const data = stringMember(Buffer.concat(blocks).toString('base64url'));
      return { body: signer.sign(new Map([own, ['data', data]]), nowMs) };
    },
    open: (data) => ({ ok: true, plain: data }),
    signsAnswers: false,
    secrets: [credentials.scheme === 'md5' ? credentials.secret : credentials.merchantKey],
  };
}

/** `rsa-envelope`: requests and answers are encrypted and signed. */
function envelopeProtection(
  credentials: Extract<PlatformCredentials, { readonly scheme: 'rsa-envelope' }>,
): Protection {
  const { appKey, merchantKey, platformKey } = credentials;
  const ours = named('merchantKey', () => readPrivateKey(merchantKey));
  const theirs = named('platformKey', () => readPublicKey(platformKey));
  if (!canDecryptBlocks(readKey(merchantKey, 'private'))) {
    throw usageError(
      `Node ${process.version} can't decrypt answers, because its OpenSSL is older than 3.2; ` +
        'use Node 22 from 22.20, or Node from 24.5',
    );
  }
  const signer = compileSigner({
    scheme: 'rsa-envelope',
    senderKey: merchantKey,
    receiverKey: platformKey,
  });
  const own: readonly [string, Member] = ['appKey', stringMember(appKey)];
  return {
    seal: (parameters, nowMs) => signer.sign(new Map([own, ...parameters]), nowMs),
    // The plaintext contains appKey as well (4.1), unlike that of the other operations.
    sealEncrypted(parameters, nowMs) {
      const plaintext = membersJson(new Map([own, ...parameters]));
      const sealed = sealEnvelope(plaintext, { senderKey: ours, receiverKey: theirs });
      return { body: JSON.stringify({ app_id: appKey, time: nowMs, ...sealed }) };
    },
    open(data, sign) {
      if (data.kind === 'null' || (data.kind === 'string' && data.text === '')) {
        return { ok: true, plain: { kind: 'null', text: 'null' } };
      }
      if (data.kind !== 'string') {
        return failure('ENVELOPE_MALFORMED', 'data is not encrypted, as the scheme rsa-envelope requires');
      }
      if (sign?.kind !== 'string' || sign.text === '') {
        return failure('SIGN_MISSING', 'the member sign, the signature of data, is missing');
      }
      const keys = { senderKey: theirs, receiverKey: ours };
      const opened = openEnvelope({ data: data.text, sign: sign.text }, keys, ANSWER_BLOCKS_MAX);
      return opened.ok ? { ok: true, text: opened.plaintext } : opened;
    },
    signsAnswers: true,
    secrets: [merchantKey],
  };
}
