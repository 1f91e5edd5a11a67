import { describe, expect, it } from 'vitest';
import { SHOP, fileOf, linesOf, refusalOf, refusalOfFile, refuses, settingsOf } from './written.ts';

const PAYMENT = 'name: shop, callback: payment, appKey: a1';
const SIGNED = 'signatures: [{ scheme: md5, secret: { env: S } }]';
const REFERENCE = 'write { file: PATH } or { env: NAME }; settings must not contain the secret itself';
const RANGE = 'write an IP address or a range such as 10.0.0.0/8';
const PATH = 'write a path such as /cosigner/withdraw, without a slash at its end';

const payment = (rest: string): string => `sources:\n  - { ${PAYMENT}, ${rest} }\n`;
const cosigner = (rest: string): string => `sources:\n  - { name: vault, callback: cosigner, ${rest} }\n`;
const credential = (written: string): string => cosigner(`authenticate: [${written}]`);

describe('a fault of the file as YAML', () => {
  refuses(`
public: "x
! FILE:2:1: is not valid YAML: Missing closing "quote; correct the syntax here
sources: *hunter2
! FILE:1:10: is not valid YAML: there is no anchor for an alias; write the value out
sources
! FILE:1:1: is not a mapping; write settings such as \`public:\` on lines of their own
- sources
! FILE:1:1: is not a mapping; write settings such as \`public:\` on lines of their own
sources: &a [*a]
! FILE:1:13: is not valid YAML: it is nested more than 16 deep; remove the inner levels: nothing needs so many
`);

  refuses(
    `
ops: {}
ops: {}
! FILE:3:1: is not valid YAML: a name appears twice; keep one of the two
answerTimeoutMs: !!int 500
! FILE:2:18: is not valid YAML: Unresolved tag; correct the syntax here
---
${SHOP}
! FILE:3:1: is a second document; write all settings into one, without \`---\`
`,
    (yaml) => SHOP + yaml,
  );

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
  refuses(`

! FILE:1:1: sources is missing; write a list of 1 to 64 sources
sources: []
! FILE:1:1: sources has an invalid value; write a list of 1 to 64 sources
`);

  refuses(
    `
fourEyes: [lists]
! FILE:1:1: deployment is missing; name the deployment: signatures are for one deployment alone, or set COUNTERSIGN_DEPLOYMENT
deployment: acme
fourEyes: [list]
! FILE:3:12: fourEyes[0] has an invalid value; write one of unfreeze, lists, prices, orders, releases, lockouts, clock
deployment: acme
signers: { file: u.yaml, tighten: 1 }
! FILE:3:1: signers.state is missing; name a file: fewer signatures suffice only for a service that remembers what was in force, or set COUNTERSIGN_SIGNERS_STATE
deployment: acme
signers: { file: u.yaml, tighten: 3, state: s.json }
! FILE:3:26: signers.tighten is 3, above threshold, 2; write at most 2
polices: {}
! FILE:2:1: polices is not a setting; did you mean policies?
xyzzy: {}
! FILE:2:1: xyzzy is not a setting; delete it, or see docs/settings.md
public:
  prot: 1
! FILE:3:3: public.prot is not a setting; did you mean port?
__proto__: { port: 1 }
! FILE:2:1: __proto__ is not a setting; delete it, or see docs/settings.md
log:
! FILE:2:1: log has no value; write its settings below it, indented: level, unauthenticatedPerMinute
log: info
! FILE:2:1: log has an invalid value; write its settings below it, indented: level, unauthenticatedPerMinute
log: []
! FILE:2:1: log has an invalid value; write its settings below it, indented: level, unauthenticatedPerMinute
public: { port: http }
! FILE:2:11: public.port has an invalid value; write a whole number from 0 to 65535, or delete the line for the default, 8080
public: { port: 65536 }
! FILE:2:11: public.port has an invalid value; write a whole number from 0 to 65535, or delete the line for the default, 8080
answerTimeoutMs: 99
! FILE:2:1: answerTimeoutMs has an invalid value; write a whole number from 100 to 60000, or delete the line for the default, 2000
answerTimeoutMs: 500.5
! FILE:2:1: answerTimeoutMs has an invalid value; write a whole number from 100 to 60000, or delete the line for the default, 2000
answerTimeoutMs: 0x500
! FILE:2:1: answerTimeoutMs has an invalid value; write a whole number from 100 to 60000, or delete the line for the default, 2000
policies: { push: always }
! FILE:2:13: policies.push has an invalid value; write one of when-empty, never
public: { trustedProxies: [gateway] }
! FILE:2:28: public.trustedProxies[0] has an invalid value; ${RANGE}
public: { trustedProxies: [10.0.0.0/8, 10.0.0.0/33] }
! FILE:2:40: public.trustedProxies[1] has an invalid value; ${RANGE}
store: { retention: { subjectsDays: 92 } }
! FILE:2:23: store.retention.subjectsDays has an invalid value; write a whole number from 93 to 36500, or delete the line for the default, 400
public: { tls: { certificate: c.pem, key: hunter2 } }
! FILE:2:38: public.tls.key has an invalid value; ${REFERENCE}
`,
    (yaml) => SHOP + yaml,
  );
});

