import { describe, expect, it } from 'vitest';
import { SHOP, fileOf, linesOf, refusalOf, refusalOfFile, settingsOf } from './written.ts';

const PAYMENT = 'name: shop, callback: payment, appKey: a1';
const SIGNED = 'signatures: [{ scheme: md5, secret: { env: S } }]';
const REFERENCE = 'write { file: PATH } or { env: NAME }; settings must not contain the secret itself';
const RANGE = 'write an IP address or a range such as 10.0.0.0/8';
const PATH = 'write a path such as /cosigner/withdraw, without a slash at its end';

const payment = (rest: string): string => `sources:\n  - { ${PAYMENT}, ${rest} }\n`;
const cosigner = (rest: string): string => `sources:\n  - { name: vault, callback: cosigner, ${rest} }\n`;
const credential = (written: string): string => cosigner(`authenticate: [${written}]`);

describe('a fault of the file as YAML', () => {
  it.each([
    [
      'an open quote',
      'public: "x\n',
      'FILE:2:1: is not valid YAML: Missing closing "quote; correct the syntax here',
    ],
    [
      'one name twice',
      `${SHOP}ops: {}\nops: {}\n`,
      'FILE:3:1: is not valid YAML: a name appears twice; keep one of the two',
    ],
    [
      'a tag',
      `${SHOP}answerTimeoutMs: !!int 500\n`,
      'FILE:2:18: is not valid YAML: Unresolved tag; correct the syntax here',
    ],
    [
      'an unknown alias',
      'sources: *hunter2\n',
      'FILE:1:10: is not valid YAML: there is no anchor for an alias; write the value out',
    ],
    [
      'a text',
      'sources\n',
      'FILE:1:1: is not a mapping; write settings such as `public:` on lines of their own',
    ],
    [
      'a list',
      '- sources\n',
      'FILE:1:1: is not a mapping; write settings such as `public:` on lines of their own',
    ],
    [
      'a part of itself',
      'sources: &a [*a]\n',
      'FILE:1:13: is not valid YAML: it is nested more than 16 deep; remove the inner levels: nothing needs so many',
    ],
    [
      'two documents',
      `${SHOP}---\n${SHOP}`,
      'FILE:3:1: is a second document; write all settings into one, without `---`',
    ],
  ])('%s', (_, yaml, line) => {
    expect(linesOf(refusalOf(yaml))).toEqual([line]);
  });

  it('a missing file, with the working directory', () => {
    expect(linesOf(refusalOfFile('/nowhere/countersign.yaml'))).toEqual(
      [
        `/nowhere/countersign.yaml: can't be read (ENOENT); name an existing file with --config or COUNTERSIGN_CONFIG; a relative path is resolved against the working directory, ${process.cwd()}`,
      ].map((line) => line.replace('/nowhere/countersign.yaml', 'FILE')),
    );
  });

  it('a file of more than 1 MiB', () => {
    expect(linesOf(refusalOfFile(fileOf('#'.repeat(1024 * 1024 + 1))))).toEqual([
      'FILE: is larger than 1 MiB; name a settings file with --config',
    ]);
  });
});

