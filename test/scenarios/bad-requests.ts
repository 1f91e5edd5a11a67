/**
 * Where a raw request goes: a callback path, a body that is in order there, and the headers that it needs.
 */
export interface Target {
  readonly path: string;
  readonly body: string;
  readonly headers: string;
}

/** What is written on a connection, and what must come back before it is closed. */
export interface RawRequest {
  readonly name: string;
  readonly bytes: (target: Target) => string;
  /** The sender writes no more, but reads on. */
  readonly finish?: boolean;
  readonly answers: readonly string[];
}

const YES = '200 SUCCESS';
const NO = '200 FAILURE';
const NOT_HTTP = '400 FAILURE';

/** A request that ends its connection, with these lines in place of its length, and this body. */
function request({ path, body, headers }: Target, lines?: string, sent = body): string {
  const length = lines ?? `Content-Length: ${body.length}\r\n`;
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Connection: close\r\n${length}\r\n${sent}`;
}

const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const TE = 'Transfer-Encoding: chunked\r\n';
const lengthOf = (bytes: number): string => `Content-Length: ${bytes}\r\n`;

const of = (
  answers: readonly string[],
  rows: Readonly<Record<string, RawRequest['bytes']>>,
): readonly RawRequest[] => Object.entries(rows).map(([name, bytes]) => ({ name, bytes, answers }));

const keptAlive = (target: Target): string => request(target).replace('Connection: close\r\n', '');

/** Requests to a callback path. */
export const requests: readonly RawRequest[] = [
  ...of([YES], {
    'as it must be': (to) => request(to),
    'in chunks': (to) => request(to, TE, chunked(to.body)),
    'in one chunk a byte': (to) => request(to, TE, `${to.body.replaceAll(/./g, '1\r\n$&\r\n')}0\r\n\r\n`),
    'in chunks with an extension and a trailer': (to) =>
      request(to, TE, `${to.body.length.toString(16)};a=b\r\n${to.body}\r\n0\r\nX-Trailer: y\r\n\r\n`),
    'expecting 100-continue': (to) => request(to, `${lengthOf(to.body.length)}Expect: 100-continue\r\n`),
    'to an absolute target': (to) => request({ ...to, path: `http://x${to.path}` }),
    'without a host': (to) => request(to).replace('Host: x\r\n', ''),
    'with garbage behind it': (to) => `${keptAlive(to)}\0\xff garbage\r\n\r\n`,
    'with two lengths behind it': (to) => keptAlive(to) + request(to, lengthOf(1) + lengthOf(2), 'x'),
    'with the wish for another protocol': (to) =>
      request(to).replace('Connection: close', 'Connection: close, Upgrade\r\nUpgrade: h2c'),
  }),
  // Only the first is looked at.
  ...of([YES], {
    'three at once': (to) => keptAlive(to) + keptAlive(to) + request(to),
    'a good one, then a broken one': (to) => keptAlive(to) + request(to, TE, 'zz\r\n'),
  }),
  ...of([NO], {
    'no length': (to) => request(to, ''),
    'a length of 0': (to) => request(to, lengthOf(0), ''),
    'a body longer than its length': (to) => request(to, lengthOf(to.body.length - 10)),
    'a body much longer than its length': (to) => request(to, lengthOf(2)),
    'a body shorter than its length': (to) => request(to, lengthOf(to.body.length + 10)),
    'no body in spite of its length': (to) => request(to, undefined, ''),
    'a length of 10 MB, and a little': (to) => request(to, lengthOf(10_000_000)),
    'a length of 10 MB': (to) => request(to, lengthOf(10_000_000), ' '.repeat(100_000)),
    '1 MB in chunks': (to) => request(to, TE, chunked(' '.repeat(1_000_000))),
    'chunks without an end': (to) => request(to, TE, '5\r\n{"a":'),
    'a chunk’s length that is no number': (to) => request(to, TE, 'zz\r\n{}\r\n0\r\n\r\n'),
    'a chunk’s length that is too long': (to) => request(to, TE, 'fffffffffffffffff\r\n{}\r\n'),
    'a chunk longer than its length': (to) => request(to, TE, `2\r\n${to.body}\r\n0\r\n\r\n`),
    'chunks of gzip': (to) => request(to, 'Transfer-Encoding: gzip, chunked\r\n', chunked(to.body)),
    'an encoding like chunked': (to) => request(to, 'Transfer-Encoding: xchunked\r\n'),
    'HTTP/0.9': (to) => `POST ${to.path}\r\n\r\n`,
  }),
  ...of([NO], {
    'half a body, then the end': (to) => request(to, undefined, to.body.slice(0, 20)),
    'half a chunk, then the end': (to) => request(to, TE, '5\r\n{"'),
  }).map((row) => ({ ...row, finish: true })),
  ...of([NOT_HTTP], {
    'a length and chunks': (to) => request(to, lengthOf(to.body.length) + TE, chunked(to.body)),
    'chunks and a length': (to) => request(to, TE + lengthOf(to.body.length), chunked(to.body)),
    'two lengths': (to) => request(to, lengthOf(to.body.length) + lengthOf(to.body.length)),
    'two lengths that differ': (to) => request(to, lengthOf(to.body.length) + lengthOf(1)),
    'a list of lengths': (to) => request(to, `Content-Length: ${to.body.length}, ${to.body.length}\r\n`),
    'a length below zero': (to) => request(to, 'Content-Length: -1\r\n'),
    'a length with a plus': (to) => request(to, `Content-Length: +${to.body.length}\r\n`),
    'a hexadecimal length': (to) => request(to, `Content-Length: 0x${to.body.length.toString(16)}\r\n`),
    'a length beyond 64 bits': (to) => request(to, 'Content-Length: 99999999999999999999\r\n'),
    'chunks twice': (to) => request(to, 'Transfer-Encoding: chunked, chunked\r\n', chunked(to.body)),
    'chunks, then identity': (to) => request(to, `${TE}Transfer-Encoding: identity\r\n`, chunked(to.body)),
    'a blank before a colon': (to) => request(to, `Content-Length : ${to.body.length}\r\n`),
    'a folded header': (to) => request(to, `${lengthOf(to.body.length)}X: a\r\n b\r\n`),
    'a NUL in a header': (to) => request(to, `${lengthOf(to.body.length)}X: a\0b\r\n`),
    'a carriage return in a header': (to) => request(to, `${lengthOf(to.body.length)}X: a\rb\r\n`),
    'line feeds alone': (to) => request(to).replaceAll('\r\n', '\n'),
    'headers of 20 KB': (to) => request(to, `${lengthOf(to.body.length)}X: ${'x'.repeat(20_000)}\r\n`),
    '3000 headers': (to) =>
      request(
        to,
        lengthOf(to.body.length) + Array.from({ length: 3000 }, (_, each) => `X${each}: 1\r\n`).join(''),
      ),
    'a method in lower case': (to) => request(to).replace('POST', 'post'),
    'a method that is none': (to) => request(to).replace('POST', 'PAY'),
    'HTTP/3.0': (to) => request(to).replace('HTTP/1.1', 'HTTP/3.0'),
    'a NUL in the target': (to) => request({ ...to, path: `${to.path}\0` }),
    'a blank in the target': (to) => request({ ...to, path: `${to.path} x` }),
  }),
  ...of([NOT_HTTP], {
    'half a header, then the end': ({ path }) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-`,
  }).map((row) => ({ ...row, finish: true })),
  ...of(['405 '], {
    GET: (to) => request(to, '', '').replace('POST', 'GET'),
    'GET with a body': (to) => request(to).replace('POST', 'GET'),
    PUT: (to) => request(to).replace('POST', 'PUT'),
    PATCH: (to) => request(to).replace('POST', 'PATCH'),
    DELETE: (to) => request(to, '', '').replace('POST', 'DELETE'),
    HEAD: (to) => request(to, '', '').replace('POST', 'HEAD'),
    OPTIONS: (to) => request(to, '', '').replace('POST', 'OPTIONS'),
    TRACE: (to) => request(to, '', '').replace('POST', 'TRACE'),
  }),
  ...of(['404 '], {
    'a slash behind the path': (to) => request({ ...to, path: `${to.path}/` }),
    'two slashes before the path': (to) => request({ ...to, path: `/${to.path}` }),
    'the path in capitals': (to) => request({ ...to, path: to.path.toUpperCase() }),
    'dots in the path': (to) => request({ ...to, path: `/x/..${to.path}` }),
    'an escape in the path': (to) =>
      request({ ...to, path: to.path.replace('/n', '/%6e').replace('/c', '/%63') }),
    'an escape that is none': (to) => request({ ...to, path: `${to.path}/%zz` }),
    'half the path': (to) => request({ ...to, path: to.path.slice(0, -1) }),
    'a star': (to) => request({ ...to, path: '*' }),
  }),
];

/** What is no HTTP at all. */
export const garbage: readonly RawRequest[] = of([NOT_HTTP], {
  'random bytes': () => '\0\xff\x13garbage\r\n\r\n',
  'a TLS hello': () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'a TLS byte': () => '\x16',
  'the preface of HTTP/2': () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a body alone': ({ body }) => body,
  '100 KB without a line': () => 'x'.repeat(100_000),
  'the hello of Redis': () => '*1\r\n$4\r\nPING\r\n',
  'the hello of SSH': () => 'SSH-2.0-OpenSSH_9.6\r\n',
});
