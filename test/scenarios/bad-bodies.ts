import { generateKeyPairSync } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import { compileSigner } from '../../src/signature/schemes.ts';
import type { Member } from '../../src/values/members.ts';
import { TO, md5Sign, signedPayment, transfer, web3 } from '../service.ts';

/** A body that must be answered FAILURE, though its sender is who it says. */
export interface BadBody {
  readonly name: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether it is known to come from the source, and so has a journal entry. */
  readonly journalled?: boolean;
}

const KIB_64 = 65_536;
const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const replaced = (text: string, from: string, by: string): string => {
  if (!text.includes(from)) throw new Error(`${from} is not in ${text}`);
  return text.replace(from, () => by);
};
/** The body with one more member at its beginning. */
const withFirst = (good: string, member: string): string => replaced(good, '{', `{${member},`);
const padded = (good: string, bytes: number): string => good + ' '.repeat(bytes - good.length);

/** Faults in the JSON, made from the text of a good callback whose first member is the string `name`. */
export function brokenJson(good: string, name: string): readonly BadBody[] {
  const texts: Readonly<Record<string, string>> = {
    nothing: '',
    blanks: ' \n ',
    null: 'null',
    true: 'true',
    'a number': '1',
    'a string': JSON.stringify(good),
    'an array': '[]',
    'an array of it': `[${good}]`,
    'an empty object': '{}',
    'an object in it': `{"body":${good}}`,
    'no end': good.slice(0, -1),
    'half of it': good.slice(0, good.length / 2),
    'it twice': good + good,
    'a comma after it': `${good},`,
    'a bracket after it': `${good}}`,
    'a NUL after it': `${good}\0`,
    'a comma before its end': `${good.slice(0, -1)},}`,
    'single quotes': good.replaceAll('"', "'"),
    'a name without quotes': replaced(good, `"${name}"`, name),
    'a comment': withFirst(good, '/* x */ "x":1'),
    'a line comment': `// x\n${good}`,
    'NaN as a value': withFirst(good, '"x":NaN'),
    'Infinity as a value': withFirst(good, '"x":-Infinity'),
    'undefined as a value': withFirst(good, '"x":undefined'),
    'a hexadecimal number': withFirst(good, '"x":0x10'),
    'a number with a leading zero': withFirst(good, '"x":01'),
    'a number with a plus': withFirst(good, '"x":+1'),
    'a number without digits before the point': withFirst(good, '"x":.5'),
    'a number without digits after the point': withFirst(good, '"x":5.'),
    'a number of 81 characters': withFirst(good, `"x":${'1'.repeat(81)}`),
    'a line break in a string': withFirst(good, '"x":"\n"'),
    'a NUL in a string': withFirst(good, '"x":"\0"'),
    'an escape that is none': withFirst(good, '"x":"\\x41"'),
    'half a surrogate pair': withFirst(good, '"x":"\\ud800"'),
    'a member twice': withFirst(good, `"${name}":"x"`),
    'a member twice, alike': withFirst(good, /"[^"]+":(?:"[^"]*"|[^,}]+)/.exec(good)?.[0] ?? ''),
    'a member twice, once through an escape': withFirst(
      good,
      `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}":"x"`,
    ),
    'the empty name twice': withFirst(good, '"":1,"":2'),
    'an object that has a member twice': withFirst(good, '"x":{"a":1,"a":2}'),
    '65 members more': withFirst(good, Array.from({ length: 65 }, (_, index) => `"x${index}":1`).join()),
    'an array of 65 values': withFirst(good, `"x":[${'1,'.repeat(64)}1]`),
    'five brackets': withFirst(good, '"x":[[[[[1]]]]]'),
    '30,000 brackets': withFirst(good, `"x":${'['.repeat(30_000)}${']'.repeat(30_000)}`),
    '30,000 brackets without an end': '['.repeat(30_000),
    '200,000 brackets': withFirst(good, `"x":${'['.repeat(200_000)}${']'.repeat(200_000)}`),
    '200,000 objects': '{"x":'.repeat(200_000),
    'a byte beyond 64 KiB': padded(good, KIB_64 + 1),
    '10 MB': padded(good, 10_000_000),
  };
  const bytes: Readonly<Record<string, Uint8Array>> = {
    'a byte order mark': Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), utf8(good)]),
    'UTF-16': Buffer.from(`\ufeff${good}`, 'utf16le'),
    'UTF-16 without a mark': Buffer.from(good, 'utf16le'),
    'a byte that is never in UTF-8': Buffer.concat([
      utf8(good.slice(0, -2)),
      Buffer.from([0xff]),
      utf8('"}'),
    ]),
    'a character cut off': Buffer.concat([utf8(good.slice(0, -2)), Buffer.from([0xe2, 0x82]), utf8('"}')]),
    'an overlong slash': Buffer.concat([utf8(good.slice(0, -2)), Buffer.from([0xc0, 0xaf]), utf8('"}')]),
    'a surrogate in UTF-8': Buffer.concat([
      utf8(good.slice(0, -2)),
      Buffer.from([0xed, 0xa0, 0x80]),
      utf8('"}'),
    ]),
    'random bytes': Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 7919 + 13) % 256)),
  };
  return Object.entries({ ...texts, ...bytes }).map(([each, body]) => ({ name: each, body }));
}