describe('a fault of one setting has its place and its cure', () => {
  it.each([
    ['no sources at all', '', 'FILE:1:1: sources is missing; write a list of 1 to 64 sources'],
    [
      'an empty list of sources',
      'sources: []\n',
      'FILE:1:1: sources has an invalid value; write a list of 1 to 64 sources',
    ],
    ['an unknown name', `${SHOP}polices: {}\n`, 'FILE:2:1: polices is not a setting; did you mean policies?'],
    [
      'an unknown name that resembles none',
      `${SHOP}xyzzy: {}\n`,
      'FILE:2:1: xyzzy is not a setting; delete it, or see docs/settings.md',
    ],
    [
      'a name within a section',
      `${SHOP}public:\n  prot: 1\n`,
      'FILE:3:3: public.prot is not a setting; did you mean port?',
    ],
    [
      'the prototype',
      `${SHOP}__proto__: { port: 1 }\n`,
      'FILE:2:1: __proto__ is not a setting; delete it, or see docs/settings.md',
    ],
    [
      'a section without settings',
      `${SHOP}log:\n`,
      'FILE:2:1: log has no value; write its settings below it, indented: level, unauthenticatedPerMinute',
    ],
    [
      'a text for a section',
      `${SHOP}log: info\n`,
      'FILE:2:1: log has an invalid value; write its settings below it, indented: level, unauthenticatedPerMinute',
    ],
    [
      'a list for a section',
      `${SHOP}log: []\n`,
      'FILE:2:1: log has an invalid value; write its settings below it, indented: level, unauthenticatedPerMinute',
    ],
    [
      'letters for a number',
      `${SHOP}public: { port: http }\n`,
      'FILE:2:11: public.port has an invalid value; write a whole number from 0 to 65535, or delete the line for the default, 8080',
    ],
    [
      'a number too large',
      `${SHOP}public: { port: 65536 }\n`,
      'FILE:2:11: public.port has an invalid value; write a whole number from 0 to 65535, or delete the line for the default, 8080',
    ],
    [
      'a number too small',
      `${SHOP}answerTimeoutMs: 99\n`,
      'FILE:2:1: answerTimeoutMs has an invalid value; write a whole number from 100 to 10000, or delete the line for the default, 2000',
    ],
    [
      'a fraction',
      `${SHOP}answerTimeoutMs: 500.5\n`,
      'FILE:2:1: answerTimeoutMs has an invalid value; write a whole number from 100 to 10000, or delete the line for the default, 2000',
    ],
    [
      'another notation',
      `${SHOP}answerTimeoutMs: 0x500\n`,
      'FILE:2:1: answerTimeoutMs has an invalid value; write a whole number from 100 to 10000, or delete the line for the default, 2000',
    ],
    [
      'a word that is not in the list',
      `${SHOP}policies: { push: always }\n`,
      'FILE:2:13: policies.push has an invalid value; write one of when-empty, never',
    ],
    [
      'a proxy without an address',
      `${SHOP}public: { trustedProxies: [gateway] }\n`,
      `FILE:2:28: public.trustedProxies[0] has an invalid value; ${RANGE}`,
    ],
    [
      'a range with too long a prefix',
      `${SHOP}public: { trustedProxies: [10.0.0.0/8, 10.0.0.0/33] }\n`,
      `FILE:2:40: public.trustedProxies[1] has an invalid value; ${RANGE}`,
    ],
    [
      'retention shorter than a window',
      `${SHOP}store: { retention: { subjectsDays: 92 } }\n`,
      'FILE:2:23: store.retention.subjectsDays has an invalid value; write a whole number from 93 to 36500, or delete the line for the default, 400',
    ],
    [
      'a key as it is',
      `${SHOP}public: { tls: { certificate: c.pem, key: hunter2 } }\n`,
      `FILE:2:38: public.tls.key has an invalid value; ${REFERENCE}`,
    ],
  ])('%s', (_, yaml, line) => {
    expect(linesOf(refusalOf(yaml))).toEqual([line]);
  });
});

