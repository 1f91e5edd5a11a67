import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Certificate, createAuthority } from '../certificates.ts';
import { type Nginx, hasNginx, startNginx } from '../nginx.ts';
import { closedPort, nextPort } from '../ports.ts';
import { PAYMENT_PATH, TO, type TestService, signedPayment, startTestService, transfer } from '../service.ts';
import { settingsOfFile } from '../settings/written.ts';
import { ROOT, textOf } from './documents.ts';

const CONFIG = textOf('deploy/nginx/countersign.conf');
const SETTINGS = 'deploy/nginx/countersign.yaml';
const documented = z
  .object({ sources: z.tuple([z.unknown(), z.looseObject({ authenticate: z.array(z.unknown()) })]) })
  .parse(parse(textOf(SETTINGS)));

/** Seconds or milliseconds of a directive of the configuration, each time that it stands there. */
function millisecondsOf(directive: string): readonly number[] {
  return [...CONFIG.matchAll(new RegExp(`^\\s*${directive} (\\d+)s;`, 'gm'))].map(
    ([, s]) => Number(s) * 1000,
  );
}

describe('the settings beside the configuration of nginx', () => {
  const settings = settingsOfFile(`${ROOT}/${SETTINGS}`);

  it('fit: nginx waits longer than an answer takes, and keeps connections for less time than Countersign', () => {
    const reads = millisecondsOf('proxy_read_timeout');
    const connects = millisecondsOf('proxy_connect_timeout');
    expect([reads.length, connects.length]).toEqual([2, 2]);
    for (const readMs of reads) expect(readMs).toBeGreaterThan(settings.answerTimeoutMs);
    const { limits } = settings.public;
    for (const keptMs of millisecondsOf('keepalive_timeout')) {
      expect(keptMs).toBeLessThan(limits.keepAliveTimeoutMs);
    }
    expect(millisecondsOf('keepalive_timeout')).toHaveLength(1);
    expect([...CONFIG.matchAll(/client_max_body_size (\d+)k;/g)].map(([, k]) => Number(k) * 1024)).toEqual([
      limits.bodyBytes,
      limits.bodyBytes,
    ]);
  });

  it('name the paths that nginx passes on, and trust nginx alone', () => {
    expect(settings.public.trustedProxies).toEqual(['127.0.0.1']);
    expect(CONFIG).toContain(`location = ${PAYMENT_PATH} {`);
    const [, pattern = ''] = /location ~ (\S+) \{/.exec(CONFIG) ?? [];
    const paths = settings.sources.flatMap((source) =>
      source.callback === 'cosigner' ? [source.paths.withdraw, source.paths.web3] : [],
    );
    expect(paths).toHaveLength(2);
    for (const path of paths) expect(path).toMatch(new RegExp(pattern.replace('?<kind>', '?:')));
  });
});

interface Gateway {
  readonly nginx: Nginx;
  readonly payments: number;
  readonly cosigner: number;
}

const authority = createAuthority();
const stranger = createAuthority();
const server = authority.issue('/CN=gateway');
const cosigner = authority.issue('/O=Vault/CN=cosigner');
afterAll(() => {
  authority.close();
  stranger.close();
});

/**
 * The configuration as it stands in deploy/, with ports, files and addresses of the test. Another one may
 * take a port first.
 */
async function startGateway(upstreams: readonly number[]): Promise<Gateway> {
  for (let attempt = 1; ; attempt++) {
    const [payments, cosigners] = [await nextPort(), await nextPort()];
    const replaced: readonly (readonly [RegExp, string])[] = [
      [/server 127\.0\.0\.1:808[01] (.*);\n/g, ''],
      [/(upstream countersign \{\n)/, `$1${upstreams.map((port) => `server 127.0.0.1:${port};\n`).join('')}`],
      [/listen 443 ssl;/, `listen 127.0.0.1:${payments} ssl;`],
      [/listen 8443 ssl;/, `listen 127.0.0.1:${cosigners} ssl;`],
      [/\/etc\/nginx\/tls\/(?:callbacks|cosigner-gateway)\.pem/g, server.certFile],
      [/\/etc\/nginx\/tls\/(?:callbacks|cosigner-gateway)\.key/g, server.keyFile],
      [/\/etc\/nginx\/tls\/cosigner-ca\.pem/g, authority.certificate.certFile],
      [/\/var\/log\/nginx\/countersign\.log/g, 'access.log'],
      [/allow (?:203\.0\.113|10\.1\.2)\.0\/24;/g, 'allow 127.0.0.1;'],
    ];
    const config = replaced.reduce((lines, [from, to]) => {
      if (!new RegExp(from).test(lines)) throw new Error(`${from} is not in the configuration`);
      return lines.replace(from, to);
    }, CONFIG);
    try {
      return { nginx: await startNginx(config, [payments, cosigners]), payments, cosigner: cosigners };
    } catch (thrown) {
      if (attempt === 5 || !String(thrown).includes('Address already in use')) throw thrown;
    }
  }
}

interface Asked {
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly certificate?: Certificate;
  readonly method?: string;
}

/** What comes back through the gateway. */
async function ask(
  port: number,
  path: string,
  { body = '{}', headers, certificate, method = 'POST' }: Asked = {},
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const { cert, key } = certificate ?? {};
  const asked = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ca: authority.certificate.cert,
    agent: false,
    ...(cert === undefined ? {} : { cert, key }),
  });
  const answer = once(asked, 'response');
  asked.end(body);
  const [response] = (await answer) as [IncomingMessage];
  return { status: response.statusCode, body: await text(response) };
}

