import { X509Certificate, createHmac } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import type { Failure } from '../../src/errors.ts';
import type { Authenticated } from '../../src/signature/scheme.ts';
import type { CosignerCredential, CosignerSourceConfig } from '../../src/signature/config.ts';
import type { SenderFacts } from '../../src/signature/credentials.ts';
import { CERTIFICATE } from '../cli/certificate.ts';
import { makePair } from './pairs.ts';
import { authenticatorOf, codeOf, faultOf, membersOf } from './sources.ts';

const client = makePair();
const verify = makePair();
const secrets = {
  TOKEN: 'Bearer 7f3a9c51e0',
  PATH: 'd41d8cd98f00',
  EMPTY: '',
  COMMA: 'a,b',
  LINES: 'a\nb',
  SPACED: 'a\n b',
  THREE: 'a\nb\nc',
  COMMENT: '# of May\nb',
  UMLAUT: 'ü',
  SLASH: 'a/b',
  CLIENT: client.publicText,
  VERIFY: verify.publicText,
  PRIVATE: client.privateText,
};
const fingerprint = 'AB'.repeat(32);
const colons = fingerprint.replaceAll(/..(?=.)/g, '$&:');

const vault = (...authenticate: readonly CosignerCredential[]): CosignerSourceConfig => ({
  name: 'vault',
  callback: 'cosigner',
  paths: { withdraw: '/cosigner/withdraw' },
  authenticate,
});

interface Shown {
  readonly address?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly pathSecret?: string;
  readonly certificate?: SenderFacts['certificate'];
  readonly fromProxy?: boolean;
}

function outcomeOf(
  credentials: readonly CosignerCredential[],
  shown: Shown,
  source = 'vault',
): Authenticated | Failure {
  const headers = new Headers(shown.headers);
  return authenticatorOf([vault(...credentials)], secrets).cosigner(
    source,
    {
      address: shown.address ?? '10.1.2.3',
      header: (name) => headers.get(name) ?? undefined,
      fromProxy: shown.fromProxy ?? true,
      pathSecret: shown.pathSecret,
      certificate: shown.certificate,
    },
    membersOf({ type: 'sign_start' }),
  );
}

const judge = (...asked: Parameters<typeof outcomeOf>): string => codeOf(outcomeOf(...asked));

const byAddress: CosignerCredential = { addresses: ['10.1.2.0/24', '192.168.7.7', 'fd00::/8'] };
const byHeader: CosignerCredential = { header: { name: 'authorization', secret: { env: 'TOKEN' } } };
const byPath: CosignerCredential = { path: { secret: { env: 'PATH' } } };
const token = { authorization: secrets.TOKEN };

describe('addresses', () => {
  for (const address of [
    '10.1.2.0',
    '10.1.2.255',
    '::ffff:10.1.2.3',
    '::ffff:a01:203',
    '192.168.7.7',
    'fd12::1',
  ]) {
    it(`${address} is in`, () => expect(judge([byAddress], { address })).toBe('ok'));
  }
  for (const address of [
    '10.1.3.0',
    '10.1.1.255',
    '192.168.7.8',
    '::ffff:10.1.3.3',
    'fe80::1',
    '::1',
    '',
    'unknown',
    '10.1.2.3, 10.1.2.4',
    '10.1.2.3:80',
    '010.1.2.3',
    'fd00::1%eth0',
  ]) {
    it(`${address} is out`, () => expect(judge([byAddress], { address })).toBe('ADDRESS_NOT_ALLOWED'));
  }

  it('a source that does not exist lets no address in, before or after the body', () => {
    const authenticator = authenticatorOf([vault(byAddress)], secrets);
    expect(authenticator.checkAddress('safe', '10.1.2.3')?.code).toBe('SOURCE_UNKNOWN');
    expect(authenticator.checkAddress('vault', '10.1.2.3')).toBeUndefined();
    expect(judge([byAddress], {}, 'safe')).toBe('SOURCE_UNKNOWN');
  });
});