describe('a fault of the reconciliation', () => {
  const ZONE = 'write an IANA time zone such as Asia/Shanghai or UTC';
  const reconciled = (rest: string): string =>
    `platform: { url: https://openapi.example }\nreconcile: { directory: runs, ${rest} }\n`;

  it.each([
    ['an unknown zone', 'zone: Asia/Shangai', `zone has an invalid value; ${ZONE}`],
    ['a zone with a blank', 'zone: "Asia/Shanghai "', `zone has an invalid value; ${ZONE}`],
    [
      'no settle time',
      'settleMinutes: 0',
      'settleMinutes has an invalid value; write a whole number from 1 to 1440, or delete the line for the default, 60',
    ],
    [
      'a settle time of more than a day',
      'settleMinutes: 1441',
      'settleMinutes has an invalid value; write a whole number from 1 to 1440, or delete the line for the default, 60',
    ],
    [
      'a day that is not',
      'firstDay: 2026-02-29',
      'firstDay has an invalid value; write a day such as 2026-03-02',
    ],
    ['a time', 'firstDay: 2026-02-28T00:00', 'firstDay has an invalid value; write a day such as 2026-03-02'],
  ])('%s', (_, rest, line) => {
    expect(linesOf(refusalOf(reconciled(rest) + SHOP))).toEqual([`FILE:2:31: reconcile.${line}`]);
  });

  it('no address of the platform', () => {
    expect(linesOf(refusalOf(`reconcile: { directory: runs }\n${SHOP}`))).toEqual([
      'FILE:1:14: reconcile.directory has no effect without the address of the platform; ' +
        'write platform.url, from which the bill is read, or delete reconcile.directory',
    ]);
  });

  it('a source whose bill can not be requested', () => {
    const rsa = payment('signatures: [{ scheme: rsa, platformKey: { file: a } }]');
    expect(linesOf(refusalOf(reconciled('zone: UTC') + rsa))).toEqual([
      'FILE:4:50: sources[0].signatures has no key for requests to the platform, such as the bill; ' +
        'add the merchantKey that signs requests, or an md5 or rsa-envelope entry, or delete reconcile.directory',
    ]);
    const signing = payment(
      'signatures: [{ scheme: rsa, platformKey: { file: a }, merchantKey: { file: b } }]',
    );
    expect(settingsOf(reconciled('zone: UTC') + signing)).toBeDefined();
  });

  it('an address of the platform, once', () => {
    const [line, ...more] = linesOf(refusalOf(`platform: { url: openapi.example }\n${SHOP}`));
    expect([line, more]).toEqual([
      expect.stringMatching(/^FILE:1:13: platform\.url has an invalid value; /),
      [],
    ]);
  });

  it('and none without a directory, or with a co-signer alone', () => {
    const rsa = payment('signatures: [{ scheme: rsa, platformKey: { file: a } }]');
    expect(settingsOf(`reconcile: { zone: UTC }\n${rsa}`).reconcile).toMatchObject({ zone: 'UTC' });
    const { reconcile } = settingsOf(`reconcile: { directory: runs }\n${credential('none')}`);
    expect(reconcile).toMatchObject({ zone: 'Asia/Shanghai', settleMinutes: 60, delayMinutes: 30 });
  });
});

