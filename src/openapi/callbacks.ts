import { plainAnswer, selfCheckAnswer } from '../callback/answer.ts';
import { OUTPUTS_MAX } from '../callback/callback.ts';
import { SELF_CHECK_TEXTS, SELF_CHECK_TYPE } from '../callback/kinds.ts';
import { ADDRESS, COSIGNER_TYPES, type TextMember } from '../callback/member-readers.ts';
import { PAYMENT_MEMBERS } from '../callback/payment.ts';
import { TRANSFER_TEXTS } from '../callback/transfer.ts';
import { UNLIMITED, WEB3_TEXTS } from '../callback/web3.ts';
import { DECIMAL } from '../values/amount.ts';
import type { Grammar } from '../values/members.ts';
import { BASE64, type Part, part } from './schemas.ts';

/*
 * The JSON Schemas of callbacks, from the tables with which they are parsed. A number may stand for a text if
 * it is a plain integer, and a member that is null counts as missing.
 */

/** A text of at least one character. */
function text({ pattern, maxLength }: Grammar): Part {
  return { type: ['string', 'integer'], ...patternOf(pattern), maxLength, minimum: 0 };
}

/** Some engines have no lookarounds, and no empty classes. */
function patternOf({ source }: RegExp): Part {
  if (source === '^[^]+$') return { minLength: 1 };
  const [, except, rest] = /^\^\(\?!\.\*(.+?\$)\)(.*)$/.exec(source) ?? [];
  return except === undefined
    ? { pattern: source }
    : { pattern: `^${rest}`, not: { type: 'string', pattern: except } };
}

const EMPTY: Part = { enum: [null, ''] };

function texts(table: Readonly<Record<string, TextMember>>): Part {
  const schemas = Object.entries(table).map(([name, member]): [string, Part] => [
    name,
    member.need === 'required' ? text(member) : { anyOf: [text(member), EMPTY] },
  ]);
  return Object.fromEntries(schemas);
}

function requiredOf(table: Readonly<Record<string, TextMember>>): readonly string[] {
  return Object.entries(table).flatMap(([name, { need }]) => (need === 'optional' ? [] : [name]));
}

const ABOVE_ZERO: Part = {
  type: ['string', 'number'],
  pattern: DECIMAL.source,
  not: { type: 'string', pattern: '^0(?:\\.0+)?(?:[eE].*)?$' },
  exclusiveMinimum: 0,
  description: 'An exact decimal above zero, with at most 36 digits before and after the point.',
};

const { appKey: APP_KEY, time: TIME, ...PAYMENT_TEXTS } = PAYMENT_MEMBERS;
const PAYMENT: Part = {
  ...Object.fromEntries(Object.entries(PAYMENT_TEXTS).map(([name, grammar]) => [name, text(grammar)])),
  orderAmount: { ...ABOVE_ZERO, ...patternOf(PAYMENT_MEMBERS.orderAmount.pattern) },
  time: {
    description: 'Seconds or milliseconds since the epoch. It is signed, and not evaluated.',
    anyOf: [
      { type: ['string', 'null'], pattern: TIME.pattern.source },
      { type: 'integer', minimum: 1_000_000_000, maximum: 9_999_999_999 },
      { type: 'integer', minimum: 1_000_000_000_000, maximum: 9_999_999_999_999 },
    ],
  },
};
const OWN_KEY: Part = { ...text(APP_KEY), type: 'string', minimum: undefined };
const PAYMENT_REQUIRED = Object.keys(PAYMENT_TEXTS);
const RSA_SIGN: Part = { type: 'string', pattern: `^${BASE64}$`, minLength: 342, maxLength: 1368 };

function signedPayment(description: string, sign: Part): Part {
  return {
    description,
    type: 'object',
    properties: { appKey: OWN_KEY, ...PAYMENT, sign },
    required: ['appKey', ...PAYMENT_REQUIRED, 'sign'],
    additionalProperties: false,
  };
}