/** Faults in how the body is announced. */
export function wrongHeaders(good: string): readonly BadBody[] {
  const types = [
    '',
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset="utf-8',
    'application/jsonp',
    'application/json+x',
    'application/json, text/plain',
    'application/*',
  ];
  const encoded = (encoding: string, body: Uint8Array | string): BadBody => ({
    name: `content-encoding ${encoding}, ${body === good ? 'a lie' : 'true'}`,
    body,
    headers: { 'content-encoding': encoding },
  });
  return [
    ...types.map((type) => ({ name: `content-type ${type}`, body: good, headers: { 'content-type': type } })),
    encoded('gzip', gzipSync(good)),
    encoded('gzip', good),
    encoded('deflate', deflateSync(good)),
    encoded('br', good),
    encoded('identity, gzip', good),
    encoded('x', good),
    {
      name: 'a gzip bomb',
      body: gzipSync(Buffer.alloc(20_000_000, 0x20)),
      headers: { 'content-encoding': 'gzip' },
    },
  ];
}

const payment: Readonly<Record<string, string>> = {
  appKey: '"test-shop"',
  appOrderId: '"bad-input"',
  orderAmount: '"100"',
  payCoinSymbol: '"USDT1742"',
  userId: '"12345"',
};

/**
 * A payment with members in their JSON, rightly signed by `md5`; a member whose JSON is empty is left out.
 */
function signedJson(members: Readonly<Record<string, string>>): string {
  const all = Object.entries({ ...payment, ...members }).filter(([, json]) => json !== '');
  const texts = all
    .filter(([, json]) => json !== 'null')
    .map(([name, json]): [string, string] => {
      const text: unknown = json.startsWith('"') ? JSON.parse(json) : json;
      return [name, String(text)];
    });
  const body = all.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join();
  return `{${body},"sign":"${md5Sign(Object.fromEntries(texts))}"}`;
}

/** What an amount may not be, as JSON. */
const badAmounts: readonly string[] = [
  '"0"',
  '0',
  '0.000',
  '-0',
  '"-0"',
  '-1',
  '"-1"',
  '1e400',
  '"1e400"',
  '1e-40',
  '"1e-40"',
  '1e2',
  '1E+2',
  '"100 "',
  '" 1"',
  '"+1"',
  '"1,000"',
  '"1_000"',
  '"0x10"',
  '"１００"',
  '"١٠٠"',
  '"1۰0"',
  '"NaN"',
  '"Infinity"',
  '"00"',
  '"01"',
  '".5"',
  '"5."',
  '""',
  '"1.2.3"',
  `"1.${'0'.repeat(36)}1"`,
  `"1${'0'.repeat(36)}"`,
  'true',
  'null',
  '["100"]',
  '{"value":"100"}',
];

