import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiRoutes, probeRoutes } from '../../src/http/routes.ts';
import { textOf } from '../deploy/documents.ts';
import { type TestService, startTestService } from '../service.ts';

/** A request of docs/api.http, with its variables as they are written. */
interface WrittenRequest {
  readonly title: string;
  /** The first that it names: that of the request when all before it were sent. */
  readonly status: number;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface WrittenFile {
  readonly variables: ReadonlyMap<string, string>;
  readonly requests: readonly WrittenRequest[];
}

/** Reads `### TITLE: STATUS`, a request line, headers, an empty line and a body; variables stand at the top. */
function readHttpFile(text: string): WrittenFile {
  const [head = '', ...parts] = text.split(/^### /m);
  const variables = new Map(
    [...head.matchAll(/^@(\w+) = (\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const requests = parts.map((part): WrittenRequest => {
    const [heading = '', request = '', ...body] = part.trim().split('\n\n');
    const [line = '', ...headers] = request.split('\n');
    const [, method = '', url = ''] = /^([A-Z]+) (\{\{host\}\}\/\S+)$/.exec(line) ?? [];
    if (method === '') throw new Error(`docs/api.http: no request line: ${line}`);
    return {
      title: heading.replace(/:.*/, ''),
      status: Number(/: (\d{3})\b/.exec(heading)?.[1]),
      method,
      url,
      headers: Object.fromEntries(headers.map((header) => header.split(/: (.*)/, 2))),
      body: body.join('\n\n'),
    };
  });
  return { variables, requests };
}

const TOKEN = 'ops-token-of-the-tests';
const { variables, requests } = readHttpFile(textOf('docs/api.http'));

describe('docs/api.http', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({
      settings: { ops: { port: '0', token: { env: 'OPS_TOKEN' }, releases: 'true' } },
      env: { OPS_TOKEN: TOKEN },
    });
    // The payment that a request releases.
    await service.pay({ appOrderId: '11321' }, 'rsa');
  });
  afterAll(() => service.stop());

  function sent({ method, url, headers, body }: WrittenRequest, token = TOKEN): Promise<Response> {
    const values: ReadonlyMap<string, string> = new Map([
      ['host', service.ops],
      ['token', token],
    ]);
    const filled = (text: string): string =>
      text.replaceAll(/\{\{(\w+)\}\}/g, (written, name: string) => values.get(name) ?? written);
    const filledHeaders = Object.entries(headers).map(([name, value]): [string, string] => [
      name,
      filled(value),
    ]);
    return fetch(filled(url), { method, headers: filledHeaders, ...(body !== '' && { body: filled(body) }) });
  }

  it('has the variables host and token, and no others', () => {
    expect([...variables]).toEqual([
      ['host', 'http://127.0.0.1:9090'],
      ['token', 'TOKEN'],
    ]);
  });

  it.each(requests.map((request) => [request.title, request] as const))(
    'gets the first status that it names: %s',
    async (_title, request) => {
      const response = await sent(request);
      expect(await response.text()).not.toBe('');
      expect(response.status).toBe(request.status);
    },
  );

  it.each(
    requests.filter(({ url }) => url.includes('/api/')).map((request) => [request.title, request] as const),
  )('gets 401 with another token: %s', async (_title, request) => {
    expect((await sent(request, 'another')).status).toBe(401);
  });

  it('has each route of the ops port once, and no others', () => {
    const written = requests.map(({ method, url }) => `${method} ${url.replace('{{host}}', '')}`);
    const routes = [
      ...Object.values(apiRoutes).map(({ method, path }) => `${method.toUpperCase()} /api${path}`),
      ...Object.values(probeRoutes).map(({ method, path }) => `${method.toUpperCase()} ${path}`),
    ];
    const order = { '{source}': 'shop', '{kind}': 'payment', '{id}': '11321' };
    const expected = routes.map((route) =>
      Object.entries(order).reduce((path, [name, value]) => path.replace(name, value), route),
    );
    expect(written.toSorted()).toEqual(expected.toSorted());
  });
});
