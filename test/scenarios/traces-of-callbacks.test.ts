import { writeFileSync } from 'node:fs';
import { type ServerResponse, request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { SECRET, otherSide, says } from '../plugins/other-side.ts';
import {
  PAYMENT_PATH,
  POLICIES,
  SHOP_SECRET,
  type TestService,
  VAULT_TOKEN,
  signedPayment,
  transfer,
} from '../service.ts';
import { startServiceProcess } from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type Collector, startCollector, treeOf } from './collector.ts';
import { type StoreHost, describeOnBothStores } from './on-both-stores.ts';
import { folderOf } from './running.ts';

const COLLECTOR_KEY = 'collector-key-of-the-tests';
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`;

const ASKING = {
  ...POLICIES,
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - ask: { service: risk }
`,
};

/** Asks a service about payments, and sends traces to the collector. */
async function started(host: StoreHost, { url }: Collector, tracing: object = {}) {
  const folder = temporaryFolder();
  const [pluginSecret, collectorKey] = [join(folder, 'risk'), join(folder, 'collector')];
  writeFileSync(pluginSecret, SECRET, { mode: 0o600 });
  writeFileSync(collectorKey, COLLECTOR_KEY, { mode: 0o600 });
  const risk = await otherSide(says('yes'));
  const headers = [{ name: 'x-collector-key', secret: { file: collectorKey } }];
  const service = await host.start({
    policies: ASKING,
    settings: {
      tracing: { endpoint: url, headers, ...tracing },
      services: [
        { name: 'risk', url: `${risk.url}?key=in-the-url`, secret: { file: pluginSecret }, timeoutMs: 5000 },
      ],
    },
  });
  return { service, risk };
}

async function pay(service: TestService, headers: Record<string, string> = {}): Promise<string> {
  const payment = signedPayment({ appOrderId: 'order-of-a-user', userId: '98765' });
  return (await service.post(PAYMENT_PATH, payment, headers)).body;
}

async function withdraw(service: TestService, more: Record<string, string>, amount = '11'): Promise<string> {
  const headers = { authorization: VAULT_TOKEN, ...more };
  return (await service.post('/cosigner/withdraw', JSON.stringify(transfer({ amount })), headers)).body;
}

const lineOf = async ({ log }: TestService, code: string) =>
  eventually(`a line with ${code}`, () =>
    log.find((line) => line['event'] === 'callback' && line['code'] === code),
  );

async function detailOf({ store }: TestService, source: string): Promise<Record<string, unknown>> {
  const [entry] = await store.entries({ source, limit: 1, newestFirst: true });
  return JSON.parse(entry?.detail ?? '{}') as Record<string, unknown>;
}

const STORE_SPANS = { embedded: 'settle', redis: 'EVALSHA settle' } as const;