const TYPE: Part = { enum: COSIGNER_TYPES };
const SPEED_UP: Part = {
  type: 'boolean',
  default: false,
  description: 'Whether the transaction of this request_id is sped up.',
};

/** The plain answer. */
export const VERDICT: Part = { enum: [plainAnswer.success, plainAnswer.failure] };

/** By name, for `components.schemas`. */
export const CALLBACK_SCHEMAS = {
  Md5Payment: signedPayment('`sign` is the MD5 of the signed text and the secret.', {
    type: 'string',
    pattern: '^[0-9a-fA-F]{32}$',
  }),
  RsaPayment: signedPayment("`sign` is the platform's RSA signature of the signed text.", RSA_SIGN),
  PaymentPlaintext: {
    type: 'object',
    properties: { appKey: OWN_KEY, ...PAYMENT },
    required: PAYMENT_REQUIRED,
    additionalProperties: false,
  },
  PaymentEnvelope: {
    description:
      "`data` is encrypted with the merchant's public key. Its plaintext is a PaymentPlaintext. `sign` is the " +
      "platform's signature of the MD5 of the plaintext.",
    type: 'object',
    properties: {
      app_id: OWN_KEY,
      time: { type: ['integer', 'string'], description: 'It is not signed, and ignored.' },
      data: { type: 'string', pattern: `^${BASE64}$` },
      sign: RSA_SIGN,
    },
    required: ['app_id', 'data', 'sign'],
    additionalProperties: false,
  },
  Withdrawal: {
    description: 'Members that are not listed are kept and reported.',
    type: 'object',
    properties: {
      type: TYPE,
      ...texts(TRANSFER_TEXTS),
      pending_round: SPEED_UP,
      amount: ABOVE_ZERO,
      outputs: {
        type: ['string', 'null'],
        description: 'JSON within a string. The amounts sum to `amount`, and `to` is one of the addresses.',
        contentMediaType: 'application/json',
        contentSchema: {
          type: 'array',
          minItems: 1,
          maxItems: OUTPUTS_MAX,
          items: {
            type: 'object',
            properties: { address_to: text(ADDRESS), amount: ABOVE_ZERO },
            required: ['address_to', 'amount'],
          },
        },
      },
    },
    required: ['type', ...requiredOf(TRANSFER_TEXTS), 'amount'],
    anyOf: ['transfer_id', 'withdraw_id'].map((name) => ({
      required: [name],
      properties: { [name]: { not: { type: 'null' } } },
    })),
  },
  Web3Transaction: {
    description: 'Members that are not listed are kept and reported.',
    type: 'object',
    properties: {
      type: TYPE,
      ...texts(WEB3_TEXTS),
      pending_round: SPEED_UP,
      amount: {
        description: 'An exact decimal. -1 means unlimited.',
        anyOf: [
          { type: ['string', 'number'], pattern: DECIMAL.source, minimum: 0 },
          { type: ['string', 'number'], pattern: UNLIMITED.source, minimum: -1, maximum: -1 },
        ],
      },
    },
    required: ['type', ...requiredOf(WEB3_TEXTS), 'amount'],
  },
  SelfCheck: {
    description: 'The co-signer asks whether both sides hold the same public keys.',
    type: 'object',
    properties: { type: { const: SELF_CHECK_TYPE }, ...texts(SELF_CHECK_TEXTS) },
    required: ['type', ...requiredOf(SELF_CHECK_TEXTS)],
  },
  SelfCheckAnswer: {
    type: 'object',
    properties: Object.fromEntries(selfCheckNames().map((name) => [name, VERDICT])),
    required: selfCheckNames(),
    additionalProperties: false,
  },
} as const satisfies Readonly<Record<string, Part>>;

function selfCheckNames(): readonly string[] {
  return Object.keys(part.parse(JSON.parse(selfCheckAnswer({ client: true, verify: true }).body)));
}