const WITHDRAW = '/cosigner/withdraw';

describe.skipIf(!hasNginx)(
  'Countersign behind a real nginx (skipped where there is no `nginx`; Debian: apt-get install nginx-light)',
  () => {
    let service: TestService;
    let gateway: Gateway;
    const [, vault] = documented.sources;
    const certificateCredential = vault.authenticate.filter(
      (credential) => typeof credential === 'object' && credential !== null && 'certificate' in credential,
    );
    beforeAll(async () => {
      service = await startTestService({
        policies: {
          'all.yaml': `policy: transfers
callback: transfer
rules:
  - allow-list: { of: to, values: ['${TO}'] }
---
policy: payments
callback: payment
rules:
  - amount-limit: { max: 1000 }
`,
        },
        settings: {
          answerTimeoutMs: 3000,
          public: { port: '0', trustedProxies: ['127.0.0.1'] },
          sources: [
            {
              name: 'shop',
              callback: 'payment',
              appKey: 'test-shop',
              signatures: [{ scheme: 'md5', secret: { env: 'SHOP_SECRET' } }],
            },
            {
              name: 'vault',
              callback: 'cosigner',
              // As documented, but for the address, which is that of the test.
              authenticate: [{ addresses: ['127.0.0.1'] }, ...certificateCredential],
            },
          ],
        },
        env: { SHOP_SECRET: 'shop-secret-of-the-tests' },
      });
      const port = Number(new URL(service.url).port);
      gateway = await startGateway([port, port]);
    });
    afterAll(async () => {
      await gateway?.nginx.stop();
      await service?.stop();
    });
    let requests = 0;
    const withdrawal = (): string => JSON.stringify(transfer({ request_id: `nginx-${requests++}` }));
    const lastCode = (): unknown => service.log.findLast(({ event }) => event === 'callback')?.['code'];

    it('answers a payment', async () => {
      const body = signedPayment({ appOrderId: 'through-nginx' });
      expect(await ask(gateway.payments, PAYMENT_PATH, { body })).toEqual({ status: 200, body: 'SUCCESS' });
      const wrong = signedPayment({ appOrderId: 'through-nginx-2' }, { secret: 'wrong' });
      expect(await ask(gateway.payments, PAYMENT_PATH, { body: wrong })).toEqual({
        status: 200,
        body: 'FAILURE',
      });
    });

    it('knows the co-signer by the certificate that nginx has verified', async () => {
      const asked = { body: withdrawal(), certificate: cosigner };
      expect(await ask(gateway.cosigner, WITHDRAW, asked)).toEqual({ status: 200, body: 'SUCCESS' });
    });

    it('and by its own address, whatever it writes into X-Forwarded-For', async () => {
      const headers = { 'x-forwarded-for': '10.9.9.9' };
      const asked = { body: withdrawal(), headers, certificate: cosigner };
      expect(await ask(gateway.cosigner, WITHDRAW, asked)).toEqual({ status: 200, body: 'SUCCESS' });
      const line = service.log.findLast(({ event }) => event === 'callback');
      expect(JSON.stringify(line)).not.toContain('10.9.9.9');
    });

    it('FAILURE without one, and for another one of the same authority', async () => {
      expect(await ask(gateway.cosigner, WITHDRAW, { body: withdrawal() })).toEqual({
        status: 200,
        body: 'FAILURE',
      });
      expect(lastCode()).toBe('CERTIFICATE_WRONG');
      const other = { body: withdrawal(), certificate: authority.issue('/O=Vault/CN=other') };
      expect(await ask(gateway.cosigner, WITHDRAW, other)).toEqual({ status: 200, body: 'FAILURE' });
      expect(lastCode()).toBe('CERTIFICATE_WRONG');
    });

    it('nginx itself turns away a certificate of another authority, without SUCCESS', async () => {
      const certificate = stranger.issue('/O=Vault/CN=cosigner');
      const { status, body } = await ask(gateway.cosigner, WITHDRAW, { body: withdrawal(), certificate });
      expect(status).toBe(400);
      expect(body).not.toContain('SUCCESS');
    });

    it.each(['x-client-subject', 'X-Client-Subject', 'X-CLIENT-SUBJECT', 'x_client_subject'])(
      'a subject that the caller writes itself does not get through: %s',
      async (name) => {
        const headers = { [name]: 'CN=cosigner,O=Vault' };
        expect(await ask(gateway.cosigner, WITHDRAW, { body: withdrawal(), headers })).toMatchObject({
          body: 'FAILURE',
        });
        expect(lastCode()).toBe('CERTIFICATE_WRONG');
        const other = { body: withdrawal(), headers, certificate: authority.issue('/O=Vault/CN=other') };
        expect(await ask(gateway.cosigner, WITHDRAW, other)).toMatchObject({ body: 'FAILURE' });
      },
    );

    it('the co-signer’s paths are not there for the platform, nor the platform’s for the co-signer', async () => {
      const asked = { body: withdrawal(), headers: { 'x-client-subject': 'CN=cosigner,O=Vault' } };
      expect(await ask(gateway.payments, WITHDRAW, asked)).toMatchObject({ status: 404 });
      const body = signedPayment({ appOrderId: 'by-the-other-door' });
      expect(await ask(gateway.cosigner, PAYMENT_PATH, { body, certificate: cosigner })).toMatchObject({
        status: 404,
      });
    });

    it.each(['/', '/metrics', '/readyz', `${PAYMENT_PATH}/`, `${PAYMENT_PATH}/x`, '/nofity'])(
      'nothing else is there: %s',
      async (path) => {
        const { status, body } = await ask(gateway.payments, path);
        expect(status).toBe(404);
        expect(body).not.toContain('SUCCESS');
      },
    );

    it.each([
      '/nofity//transferToMerchantAuthCheck',
      '/./nofity/transferToMerchantAuthCheck',
      '/nofity/%74ransferToMerchantAuthCheck',
    ])('a path that only means the same is not one of Countersign’s: %s', async (path) => {
      const body = signedPayment({ appOrderId: `other-path-${path.length}` });
      expect(await ask(gateway.payments, path, { body })).toMatchObject({ status: 404 });
    });

    it('a body beyond the bound is turned away, and a GET gets no SUCCESS', async () => {
      expect(await ask(gateway.payments, PAYMENT_PATH, { body: ' '.repeat(65_537) })).toMatchObject({
        status: 413,
      });
      expect(await ask(gateway.payments, PAYMENT_PATH, { method: 'GET', body: '' })).toMatchObject({
        status: 405,
      });
    });

    it('its log has the kind of callback and no path, which may hold a secret', async () => {
      await ask(gateway.cosigner, `${WITHDRAW}/a-secret-segment`, { body: withdrawal() });
      const log = gateway.nginx.log('access.log');
      expect(log).toMatch(/ POST payment 200 /);
      expect(log).toMatch(/ POST withdraw \d+ /);
      expect(log).not.toContain('a-secret-segment');
    });
  },
);