describe('a fault of a payment source', () => {
  it.each([
    [
      'a name in capitals',
      `sources:\n  - { name: Shop, callback: payment, appKey: a, ${SIGNED} }\n`,
      'FILE:2:7: sources[0].name has an invalid value; write a lower-case letter, then at most 31 of a-z, 0-9 and -',
    ],
    [
      'no callback',
      `sources:\n  - { name: shop, appKey: a, ${SIGNED} }\n`,
      'FILE:2:5: sources[0].callback is missing; write callback: payment or callback: cosigner, with its settings, or set COUNTERSIGN_SOURCES_0_CALLBACK',
    ],
    [
      'another callback',
      `sources:\n  - { name: shop, callback: refund }\n`,
      'FILE:2:19: sources[0].callback has an invalid value; write callback: payment or callback: cosigner, with its settings',
    ],
    [
      'no appKey',
      `sources:\n  - { name: shop, callback: payment, ${SIGNED} }\n`,
      'FILE:2:5: sources[0].appKey is missing; write the appKey, 1 to 128 printable characters without blanks, or set COUNTERSIGN_SOURCES_0_APP_KEY',
    ],
    [
      'no signature',
      payment('signatures: []'),
      'FILE:2:50: sources[0].signatures has an invalid value; write a list of 1 to 8 signatures',
    ],
    [
      'an unknown scheme',
      payment('signatures: [{ scheme: hmac }]'),
      'FILE:2:65: sources[0].signatures[0].scheme has an invalid value; write scheme: md5, rsa or rsa-envelope, with its settings',
    ],
    [
      'the secret as it is',
      payment('signatures: [{ scheme: md5, secret: hunter2 }]'),
      `FILE:2:78: sources[0].signatures[0].secret has an invalid value; ${REFERENCE}`,
    ],
    [
      'a reference of both forms',
      payment('signatures: [{ scheme: md5, secret: { file: a, env: B } }]'),
      `FILE:2:78: sources[0].signatures[0].secret has an invalid value; ${REFERENCE}`,
    ],
    [
      'a reference of no form',
      payment('signatures: [{ scheme: md5, secret: {} }]'),
      `FILE:2:78: sources[0].signatures[0].secret has an invalid value; ${REFERENCE}`,
    ],
    [
      'an invalid name of a variable',
      payment('signatures: [{ scheme: md5, secret: { env: A-B } }]'),
      'FILE:2:88: sources[0].signatures[0].secret.env has an invalid value; write the name of an environment variable',
    ],
    [
      'no secret',
      payment('signatures: [{ scheme: md5 }]'),
      `FILE:2:63: sources[0].signatures[0].secret is missing; ${REFERENCE}`,
    ],
    [
      'a setting of another scheme',
      payment('signatures: [{ scheme: md5, secret: { env: S }, digest: sha1 }]'),
      'FILE:2:98: sources[0].signatures[0].digest is not allowed in this form; delete it',
    ],
    [
      'a setting of a co-signer',
      payment(`${SIGNED}, authenticate: [none]`),
      'FILE:2:101: sources[0].authenticate is not allowed in this form; delete it',
    ],
    [
      'an answer of another form',
      payment(`${SIGNED}, answer: xml`),
      'FILE:2:101: sources[0].answer has an invalid value; write plain, json, or { contentType, success, failure }',
    ],
    [
      'an answer without a text',
      payment(`${SIGNED}, answer: { contentType: a/b, success: y, failure: "" }`),
      'FILE:2:141: sources[0].answer.failure has no value; write the text of the answer',
    ],
    [
      'answers that are the same',
      payment(`${SIGNED}, answer: { contentType: a/b, success: y, failure: "y " }`),
      'FILE:2:141: sources[0].answer.failure is the same as success; write two different texts',
    ],
    [
      'a content type with a line break',
      payment(`${SIGNED}, answer: { contentType: "a/b\\r\\nx: y", success: y, failure: n }`),
      'FILE:2:111: sources[0].answer.contentType has an invalid value; write a content type such as application/json',
    ],
  ])('%s', (_, yaml, line) => {
    expect(linesOf(refusalOf(yaml))).toEqual([line]);
  });
});