/** Faults in what a rightly signed payment says. */
export function wrongPayments(): readonly BadBody[] {
  // What the grammar of the signed text allows, and only its meaning forbids, is known to come from the
  // platform.
  const authentic = new Set([
    'orderAmount "0"',
    'orderAmount 0',
    'orderAmount 0.000',
    'appOrderId true',
    'payCoinSymbol true',
  ]);
  const row = (name: string, members: Readonly<Record<string, string>>): BadBody => ({
    name,
    body: signedJson(members),
    journalled: authentic.has(name),
  });
  const members: readonly BadBody[] = [
    ...badAmounts.map((json) => row(`orderAmount ${json}`, { orderAmount: json })),
    ...Object.keys(payment).flatMap((name) => [
      row(`no ${name}`, { [name]: '' }),
      row(`${name} null`, { [name]: 'null' }),
      row(`${name} true`, { [name]: 'true' }),
      row(`${name} in an array`, { [name]: `[${payment[name]}]` }),
      row(`${name} in an object`, { [name]: `{"x":${payment[name]}}` }),
      row(`${name} empty`, { [name]: '""' }),
      row(`${name} with a blank`, { [name]: '"1 "' }),
      row(`${name} with a line break`, { [name]: '"1\\n"' }),
      row(`${name} with a NUL`, { [name]: '"1\\u0000"' }),
      row(`${name} too long`, { [name]: `"${'1'.repeat(200)}"` }),
    ]),
    row('a user with letters', { userId: '"12a"' }),
    row('a user as 1.2345e4', { userId: '1.2345e4' }),
    row('a stranger’s member', { memo: '"x"' }),
    row('__proto__', { ['__proto__']: '{"userId":"1"}' }),
    row('constructor', { constructor: '"x"' }),
    row('toString', { toString: '"x"' }),
    row('the empty name', { '': '"x"' }),
    ...[
      '"1"',
      '""',
      '"now"',
      '179000000000',
      '-1790000000',
      '1.79e9',
      '17900000001790000000',
      'true',
      '[1790000000]',
    ].map((json) => row(`time ${json}`, { time: json })),
    row('a symbol that ends like a time', { payCoinSymbol: '"USDTtime1790000000"' }),
    row('an id that holds all other members', {
      appOrderId: '"aorderAmount100payCoinSymbolBTCuserId1"',
      orderAmount: '"1"',
    }),
  ];
  const good = signedJson({});
  const { sign }: { readonly sign: string } = JSON.parse(good);
  const badSigns: readonly string[] = [
    'null',
    'true',
    '1',
    '""',
    '[]',
    '{}',
    `["${sign}"]`,
    `"${sign.slice(1)}"`,
    `"${sign}0"`,
    `"g${sign.slice(1)}"`,
    `" ${sign}"`,
    `"${sign.replace(/./g, (digit) => String.fromCodePoint((digit.codePointAt(0) ?? 0) + 0xfee0))}"`,
    `"${Buffer.from(sign, 'hex').toString('base64')}"`,
    `"${'A'.repeat(342)}"`,
    `"${'A'.repeat(60_000)}"`,
  ];
  return [
    ...members,
    ...badSigns.map((json) => ({
      name: `sign ${json.slice(0, 50)}`,
      body: replaced(good, `"${sign}"`, json),
    })),
    { name: 'no sign', body: replaced(good, `,"sign":"${sign}"`, '') },
    {
      name: 'over the limit by its 36th decimal',
      body: signedJson({ orderAmount: `"1000.${'0'.repeat(35)}1"` }),
      journalled: true,
    },
  ];
}

/** An appKey that is not the one beside the envelope. */
const another = { appKey: 'other' };
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Faults in and around an envelope; those inside are signed, and so authentic. */
export function wrongEnvelopes(): readonly BadBody[] {
  const good = signedPayment({ appOrderId: 'envelope' }, 'rsa-envelope');
  const own: Readonly<Record<string, string>> = JSON.parse(good);
  const data = own['data'] ?? '';
  const altered = (name: string, members: object): BadBody => ({
    name: `envelope: ${name}`,
    body: JSON.stringify({ ...own, ...members }),
  });
  const texts = Object.entries(payment).map(([name, json]): [string, Member] => [
    name,
    { kind: 'string', text: json.slice(1, -1) },
  ]);
  const strangers = compileSigner({
    scheme: 'rsa-envelope',
    senderKey: stranger.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    receiverKey: stranger.publicKey.export({ type: 'spki', format: 'pem' }),
  });
  return [
    { name: 'envelope: for another key', body: strangers.sign(new Map(texts), 1_790_000_000_000) },
    ...[
      1,
      true,
      null,
      [],
      {},
      '',
      'x',
      '====',
      data.slice(1),
      data + data,
      `${data}AAAA`,
      // A second block of noise, which deciphers to anything.
      Buffer.concat([Buffer.from(data, 'base64url'), Buffer.alloc(256, 7)]).toString('base64'),
      'A'.repeat(60_000),
    ].map((each) => altered(`data ${JSON.stringify(each).slice(0, 40)}`, { data: each })),
    ...[1, null, '', 'test-sho', 'test-shop ', ['test-shop']].map((each) =>
      altered(`app_id ${JSON.stringify(each)}`, { app_id: each }),
    ),
    altered('appKey beside it', { appKey: 'test-shop' }),
    {
      name: 'envelope: holds another appKey',
      body: signedPayment({ appOrderId: 'envelope', ...another }, 'rsa-envelope'),
    },
    altered('orderAmount beside it', { orderAmount: '1' }),
    ...['1e400', '-1', ' 1', '0', '', '1'.repeat(37), 'NaN', '１'].map((orderAmount) => ({
      name: `envelope: holds orderAmount ${orderAmount}`,
      body: signedPayment({ appOrderId: 'envelope', orderAmount }, 'rsa-envelope'),
      journalled: true,
    })),
    ...[{ memo: 'x' }, { constructor: 'x' }].map((members) => ({
      name: `envelope: holds ${Object.keys(members).join()}`,
      body: signedPayment({ appOrderId: 'envelope', ...members }, 'rsa-envelope'),
      journalled: true,
    })),
  ];
}

type Built = (members: object) => object;

