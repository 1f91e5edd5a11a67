import { z } from 'zod';
import {
  TWO_SECRETS,
  addressRange,
  flagOr,
  headerName,
  list,
  oneOf,
  secretReference,
  section,
  shortName,
  text,
} from './fields.ts';

/** Where the platform sends payment confirmations (section 6.1), in the platform's spelling. */
export const PAYMENT_PATH = '/nofity/transferToMerchantAuthCheck';

const name = shortName.describe(
  'Name of the source in policies, lists, the journal and metrics. A new name is a new source.',
);

const group = shortName
  .optional()
  .describe(
    'Group of sources. A rule with `across: group` counts for all sources of a group together. In another ' +
      'group, its counts begin anew. See docs/limits.md, also for Redis Cluster.',
  );

const emptyValues = oneOf(['keep', 'skip'])
  .default('keep')
  .describe('Whether the name of a member with an empty value is part of the signed text.');

const platformKey = secretReference.describe("The platform's public key, in PEM or base64.");

const signature = z.discriminatedUnion(
  'scheme',
  [
    section({
      scheme: z.literal('md5').describe('`md5`: MD5 of the sorted members and a shared secret.'),
      secret: secretReference.describe('The secret that the platform issued with the appKey.'),
      emptyValues,
    }),
    section({
      scheme: z.literal('rsa').describe('`rsa`: sorted members, signed with RSA.'),
      platformKey,
      merchantKey: secretReference
        .optional()
        .describe(
          "The merchant's private key, in PEM or base64. Only requests to the platform are signed with it.",
        ),
      digest: oneOf(['sha256', 'sha1']).default('sha256').describe('Digest of the signature.'),
      signs: oneOf(['string', 'md5-hex'])
        .default('string')
        .describe('The signed text: the members themselves, or their MD5 in hexadecimal.'),
      emptyValues,
    }),
    section({
      scheme: z
        .literal('rsa-envelope')
        .describe('`rsa-envelope`: app_id, time, data and sign, encrypted and signed with RSA.'),
      platformKey,
      merchantKey: secretReference.describe("The merchant's private key, in PEM or base64."),
    }),
  ],
  { error: 'write scheme: md5, rsa or rsa-envelope, with its settings' },
);

const answerText = z
  .string({ error: 'write the text of the answer' })
  .min(1, { error: 'write the text of the answer' })
  .max(1024, { error: 'write at most 1024 characters' });

const answer = z.union(
  [
    z.enum(['plain', 'json']),
    z.strictObject({
      contentType: text(
        /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/,
        'write a content type such as application/json',
      ).describe('Content-Type of the answer.'),
      success: answerText.describe('The whole body of an approval.'),
      failure: answerText.describe('The whole body of a refusal. It must differ from that of an approval.'),
    }),
  ],
  { error: 'write plain, json, or { contentType, success, failure }' },
);

const paymentSource = section({
  name,
  callback: z
    .literal('payment')
    .describe('`payment`: one merchant application, whose payments the platform asks about.'),
  group,
  appKey: text(
    /^[\x21-\x7e]{1,128}$/,
    'write the appKey, 1 to 128 printable characters without blanks',
  ).describe('The appKey that the platform issued to the application.'),
  signatures: list(signature, 1, 8, 'signatures').describe(
    'The accepted schemes. Two entries of one scheme are two keys, such as during a rotation.',
  ),
  bindScheme: flagOr(true).describe(
    'Whether a repeated order must be signed by the scheme of its first callback. ' +
      'Otherwise it is refused (SCHEME_CHANGED, an alarm), because a key of the weakest scheme alone could ' +
      'repeat it. With false, any accepted scheme may repeat it.',
  ),
  answer: answer
    .default('plain')
    .describe(
      'Format of the answer to a payment confirmation: plain is SUCCESS or FAILURE, json is a JSON object ' +
        'with a code. An unauthenticated sender gets the refusal that all payment sources share. If they ' +
        'differ, it gets that of the source whose appKey the body names. If the body names none or ' +
        'was not read, it gets FAILURE.',
    ),
});

const callbackPath = text(
  /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]{1,128}){1,8}$/,
  'write a path such as /cosigner/withdraw, without a slash at its end',
);

const SHA1 = /^(?:[0-9A-Fa-f]{2}:?){20}$/;
const fingerprintFix = 'write a SHA-256 fingerprint, 64 hexadecimal digits';
const fingerprint = z
  .string({ error: fingerprintFix })
  .regex(/^(?:[0-9A-Fa-f]{64}|(?:[0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2})$/, {
    error: ({ input }) =>
      SHA1.test(input ?? '')
        ? 'this one has 40 digits and is SHA-1; write the SHA-256 fingerprint, which has 64: ' +
          '`openssl x509 -in FILE -noout -fingerprint -sha256`'
        : fingerprintFix,
  });

const credential = z.union(
  [
    z.literal('none'),
    z.strictObject({
      addresses: list(addressRange, 1, 64, 'addresses').describe('The caller has one of these addresses.'),
    }),
    z.strictObject({
      header: section({
        name: headerName.describe('Name of the header.'),
        secret: secretReference.describe(`The whole value of the header. ${TWO_SECRETS}`),
      }).describe('The caller sends a secret in a header.'),
    }),
    z.strictObject({
      path: section({
        secret: secretReference.describe(
          `The last segment of the path, after one of the paths of the source. ${TWO_SECRETS}`,
        ),
      }).describe('The caller knows a secret last segment of the path.'),
    }),
    z.strictObject({
      certificate: section({
        header: text(/^[A-Za-z0-9-]{1,64}$/, 'write the name of a header')
          .optional()
          .describe(
            "The gateway's header with the SHA-256 fingerprint, the percent-encoded certificate or the " +
              'subject. The name X-Forwarded-Client-Cert is read as Envoy writes it. Without it, the ' +
              'certificate of the connection counts.',
          ),
        fingerprints: list(fingerprint, 1, 16, 'fingerprints')
          .optional()
          .describe(
            'Accepted SHA-256 fingerprints, 64 digits: `openssl x509 -in FILE -noout -fingerprint -sha256`.',
          ),
        subjects: list(text(/^.{1,512}$/, 'write a distinguished name'), 1, 16, 'subjects')
          .optional()
          .describe('Accepted distinguished names.'),
      }).describe('The caller presents a client certificate.'),
    }),
  ],
  { error: 'write one of addresses, header, path and certificate, with its settings; or none' },
);

const cosignerSource = section({
  name,
  callback: z.literal('cosigner').describe('`cosigner`: one co-signer, which asks before it signs.'),
  group,
  paths: section({
    withdraw: callbackPath.optional().describe('Path of the callback URL for withdrawals.'),
    web3: callbackPath
      .optional()
      .describe('Path of the callback URL for web3 transactions; it may be the same.'),
  })
    .default({ withdraw: '/cosigner/withdraw', web3: '/cosigner/web3' })
    .describe('Where this co-signer calls. A path that is not set is not served.'),
  authenticate: list(credential, 1, 8, 'credentials').describe(
    'The credentials that the co-signer must present, all of them. ' +
      'Its callbacks are not signed, so `none` trusts every caller that reaches the port.',
  ),
  selfCheck: section({
    clientSystemKey: secretReference.describe("The public key of the customer's system."),
    verifySignKey: secretReference.describe("The public key that verifies the custody's signatures."),
  })
    .optional()
    .describe('Keys that answer a verify_public_hash callback. Without them, both answers are FAILURE.'),
});

export const source = z.discriminatedUnion('callback', [paymentSource, cosignerSource], {
  error: 'write callback: payment or callback: cosigner, with its settings',
});