describe('a fault of a co-signer', () => {
  it.each([
    [
      'no credential',
      cosigner('authenticate: []'),
      'FILE:2:40: sources[0].authenticate has an invalid value; write a list of 1 to 8 credentials',
    ],
    [
      'none with another credential',
      credential('none, { addresses: [10.0.0.0/8] }'),
      'FILE:2:55: sources[0].authenticate[0] is listed with other credentials; delete the entry `none`, so that the others are required',
    ],
    [
      'an unknown credential',
      credential('{ adresses: [10.0.0.1] }'),
      'FILE:2:55: sources[0].authenticate[0] has an invalid value; write one of addresses, header, path and certificate, with its settings; or none',
    ],
    [
      'two credentials in one',
      credential('{ addresses: [10.0.0.1], path: { secret: { env: S } } }'),
      'FILE:2:55: sources[0].authenticate[0] has an invalid value; write one of addresses, header, path and certificate, with its settings; or none',
    ],
    [
      'no addresses',
      credential('{ addresses: [] }'),
      'FILE:2:57: sources[0].authenticate[0].addresses has an invalid value; write a list of 1 to 64 addresses',
    ],
    [
      'a header without a secret',
      credential('{ header: { name: authorization } }'),
      `FILE:2:57: sources[0].authenticate[0].header.secret is missing; ${REFERENCE}`,
    ],
    [
      'an invalid name of a header',
      credential('{ header: { name: "a b", secret: { env: S } } }'),
      'FILE:2:67: sources[0].authenticate[0].header.name has an invalid value; write the name of a header',
    ],
    [
      'any certificate',
      `public: { tls: { certificate: c, key: { env: K }, clientCa: ca } }\n${credential('{ certificate: {} }')}`,
      'FILE:3:57: sources[0].authenticate[0].certificate accepts any certificate; write fingerprints, subjects or both',
    ],
    [
      'a certificate without TLS',
      credential('{ certificate: { subjects: [CN=vault] } }'),
      'FILE:2:57: sources[0].authenticate[0].certificate needs client certificates on the connection; set public.tls.clientCa, or name the header in which the gateway passes the certificate on',
    ],
    [
      'a certificate header without a gateway',
      credential('{ certificate: { header: x-cert, subjects: [CN=vault] } }'),
      'FILE:2:57: sources[0].authenticate[0].certificate trusts a header from any caller; list the gateway in public.trustedProxies',
    ],
    [
      'a header with a fingerprint and a subject',
      `public: { trustedProxies: [10.0.0.1] }\n${credential(
        `{ certificate: { header: x-cert, fingerprints: [${'ab'.repeat(32)}], subjects: [CN=vault] } }`,
      )}`,
      'FILE:3:57: sources[0].authenticate[0].certificate expects a fingerprint and a subject in one header; list fingerprints or subjects, whichever the gateway sends',
    ],
    [
      'none twice',
      credential('none, none'),
      'FILE:2:55: sources[0].authenticate[0] is listed with other credentials; delete the entry `none`, so that the others are required',
    ],
    [
      'an empty certificate',
      `public: { tls: { certificate: c, key: { env: K }, clientCa: ca } }\n${credential('{ certificate: { fingerprints: [], subjects: [] } }')}`,
      'FILE:3:72: sources[0].authenticate[0].certificate.fingerprints has an invalid value; write a list of 1 to 16 fingerprints',
      'FILE:3:90: sources[0].authenticate[0].certificate.subjects has an invalid value; write a list of 1 to 16 subjects',
    ],
    [
      'a short fingerprint',
      `public: { trustedProxies: [10.0.0.1] }\n${credential('{ certificate: { header: x-cert, fingerprints: [abcd] } }')}`,
      'FILE:3:103: sources[0].authenticate[0].certificate.fingerprints[0] has an invalid value; write a SHA-256 fingerprint, 64 hexadecimal digits',
    ],
    [
      'a SHA-1 fingerprint',
      `public: { trustedProxies: [10.0.0.1] }\n${credential(`{ certificate: { header: x-cert, fingerprints: [${'ab'.repeat(20)}] } }`)}`,
      'FILE:3:103: sources[0].authenticate[0].certificate.fingerprints[0] has an invalid value; this one has 40 digits and is SHA-1; write the SHA-256 fingerprint, which has 64: `openssl x509 -in FILE -noout -fingerprint -sha256`',
    ],
    [
      'subjects in the header of Envoy',
      `public: { trustedProxies: [10.0.0.1] }\n${credential('{ certificate: { header: x-forwarded-client-cert, subjects: [CN=a] } }')}`,
      'FILE:3:57: sources[0].authenticate[0].certificate reads subjects from X-Forwarded-Client-Cert, which clients can write; list fingerprints instead',
    ],
    [
      'no paths',
      cosigner('authenticate: [none], paths: {}'),
      'FILE:2:62: sources[0].paths contains no path; write withdraw, web3 or both, or delete paths for the defaults',
    ],
    [
      'a path that begins with no slash',
      cosigner('authenticate: [none], paths: { web3: web3 }'),
      `FILE:2:71: sources[0].paths.web3 has an invalid value; ${PATH}`,
    ],
    [
      'a path that ends with a slash',
      cosigner('authenticate: [none], paths: { web3: /web3/ }'),
      `FILE:2:71: sources[0].paths.web3 has an invalid value; ${PATH}`,
    ],
    [
      'a path that goes up',
      cosigner('authenticate: [none], paths: { web3: /a/../b }'),
      `FILE:2:71: sources[0].paths.web3 has an invalid value; ${PATH}`,
    ],
    [
      'the path of payments',
      cosigner('authenticate: [none], paths: { web3: /nofity/transferToMerchantAuthCheck }'),
      'FILE:2:71: sources[0].paths.web3 is the path of payment confirmations; give each source its own paths',
    ],
    [
      'the path of payments in other letters',
      cosigner('authenticate: [none], paths: { web3: /NOFITY/transfertomerchantauthcheck }'),
      'FILE:2:71: sources[0].paths.web3 is the path of payment confirmations; give each source its own paths',
    ],
    [
      'a path secret below itself',
      cosigner('authenticate: [{ path: { secret: { env: S } } }], paths: { withdraw: /a, web3: /a/b }'),
      'FILE:2:113: sources[0].paths.web3 overlaps a path of sources[0], where a path secret follows; write paths that do not begin with each other',
    ],
    [
      'a path secret above the path of payments',
      cosigner('authenticate: [{ path: { secret: { env: S } } }], paths: { withdraw: /nofity }'),
      'FILE:2:99: sources[0].paths.withdraw overlaps the path of payment confirmations, where a path secret follows; write paths that do not begin with each other',
    ],
    [
      'half a self-check',
      cosigner('authenticate: [none], selfCheck: { verifySignKey: { file: a } }'),
      `FILE:2:62: sources[0].selfCheck.clientSystemKey is missing; ${REFERENCE}`,
    ],
  ])('%s', (_, yaml, ...lines) => {
    expect(linesOf(refusalOf(yaml))).toEqual(lines);
  });

  it.each([
    '10.1.2.0/33',
    '10.1.2.0/',
    '10.1.2.0/-1',
    '10.1.2.0/08',
    '10.1.2',
    '10.1.2.256',
    'fd00::/129',
    'localhost',
    '',
    'fe80::1%eth0',
    '10.1.2.0/24 ',
  ])('the address range %j', (range) => {
    expect(linesOf(refusalOf(credential(`{ addresses: ["${range}"] }`)))).toEqual([
      `FILE:2:69: sources[0].authenticate[0].addresses[0] has ${range === '' ? 'no' : 'an invalid'} value; ${RANGE}`,
    ]);
  });

  it.each(['::ffff:10.0.0.0/104', '::FFFF:10.0.0.1'])('the IPv4 range %j in IPv6 notation', (range) => {
    expect(linesOf(refusalOf(credential(`{ addresses: ["${range}"] }`)))).toEqual([
      'FILE:2:69: sources[0].authenticate[0].addresses[0] has an invalid value; write it as an IPv4 address or range',
    ]);
  });

  it('may have one path for both callbacks', () => {
    expect(
      settingsOf(cosigner('authenticate: [none], paths: { withdraw: /a, web3: /a }')).sources,
    ).toHaveLength(1);
  });

  it('may have paths below those of another, if no path secret follows', () => {
    expect(
      settingsOf(cosigner('authenticate: [none], paths: { withdraw: /a, web3: /a/b }')).sources,
    ).toHaveLength(1);
  });
});

