import { describe, expect, it } from 'vitest';
import { SHOP, fileOf, linesOf, refusalOf, settingsOf, settingsOfFile } from './written.ts';

const PORT = 'write a whole number from 0 to 65535, or delete the line for the default, 8080';

describe('a variable sets', () => {
  it('a number', () => {
    expect(settingsOf(SHOP, { COUNTERSIGN_PUBLIC_PORT: '8181' }).public.port).toBe(8181);
  });

  it('a text over that of the file', () => {
    const env = { COUNTERSIGN_PUBLIC_HOST: '0.0.0.0' };
    expect(settingsOf(`${SHOP}public: { host: 10.0.0.1, port: 81 }\n`, env).public).toMatchObject({
      host: '0.0.0.0',
      port: 81,
    });
  });

  it('one word of a list of words', () => {
    expect(settingsOf(SHOP, { COUNTERSIGN_POLICIES_PUSH: 'never' }).policies.push).toBe('never');
  });

  it('a name of several words', () => {
    const env = { COUNTERSIGN_LOG_UNAUTHENTICATED_PER_MINUTE: '7', COUNTERSIGN_ANSWER_TIMEOUT_MS: '1500' };
    const settings = settingsOf(SHOP, env);
    expect([settings.log.unauthenticatedPerMinute, settings.answerTimeoutMs]).toEqual([7, 1500]);
  });

  it('elements of a list, ten after nine', () => {
    const env = Object.fromEntries(
      Array.from({ length: 11 }, (_, n) => [`COUNTERSIGN_PUBLIC_TRUSTED_PROXIES_${n}`, `10.0.0.${n}`]),
    );
    expect(settingsOf(SHOP, env).public.trustedProxies).toEqual(
      Array.from({ length: 11 }, (_, n) => `10.0.0.${n}`),
    );
  });

  it('one element of the list in the file', () => {
    const yaml = `${SHOP}public: { trustedProxies: [10.0.0.1, 10.0.0.2] }\n`;
    expect(
      settingsOf(yaml, { COUNTERSIGN_PUBLIC_TRUSTED_PROXIES_1: '10.0.0.3' }).public.trustedProxies,
    ).toEqual(['10.0.0.1', '10.0.0.3']);
  });

  it('the store, by its short form, and keeps the rest of the section', () => {
    const yaml = `${SHOP}store: { url: redis://a, prefix: shop }\n`;
    expect(settingsOf(yaml, { COUNTERSIGN_STORE: 'redis://b' }).store).toMatchObject({
      url: 'redis://b',
      prefix: 'shop',
    });
  });

  it('a part of the store that the file names by its short form', () => {
    const env = { COUNTERSIGN_STORE_RETENTION_JOURNAL_DAYS: '30' };
    expect(settingsOf(`${SHOP}store: redis://a\n`, env).store).toMatchObject({
      url: 'redis://a',
      retention: { journalDays: 30 },
    });
  });

  it('the other form of a reference, in place of that of the file', () => {
    const [source] = settingsOf(SHOP, {
      COUNTERSIGN_SOURCES_0_SIGNATURES_0_SECRET_FILE: '/run/secrets/shop',
    }).sources;
    expect(source).toMatchObject({ signatures: [{ secret: { file: '/run/secrets/shop' } }] });
    expect(JSON.stringify(source)).not.toContain('"env"');
  });

  it('the answer, in each of its forms', () => {
    const form = 'COUNTERSIGN_SOURCES_0_ANSWER';
    expect(settingsOf(SHOP, { [form]: 'json' }).sources[0]).toMatchObject({ answer: 'json' });
    const texts = {
      [`${form}_CONTENT_TYPE`]: 'text/html',
      [`${form}_SUCCESS`]: 'y',
      [`${form}_FAILURE`]: 'n',
    };
    expect(settingsOf(SHOP, texts).sources[0]).toMatchObject({
      answer: { contentType: 'text/html', success: 'y', failure: 'n' },
    });
  });

  it('everything, if the file is empty', () => {
    const env = {
      COUNTERSIGN_CONFIG: fileOf('# nothing\n'),
      COUNTERSIGN_SOURCES_0_NAME: 'vault',
      COUNTERSIGN_SOURCES_0_CALLBACK: 'cosigner',
      COUNTERSIGN_SOURCES_0_AUTHENTICATE_0: 'none',
    };
    expect(settingsOfFile(undefined, env).sources).toEqual([
      {
        name: 'vault',
        callback: 'cosigner',
        paths: { withdraw: '/cosigner/withdraw', web3: '/cosigner/web3' },
        authenticate: ['none'],
      },
    ]);
  });

  it('one use of an alias, and not the others', () => {
    const yaml =
      'sources:\n  - { name: a, callback: cosigner, paths: { web3: /a }, authenticate: &p [{ addresses: [10.0.0.1] }] }\n  - { name: b, callback: cosigner, paths: { web3: /b }, authenticate: *p }\n';
    const settings = settingsOf(yaml, { COUNTERSIGN_SOURCES_1_AUTHENTICATE_0_ADDRESSES_0: '10.0.0.2' });
    expect(
      settings.sources.map((source) => (source.callback === 'cosigner' ? source.authenticate : [])),
    ).toEqual([[{ addresses: ['10.0.0.1'] }], [{ addresses: ['10.0.0.2'] }]]);
  });
});