/** What arrives behind the gateway, byte by byte as far as HTTP says it. */
interface Arrived {
  readonly url: string | undefined;
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly socket: Socket;
}

describe.skipIf(!hasNginx)(
  'what a real nginx passes on (skipped where there is no `nginx`; Debian: apt-get install nginx-light)',
  () => {
    const arrived: Arrived[] = [];
    let answering: 'SUCCESS' | 'nothing' | 'reset' = 'SUCCESS';
    let upstream: Server;
    let gateway: Gateway;
    beforeAll(async () => {
      const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
        const { url, rawHeaders: headers, socket } = incoming;
        arrived.push({ url, headers, body: await buffer(incoming), socket });
        if (answering === 'reset') socket.resetAndDestroy();
        if (answering === 'SUCCESS') response.setHeader('Content-Type', 'text/plain').end('SUCCESS');
      };
      upstream = createServer((incoming, response) => void take(incoming, response)).listen(0, '127.0.0.1');
      await once(upstream, 'listening');
      gateway = await startGateway([(upstream.address() as AddressInfo).port]);
    });
    afterAll(async () => {
      await gateway?.nginx.stop();
      upstream?.closeAllConnections();
      upstream?.close();
    });
    const headersOf = ({ headers }: Arrived, wanted: string): readonly string[] =>
      headers.filter((_, at) => at % 2 === 1 && headers[at - 1]?.toLowerCase() === wanted);
    const last = (): Arrived => {
      const found = arrived.at(-1);
      if (found === undefined) throw new Error('nothing arrived');
      return found;
    };

    it('the body as it is, whatever is in it', async () => {
      const odd = Buffer.from(Array.from({ length: 60_000 }, (_, at) => (at * 7919) % 256));
      for (const body of [Buffer.from('{ "a" :\t1.50,\r\n"b":"\\u0041é"}\n'), odd]) {
        expect(await ask(gateway.payments, PAYMENT_PATH, { body })).toEqual({ status: 200, body: 'SUCCESS' });
        expect(last().body.equals(body)).toBe(true);
        expect(headersOf(last(), 'content-type')).toEqual(['application/json']);
      }
    });

    it('the path as it came, byte by byte', async () => {
      for (const path of [PAYMENT_PATH, `${PAYMENT_PATH}?a=%2F`, '/nofity//transferToMerchantAuthCheck']) {
        await ask(gateway.payments, path);
        expect(last().url).toBe(path);
      }
      for (const path of [WITHDRAW, '/cosigner/web3', `${WITHDRAW}/a~Secret._-1`]) {
        await ask(gateway.cosigner, path, { certificate: cosigner });
        expect(last().url).toBe(path);
      }
    });

    it.each([
      { 'x-forwarded-for': '10.1.2.3' },
      { 'X-Forwarded-For': '10.1.2.3, 127.0.0.1' },
      { 'x-forwarded-for': '', 'x-real-ip': '10.1.2.3' },
    ])('the caller’s address once, as nginx sees it, whatever the caller writes: %j', async (headers) => {
      await ask(gateway.payments, PAYMENT_PATH, { headers });
      expect(headersOf(last(), 'x-forwarded-for')).toEqual(['127.0.0.1']);
      await ask(gateway.cosigner, WITHDRAW, { headers, certificate: cosigner });
      expect(headersOf(last(), 'x-forwarded-for')).toEqual(['127.0.0.1']);
    });

    it('the subject of a verified certificate once, and none without', async () => {
      const headers = { 'x-client-subject': 'CN=somebody' };
      await ask(gateway.cosigner, WITHDRAW, { headers, certificate: cosigner });
      expect(headersOf(last(), 'x-client-subject')).toEqual(['CN=cosigner,O=Vault']);
      await ask(gateway.cosigner, WITHDRAW, { headers });
      expect(headersOf(last(), 'x-client-subject')).toEqual([]);
      await ask(gateway.payments, PAYMENT_PATH, { headers, certificate: cosigner });
      expect(headersOf(last(), 'x-client-subject')).toEqual([]);
    });

    it('all over one connection, which is kept', async () => {
      await ask(gateway.payments, PAYMENT_PATH);
      const { socket } = last();
      for (let times = 0; times < 5; times++) await ask(gateway.payments, PAYMENT_PATH);
      expect(arrived.slice(-5).map((each) => each.socket === socket)).toEqual([true, true, true, true, true]);
    });

    it('a replica that hangs, breaks off or is gone is answered for, and never with 200', async () => {
      answering = 'nothing';
      expect(await ask(gateway.payments, PAYMENT_PATH)).toMatchObject({ status: 504 });
      answering = 'reset';
      expect((await ask(gateway.payments, PAYMENT_PATH)).status).toBe(502);
      upstream.closeAllConnections();
      upstream.close();
      const { status, body } = await ask(gateway.payments, PAYMENT_PATH);
      expect(status).toBe(502);
      expect(body).not.toContain('SUCCESS');
    });

    it('a replica that is gone is passed over for one that is there', async () => {
      const own = createServer((_incoming, response) => response.end('SUCCESS')).listen(0, '127.0.0.1');
      await once(own, 'listening');
      const { port } = own.address() as AddressInfo;
      const both = await startGateway([await closedPort(), port]);
      try {
        for (let times = 0; times < 6; times++) {
          expect(await ask(both.payments, PAYMENT_PATH)).toEqual({ status: 200, body: 'SUCCESS' });
        }
      } finally {
        await both.nginx.stop();
        own.closeAllConnections();
        own.close();
      }
    });
  },
);