describe('a fault between settings', () => {
  const store =
    'has an invalid value; write one of embedded:PATH, redis://HOST:PORT/DATABASE, redis-sentinel://HOST:PORT,HOST:PORT/PRIMARY/DATABASE, redis-cluster://HOST:PORT,HOST:PORT; rediss for TLS';
  const two = (first: string, second: string): string => `sources:\n  - { ${first} }\n  - { ${second} }\n`;
  it.each([
    [
      'one port for both',
      `${SHOP}ops: { port: 8080 }\n`,
      'FILE:2:8: ops.port is 8080, like public.port; choose two different ports',
    ],
    [
      'one port, as the default of one',
      `${SHOP}public: { port: 9090 }\n`,
      'FILE:1:1: ops.port is 9090, like public.port; choose two different ports',
    ],
    ['an unknown store', `${SHOP}store: postgres://db\n`, `FILE:2:1: store.url ${store}`],
    ['an embedded store without a path', `${SHOP}store: "embedded:"\n`, `FILE:2:1: store.url ${store}`],
    [
      'a password in the URL',
      `${SHOP}store: redis://:hunter2@redis/0\n`,
      'FILE:2:1: store.url contains a user or a password; remove them from the URL and set store.username and store.password, such as store.password: { env: REDIS_PASSWORD }',
    ],
    [
      'TLS for a plain connection',
      `${SHOP}store: { url: redis://redis, tls: { ca: ca.pem } }\n`,
      'FILE:2:30: store.tls has no effect on this store.url; write rediss instead of redis in the URL, or delete store.tls',
    ],
    [
      'half a client certificate',
      `${SHOP}store: { url: rediss://redis, tls: { certificate: c.pem } }\n`,
      'FILE:2:31: store.tls has only one of certificate and key; write both, or neither',
    ],
    [
      'a user without a password',
      `${SHOP}store: { url: redis://redis, username: u }\n`,
      'FILE:2:30: store.username has no password; add store.password',
    ],
    [
      'one name twice',
      two(`${PAYMENT}, ${SIGNED}`, `name: shop, callback: payment, appKey: a2, ${SIGNED}`),
      'FILE:3:7: sources[1].name is also the name of sources[0]; give each source its own name',
    ],
    [
      'one appKey twice',
      two(`${PAYMENT}, ${SIGNED}`, `name: stall, callback: payment, appKey: a1, ${SIGNED}`),
      'FILE:3:39: sources[1].appKey is also the appKey of sources[0]; give each appKey one source; two keys of one appKey are two entries of signatures',
    ],
    [
      'one path of two co-signers',
      two(
        'name: a, callback: cosigner, authenticate: [none], paths: { web3: /x }',
        'name: b, callback: cosigner, authenticate: [none], paths: { withdraw: /X }',
      ),
      'FILE:3:67: sources[1].paths.withdraw is a path of sources[0]; give each source its own paths',
    ],
  ])('%s', (_, yaml, line) => {
    expect(linesOf(refusalOf(yaml))).toEqual([line]);
  });

  it('two co-signers with the default paths', () => {
    const both = two(
      'name: a, callback: cosigner, authenticate: [none]',
      'name: b, callback: cosigner, authenticate: [none]',
    );
    expect(linesOf(refusalOf(both))).toEqual([
      'FILE:3:5: sources[1].paths.withdraw is a path of sources[0]; give each source its own paths',
      'FILE:3:5: sources[1].paths.web3 is a path of sources[0]; give each source its own paths',
    ]);
  });
});