describe('secrets in a header or in the path', () => {
  const wrong = [
    '',
    'Bearer',
    'bearer 7f3a9c51e0',
    `${secrets.TOKEN}0`,
    `${secrets.TOKEN}, ${secrets.TOKEN}`,
    '7f3a9c51e0',
  ];
  for (const authorization of wrong) {
    it(`header ${JSON.stringify(authorization)}`, () =>
      expect(judge([byHeader], { headers: { authorization } })).toBe('HEADER_WRONG'));
  }
  it('no header', () => expect(judge([byHeader], {})).toBe('HEADER_WRONG'));
  it('the right header', () => expect(judge([byHeader], { headers: token })).toBe('ok'));

  it('of two secrets each is right, and it is said which', () => {
    const both: CosignerCredential = { header: { name: 'x-secret', secret: { env: 'LINES' } } };
    const by = (value: string): unknown => {
      const outcome = outcomeOf([byAddress, both], { headers: { 'x-secret': value } });
      return outcome.ok ? outcome.by : outcome.code;
    };
    expect(['a', 'b'].map(by)).toEqual(['addresses+header line 1', 'addresses+header line 2']);
    for (const value of ['', 'ab', 'a b', 'A']) expect(by(value)).toBe('HEADER_WRONG');
  });

  for (const pathSecret of ['', 'x', secrets.PATH.toUpperCase(), `${secrets.PATH}/`, `${secrets.PATH}0`]) {
    it(`path ${JSON.stringify(pathSecret)}`, () =>
      expect(judge([byPath], { pathSecret })).toBe('PATH_WRONG'));
  }
  it('no path', () => expect(judge([byPath], {})).toBe('PATH_WRONG'));
  it('the right path', () => expect(judge([byPath], { pathSecret: secrets.PATH })).toBe('ok'));

  for (const env of ['EMPTY', 'COMMA', 'SPACED', 'THREE', 'COMMENT', 'UMLAUT', 'ABSENT']) {
    it(`a header secret ${env} is a fault`, () => {
      const fault = faultOf(() => judge([{ header: { name: 'x-secret', secret: { env } } }], {}));
      expect(fault.code).toBe('SECRET_UNREADABLE');
      expect(fault.message).toContain(`environment variable ${env}`);
    });
  }
  for (const env of ['EMPTY', 'SLASH', 'TOKEN']) {
    it(`a path secret ${env} is a fault`, () => {
      expect(faultOf(() => judge([{ path: { secret: { env } } }], {})).code).toBe('SECRET_UNREADABLE');
    });
  }
});

describe('client certificates', () => {
  const pinned: CosignerCredential = { certificate: { fingerprints: [fingerprint.toLowerCase()] } };
  const named: CosignerCredential = { certificate: { subjects: ['CN=cosigner,O=Vault'] } };
  const byGateway: CosignerCredential = { certificate: { header: 'x-fingerprint', fingerprints: [colons] } };
  const certificate = { fingerprint256: colons, subject: 'CN=cosigner,O=Vault' };

  it('of the connection, by fingerprint or by subject', () => {
    expect(judge([pinned], { certificate })).toBe('ok');
    expect(judge([named], { certificate })).toBe('ok');
    expect(judge([pinned], {})).toBe('CERTIFICATE_WRONG');
    expect(
      judge([pinned], { certificate: { ...certificate, fingerprint256: colons.replace('A', 'C') } }),
    ).toBe('CERTIFICATE_WRONG');
    for (const subject of ['CN=cosigner', 'cn=cosigner,o=vault', 'CN=cosigner,O=Vault,C=DE', '']) {
      expect(judge([named], { certificate: { ...certificate, subject } })).toBe('CERTIFICATE_WRONG');
    }
  });

  it('of the connection, by both if both are listed', () => {
    const both: CosignerCredential = {
      certificate: { fingerprints: [fingerprint], subjects: ['CN=cosigner,O=Vault'] },
    };
    expect(judge([both], { certificate })).toBe('ok');
    expect(judge([both], { certificate: { ...certificate, subject: 'CN=other' } })).toBe('CERTIFICATE_WRONG');
    expect(judge([both], { certificate: { ...certificate, fingerprint256: '00' } })).toBe(
      'CERTIFICATE_WRONG',
    );
  });

  it("by the gateway's header, with or without colons, in any case", () => {
    for (const shown of [colons, fingerprint, fingerprint.toLowerCase()]) {
      expect(judge([byGateway], { headers: { 'x-fingerprint': shown } })).toBe('ok');
    }
    expect(judge([byGateway], { headers: { 'x-fingerprint': `${colons}, ${colons}` } })).toBe(
      'CERTIFICATE_WRONG',
    );
    expect(judge([byGateway], { headers: { 'x-fingerprint': '' } })).toBe('CERTIFICATE_WRONG');
  });

  it("by the gateway's header, but only from a trusted proxy", () => {
    expect(judge([byGateway], { headers: { 'x-fingerprint': fingerprint }, fromProxy: false })).toBe(
      'CERTIFICATE_WRONG',
    );
  });

  it('of the connection does not count if a header is configured', () => {
    expect(judge([byGateway], { certificate })).toBe('CERTIFICATE_WRONG');
  });

  it('never holds if the settings could not have it: no list, an invalid one, or both by a header', () => {
    const subject = 'CN=cosigner,O=Vault';
    const refused: readonly CosignerCredential[] = [
      { certificate: { fingerprints: ['AB'.repeat(20)] } },
      { certificate: {} },
      { certificate: { fingerprints: [], subjects: [] } },
      { certificate: { header: 'x-certificate' } },
      { certificate: { header: 'x-certificate', fingerprints: [fingerprint], subjects: [subject] } },
    ];
    for (const credential of refused) {
      for (const shown of [fingerprint, subject]) {
        expect(judge([credential], { certificate, headers: { 'x-certificate': shown } })).toBe(
          'CERTIFICATE_WRONG',
        );
      }
    }
  });
});

