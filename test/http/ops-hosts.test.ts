import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, rawConnection } from '../raw-connection.ts';
import { type TestService, startTestService } from '../service.ts';
import { SHOP, linesOf, refusalOf } from '../settings/written.ts';
import { tablesOf, string, number } from '../cases.ts';

const WITHIN_MS = 10_000;
const LISTED = 'countersign-ops.example';

const rowsOf = tablesOf(new URL('cases/ops-hosts.yaml', import.meta.url));

describe('the ops port', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ settings: { ops: { port: '0', hosts: [LISTED, 'Countersign'] } } });
  });
  afterAll(() => service.stop());

  /** Status and body for a request line and headers as they stand. */
  async function answerTo(
    head: string,
  ): Promise<{ readonly status: number; readonly body: string } | undefined> {
    const connection = await rawConnection(service.ops);
    connection.write(`${head}Connection: close\r\n\r\n`);
    return answersIn(await connection.received(WITHIN_MS))[0];
  }
  const named = (host: string): ReturnType<typeof answerTo> =>
    answerTo(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n`);

  it.each([
    'localhost',
    'localhost:9090',
    'LocalHost:1',
    'localhost.',
    'localhost.:9090',
    '127.0.0.1',
    '127.0.0.1:9090',
    '10.1.2.3:80',
    '0.0.0.0:9090',
    '[::1]',
    '[::1]:9090',
    '[2001:DB8::5]:9090',
    '[::ffff:10.1.2.3]:9090',
    LISTED,
    `${LISTED.toUpperCase()}.:9090`,
    'countersign:9090',
  ])('answers to %s', async (host) => {
    expect(await named(host)).toEqual({ status: 200, body: 'ok\n' });
  });

  it.each([
    'evil.example',
    'evil.example:9090',
    'localhost.evil.example',
    'evil-localhost',
    'a.localhost',
    'localhost..',
    `${LISTED}.evil.example`,
    `a.${LISTED}`,
    '127.0.0.1.evil.example',
    '127.0.0.1.nip.io:9090',
    '127.0.0.1.',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '127.0.0.01',
    '256.0.0.1',
    '::1',
    '[::1',
    '[::1%25lo]',
    '[::1].evil.example',
    '[evil.example]',
    'localhost:port',
    'localhost:',
    'localhost:65536',
    'localhost:-1',
    'localhost:80:80',
    'user@localhost',
    'localhost@evil.example',
    'evil.example#localhost',
    'localhost, evil.example',
    'localhost/evil.example',
    'localhost evil.example',
    'lоcalhost',
    '',
  ])('refuses %o, and says which setting names hosts', async (host) => {
    for (const path of ['/healthz', '/metrics', '/readyz', '/api/prices', '/console/', '/'])
      expect(
        await answerTo(`GET ${path} HTTP/1.1\r\nHost: ${Buffer.from(host).toString('latin1')}\r\n`),
      ).toEqual({
        status: 421,
        body: expect.stringMatching(
          /^".*" is not a name of this port: call it as localhost or by its IP address, or add the name to ops\.hosts\n$/,
        ) as string,
      });
  });

  it.each(rowsOf('hosts', string, string, number))('refuses %s', async (_what, head, status) => {
    expect((await answerTo(head))?.status).toBe(status);
  });

  it.each([
    ['HTTP/1.0 without a host, which no browser sends', 'GET /healthz HTTP/1.0\r\n'],
    [
      'a target that names an allowed host',
      'GET http://localhost:9090/healthz HTTP/1.1\r\nHost: localhost:9090\r\n',
    ],
  ])('answers to %s', async (_what, head) => {
    expect(await answerTo(head)).toEqual({ status: 200, body: 'ok\n' });
  });
});

it.each(['http://countersign', 'countersign:9090', 'a b', '*', '*.example.com', '', '-a', 'a..b'])(
  'a name in ops.hosts that no Host header can hold is a fault: %o',
  (written) => {
    expect(linesOf(refusalOf(`${SHOP}ops: { hosts: ['${written}'] }\n`))).toEqual([
      expect.stringMatching(
        /^FILE:2:16: ops\.hosts\[0\] .*; write a host name such as countersign-ops\.example\.com, without port; IP addresses are always allowed$/,
      ) as string,
    ]);
  },
);
