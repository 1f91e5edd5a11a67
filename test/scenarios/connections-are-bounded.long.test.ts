import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AddressInfo, createServer } from 'node:net';
import { Agent, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { CERTIFICATE, CERTIFICATE_KEY } from '../cli/certificate.ts';
import { PAYMENT_PATH, signedPayment } from '../service.ts';
import { startServiceProcess } from '../service-process.ts';
import type { Attack } from './attacker-process.ts';
import { startAttack } from './attacker.ts';
import { upTo } from './policies.ts';
import { folderOf, untilReady } from './running.ts';

/** Two addresses that are not the sender's. All of 127.0.0.0/8 is this machine. */
const ATTACKERS = ['127.0.0.2', '127.0.0.3'];
const CONNECTIONS = 1000;
const CALLBACKS = 60;
const GOOD_CONNECTIONS = 250;
/** More than the default: sender, service and attacker share this machine, maybe with others. */
const ANSWER_TIMEOUT_MS = 10_000;
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const post = (body: string, version = '1.1'): string =>
  `POST ${PAYMENT_PATH} HTTP/${version}\r\nHost: a\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const FORGED = signedPayment({ appOrderId: 'forged' }, { secret: 'not-the-secret' });
const METRICS = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
const FILLED = `GET / HTTP/1.1\r\n${'a:\r\n'.repeat(3500)}\r\n`;

let orders = 0;
/** A payment of 1 from 127.0.0.1, over a connection of the agent. */
async function pay(url: string, agent: Agent): Promise<string> {
  const body = signedPayment({
    appOrderId: `good-${orders}`,
    userId: `${10_000 + orders++}`,
    orderAmount: '1',
  });
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const ask = url.startsWith('https:') ? secureRequest : request;
  const asked = ask(`${url}${PAYMENT_PATH}`, {
    method: 'POST',
    headers,
    agent,
    localAddress: '127.0.0.1',
  });
  asked.end(body);
  const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return text;
}

/** Half of them over one connection that is kept, the others over a new one each. */
async function payments(url: string, count: number): Promise<ReadonlySet<string>> {
  const secure = url.startsWith('https:');
  const options = { keepAlive: true, maxSockets: 1, rejectUnauthorized: false };
  const kept = secure ? new SecureAgent(options) : new Agent(options);
  const each = secure ? new SecureAgent({ rejectUnauthorized: false }) : new Agent();
  const answers = new Set<string>();
  try {
    for (let at = 0; at < count; at++) answers.add(await pay(url, at % 2 === 0 ? kept : each));
    return answers;
  } finally {
    kept.destroy();
  }
}

async function memoryOf(ops: string): Promise<number> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  return Number(/^process_resident_memory_bytes (\d+)/m.exec(text)?.[1]);
}

/** What a TLS client says first. */
async function clientHello(): Promise<string> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const client = connectTls({ port: (listener.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => undefined);
  const [socket] = (await once(listener, 'connection')) as [NodeJS.ReadableStream];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  listener.close();
  return hello.toString('latin1');
}

/** Gives the service of a folder a certificate. */
function speakTls(folder: string): void {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const tls = { certificate: file('tls.pem', CERTIFICATE), key: { file: file('tls.key', CERTIFICATE_KEY) } };
  const settings = join(folder, 'settings.yaml');
  const { public: outer, ...others } = parse(readFileSync(settings, 'utf8')) as { readonly public: object };
  writeFileSync(settings, stringify({ ...others, public: { ...outer, tls } }));
}

interface Row {
  readonly kind: Pick<Attack, 'opening' | 'again' | 'reads' | 'leaves'>;
  readonly port?: 'ops';
  readonly tls?: true;
}

/**
 * What deploy/kubernetes gives a pod, and the heap that Node takes of so much memory. A thousand connections
 * take buffers of 64 KiB each once, which the operating system then lends the process for long.
 */
const POD_BYTES = 512 * 1024 * 1024;
const POD_HEAP = ['env', 'NODE_OPTIONS=--max-old-space-size=256'];

/** Something is written over each connection, once or again and again. */
const attacks: readonly (readonly [what: string, row: () => Row | Promise<Row>])[] = [
  [
    'send requests for no path, one behind the other, and read nothing',
    () => ({ kind: { opening: '', again: GET } }),
  ],
  [
    'send empty callbacks, one behind the other, and read nothing',
    () => ({ kind: { opening: '', again: post('{}') } }),
  ],
  [
    'send forged callbacks, one behind the other, and read all',
    () => ({ kind: { opening: '', again: post(FORGED), reads: true } }),
  ],
  [
    'send HTTP/1.0 with keep-alive, one behind the other',
    () => ({ kind: { opening: '', again: post('{}', '1.0') } }),
  ],
  [
    'send thousands of headers in each request',
    () => ({ kind: { opening: '', again: FILLED, reads: true } }),
  ],
  ['send no HTTP at all', () => ({ kind: { opening: 'x'.repeat(1000), again: 'y' } })],
  [
    'begin a body that never ends',
    () => ({ kind: { opening: `${post('').replace('Length: 0', 'Length: 1000')}{` } }),
  ],
  ['are opened and broken off as fast as can be', () => ({ kind: { opening: GET, leaves: true } })],
  ['begin TLS and read nothing', async () => ({ kind: { opening: await clientHello() }, tls: true })],
  [
    'ask the ops port for its metrics, one request behind the other, and read nothing',
    () => ({ kind: { opening: '', again: METRICS }, port: 'ops' }),
  ],
];

describe('a thousand connections that', { timeout: 240_000 }, () => {
  it.each(attacks)('%s take neither time nor memory from a sender at another address', async (_what, of) => {
    const { kind, port, tls } = await of();
    const folder = folderOf({
      policies: upTo(1_000_000),
      settings: { answerTimeoutMs: ANSWER_TIMEOUT_MS, public: { port: '0' } },
    });
    if (tls === true) speakTls(folder);
    const service = await startServiceProcess(folder, POD_HEAP);
    onTestFinished(() => service.kill());
    const { url, ops } = service;
    await untilReady(ops);
    // Good senders, with as many connections as one address may have, take their part of the memory first.
    await Promise.allSettled(Array.from({ length: GOOD_CONNECTIONS }, () => payments(url, 4)));

    const from = ATTACKERS;
    await startAttack({ url: port === 'ops' ? ops : url, from, connections: CONNECTIONS, ...kind });
    const answers = await payments(url, CALLBACKS);
    // Also a refusal before its subject was known, or of its connection.
    const refusals = service.log.filter(
      ({ verdict, level, address }) => address === '127.0.0.1' && (verdict === 'FAILURE' || level === 'warn'),
    );
    expect({ answers, refusals }).toEqual({ answers: new Set(['SUCCESS']), refusals: [] });
    expect(await memoryOf(ops)).toBeLessThan(POD_BYTES);
  });
});