describe('a fault of the reconciliation', () => {
  const ZONE = 'write an IANA time zone such as Asia/Shanghai or UTC';
  const reconciled = (rest: string): string =>
    `platform: { url: https://openapi.example }\nreconcile: { directory: runs, ${rest} }\n`;

  refuses(
    `
zone: Asia/Shangai
! FILE:2:31: reconcile.zone has an invalid value; ${ZONE}
zone: "Asia/Shanghai "
! FILE:2:31: reconcile.zone has an invalid value; ${ZONE}
settleMinutes: 0
! FILE:2:31: reconcile.settleMinutes has an invalid value; write a whole number from 1 to 1440, or delete the line for the default, 60
settleMinutes: 1441
! FILE:2:31: reconcile.settleMinutes has an invalid value; write a whole number from 1 to 1440, or delete the line for the default, 60
firstDay: 2026-02-29
! FILE:2:31: reconcile.firstDay has an invalid value; write a day such as 2026-03-02
firstDay: 2026-02-28T00:00
! FILE:2:31: reconcile.firstDay has an invalid value; write a day such as 2026-03-02
`,
    (rest) => reconciled(rest) + SHOP,
  );

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
  refuses(`
sources:
  - { name: Shop, callback: payment, appKey: a, ${SIGNED} }
! FILE:2:7: sources[0].name has an invalid value; write a lower-case letter, then at most 31 of a-z, 0-9 and -
sources:
  - { name: shop, appKey: a, ${SIGNED} }
! FILE:2:5: sources[0].callback is missing; write callback: payment or callback: cosigner, with its settings, or set COUNTERSIGN_SOURCES_0_CALLBACK
sources:
  - { name: shop, callback: refund }
! FILE:2:19: sources[0].callback has an invalid value; write callback: payment or callback: cosigner, with its settings
sources:
  - { name: shop, callback: payment, ${SIGNED} }
! FILE:2:5: sources[0].appKey is missing; write the appKey, 1 to 128 printable characters without blanks, or set COUNTERSIGN_SOURCES_0_APP_KEY
`);

  refuses(
    `
signatures: []
! FILE:2:50: sources[0].signatures has an invalid value; write a list of 1 to 8 signatures
signatures: [{ scheme: hmac }]
! FILE:2:65: sources[0].signatures[0].scheme has an invalid value; write scheme: md5, rsa or rsa-envelope, with its settings
signatures: [{ scheme: md5, secret: hunter2 }]
! FILE:2:78: sources[0].signatures[0].secret has an invalid value; ${REFERENCE}
signatures: [{ scheme: md5, secret: { file: a, env: B } }]
! FILE:2:78: sources[0].signatures[0].secret has an invalid value; ${REFERENCE}
signatures: [{ scheme: md5, secret: {} }]
! FILE:2:78: sources[0].signatures[0].secret has an invalid value; ${REFERENCE}
signatures: [{ scheme: md5, secret: { env: A-B } }]
! FILE:2:88: sources[0].signatures[0].secret.env has an invalid value; write the name of an environment variable
signatures: [{ scheme: md5 }]
! FILE:2:63: sources[0].signatures[0].secret is missing; ${REFERENCE}
signatures: [{ scheme: md5, secret: { env: S }, digest: sha1 }]
! FILE:2:98: sources[0].signatures[0].digest is not allowed in this form; delete it
${SIGNED}, authenticate: [none]
! FILE:2:101: sources[0].authenticate is not allowed in this form; delete it
${SIGNED}, answer: xml
! FILE:2:101: sources[0].answer has an invalid value; write plain, json, or { contentType, success, failure }
${SIGNED}, answer: { contentType: a/b, success: y, failure: "" }
! FILE:2:141: sources[0].answer.failure has no value; write the text of the answer
${SIGNED}, answer: { contentType: a/b, success: y, failure: "y " }
! FILE:2:141: sources[0].answer.failure is the same as success; write two different texts
${SIGNED}, answer: { contentType: "a/b\\r\\nx: y", success: y, failure: n }
! FILE:2:111: sources[0].answer.contentType has an invalid value; write a content type such as application/json
`,
    payment,
  );
});

