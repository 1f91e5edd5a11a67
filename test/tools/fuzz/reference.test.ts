import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { atMost, decimal, sum } from '../../../tools/fuzz/reference/decimal.ts';
import { CALLBACK, type Value, readJson } from '../../../tools/fuzz/reference/json.ts';
import { isUtf8 } from '../../../tools/fuzz/reference/utf8.ts';
import { readingsOf } from '../../../tools/fuzz/reference/payment.ts';
import {
  type Members,
  fromBase64,
  isMd5,
  md5Hex,
  rsaHolds,
  signedText,
} from '../../../tools/fuzz/reference/signs.ts';

/*
 * The reference must be right by itself: what it is compared with is no measure for it.
 */

interface Vectors {
  readonly md5: readonly {
    readonly members: Readonly<Record<string, string>>;
    readonly secret: string;
    readonly canonical?: string;
    readonly sign: string;
    readonly valid: boolean;
  }[];
  readonly 'rsa-envelope': readonly {
    readonly plaintext: string;
    readonly md5hex: string;
    readonly sign: string;
    readonly publicKey: string;
  }[];
}

const vectors: Vectors = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../vectors/signatures.json'), 'utf8'),
);

describe('the reference agrees with what is published', () => {
  it.each(vectors.md5)('on the md5 sign $sign', ({ members, secret, canonical, sign, valid }) => {
    const texts: Members = Object.entries(members).map(([name, text]) => [name, { type: 'text', text }]);
    const text = signedText(texts, 'keep') ?? '';
    expect(text).toBe(canonical ?? text);
    expect(md5Hex(text + secret) === sign).toBe(valid);
    expect(isMd5(sign)).toBe(true);
  });

  it.each(vectors['rsa-envelope'])('on the sign of $plaintext', ({ plaintext, md5hex, sign, publicKey }) => {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64url'), format: 'der', type: 'spki' });
    const signature = fromBase64(sign) ?? new Uint8Array();
    expect(md5Hex(plaintext)).toBe(md5hex);
    expect(rsaHolds({ key, digest: 'sha256', text: md5hex }, signature)).toBe(true);
    expect(rsaHolds({ key, digest: 'sha256', text: `${md5hex} ` }, signature)).toBe(false);
    expect(rsaHolds({ key, digest: 'sha1', text: md5hex }, signature)).toBe(false);
  });
});

describe('the reference reads JSON as JSON.parse does', () => {
  const nested = (depth: number): string => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
  it.each([
    '{}',
    ' {"a" : [1.50, -0, 1E+2, true, false, null, {"b":"\\u0041\\n\\/é😀"}]}\r\n',
    '{"":0,"__proto__":"x"}',
    nested(4),
  ])('%s', (text) => {
    const read = readJson(Buffer.from(text), CALLBACK);
    expect('value' in read && plain(read.value)).toEqual(JSON.parse(text));
  });

  it.each([
    '',
    '{',
    '{"a":1,}',
    '{"a":01}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":5.}',
    '{"a":1e}',
    '{"a":NaN}',
    '{"a":"\t"}',
    '{"a":"\\x41"}',
    '{"a":"\\u00g1"}',
    '{"a":"\\ud800"}',
    '{"a":1}{"a":1}',
    '\ufeff{}',
    '{"a":1}\u00a0',
    '{"a":1,"\\u0061":2}',
    `{"a":${'1'.repeat(81)}}`,
    nested(5),
    `[${'1,'.repeat(64)}1]`,
    `"${'x'.repeat(65_536)}"`,
  ])('and refuses %j', (text) => {
    expect(readJson(Buffer.from(text), CALLBACK)).toHaveProperty('no');
  });

  it.each(['c080', 'c1a1', 'e081a1', 'eda080', 'f08081a1', 'f4908080', '80', 'ff', 'e282'])(
    'and takes %s for no UTF-8',
    (bytes) => {
      expect(isUtf8(Buffer.from(bytes, 'hex'))).toBe(false);
    },
  );
});

function plain(value: Value): unknown {
  if (value.type === 'null') return null;
  if (value.type === 'number') return Number(value.text);
  if (value.type === 'boolean') return value.text === 'true';
  if (value.type === 'list') return value.items.map(plain);
  if (value.type === 'object') {
    return Object.fromEntries(value.members.map(([name, each]) => [name, plain(each)]));
  }
  return value.text;
}

describe('the reference keeps amounts exact', () => {
  it.each([
    ['1.50', '1.5'],
    ['100', '100'],
    ['0.0', '0'],
    ['1E-2', '0.01'],
    ['12.5e1', '125'],
    ['-1.0', '-1'],
    ['0e5', '0'],
    [`0.${'0'.repeat(35)}1`, `0.${'0'.repeat(35)}1`],
  ])('%s is %s', (text, exact) => {
    expect(decimal(text, { exponent: true })).toBe(exact);
  });

  it.each(['', '.', '.5', '5.', '01', '+1', '1 ', '1e', '1e1e1', '--1', '1,0', '１', `1${'0'.repeat(36)}`])(
    '%j is none',
    (text) => {
      expect(decimal(text, { exponent: true })).toBeUndefined();
    },
  );

  it('compares and adds digit by digit', () => {
    expect(decimal('1e1', { exponent: false })).toBeUndefined();
    expect(atMost('1000', '1000')).toBe(true);
    expect(atMost(`1000.${'0'.repeat(35)}1`, '1000')).toBe(false);
    expect(atMost('9.99', '10')).toBe(true);
    expect(atMost('10', '9.99')).toBe(false);
    expect(sum('0.1', '0.2')).toBe('0.3');
    expect(sum('999.95', '0.05')).toBe('1000');
  });
});

describe('the reference finds every reading of a signed text', () => {
  const text = (id: string, symbol: string): string =>
    `appKeykappOrderId${id}orderAmount100payCoinSymbol${symbol}userId7`;
  it.each([
    ['one of its own', text('11321', 'BTC'), 1],
    ['an order called overtime-7', text('overtime-7', 'BTC'), 1],
    ['an order id that holds all that follows', text('1orderAmount2payCoinSymbolX', 'BTC'), 2],
    ['a symbol with an amount and a symbol of its own', text('1', 'AorderAmount3payCoinSymbolB'), 2],
    ['a time in a symbol, which must be read as a time', text('1', 'Xtime1522055680'), 1],
    ['no amount', 'appKeykappOrderId1payCoinSymbolBTCuserId7', 0],
    ['another appKey', `x${text('1', 'BTC')}`, 0],
  ])('%s', (_what, signed, readings) => {
    expect(readingsOf(signed, 'k')).toBe(readings);
  });
});

describe('the reference takes base64 in one spelling an alphabet', () => {
  it.each(['AA', 'AA==', '-_8', '+/8=', ''])('%j', (text) => {
    expect(fromBase64(text)).toEqual(Buffer.from(text, 'base64'));
  });

  it.each(['A', 'AA=', 'AAA==', '-/8', 'AB', 'AA ', 'AA\n', 'A===', '=', 'é'])('and refuses %j', (text) => {
    expect(fromBase64(text)).toBeUndefined();
  });
});
