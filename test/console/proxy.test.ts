import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, rawConnection } from '../raw-connection.ts';
import { type TestService, startTestService } from '../service.ts';

const HEADER = 'X-Signed-In';
const PEOPLE = [
  { name: 'ada@example.com', roles: ['operate'] },
  { name: 'rita@example.com', roles: ['read'] },
  { name: 'Zoë “Z” <z@example.com>', roles: ['read'] },
  { name: 'Jürgen', roles: ['read'] },
];
const proxyAt = (addresses: readonly string[]) => ({
  ops: { port: '0' },
  console: { proxy: { header: HEADER, addresses, people: PEOPLE } },
});

async function answerTo(
  { ops }: TestService,
  headers: string,
  first = 'GET /console/ HTTP/1.1',
): Promise<{ readonly status: number; readonly body: string }> {
  const connection = await rawConnection(ops);
  connection.write(`${first}\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`);
  const [answer] = answersIn(await connection.received(10_000));
  return { status: answer?.status ?? 0, body: answer?.body ?? '' };
}

describe('behind a single sign-on proxy', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({ settings: proxyAt(['127.0.0.0/8', '::1']) });
  });
  afterAll(() => service.stop());

  it.each(['ada@example.com', 'rita@example.com'])('%s comes in', async (name) => {
    const { status, body } = await answerTo(service, `${HEADER}: ${name}\r\n`);
    expect(status).toBe(200);
    expect(body).toContain(`>${name}</span>`);
  });

  it.each([
    ['in UTF-8', 'utf8', 'Zoë “Z” <z@example.com>'],
    ['in Latin-1', 'latin1', 'Jürgen'],
    ['in UTF-8, of a name that Latin-1 has', 'utf8', 'Jürgen'],
  ] as const)('a name %s comes in', async (_how, encoding, name) => {
    const connection = await rawConnection(service.ops);
    connection.write('GET /console/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n');
    connection.write(Buffer.from(`${HEADER}: ${name}\r\n\r\n`, encoding));
    const [answer] = answersIn(await connection.received(10_000));
    expect(answer?.status).toBe(200);
  });

  it.each([
    ['nobody', ''],
    ['somebody whom the settings do not list', `${HEADER}: eve@example.com\r\n`],
    ['another spelling', `${HEADER}: Ada@example.com\r\n`],
    ['the name with more after it', `${HEADER}: ada@example.com, eve\r\n`],
    ['the empty name', `${HEADER}:\r\n`],
    ['the header twice', `${HEADER}: ada@example.com\r\n${HEADER}: ada@example.com\r\n`],
    ['the header twice, in two spellings', `${HEADER}: ada@example.com\r\n${HEADER.toLowerCase()}: eve\r\n`],
    ['a header with another name', 'X-Signed-In-As: ada@example.com\r\n'],
    ['a name of the language', `${HEADER}: __proto__\r\n`],
    ['a cookie', 'Cookie: X-Signed-In=ada@example.com\r\n'],
    ['the forwarded address of the proxy', 'X-Forwarded-For: 127.0.0.1\r\n'],
  ])('%s stays outside', async (_name, headers) => {
    const { status, body } = await answerTo(service, headers);
    expect(status).toBe(401);
    expect(body).not.toMatch(/Readiness|<nav/);
  });

  it.each([
    ['over TLS, as the browser says', 'https', true],
    ['without TLS', 'http', false],
  ])('the notice of an act goes %s', async (_name, scheme, isSecure) => {
    const form = 'reason=drill&confirmation=freeze';
    const connection = await rawConnection(service.ops);
    connection.write(
      `POST /console/freeze HTTP/1.1\r\nHost: localhost\r\n${HEADER}: ada@example.com\r\nOrigin: ${scheme}://localhost\r\n` +
        'Content-Type: application/x-www-form-urlencoded\r\n' +
        `Content-Length: ${form.length}\r\nConnection: close\r\n\r\n${form}`,
    );
    const received = await connection.received(10_000);
    expect(received).toMatch(/^HTTP\/1.1 303 /);
    expect(/set-cookie: countersign-notice=[^\r]*/i.exec(received)?.[0].includes('; Secure')).toBe(isSecure);
    const { frozen } = await service.store.control();
    await service.store.unfreeze({ by: 'test', ids: frozen.map(({ id }) => id) });
  });

  it.each([
    'ftp://localhost',
    'https://evil.example',
    'null',
    'http://localhost:1',
    'https://localhost.evil',
  ])('a form of the origin %s is refused', async (origin) => {
    const headers = `${HEADER}: ada@example.com\r\nOrigin: ${origin}\r\nContent-Length: 0\r\n`;
    expect(await answerTo(service, headers, 'POST /console/freeze HTTP/1.1')).toMatchObject({ status: 403 });
  });

  it('a person does what the roles allow, and no more', async () => {
    const form = 'reason=drill&confirmation=freeze';
    const freeze = (name: string): Promise<{ readonly status: number }> =>
      answerTo(
        service,
        `${HEADER}: ${name}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
          `Content-Length: ${form.length}\r\nConnection: close\r\n\r\n${form}`,
        'POST /console/freeze HTTP/1.1',
      );
    expect(await freeze('rita@example.com')).toMatchObject({ status: 403 });
    expect((await service.store.control()).frozen).toEqual([]);
    expect(await freeze('ada@example.com')).toMatchObject({ status: 303 });
    expect((await service.store.control()).frozen).toMatchObject([{ by: 'console:ada@example.com' }]);
  });
});

it('a header from another address than the proxy counts for nothing', async () => {
  const service = await startTestService({ settings: proxyAt(['10.0.0.0/8', 'fd00::/8']) });
  expect(await answerTo(service, `${HEADER}: ada@example.com\r\n`)).toMatchObject({ status: 401 });
  await service.stop();
});

it('without settings there is no console, and the public port never has one', async () => {
  const service = await startTestService();
  expect((await fetch(`${service.ops}/console/`)).status).toBe(404);
  await service.stop();
  const console = await startTestService({ settings: proxyAt(['127.0.0.1']) });
  const headers = { [HEADER]: 'ada@example.com' };
  expect((await fetch(`${console.ops}/console/`, { headers })).status).toBe(200);
  expect((await fetch(`${console.url}/console/`, { headers })).status).toBe(404);
  await console.stop();
});