/** Faults in what an authenticated co-signer says. Members that are not there are set to undefined. */
export function wrongQuestions(kind: 'transfer' | 'web3'): readonly BadBody[] {
  const built: Built = kind === 'transfer' ? transfer : web3;
  const row = (name: string, members: object): BadBody => ({
    name,
    body: JSON.stringify(built({ request_id: 'bad-input', ...members })),
    journalled: true,
  });
  const raw = (name: string, json: string): BadBody => ({
    name: `${name} ${json.slice(0, 50)}`,
    body: replaced(JSON.stringify(built({ request_id: 'bad-input', [name]: 'HERE' })), '"HERE"', json),
    journalled: true,
  });
  // A web3 amount may be zero, and may be -1: that is unlimited, and above the policy's limit.
  const amounts = badAmounts.filter((json) => !['1e2', '1E+2'].includes(json));
  const zeros = new Set(['"0"', '0', '0.000']);
  const required =
    kind === 'transfer' ? ['from', 'to', 'symbol'] : ['trans_id', 'from', 'to', 'main_chain_symbol'];
  const present = kind === 'transfer' ? [] : ['input_data', 'interactive_contract'];
  const others: readonly BadBody[] =
    kind === 'transfer'
      ? [
          ...['1', '[]', '"["', '"[1]"', '"[{}]"', `"[{\\"address_to\\":\\"${TO}\\",\\"amount\\":1}]"`].map(
            (json) => raw('outputs', json),
          ),
          row('outputs that leave out to', {
            outputs: JSON.stringify([{ address_to: '0x01', amount: '1.5' }]),
          }),
          row('two ids that differ', { withdraw_id: 2 }),
          row('no id', { transfer_id: undefined }),
          row('members of a web3 transaction', { trans_id: 1, input_data: '0x', interactive_contract: TO }),
          row('a memo with a line break', { memo: 'a\nb' }),
        ]
      : [
          row('members of a withdrawal', { transfer_id: 1 }),
          row('an unlimited amount', { amount: -1 }),
          row('call data with a blank', { input_data: '0x a9' }),
        ];
  return [
    ...amounts.filter((json) => kind === 'transfer' || !zeros.has(json)).map((json) => raw('amount', json)),
    ...['sign_star', 'SIGN_START', '', ' sign_start', 'payment', '__proto__', 'constructor'].map((type) =>
      row(`type ${JSON.stringify(type)}`, { type }),
    ),
    ...['null', '1', '["sign_start"]', '{}'].map((json) => raw('type', json)),
    ...['"true"', '1', '0', 'null', '[]', '""'].map((json) => raw('pending_round', json)),
    ...['null', '""', 'true', '[]', '{}', '1.5', '1e3', '"a b"', `"${'x'.repeat(129)}"`].map((json) =>
      raw('request_id', json),
    ),
    row('no type', { type: undefined }),
    row('no request_id', { request_id: undefined }),
    row('no amount', { amount: undefined }),
    ...[...required, ...present].map((name) => row(`no ${name}`, { [name]: undefined })),
    ...required.flatMap((name) => ['null', '""', 'true', '[]', '{}', '"a b"'].map((json) => raw(name, json))),
    {
      name: 'members in a prototype',
      body: `{"__proto__":${JSON.stringify(built({}))},"type":"sign_start"}`,
      journalled: true,
    },
    ...others,
  ];
}

/** Bodies at the edge of what is in order, which must be answered SUCCESS. */
export function finePayments(): Readonly<Record<string, string>> {
  const good = signedJson({ appOrderId: '"fine"' });
  const { sign }: { readonly sign: string } = JSON.parse(good);
  const members: readonly [string, unknown][] = Object.entries(JSON.parse(good));
  return {
    'upper-case hexadecimal': replaced(good, sign, sign.toUpperCase()),
    'another order': JSON.stringify(Object.fromEntries(members.toReversed())),
    'blanks all over': JSON.stringify(JSON.parse(good), null, '\t'),
    'escapes all over': replaced(good, '"appKey":"test-shop"', '"\\u0061ppKey":"\\u0074est-shop"'),
    '64 KiB': padded(good, KIB_64),
    'an amount that is a number': signedJson({ appOrderId: '"fine"', orderAmount: '100.00' }),
    'a member that is null': signedJson({ appOrderId: '"fine"', time: 'null' }),
    'a time in milliseconds': signedJson({ appOrderId: '"fine"', time: '1790000000000' }),
    'an envelope whose time is none': replaced(
      signedPayment({ appOrderId: 'fine-by-envelope' }, 'rsa-envelope'),
      '1790000000000',
      '[1e400]',
    ),
    'an amount at the limit': signedJson({ appOrderId: '"fine-2"', orderAmount: `"1000.${'0'.repeat(36)}"` }),
  };
}
