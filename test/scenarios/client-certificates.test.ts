import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Certificate, createAuthority } from '../certificates.ts';
import { TO, type TestService, startTestService, transfer } from '../service.ts';

const PATH_SECRET = 'a-path-secret-of-the-tests';
const TOKEN = 'a-token-of-the-tests';

const policies = (sources: readonly string[]): Readonly<Record<string, string>> => ({
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: [${sources.join(', ')}], symbol: ETH }
rules:
  - allow-list: { of: to, values: ['${TO}'] }
`,
});

let requests = 0;
const body = (): string => JSON.stringify(transfer({ request_id: `certificate-${requests++}` }));

describe('TLS that the service ends itself', () => {
  const authority = createAuthority();
  const stranger = createAuthority();
  const cosigner = authority.issue('/O=Vault/CN=cosigner');
  let service: TestService;

  beforeAll(async () => {
    const server = authority.issue('/CN=countersign');
    const secretFile = (name: string, secret: string): { file: string } => {
      const file = join(dirname(server.keyFile), name);
      writeFileSync(file, secret, { mode: 0o600 });
      return { file };
    };
    const byFingerprint = { certificate: { fingerprints: [cosigner.fingerprint] } };
    const source = (name: string, ...authenticate: object[]): object => ({
      name,
      callback: 'cosigner',
      paths: { withdraw: `/${name}/withdraw` },
      authenticate,
    });
    service = await startTestService({
      policies: policies(['pinned', 'named', 'careful']),
      settings: {
        public: {
          port: '0',
          tls: {
            certificate: server.certFile,
            key: { file: server.keyFile },
            clientCa: authority.certificate.certFile,
          },
        },
        sources: [
          source('pinned', byFingerprint),
          source('named', { certificate: { subjects: ['O=Vault,CN=cosigner'] } }),
          source(
            'careful',
            byFingerprint,
            { addresses: ['127.0.0.1'] },
            { header: { name: 'x-token', secret: secretFile('token', TOKEN) } },
            { path: { secret: secretFile('path', PATH_SECRET) } },
          ),
        ],
      },
    });
  });
  afterAll(async () => {
    await service.stop();
    authority.close();
    stranger.close();
  });

  interface Shown {
    readonly certificate?: Certificate | undefined;
    readonly headers?: Readonly<Record<string, string>>;
    readonly agent?: Agent;
  }

  async function ask(path: string, shown: Shown = {}): Promise<{ answer: string; resumed: boolean }> {
    const { cert, key } = shown.certificate ?? {};
    const asked = request(`${service.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...shown.headers },
      ca: authority.certificate.cert,
      agent: shown.agent ?? false,
      ...(cert === undefined ? {} : { cert, key }),
    });
    const { promise, resolve, reject } = Promise.withResolvers<{ answer: string; resumed: boolean }>();
    asked.on('error', reject).on('response', (response) => {
      const resumed = (response.socket as TLSSocket).isSessionReused();
      text(response).then((answer) => resolve({ answer, resumed }), reject);
    });
    asked.end(body());
    return promise;
  }
  const answerTo = async (path: string, shown?: Shown): Promise<string> => (await ask(path, shown)).answer;

  it.each(['/pinned/withdraw', '/named/withdraw'])(
    'knows its co-signer by certificate, at %s',
    async (path) => {
      expect(await answerTo(path, { certificate: cosigner })).toBe('SUCCESS');
    },
  );

  it.each<readonly [string, () => Certificate | undefined]>([
    ['none', () => undefined],
    ['another one of the same authority', () => authority.issue('/O=Vault/CN=other')],
    ['one with more names', () => authority.issue('/C=DE/O=Vault/CN=cosigner')],
    ['one whose name only reads the same', () => authority.issue('/O=Vault,CN=cosigner')],
    ['the same names from a strange authority', () => stranger.issue('/O=Vault/CN=cosigner')],
  ])('FAILURE for a certificate that is not the one: %s', async (_name, make) => {
    const certificate = make();
    expect(await answerTo('/pinned/withdraw', { certificate })).toBe('FAILURE');
    expect(await answerTo('/named/withdraw', { certificate })).toBe('FAILURE');
  });

  it.each<readonly [string, string, () => Certificate | undefined]>([
    ['the right one', 'SUCCESS', () => cosigner],
    ['a strange one', 'FAILURE', () => stranger.issue('/O=Vault/CN=cosigner')],
    ['none', 'FAILURE', () => undefined],
  ])('a resumed session shows what the first showed: %s', async (_name, answer, make) => {
    const certificate = make();
    const agent = new Agent({ keepAlive: false });
    onTestFinished(() => agent.destroy());
    const first = await ask('/named/withdraw', { certificate, agent });
    const second = await ask('/named/withdraw', { certificate, agent });
    expect([first, second]).toEqual([
      { answer, resumed: false },
      { answer, resumed: true },
    ]);
  });

  it('all proofs that are listed, or FAILURE', async () => {
    const path = `/careful/withdraw/${PATH_SECRET}`;
    const headers = { 'x-token': TOKEN };
    expect(await answerTo(path, { certificate: cosigner, headers })).toBe('SUCCESS');
    expect(await answerTo(path, { headers })).toBe('FAILURE');
    expect(await answerTo(path, { certificate: cosigner })).toBe('FAILURE');
    expect(await answerTo(path, { certificate: cosigner, headers: { 'x-token': `${TOKEN}.` } })).toBe(
      'FAILURE',
    );
    expect(await answerTo('/careful/withdraw/wrong', { certificate: cosigner, headers })).toBe('FAILURE');
    expect(await answerTo('/careful/withdraw', { certificate: cosigner, headers })).toBe('');
  });

  it('and no secret reaches the log, but the reason does', async () => {
    await answerTo('/pinned/withdraw');
    expect(service.log).toContainEqual(
      expect.objectContaining({
        event: 'callback',
        outcome: 'unauthenticated',
        code: 'CERTIFICATE_WRONG',
        because: 'the TLS connection has no client certificate',
      }),
    );
    expect(JSON.stringify(service.log)).not.toContain(TOKEN);
    expect(JSON.stringify(service.log)).not.toContain(PATH_SECRET);
  });
});