describe('a fault of a co-signer', () => {
  refuses(`
public: { tls: { certificate: c, key: { env: K }, clientCa: ca } }
sources:
  - { name: vault, callback: cosigner, authenticate: [{ certificate: {} }] }
! FILE:3:57: sources[0].authenticate[0].certificate accepts any certificate; write fingerprints, subjects or both
public: { trustedProxies: [10.0.0.1] }
sources:
  - { name: vault, callback: cosigner, authenticate: [{ certificate: { header: x-cert, fingerprints: [abababababababababababababababababababababababababababababababab], subjects: [CN=vault] } }] }
! FILE:3:57: sources[0].authenticate[0].certificate expects a fingerprint and a subject in one header; list fingerprints or subjects, whichever the gateway sends
public: { tls: { certificate: c, key: { env: K }, clientCa: ca } }
sources:
  - { name: vault, callback: cosigner, authenticate: [{ certificate: { fingerprints: [], subjects: [] } }] }
! FILE:3:72: sources[0].authenticate[0].certificate.fingerprints has an invalid value; write a list of 1 to 16 fingerprints
! FILE:3:90: sources[0].authenticate[0].certificate.subjects has an invalid value; write a list of 1 to 16 subjects
public: { trustedProxies: [10.0.0.1] }
sources:
  - { name: vault, callback: cosigner, authenticate: [{ certificate: { header: x-cert, fingerprints: [abcd] } }] }
! FILE:3:103: sources[0].authenticate[0].certificate.fingerprints[0] has an invalid value; write a SHA-256 fingerprint, 64 hexadecimal digits
public: { trustedProxies: [10.0.0.1] }
sources:
  - { name: vault, callback: cosigner, authenticate: [{ certificate: { header: x-cert, fingerprints: [abababababababababababababababababababab] } }] }
! FILE:3:103: sources[0].authenticate[0].certificate.fingerprints[0] has an invalid value; this one has 40 digits and is SHA-1; write the SHA-256 fingerprint, which has 64: \`openssl x509 -in FILE -noout -fingerprint -sha256\`
public: { trustedProxies: [10.0.0.1] }
sources:
  - { name: vault, callback: cosigner, authenticate: [{ certificate: { header: x-forwarded-client-cert, subjects: [CN=a] } }] }
! FILE:3:57: sources[0].authenticate[0].certificate reads subjects from X-Forwarded-Client-Cert, which clients can write; list fingerprints instead
`);

  refuses(
    `
authenticate: []
! FILE:2:40: sources[0].authenticate has an invalid value; write a list of 1 to 8 credentials
authenticate: [none], paths: {}
! FILE:2:62: sources[0].paths contains no path; write withdraw, web3 or both, or delete paths for the defaults
authenticate: [none], paths: { web3: web3 }
! FILE:2:71: sources[0].paths.web3 has an invalid value; ${PATH}
authenticate: [none], paths: { web3: /web3/ }
! FILE:2:71: sources[0].paths.web3 has an invalid value; ${PATH}
authenticate: [none], paths: { web3: /a/../b }
! FILE:2:71: sources[0].paths.web3 has an invalid value; ${PATH}
authenticate: [none], paths: { web3: /nofity/transferToMerchantAuthCheck }
! FILE:2:71: sources[0].paths.web3 is the path of payment confirmations; give each source its own paths
authenticate: [none], paths: { web3: /NOFITY/transfertomerchantauthcheck }
! FILE:2:71: sources[0].paths.web3 is the path of payment confirmations; give each source its own paths
authenticate: [{ path: { secret: { env: S } } }], paths: { withdraw: /a, web3: /a/b }
! FILE:2:113: sources[0].paths.web3 overlaps a path of sources[0], where a path secret follows; write paths that do not begin with each other
authenticate: [{ path: { secret: { env: S } } }], paths: { withdraw: /nofity }
! FILE:2:99: sources[0].paths.withdraw overlaps the path of payment confirmations, where a path secret follows; write paths that do not begin with each other
authenticate: [none], selfCheck: { verifySignKey: { file: a } }
! FILE:2:62: sources[0].selfCheck.clientSystemKey is missing; ${REFERENCE}
`,
    cosigner,
  );

  refuses(
    `
none, { addresses: [10.0.0.0/8] }
! FILE:2:55: sources[0].authenticate[0] is listed with other credentials; delete the entry \`none\`, so that the others are required
{ adresses: [10.0.0.1] }
! FILE:2:55: sources[0].authenticate[0] has an invalid value; write one of addresses, header, path and certificate, with its settings; or none
{ addresses: [10.0.0.1], path: { secret: { env: S } } }
! FILE:2:55: sources[0].authenticate[0] has an invalid value; write one of addresses, header, path and certificate, with its settings; or none
{ addresses: [] }
! FILE:2:57: sources[0].authenticate[0].addresses has an invalid value; write a list of 1 to 64 addresses
{ header: { name: authorization } }
! FILE:2:57: sources[0].authenticate[0].header.secret is missing; ${REFERENCE}
{ header: { name: "a b", secret: { env: S } } }
! FILE:2:67: sources[0].authenticate[0].header.name has an invalid value; write the name of a header
{ certificate: { subjects: [CN=vault] } }
! FILE:2:57: sources[0].authenticate[0].certificate needs client certificates on the connection; set public.tls.clientCa, or name the header in which the gateway passes the certificate on
{ certificate: { header: x-cert, subjects: [CN=vault] } }
! FILE:2:57: sources[0].authenticate[0].certificate trusts a header from any caller; list the gateway in public.trustedProxies
none, none
! FILE:2:55: sources[0].authenticate[0] is listed with other credentials; delete the entry \`none\`, so that the others are required
`,
    credential,
  );

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
  refuses(`
sources:
  - { ${PAYMENT}, ${SIGNED} }
  - { name: shop, callback: payment, appKey: a2, ${SIGNED} }
! FILE:3:7: sources[1].name is also the name of sources[0]; give each source its own name
sources:
  - { ${PAYMENT}, ${SIGNED} }
  - { name: stall, callback: payment, appKey: a1, ${SIGNED} }
! FILE:3:39: sources[1].appKey is also the appKey of sources[0]; give each appKey one source; two keys of one appKey are two entries of signatures
sources:
  - { name: a, callback: cosigner, authenticate: [none], paths: { web3: /x } }
  - { name: b, callback: cosigner, authenticate: [none], paths: { withdraw: /X } }
! FILE:3:67: sources[1].paths.withdraw is a path of sources[0]; give each source its own paths
`);

  refuses(
    `
ops: { port: 8080 }
! FILE:2:8: ops.port is 8080, like public.port; choose two different ports
public: { port: 9090 }
! FILE:1:1: ops.port is 9090, like public.port; choose two different ports
store: postgres://db
! FILE:2:1: store.url ${store}
store: "embedded:"
! FILE:2:1: store.url ${store}
store: redis://:hunter2@redis/0
! FILE:2:1: store.url contains a user or a password; remove them from the URL and set store.username and store.password, such as store.password: { env: REDIS_PASSWORD }
store: { url: redis://redis, tls: { ca: ca.pem } }
! FILE:2:30: store.tls has no effect on this store.url; write rediss instead of redis in the URL, or delete store.tls
store: { url: rediss://redis, tls: { certificate: c.pem } }
! FILE:2:31: store.tls has only one of certificate and key; write both, or neither
store: { url: redis://redis, username: u }
! FILE:2:30: store.username has no password; add store.password
`,
    (yaml) => SHOP + yaml,
  );

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
