import { z } from 'zod';
import { addressRange, flagOr, list, oneOf, secretReference, section, text } from './fields.ts';

/** Where the platform sends payment confirmations (section 6.1), spelt as it spells it. */
export const PAYMENT_PATH = '/nofity/transferToMerchantAuthCheck';

const name = text(
  /^[a-z][a-z0-9-]{0,31}$/,
  'write a lower-case letter, then at most 31 of a-z, 0-9 and -',
).describe(
  'Name of the source, by which policies, lists, the journal and metrics know it. A new name is a new source.',
);

const emptyValues = oneOf(['keep', 'skip'])
  .default('keep')
  .describe('Whether a member whose value is the empty text is part of the signed text, by its name.');

const platformKey = secretReference.describe("The platform's public key, in PEM or base64.");

const signature = z.discriminatedUnion(
  'scheme',
  [
    section({
      scheme: z.literal('md5').describe('MD5 of the sorted members and a shared secret.'),
      secret: secretReference.describe('The secret that the platform gave with the appKey.'),
      emptyValues,
    }),
    section({
      scheme: z.literal('rsa').describe('Sorted members, signed with RSA.'),
      platformKey,
      digest: oneOf(['sha256', 'sha1']).default('sha256').describe('Digest that is signed.'),
      signs: oneOf(['string', 'md5-hex'])
        .default('string')
        .describe('What is signed: the text of the members, or its MD5 in hexadecimal.'),
      emptyValues,
    }),
    section({
      scheme: z.literal('rsa-envelope').describe('Encrypted and signed with RSA: app_id, time, data, sign.'),
      platformKey,
      merchantKey: secretReference.describe("The merchant's private key, in PEM or base64."),
    }),
  ],
  { error: 'write scheme: md5, rsa or rsa-envelope, and what belongs to it' },
);

const answerText = z
  .string({ error: 'write the text that is sent' })
  .min(1, { error: 'write the text that is sent' })
  .max(1024, { error: 'write at most 1024 characters' });

const answer = z.union(
  [
    z.enum(['plain', 'json']),
    z.strictObject({
      contentType: text(
        /^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/,
        'write a content type such as application/json',
      ).describe('Content-Type of the answer.'),
      success: answerText.describe('The whole body for yes.'),
      failure: answerText.describe('The whole body for no. It must differ from that for yes.'),
    }),
  ],
  { error: 'write plain, json, or { contentType, success, failure }' },
);

const paymentSource = section({
  name,
  callback: z
    .literal('payment')
    .describe('One merchant application, whose payments the platform asks about.'),
  appKey: text(
    /^[\x21-\x7e]{1,128}$/,
    'write the appKey, 1 to 128 printable characters without blanks',
  ).describe('The appKey that the platform gave to the application.'),
  signatures: list(signature, 1, 8, 'signatures').describe(
    'The schemes that are accepted. Two entries of one scheme are two keys, while one is being rotated.',
  ),
  bindScheme: flagOr(true).describe(
    'Whether an order that comes again must be signed by the scheme that it first came by. It is refused otherwise (SCHEME_CHANGED, an alarm), for a key of the weakest scheme alone could repeat it. With false, any scheme that is accepted may repeat it.',
  ),
  answer: answer
    .default('plain')
    .describe(
      'How a payment confirmation is answered: plain is SUCCESS or FAILURE, json an envelope with a code. Whoever is not authenticated gets the no of all payment sources, where they are answered in one way; else that of the source whose appKey the body names, and FAILURE where none is named or the body was not read.',
    ),
});

const callbackPath = text(
  /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]{1,128}){1,8}$/,
  'write a path such as /cosigner/withdraw, without a slash at its end',
);

const credential = z.union(
  [
    z.literal('none'),
    z.strictObject({
      addresses: list(addressRange, 1, 64, 'addresses').describe('The caller has one of these addresses.'),
    }),
    z.strictObject({
      header: section({
        name: text(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'write the name of a header').describe(
          'Name of the header.',
        ),
        secret: secretReference.describe('The whole value of the header.'),
      }).describe('The caller sends a secret in a header.'),
    }),
    z.strictObject({
      path: section({
        secret: secretReference.describe(
          'The last segment of the path, after one of the paths of the source.',
        ),
      }).describe('The caller knows a secret last segment of the path.'),
    }),
    z.strictObject({
      certificate: section({
        header: text(/^[A-Za-z0-9-]{1,64}$/, 'write the name of a header')
          .optional()
          .describe(
            "The gateway's header with the fingerprint or the subject. Without it, the certificate of the connection counts.",
          ),
        fingerprints: list(
          text(
            /^(?:[0-9A-Fa-f]{64}|(?:[0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2})$/,
            'write a SHA-256 fingerprint, 64 hexadecimal digits',
          ),
          1,
          16,
          'fingerprints',
        )
          .optional()
          .describe('Accepted SHA-256 fingerprints.'),
        subjects: list(text(/^.{1,512}$/, 'write a distinguished name'), 1, 16, 'subjects')
          .optional()
          .describe('Accepted distinguished names.'),
      }).describe('The caller shows a client certificate.'),
    }),
  ],
  { error: 'write one of addresses, header, path and certificate with what belongs to it, or none' },
);

const cosignerSource = section({
  name,
  callback: z.literal('cosigner').describe('One co-signer, which asks before it signs.'),
  paths: section({
    withdraw: callbackPath.optional().describe('Path of the URL that the co-signer has for withdrawals.'),
    web3: callbackPath
      .optional()
      .describe('Path of the URL that it has for web3 transactions; it may be the same.'),
  })
    .default({ withdraw: '/cosigner/withdraw', web3: '/cosigner/web3' })
    .describe('Where this co-signer calls. Paths that are not written are not served.'),
  authenticate: list(credential, 1, 8, 'proofs').describe(
    'What the co-signer must show: all that is listed. Its callbacks are not signed, so `none` believes anybody who reaches the port.',
  ),
  selfCheck: section({
    clientSystemKey: secretReference.describe("The public key of the customer's system."),
    verifySignKey: secretReference.describe(
      "The public key with which the custody's signatures are verified.",
    ),
  })
    .optional()
    .describe(
      'Keys by which a verify_public_hash callback is answered. Without them the answer is FAILURE for both.',
    ),
});

export const source = z.discriminatedUnion('callback', [paymentSource, cosignerSource], {
  error: 'write callback: payment or callback: cosigner, and what belongs to it',
});