describe("the certificate in a gateway's header", () => {
  const own = fingerprint.toLowerCase();
  const edge = 'cd'.repeat(32);
  const attacker = 'ef'.repeat(32);
  const envoy: CosignerCredential = {
    certificate: { header: 'X-Forwarded-Client-Cert', fingerprints: [colons, edge] },
  };
  const byEnvoy = (value: string, fromProxy = true): Authenticated | Failure =>
    outcomeOf([envoy], { headers: { 'x-forwarded-client-cert': value }, fromProxy });

  it.each([
    ['one element', `By=spiffe://a/gateway;Hash=${own};Subject="CN=cosigner,O=Vault";URI=https://a/?b=c`],
    ['only the digest', `Hash=${own}`],
    ['upper case, and keys in any case', `by=x;HASH=${fingerprint};Uri=`],
    ['escaped quotes, and separators in quotes', `Subject="CN=a\\"b\\\\,O=c;d=\\"";Hash=${own};DNS=a;DNS=b`],
    ['two elements, both of them accepted', `By=a;Hash=${own};URI=b,By=c;Hash=${edge};Subject=""`],
    ['two elements that a gateway has joined with a blank', `Hash=${own}, Hash=${edge}`],
  ])('of Envoy: %s', (_, value) => {
    expect(codeOf(byEnvoy(value))).toBe('ok');
    expect(codeOf(byEnvoy(value, false))).toBe('CERTIFICATE_WRONG');
  });

  it.each([
    ['another certificate', `By=a;Hash=${attacker};URI=b`],
    ['an element of the client before it', `Hash=${own},By=a;Hash=${attacker};URI=b`],
    ["an element after it, in the client's URI", `By=a;Hash=${attacker};URI=b,Hash=${own}`],
    ["a second digest, in the client's URI", `By=a;Hash=${attacker};URI=b;Hash=${own}`],
    ['the digest in quotes that the client has opened', `X=",By=a;Hash=${attacker};URI=";Hash=${own}`],
    ['the same, with an element of its own', `Hash=${own};X=",By=a;Hash=${attacker};Subject="`],
  ])('of Envoy, never if the gateway saw another one: %s', (_, value) => {
    expect(codeOf(byEnvoy(value))).toBe('CERTIFICATE_WRONG');
  });

  it.each([
    ['nothing', ''],
    ['a plain fingerprint', own],
    ['no digest', 'By=a;URI=b'],
    ['an element without a digest', `Hash=${own},By=a`],
    ['a digest of 40 digits', `Hash=${own.slice(0, 40)}`],
    ['a digest in quotes', `Hash="${own}"`],
    ['an open quote', `Hash=${own};Subject="CN=a`],
    ['text after a quote', `Hash=${own};Subject="CN=a"b`],
    ['a quote within a value', `Hash=${own};URI=a"b"`],
    ['a separator at the end', `Hash=${own};`],
    ['a comma at the end', `Hash=${own},`],
    ['an empty element', `Hash=${own},,Hash=${own}`],
    ['no key', `Hash=${own};=b`],
    ['no value', `Hash=${own};URI`],
    ['a blank before =', `Hash =${own}`],
  ])('of Envoy that can not be read: %s', (_, value) => {
    expect(byEnvoy(value)).toMatchObject({
      code: 'CERTIFICATE_WRONG',
      because: expect.stringMatching(/^the header X-Forwarded-Client-Cert can't be read: /) as string,
    });
  });

  const pinned = (shown: string): Authenticated | Failure => {
    const fingerprints = [new X509Certificate(CERTIFICATE).fingerprint256];
    return outcomeOf([{ certificate: { header: 'x-cert', fingerprints } }], { headers: { 'x-cert': shown } });
  };

  it('as nginx escapes it, and nothing beside it', () => {
    const escaped = encodeURIComponent(CERTIFICATE);
    expect(codeOf(pinned(escaped))).toBe('ok');
    expect(codeOf(pinned(encodeURIComponent(CERTIFICATE.trim())))).toBe('ok');
    for (const wrong of [
      escaped + escaped,
      `${escaped}x`,
      escaped.slice(0, -60),
      escaped.replace('MIIB', 'MIIC'),
      escaped.replace('%0A', '%0'),
      '-----BEGIN%20CERTIFICATE-----',
      encodeURIComponent(CERTIFICATE.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE')),
    ]) {
      expect(pinned(wrong)).toMatchObject({
        code: 'CERTIFICATE_WRONG',
        because: "the header x-cert can't be read: it is not one percent-encoded certificate in PEM",
      });
    }
  });

  it('says which algorithm a fingerprint has, and what to do about SHA-1', () => {
    expect(pinned('AB:'.repeat(19) + 'AB')).toMatchObject({
      because: expect.stringContaining('40 digits and is SHA-1; send the SHA-256 fingerprint') as string,
    });
    expect(pinned(own)).toMatchObject({
      because: `the header x-cert is not accepted: the client's certificate, with the SHA-256 fingerprint ${own}, is not one of fingerprints`,
    });
    expect(pinned('CN=cosigner')).toMatchObject({
      because: expect.stringContaining('neither a SHA-256 fingerprint of 64 digits nor') as string,
    });
  });
});

describe('all listed credentials are required', () => {
  const all = [byHeader, byPath, byAddress];
  const shown = { headers: token, pathSecret: secrets.PATH };

  it('and are named in the order of the checks', () => {
    const outcome = authenticatorOf([vault(...all)], secrets).cosigner(
      'vault',
      {
        address: '10.1.2.3',
        header: () => secrets.TOKEN,
        fromProxy: false,
        pathSecret: secrets.PATH,
        certificate: undefined,
      },
      membersOf({ type: 'sign_start' }),
    );
    expect(outcome).toMatchObject({
      ok: true,
      source: 'vault',
      scheme: undefined,
      by: 'addresses+path+header',
    });
    expect(outcome.ok && outcome.members.get('type')?.text).toBe('sign_start');
  });

  it('the address before any secret', () => {
    expect(judge(all, shown)).toBe('ok');
    expect(judge(all, { ...shown, address: '8.8.8.8', headers: {} })).toBe('ADDRESS_NOT_ALLOWED');
    expect(judge(all, { ...shown, headers: {} })).toBe('HEADER_WRONG');
    expect(judge(all, { headers: token })).toBe('PATH_WRONG');
  });

  it('at an existing source', () => {
    expect(judge(all, shown, 'other')).toBe('SOURCE_UNKNOWN');
    expect(judge(all, shown, '__proto__')).toBe('SOURCE_UNKNOWN');
  });

  it('none trusts everybody, with a warning', () => {
    expect(judge(['none'], { address: 'anywhere' })).toBe('ok');
    const [described] = authenticatorOf([vault('none')], secrets).describe();
    expect(described).toMatchObject({
      accepts: ['none'],
      warnings: [expect.stringMatching(/^authenticate: none trusts every caller/)],
    });
    // The settings refuse these. Here they are not open either.
    expect(judge(['none', byHeader], {})).toBe('HEADER_WRONG');
    expect(judge(['none', byHeader], { headers: token })).toBe('ok');
    expect(judge(['none', 'none'], {})).toBe('KEYS_UNAVAILABLE');
    expect(judge([], {})).toBe('KEYS_UNAVAILABLE');
  });

  it('weak credentials have a warning', () => {
    const warnings = (...credentials: CosignerCredential[]): readonly string[] =>
      authenticatorOf([vault(...credentials)], secrets).describe()[0]?.warnings ?? [];
    const byGateway: CosignerCredential = {
      certificate: { header: 'x-fingerprint', fingerprints: [colons] },
    };
    expect(warnings({ addresses: ['0.0.0.0/0'] })).toEqual([expect.stringContaining('allows every address')]);
    expect(warnings({ addresses: ['::/0'] })).toHaveLength(1);
    expect(warnings(byGateway)).toEqual([
      'any client of the gateway can send the certificate in a header, unless the gateway overwrites that ' +
        "header; make the gateway overwrite it, and list the co-signer's addresses (not the gateway's) " +
        'under addresses',
    ]);
    expect(warnings(byGateway, byAddress)).toEqual([]);
    expect(warnings(byHeader)).toEqual([]);
  });
});

describe('the self-check', () => {
  const source: CosignerSourceConfig = {
    ...vault('none'),
    selfCheck: { clientSystemKey: { env: 'CLIENT' }, verifySignKey: { env: 'VERIFY' } },
  };
  const hash = (pair: typeof client, appId: string): string =>
    createHmac('sha256', appId)
      .update(pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'))
      .digest('hex');
  const right = { appId: 'app-1', clientHash: hash(client, 'app-1'), verifyHash: hash(verify, 'app-1') };

  it('judges each key for itself', () => {
    const authenticator = authenticatorOf([source], secrets);
    expect(authenticator.selfCheck('vault', right)).toEqual({ client: true, verify: true });
    expect(authenticator.selfCheck('vault', { ...right, clientHash: right.verifyHash })).toEqual({
      client: false,
      verify: true,
    });
    expect(authenticator.selfCheck('vault', { ...right, verifyHash: right.verifyHash.slice(1) })).toEqual({
      client: true,
      verify: false,
    });
    expect(authenticator.selfCheck('vault', { ...right, clientHash: '' })).toEqual({
      client: false,
      verify: true,
    });
    expect(
      authenticator.selfCheck('vault', { ...right, clientHash: right.clientHash.toUpperCase() }),
    ).toEqual({
      client: false,
      verify: true,
    });
    expect(authenticator.selfCheck('vault', { ...right, appId: 'app-2' })).toEqual({
      client: false,
      verify: false,
    });
  });

  it('answers no to both without keys or at an unknown source', () => {
    expect(authenticatorOf([vault('none')], secrets).selfCheck('vault', right)).toEqual({
      client: false,
      verify: false,
    });
    expect(authenticatorOf([source], secrets).selfCheck('other', right)).toEqual({
      client: false,
      verify: false,
    });
  });

  it('shows the fingerprints of its keys, and refuses a private one', () => {
    expect(
      authenticatorOf([source], secrets)
        .describe()[0]
        ?.keys.map(({ role }) => role),
    ).toEqual(['client system key', 'verify sign key']);
    const faulty = {
      ...source,
      selfCheck: { clientSystemKey: { env: 'PRIVATE' }, verifySignKey: { env: 'ABSENT' } },
    };
    expect(faultOf(() => authenticatorOf([faulty], secrets)).message).toMatch(
      /^source vault, selfCheck: environment variable PRIVATE is a private key/,
    );
  });
});
