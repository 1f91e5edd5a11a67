import { createHmac, hash } from 'node:crypto';

import { DECIMAL, formatAmount, parseAmount } from '../values/amount.ts';
import { type Members, membersJson, stringMember, withoutMembers } from '../values/members.ts';
import { type Canonical, type EmptyValues, canonicalString } from './canonical.ts';

/**
 * Mistakes of senders, as data. They only name what to change: a signature that fits one of them is wrong,
 * and stays refused.
 */

/** Another text that the sender may have signed, and what to do about it. */
export interface Variant {
  readonly text: string;
  readonly fix: string;
}

/** A real callback is far smaller. The bounds limit the work for a wrong signature. */
const MEMBERS_MAX = 12;
const CHARACTERS_MAX = 1024;

/** Texts that senders sign in place of the canonical string. */
export function variantsOf(
  members: Members,
  { text, signed }: Canonical,
  emptyValues: EmptyValues,
): readonly Variant[] {
  if (members.size > MEMBERS_MAX || text.length > CHARACTERS_MAX) return [];
  const textOf = (changed: Members, empty = emptyValues): string => {
    const other = canonicalString(changed, empty);
    return other.ok ? other.text : text;
  };
  const withText = (name: string, value: string): Members => new Map(members).set(name, stringMember(value));
  const other = emptyValues === 'keep' ? 'skip' : 'keep';
  const values = new Map(signed);
  const nulls = Array.from(members, ([name, member]) =>
    member.kind === 'null' ? ([name, stringMember('null')] as const) : ([name, member] as const),
  );
  const inBodyOrder = [...members.keys()].map((name) => (values.has(name) ? name + values.get(name) : ''));

  const found: readonly Variant[] = [
    { text: textOf(members, other), fix: `the sender ${other}s empty values; set emptyValues: ${other}` },
    {
      text: textOf(new Map(nulls)),
      fix: 'the signature matches if null is signed as a text; the sender must leave out null members',
    },
    {
      text: signed.map(([name, value]) => `${name}=${value}`).join('&'),
      fix: 'the signature matches with = and & between the members; the sender must join them without separators',
    },
    {
      text: inBodyOrder.join(''),
      fix: 'the signature matches in the order of the body; the sender must sort the members by name',
    },
    {
      text: signed.map(([name, value]) => name + JSON.stringify(value)).join(''),
      fix: 'the signature matches with quotes around the values; the sender must sign the values without quotes',
    },
    {
      text: membersJson(withoutMembers(members, 'sign')),
      fix: 'the signature matches the JSON of the body; the sender must sign the joined names and values',
    },
    {
      text: `${text}\n`,
      fix: 'the signature matches with a line end after the text; the sender must sign the text without it',
    },
    ...signed.map(([name]) => ({
      text: textOf(withoutMembers(members, name)),
      fix:
        name === 'appKey'
          ? 'the signature matches without appKey; the sender must sign appKey as well'
          : `the signature matches without ${JSON.stringify(name)}; the sender must sign it as well, or not send it`,
    })),
    ...signed
      .filter(([name]) => members.get(name)?.kind === 'number' || /amount/i.test(name))
      .flatMap(([name, value]) =>
        spellingsOf(value).map((spelling) => ({
          text: textOf(withText(name, spelling)),
          fix:
            `the signature matches ${JSON.stringify(name)} as ${spelling}, but the body has ${value}; ` +
            'the sender must send the text that it signs',
        })),
      ),
  ];
  return found.filter((variant) => variant.text !== text);
}

/** The decimal places up to which programs write an amount with zeros at its end. */
const PLACES_MAX = 18;

/** How programs write a decimal that is a number for them: with fewer or more zeros, or with an exponent. */
function spellingsOf(value: string): readonly string[] {
  const amount = DECIMAL.test(value) ? parseAmount(value) : undefined;
  if (amount === undefined) return [];
  const shortest = formatAmount(amount);
  const [whole = '', fraction = ''] = shortest.split('.');
  const padded = Array.from({ length: PLACES_MAX }, (_, at) => `${whole}.${fraction.padEnd(at + 1, '0')}`);
  const digits = (whole + fraction).replaceAll(/^0+|0+$/g, '') || '0';
  const exponent = whole === '0' ? fraction.search(/[1-9]/) * -1 - 1 : whole.length - 1;
  const rest = digits.slice(1);
  const mantissas = rest === '' ? [digits, `${digits}.0`] : [`${digits[0]}.${rest}`];
  const exponents = [`e${exponent}`, `E${exponent}`, `e+${exponent}`, `E+${exponent}`];
  return [shortest, ...padded, ...mantissas.flatMap((mantissa) => exponents.map((each) => mantissa + each))];
}

/** What senders compute in place of the MD5 of the text followed by the secret. */
export const MD5_MISTAKES: readonly {
  readonly sign: (text: string, secret: string) => string;
  readonly fix: string;
}[] = [
  ...[
    ['LF', '\n'],
    ['CR and LF', '\r\n'],
    ['CR', '\r'],
  ].map(([name, end]) => ({
    sign: (text: string, secret: string) => hash('md5', text + secret + end, 'hex'),
    fix: `the signature matches with a line end (${name}) after the secret; the sender must remove it`,
  })),
  {
    sign: (text, secret) => hash('md5', secret + text, 'hex'),
    fix: 'the signature matches with the secret before the text; the sender must put it after the text',
  },
  {
    sign: (text, secret) => hash('md5', secret + text + secret, 'hex'),
    fix: 'the signature matches with the secret before and after the text; the sender must only put it after',
  },
  ...['&key=', '&secret=', '&'].map((between) => ({
    sign: (text: string, secret: string) => hash('md5', text + between + secret, 'hex'),
    fix: `the signature matches with ${between} before the secret; the sender must leave that out`,
  })),
  {
    sign: (text, secret) => createHmac('md5', secret).update(text).digest('hex'),
    fix: 'the signature matches as an HMAC; the sender must use the MD5 of the text followed by the secret',
  },
  {
    sign: (text) => hash('md5', text, 'hex'),
    fix: 'the signature matches without a secret; the sender must put the secret after the text',
  },
];

/** What senders sign in place of a text's MD5 in lower-case hexadecimal. */
export const MD5_HEX_MISTAKES: readonly {
  readonly bytes: (text: string | Uint8Array) => string | Uint8Array;
  readonly fix: string;
}[] = [
  {
    bytes: (text) => hash('md5', text, 'hex').toUpperCase(),
    fix: 'the signature covers the MD5 in upper-case digits; the sender must sign it in lower-case hexadecimal',
  },
  {
    bytes: (text) => hash('md5', text, 'buffer'),
    fix: 'the signature covers the 16 bytes of the MD5; the sender must sign it in lower-case hexadecimal',
  },
];
