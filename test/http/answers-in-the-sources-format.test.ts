import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { rawConnection } from '../raw-connection.ts';
import {
  type Answered,
  PAYMENT_PATH,
  type TestService,
  signedPayment,
  startTestService,
} from '../service.ts';
import { linesOf, refusalOf } from '../settings/written.ts';

const SECRET = 'shop-secret-of-the-tests';
const JSON_YES = '{"code":"0","msg":"success","data":"success"}';
const JSON_NO = '{"code":"1","msg":"failure","data":"failure"}';
const XML = { contentType: 'application/xml; charset=utf-8', success: '<yes/>', failure: '<no/>' };

const source = (name: string, appKey: string, answer: unknown): object => ({
  name,
  callback: 'payment',
  appKey,
  answer,
  signatures: [{ scheme: 'md5', secret: { env: 'SECRET' } }],
});

async function serviceOf(
  sources: readonly object[],
  limits: object = {},
  answerTimeoutMs = 5000,
): Promise<TestService> {
  const settings = { sources, answerTimeoutMs, public: { port: '0', limits } };
  const service = await startTestService({ env: { SECRET }, settings });
  onTestFinished(() => service.stop());
  return service;
}

const forged = (appKey: string): string =>
  signedPayment({ appOrderId: 'forged' }, { secret: 'another' }).replace('test-shop', appKey);
const no = (contentType: string, body: string): Answered => ({ status: 200, contentType, body });

describe('where all payment sources are answered in one way', () => {
  const sources = [source('shop', 'test-shop', 'json'), source('second', 'second-shop', 'json')];
  const refused = no('application/json', JSON_NO);

  it('whatever fails is answered so: forged, unknown, unreadable, no JSON, too large, or of another kind', async () => {
    const service = await serviceOf(sources);
    for (const body of [forged('test-shop'), forged('nobody'), '{}', '[', '{"appKey":1}', 'x'.repeat(70_000)])
      expect(await service.post(PAYMENT_PATH, body)).toEqual(refused);
    expect(await service.post(PAYMENT_PATH, '{}', { 'content-type': 'text/plain' })).toEqual(refused);
    expect(await service.post(PAYMENT_PATH, '{}', { 'content-encoding': 'gzip' })).toEqual(refused);
    expect(await service.pay({ appOrderId: 'fine' })).toBe('{"code":"0","msg":"success","data":"success"}');
  });

  it('so is one whose body does not come in time', async () => {
    const service = await serviceOf(sources, {}, 200);
    const connection = await rawConnection(service.url);
    connection.write(
      `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    );
    expect(await connection.received(10_000)).toMatch(
      /^HTTP\/1\.1 200 OK\r\n.*Content-Type: application\/json\r\n.*\{"code":"1",.*\}$/s,
    );
  });

  it('so is one whose address has used up its budget', async () => {
    const service = await serviceOf(sources, { failuresPerSecond: 1 });
    await eventually('it is turned away', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => service.post(PAYMENT_PATH, forged('test-shop'))),
      );
      for (const answer of answers) expect(answer).toEqual(refused);
      return service.log.some(({ code }) => code === 'ADDRESS_THROTTLED') ? true : undefined;
    });
  });

  it('so is one that is turned away for the load', async () => {
    const service = await serviceOf(sources, { callbacks: 1 });
    let orders = 0;
    await eventually('one is turned away', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => service.pay({ appOrderId: `many-${orders++}` })),
      );
      const refusals = answers.filter((answer) => !answer.startsWith('{"code":"0"'));
      for (const answer of refusals) expect(answer).toBe(JSON_NO);
      return refusals.length > 0 ? true : undefined;
    });
    expect(service.log.some(({ code }) => code === 'OVERLOADED')).toBe(true);
  });
});

describe('where payment sources are answered in several ways', () => {
  const sources = [source('shop', 'test-shop', 'json'), source('second', 'second-shop', XML)];

  it('what fails is answered as the source that its appKey names, and plainly where it names none', async () => {
    const service = await serviceOf(sources);
    expect(await service.post(PAYMENT_PATH, forged('test-shop'))).toEqual(no('application/json', JSON_NO));
    expect(await service.post(PAYMENT_PATH, forged('second-shop'))).toEqual(no(XML.contentType, XML.failure));
    const envelope = { app_id: 'second-shop', time: 1, data: 'x', sign: 'y' };
    expect(await service.post(PAYMENT_PATH, JSON.stringify(envelope))).toEqual(
      no(XML.contentType, XML.failure),
    );
    for (const body of [forged('nobody'), '{}', '[', 'x'.repeat(70_000), '{"appKey":{"a":"test-shop"}}'])
      expect(await service.post(PAYMENT_PATH, body)).toEqual(no('text/plain', 'FAILURE'));
  });
});

it.each([
  ['plain', 'SUCCESS'],
  ['plain, with a blank', ' SUCCESS'],
  ['JSON', JSON_YES],
])(
  'a no that is the yes of %s answers is a fault, whether or not another source sends it',
  (_what, failure) => {
    const answer = `{ contentType: text/plain, success: OK, failure: '${failure}' }`;
    for (const other of ['plain', 'json']) {
      expect(linesOf(refusalOf(twoSources(answer, other)))).toEqual([
        expect.stringContaining('sources[0].answer.failure is the approval of plain or json answers'),
      ]);
    }
  },
);

it.each([
  [
    'of another source',
    '{ contentType: text/plain, success: nein, failure: oh }',
    '{ contentType: text/plain, success: ja, failure: nein }',
  ],
  ['of plain answers', '{ contentType: text/plain, success: FAILURE, failure: oh }', 'plain'],
  ['of JSON answers', `{ contentType: text/plain, success: '${JSON_NO}', failure: oh }`, 'json'],
])(
  'a yes that is the no %s is a fault: whoever is not known yet may be answered so',
  (_what, first, second) => {
    expect(linesOf(refusalOf(twoSources(first, second)))).toEqual([
      expect.stringContaining('sources[0].answer.success is also a refusal on the same path') as string,
    ]);
  },
);

function twoSources(first: string, second: string): string {
  const written = (name: string, answer: string): string =>
    `  - { name: ${name}, callback: payment, appKey: ${name}, signatures: [{ scheme: md5, secret: { env: S } }], answer: ${answer} }\n`;
  return `sources:\n${written('one', first)}${written('two', second)}`;
}
