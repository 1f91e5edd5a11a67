import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import { type TestSandbox, keysOf, openAnswer, sealedAnswer } from '../../packages/sandbox/test/sandbox.ts';

/*
 * Stands between the client and the sandbox. The sandbox does what it was asked to do, and this changes what it
 * answers. It reads and writes answers with the code of the tests' own merchant.
 */

/** An answer of the sandbox whose data is readable; `members` are those of the body without `data` and `sign`. */
interface Answer {
  readonly members: Readonly<Record<string, unknown>>;
  readonly data: unknown;
  readonly isSealed: boolean;
}

/** What a lie does to an answer: to its content, to the members that are sent, or to its delivery. */
interface Lie {
  readonly changes?: (answer: Answer) => Answer;
  readonly writes?: (members: Readonly<Record<string, unknown>>) => object;
  readonly sends?: (response: ServerResponse, body: string) => unknown;
}

const JSON_TYPE = { 'content-type': 'application/json;charset=UTF-8' };
const sending =
  (body: (text: string) => string | Uint8Array, { status = 200, headers = {} } = {}) =>
  (response: ServerResponse, honest: string) =>
    response.writeHead(status, { ...JSON_TYPE, ...headers }).end(body(honest));
const honestly = (body: string): string => body;
const refusing =
  (code: string, msg: string) =>
  (answer: Answer): Answer => ({ ...answer, members: { code, msg }, data: null });
const changing =
  (change: (data: unknown) => unknown) =>
  (answer: Answer): Answer => ({ ...answer, data: change(answer.data) });
const without = (members: object, name: string): object =>
  Object.fromEntries(Object.entries(members).filter(([each]) => each !== name));

export const LIES = {
  lost: { sends: (response) => response.destroy() },
  cut: {
    sends: (response, body) =>
      response.writeHead(200, JSON_TYPE).write(body.slice(0, body.length / 2), () => response.destroy()),
  },
  drip: {
    sends(response, body) {
      response.writeHead(200, JSON_TYPE).write(body);
      const drip = setInterval(() => response.write(' '), 50);
      response.once('close', () => clearInterval(drip));
    },
  },
  endless: {
    sends(response, body) {
      const more = (error?: Error | null): void => {
        if (error === undefined || error === null) response.write(' '.repeat(65_536), more);
      };
      response.writeHead(200, JSON_TYPE).write(body, more);
    },
  },
  status: { sends: sending(honestly, { status: 500 }) },
  redirect: {
    sends: sending(() => '', { status: 307, headers: { location: '/elsewhere?token=secret' } }),
  },
  html: { sends: sending(() => '<!doctype html><p>It works', { headers: { 'content-type': 'text/html' } }) },
  type: { sends: sending(honestly, { headers: { 'content-type': 'text/plain' } }) },
  gzip: { sends: sending((body) => gzipSync(body), { headers: { 'content-encoding': 'gzip' } }) },
  empty: { sends: sending(() => '') },
  half: { sends: sending((body) => body.slice(0, body.length / 2)) },
  twice: { sends: sending((body) => body.replace('{', '{"msg":"",')) },
  code: { writes: (members) => without(members, 'code') },
  error: { changes: refusing('10001', 'system error') },
  denied: { changes: refusing('10015', 'operation failed') },
  scheme: { changes: (answer) => ({ ...answer, isSealed: !answer.isSealed }) },
  kinds: { changes: changing(inLists) },
  member: { changes: changing(withoutList) },
  count: { changes: changing(countingMore) },
  // Each answer is the first one.
  pages: {},
  sign: { writes: (members) => ({ ...members, ...spoilt(members, 'sign') }) },
  unsigned: { writes: (members) => without(members, 'sign') },
  data: { writes: (members) => ({ ...members, ...spoilt(members, 'data') }) },
} as const satisfies Readonly<Record<string, Lie>>;

export type LieName = keyof typeof LIES;

/** Listens in place of the sandbox, and lies about all requests for one path. */
export async function startLyingPlatform(
  sandbox: TestSandbox,
  name: LieName,
  path: string,
): Promise<TestSandbox> {
  const keys = keysOf(sandbox.folder);
  const { changes, writes, sends = sending(honestly) }: Lie = LIES[name];
  let first: string | undefined;
  const answer = async (url: string, asked: string, response: ServerResponse): Promise<void> => {
    const sent = await fetch(`${new URL(sandbox.url).origin}${url}`, { method: 'POST', body: asked });
    const honest = await sent.text();
    if (!url.endsWith(`/${path}`)) return void sending(honestly)(response, honest);
    first ??= honest;
    if (name === 'pages') return void sending(honestly)(response, first);
    const read = readAnswer(honest, keys);
    const members = membersOf(changes?.(read) ?? read, keys);
    return void sends(response, JSON.stringify(writes?.(members) ?? members));
  };
  const server = createServer((request, response) => {
    text(request)
      .then((asked) => answer(request.url ?? '', asked, response))
      .catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { ...sandbox, url: sandbox.url.replace(new URL(sandbox.url).host, `127.0.0.1:${port}`) };
}

type Keys = ReturnType<typeof keysOf>;

function readAnswer(body: string, keys: Keys): Answer {
  const { data, sign, ...members } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const isSealed = sign !== undefined;
  return { members, isSealed, data: isSealed ? JSON.parse(openAnswer({ data, sign }, keys)) : data };
}

function membersOf({ members, data, isSealed }: Answer, keys: Keys): Readonly<Record<string, unknown>> {
  if (!isSealed) return { ...members, data };
  return { ...members, ...(data === null ? { data: '', sign: '' } : sealedAnswer(data, keys)) };
}

/** With another first character. An answer without data has empty texts, which stay so. */
function spoilt(members: Readonly<Record<string, unknown>>, name: string): object {
  const value = String(members[name]);
  return value === '' ? {} : { [name]: `${value.startsWith('a') ? 'b' : 'a'}${value.slice(1)}` };
}

const isObject = (data: unknown): data is Readonly<Record<string, unknown>> =>
  typeof data === 'object' && data !== null && !Array.isArray(data);

/** Each value that is no object is in a list of its own. */
function inLists(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(inLists);
  if (!isObject(data)) return [data];
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, inLists(value)]));
}

function withoutList(data: unknown): unknown {
  if (!isObject(data)) return data;
  const [name = ''] = Object.entries(data).find(([, value]) => Array.isArray(value)) ?? [];
  return without(data, name);
}

function countingMore(data: unknown): unknown {
  return isObject(data) && 'count' in data ? { ...data, count: Number(data['count']) + 1 } : data;
}