describe('all faults together', () => {
  const faulty = `public: { prot: 1, port: 9090 }\nstore: redis://u:hunter2@h\nsources:\n  - { name: A, callback: payment, appKey: a, signatures: [{ scheme: md5, secret: hunter2 }] }\n  - { name: b, callback: payment, appKey: a }\n`;
  const refusal = refusalOf(faulty, { COUNTERSIGN_LOG_LEVEL: 'hunter2', COUNTERSIGN_LOG_LEVL: 'hunter2' });

  it('are reported at once, those between faulty settings too', () => {
    expect(refusal.faults.map(({ place, setting }) => `${place} ${setting}`.trim()).toSorted()).toEqual([
      'FILE:1:1 ops.port',
      'FILE:1:11 public.prot',
      'FILE:2:1 store.url',
      'FILE:4:7 sources[0].name',
      'FILE:4:74 sources[0].signatures[0].secret',
      'FILE:5:35 sources[1].appKey',
      'FILE:5:5 sources[1].signatures',
      'variable COUNTERSIGN_LOG_LEVEL log.level',
      'variable COUNTERSIGN_LOG_LEVL',
    ]);
  });

  it('have a line each in the message', () => {
    expect(refusal.message.split('\n')).toEqual([
      'The settings have 9 faults.',
      ...linesOf(refusal).map((line) => `  ${line}`),
    ]);
  });

  it('quote no value', () => {
    expect(JSON.stringify(refusal)).not.toContain('hunter2');
  });
});