describeOnBothStores('a callback has a trace', (host) => {
  it('that continues the trace of its caller', async () => {
    const collector = await startCollector();
    const { service, risk } = await started(host, collector);
    expect(await pay(service, { traceparent: TRACEPARENT })).toBe('SUCCESS');
    expect(await withdraw(service, { traceparent: TRACEPARENT.replace(TRACE, 'a'.repeat(32)) })).toBe(
      'FAILURE',
    );
    expect(await lineOf(service, 'APPROVED')).toMatchObject({ traceId: TRACE });
    expect(await lineOf(service, 'RULE_REFUSED')).toMatchObject({ traceId: 'a'.repeat(32) });
    expect(await detailOf(service, 'shop')).toMatchObject({ traceId: TRACE });
    const [entry] = await service.store.entries({ source: 'shop', limit: 1 });
    await service.stop();

    const payment = collector.spans.filter(({ traceId }) => traceId === TRACE);
    const refused = collector.spans.filter(({ traceId }) => traceId === 'a'.repeat(32));
    const outside = payment.filter(({ startNs, endNs, parentSpanId }) => {
      const parent = payment.find(({ spanId }) => spanId === parentSpanId);
      return parent !== undefined && (startNs < parent.startNs || endNs > parent.endNs);
    });
    expect(outside).toEqual([]);
    expect(treeOf(payment, SPAN)).toEqual([
      `POST ${PAYMENT_PATH} (server)`,
      '  decode',
      '  authenticate',
      '  parse',
      '  ask',
      '    service risk (client)',
      '  evaluate',
      '  settle',
      `    ${STORE_SPANS[host.kind]} (client)`,
    ]);
    expect(treeOf(refused, SPAN)).toEqual([
      'POST /cosigner/withdraw (server)',
      '  decode',
      '  authenticate',
      '  parse',
      '  evaluate',
      '  settle',
      `    ${STORE_SPANS[host.kind]} (client)`,
    ]);
    const attributesOf = (name: string): unknown => payment.find((each) => each.name === name)?.attributes;
    expect(attributesOf(`POST ${PAYMENT_PATH}`)).toEqual({
      'http.request.method': 'POST',
      'http.route': PAYMENT_PATH,
      'http.response.status_code': 200,
      'countersign.source': 'shop',
      'countersign.kind': 'payment',
      'countersign.verdict': 'SUCCESS',
      'countersign.outcome': 'decided',
      'countersign.code': 'APPROVED',
      'countersign.revision': entry?.revision,
      'countersign.decision': entry?.id,
    });
    expect(attributesOf('service risk')).toEqual({
      'http.request.method': 'POST',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(risk.url).port),
      'countersign.plugin.verdict': 'yes',
    });
    expect(attributesOf(STORE_SPANS[host.kind])).toEqual(
      host.kind === 'embedded'
        ? { 'db.system.name': 'sqlite', 'db.operation.name': 'settle' }
        : {
            'db.system.name': 'redis',
            'db.operation.name': 'EVALSHA',
            'db.stored_procedure.name': 'settle',
          },
    );
    expect(refused.find(({ kind }) => kind === 2)?.attributes).toMatchObject({
      'countersign.source': 'vault',
      'countersign.kind': 'transfer',
      'countersign.verdict': 'FAILURE',
      'countersign.code': 'RULE_REFUSED',
      'countersign.rule': 'transfers/amount-limit#1',
    });
    expect(collector.resource()).toMatchObject({ 'service.name': 'countersign' });
    const asked = payment.find(({ name }) => name === 'service risk');
    expect(risk.asked).toMatchObject([
      { signed: true, headers: { traceparent: `00-${TRACE}-${asked?.spanId}-01` } },
    ]);
  });

  it('without a secret, a header or a value of the callback', async () => {
    const collector = await startCollector();
    const { service } = await started(host, collector);
    expect(await pay(service, { traceparent: TRACEPARENT, 'x-of-the-caller': 'header-of-the-caller' })).toBe(
      'SUCCESS',
    );
    expect(await withdraw(service, { authorization: 'wrong-token' })).toBe('FAILURE');
    await service.stop();
    expect(collector.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { 'x-collector-key': COLLECTOR_KEY },
    });
    expect(collector.spans.filter(({ kind }) => kind === 2)).toHaveLength(2);
    const secrets = [SHOP_SECRET, VAULT_TOKEN, SECRET, COLLECTOR_KEY, 'wrong-token', 'in-the-url'];
    const values = ['order-of-a-user', '98765', 'header-of-the-caller', 'appKey', 'test-shop', '127.0.0.1:'];
    for (const text of [...secrets, ...values]) expect(collector.text()).not.toContain(text);
  });

  it('of its own if the caller sent none, or one that is not valid', async () => {
    const collector = await startCollector();
    const { service } = await started(host, collector);
    expect(await pay(service, { traceparent: `00-${TRACE}-${SPAN}-01-more` })).toBe('SUCCESS');
    const { traceId } = await lineOf(service, 'APPROVED');
    expect(await detailOf(service, 'shop')).toMatchObject({ traceId });
    await service.stop();
    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === '');
    expect(roots).toMatchObject([{ traceId, name: `POST ${PAYMENT_PATH}` }]);
    expect(traceId).not.toBe(TRACE);
  });

  it('that is not sent if the caller does not sample it', async () => {
    const collector = await startCollector();
    const { service, risk } = await started(host, collector);
    expect(await pay(service, { traceparent: `00-${TRACE}-${SPAN}-00` })).toBe('SUCCESS');
    expect(await lineOf(service, 'APPROVED')).toMatchObject({ traceId: TRACE });
    await service.stop();
    expect(collector.spans).toEqual([]);
    expect(risk.asked[0]?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    ['hangs', 'the service stopped before the collector had them', () => undefined],
    ['resets', '', (response) => void response.socket?.destroy()],
    ['answers 500', 'HTTP status 500', (response) => void response.writeHead(500).end('no')],
    ['is full', '', (response) => void response.writeHead(429, { 'retry-after': '3600' }).end()],
  ])('also if the collector %s, and the answers are the same', async (_, because, answer) => {
    const collector = await startCollector(answer);
    const { service } = await started(host, collector);
    expect(await pay(service)).toBe('SUCCESS');
    await eventually('spans were sent', () => collector.requests[0]);
    expect(await pay(service)).toBe('SUCCESS');
    expect(await withdraw(service, { traceparent: TRACEPARENT })).toBe('FAILURE');
    await service.stop();
    const lost = service.log.filter(({ event }) => event === 'traces-lost');
    expect(lost.at(-1)).toMatchObject({ level: 'warn', because: expect.stringContaining(because) });
    expect(lost.reduce((sum, { count }) => sum + Number(count), 0)).toBeGreaterThan(15);
  });
});