describe.each([
  ['is a trusted proxy', ['127.0.0.1'], true],
  ['is not a trusted proxy', ['10.0.0.0/8'], false],
] as const)('a peer that %s', (_name, trustedProxies, trusted) => {
  const fingerprint = 'AB'.repeat(32);
  let service: TestService;
  beforeAll(async () => {
    const source = (name: string, ...authenticate: object[]): object => ({
      name,
      callback: 'cosigner',
      paths: { withdraw: `/${name}/withdraw` },
      authenticate,
    });
    const inside = { addresses: ['10.1.2.0/24'] };
    const byGateway = (header: string, wanted: object): object => ({ certificate: { header, ...wanted } });
    service = await startTestService({
      policies: policies(['inside', 'pinned', 'named', 'both', 'gateway']),
      settings: {
        public: { port: '0', trustedProxies },
        sources: [
          source('inside', inside),
          source('pinned', byGateway('x-fingerprint', { fingerprints: [fingerprint] })),
          source('named', byGateway('x-subject', { subjects: ['O=Vault,CN=cosigner'] })),
          source('both', inside, byGateway('x-fingerprint', { fingerprints: [fingerprint] })),
          source(
            'gateway',
            { addresses: ['127.0.0.1'] },
            byGateway('x-fingerprint', { fingerprints: [fingerprint] }),
          ),
        ],
      },
    });
  });
  afterAll(() => service.stop());

  const ask = async (name: string, headers: Readonly<Record<string, string>>): Promise<string> =>
    (await service.post(`/${name}/withdraw`, body(), headers)).body;
  const ifTrusted = trusted ? 'SUCCESS' : 'FAILURE';

  it(`says whom it forwards for: ${ifTrusted}`, async () => {
    expect(await ask('inside', { 'x-forwarded-for': '10.1.2.3' })).toBe(ifTrusted);
    expect(await ask('inside', { 'x-forwarded-for': '8.8.8.8, 10.1.2.3' })).toBe(ifTrusted);
    for (const written of ['10.1.2.3:41022', '[::ffff:10.1.2.3]:443', '::ffff:10.1.2.3']) {
      expect(await ask('inside', { 'x-forwarded-for': written })).toBe(ifTrusted);
    }
  });

  it.each([
    '8.8.8.8',
    '10.1.2.3, 8.8.8.8',
    '10.1.2.3, unknown',
    '',
    ',',
    '8.8.8.8:80',
    '10.1.2.3:x',
    'localhost',
  ])('FAILURE for X-Forwarded-For %j', async (forwarded) => {
    expect(await ask('inside', { 'x-forwarded-for': forwarded })).toBe('FAILURE');
  });

  it('FAILURE for other headers of the kind, and for none', async () => {
    expect(await ask('inside', {})).toBe('FAILURE');
    expect(await ask('inside', { 'x-real-ip': '10.1.2.3', forwarded: 'for=10.1.2.3' })).toBe('FAILURE');
  });

  it(`shows the certificate that it was shown: ${ifTrusted}`, async () => {
    expect(await ask('pinned', { 'x-fingerprint': fingerprint })).toBe(ifTrusted);
    expect(await ask('named', { 'x-subject': 'O=Vault,CN=cosigner' })).toBe(ifTrusted);
    expect(await ask('both', { 'x-fingerprint': fingerprint, 'x-forwarded-for': '10.1.2.3' })).toBe(
      ifTrusted,
    );
  });

  it('needs the addresses of the co-signer, as the warning advises, and not its own', async () => {
    const headers = { 'x-fingerprint': fingerprint, 'x-forwarded-for': '10.1.2.3' };
    expect(await ask('both', headers)).toBe(ifTrusted);
    expect(await ask('gateway', headers)).toBe('FAILURE');
    const warned = service.log.filter(({ because }) => String(because).includes('under addresses'));
    expect(warned.map(({ source }) => source)).toEqual(['pinned', 'named']);
  });

  it('FAILURE for another certificate, for none, and for half of what is wanted', async () => {
    expect(await ask('pinned', { 'x-fingerprint': 'CD'.repeat(32) })).toBe('FAILURE');
    expect(await ask('pinned', {})).toBe('FAILURE');
    expect(await ask('named', { 'x-subject': 'CN=cosigner' })).toBe('FAILURE');
    expect(await ask('both', { 'x-fingerprint': fingerprint })).toBe('FAILURE');
    expect(await ask('both', { 'x-forwarded-for': '10.1.2.3' })).toBe('FAILURE');
  });
});