describe('file and environment read a value alike', () => {
  it.each(['8181', '08181', '8181.0', '+8181', ' 8181', '0x1ff5', '8e3', '', 'true', '1_000'])(
    '%j',
    (written) => {
      const fromFile = attempt(
        () => settingsOf(`${SHOP}public: { port: ${JSON.stringify(written)} }\n`).public.port,
      );
      const fromVariable = attempt(() => settingsOf(SHOP, { COUNTERSIGN_PUBLIC_PORT: written }).public.port);
      expect([fromFile, fromVariable]).toEqual(written === '8181' ? [8181, 8181] : ['refused', 'refused']);
    },
  );
});

describe('a variable is refused', () => {
  it.each([
    ['PUBLIC_PORT=x', `public.port has an invalid value; ${PORT}`],
    ['PUBLIC_PORT=', `public.port has no value; ${PORT}`],
    ['PUBLIC_PROT=1', 'does not name a setting; did you mean COUNTERSIGN_PUBLIC_PORT? Otherwise unset it'],
    [
      'SOURCES_0_APPKEY=1',
      'does not name a setting; did you mean COUNTERSIGN_SOURCES_0_APP_KEY? Otherwise unset it',
    ],
    ['=1', 'does not name a setting; unset it, or see docs/settings.md for the variables'],
    [
      'PUBLIC_TRUSTED_PROXIES_1=10.0.0.1',
      'public.trustedProxies[1] skips elements of a list of 0; number elements from 0; the next is 0',
    ],
    [
      'PUBLIC_TLS_CERTIFICATE=c.pem',
      'public.tls.key is missing; write { file: PATH } or { env: NAME }; settings must not contain the secret itself',
    ],
    [
      'STORE=redis://a STORE_URL=redis://b',
      'store.url is also set by COUNTERSIGN_STORE; unset one of the two',
    ],
  ])('%s', (written, fault) => {
    const variables = written.split(' ').map((each) => `COUNTERSIGN_${each}`.split('='));
    const line = `variable ${variables[0]?.[0]}: ${fault}`;
    expect(linesOf(refusalOf(SHOP, Object.fromEntries(variables) as Record<string, string>))).toEqual([line]);
  });
});

describe('a variable is left alone', () => {
  it('that a reference names', () => {
    const yaml = SHOP.replace('env: S', 'env: COUNTERSIGN_SHOP_SECRET');
    expect(settingsOf(yaml, { COUNTERSIGN_SHOP_SECRET: 'x' }).sources).toHaveLength(1);
  });

  it('that a reference in a variable names', () => {
    const env = {
      COUNTERSIGN_SOURCES_0_SIGNATURES_0_SECRET_ENV: 'COUNTERSIGN_SHOP_SECRET',
      COUNTERSIGN_SHOP_SECRET: 'x',
    };
    expect(settingsOf(SHOP, env).sources[0]).toMatchObject({
      signatures: [{ secret: { env: 'COUNTERSIGN_SHOP_SECRET' } }],
    });
  });

  it('that Kubernetes sets for services called countersign and countersign-ops', () => {
    const env = {
      COUNTERSIGN_SERVICE_HOST: '10.0.0.1',
      COUNTERSIGN_SERVICE_PORT: '8080',
      COUNTERSIGN_SERVICE_PORT_HTTP: '8080',
      COUNTERSIGN_PORT: 'tcp://10.0.0.1:8080',
      COUNTERSIGN_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      COUNTERSIGN_PORT_8080_TCP_ADDR: '10.0.0.1',
      COUNTERSIGN_OPS_PORT: 'tcp://10.0.0.2:9090',
      COUNTERSIGN_OPS_SERVICE_HOST: '10.0.0.2',
    };
    expect(settingsOf(SHOP, env)).toEqual(settingsOf(SHOP));
  });

  it('with another prefix', () => {
    expect(settingsOf(SHOP, { PUBLIC_PORT: 'x', COUNTERSIGNED_PORT: 'x' })).toEqual(settingsOf(SHOP));
  });
});

function attempt(load: () => unknown): unknown {
  try {
    return load();
  } catch {
    return 'refused';
  }
}