describeOnBothStores('without the setting', (host) => {
  it('the trace of the caller is in the log and in every entry about the callback', async () => {
    const service = await host.start();
    const headers = { traceparent: TRACEPARENT };
    expect(await service.post(PAYMENT_PATH, signedPayment({}), headers)).toMatchObject({ body: 'SUCCESS' });
    expect(await lineOf(service, 'APPROVED')).toMatchObject({ traceId: TRACE });
    expect(await detailOf(service, 'shop')).toMatchObject({ traceId: TRACE });
    expect(await withdraw(service, headers, 'much')).toBe('FAILURE');
    expect(await detailOf(service, 'vault')).toMatchObject({ traceId: TRACE, because: expect.any(String) });
  });

  it('a callback without one has no trace, and neither has one that sends it twice', async () => {
    const service = await host.start();
    expect(await service.pay({})).toBe('SUCCESS');
    expect(await lineOf(service, 'APPROVED')).not.toHaveProperty('traceId');
    const twice = { traceparent: [TRACEPARENT, TRACEPARENT], 'content-type': 'application/json' };
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    request(`${service.url}${PAYMENT_PATH}`, { method: 'POST', headers: twice }, (response) =>
      response.resume().on('end', resolve),
    )
      .on('error', reject)
      .end(signedPayment({ appOrderId: 'o-2' }));
    await promise;
    await eventually('the second line', () => service.log.filter(({ code }) => code === 'APPROVED')[1]);
    const entries = await service.store.entries({ source: 'shop', limit: 9, explained: false });
    const kept = entries.map(({ detail }) => detail);
    expect(kept).toHaveLength(2);
    expect(JSON.stringify([service.log, kept])).not.toContain('traceId');
  });
});

describe('the service does not start', () => {
  it('if the package for traces is not installed', async () => {
    const folder = folderOf({ settings: { tracing: { endpoint: 'http://127.0.0.1:4318' } } });
    const hook = join(folder, 'not-installed.mjs');
    writeFileSync(
      hook,
      `import { registerHooks } from 'node:module';
registerHooks({ resolve(specifier, context, next) {
  return next(specifier.replace('@opentelemetry/sdk-trace', '@not-installed/sdk-trace'), context);
} });
`,
    );
    const starting = startServiceProcess(folder, ['env', `NODE_OPTIONS=--import=${hook}`]);
    await expect(starting).rejects.toThrow(
      'the package countersign-opentelemetry is not installed; run `npm ci` where Countersign is installed',
    );
  });

  it('if a secret for the collector is missing', async () => {
    const headers = [{ name: 'authorization', secret: { env: 'NO_SUCH_VARIABLE' } }];
    const folder = folderOf({ settings: { tracing: { endpoint: 'http://127.0.0.1:4318', headers } } });
    await expect(startServiceProcess(folder)).rejects.toThrow('NO_SUCH_VARIABLE');
  });
});
