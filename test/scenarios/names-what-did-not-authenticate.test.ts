import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAYMENT_PATH, type TestService, signedPayment, startTestService, transfer } from '../service.ts';

describe('the line about a callback that is not authentic', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.stop());

  async function lineAbout(
    path: string,
    body: string | Uint8Array,
    headers = {},
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const before = service.log.length;
    expect((await service.post(path, body, headers)).body).toBe('FAILURE');
    return service.log.slice(before).find(({ event }) => event === 'callback');
  }
  const counted = async (labels: string): Promise<boolean> =>
    (await (await fetch(`${service.ops}/metrics`)).text()).includes(
      `\ncountersign_authentication_failures_total{${labels}}`,
    );

  it('names the source whose keys were tried, the appKey and the order; none of them is verified', async () => {
    const line = await lineAbout(PAYMENT_PATH, signedPayment({ appOrderId: 'o-7' }, { secret: 'other' }));
    expect(line).toMatchObject({
      code: 'SIGN_WRONG',
      unverifiedSource: 'shop',
      unverifiedAppKey: 'test-shop',
      unverifiedOrder: 'o-7',
    });
    expect(line).not.toHaveProperty('source');
    expect(line).not.toHaveProperty('subject');
    expect(await counted('code="SIGN_WRONG",source="shop"')).toBe(true);
  });

  it('names the co-signer of the URL, also if the body was not read', async () => {
    const body = JSON.stringify(transfer({ request_id: 'w-7' }));
    expect(await lineAbout('/cosigner/withdraw', body, { authorization: 'wrong' })).toMatchObject({
      code: 'HEADER_WRONG',
      unverifiedSource: 'vault',
      unverifiedOrder: 'w-7',
    });
    expect(await counted('code="HEADER_WRONG",source="vault"')).toBe(true);
    expect(await lineAbout('/cosigner/withdraw', '{', { authorization: 'wrong' })).toMatchObject({
      code: 'NOT_JSON',
      unverifiedSource: 'vault',
    });
  });

  it('names an appKey that is nobody’s, and counts it under no name of its own', async () => {
    const body = JSON.stringify({ appKey: 'nobody', appOrderId: 'o-8', sign: 'x' });
    const line = await lineAbout(PAYMENT_PATH, body);
    expect(line).toMatchObject({
      code: 'SOURCE_UNKNOWN',
      because: 'no source of the settings has the appKey "nobody"',
      unverifiedAppKey: 'nobody',
      unverifiedOrder: 'o-8',
    });
    expect(line).not.toHaveProperty('unverifiedSource');
    expect(await counted('code="SOURCE_UNKNOWN",source="unknown"')).toBe(true);
    const text = await (await fetch(`${service.ops}/metrics`)).text();
    expect(text).not.toContain('nobody');
  });

  it('has bounded and printable names, and only what is text', async () => {
    const body = JSON.stringify({ appKey: `\u001b[2J\n${'k'.repeat(5000)}`, appOrderId: 'o'.repeat(5000) });
    const line = await lineAbout(PAYMENT_PATH, body);
    expect(line?.['unverifiedAppKey']).toBe(`\u001b[2J\n${'k'.repeat(123)}…`);
    expect(line?.['unverifiedOrder']).toBe(`${'o'.repeat(128)}…`);
    expect(String(line?.['because']).length).toBeLessThan(300);
    const objects = await lineAbout(PAYMENT_PATH, JSON.stringify({ appKey: {}, appOrderId: [1] }));
    expect(objects).not.toHaveProperty('unverifiedAppKey');
    expect(objects).not.toHaveProperty('unverifiedOrder');
  });

  it('of a callback that is authentic has no unverified names', async () => {
    const before = service.log.length;
    expect(await service.pay({ appOrderId: 'o-9' })).toBe('SUCCESS');
    const line = service.log.slice(before).find(({ event }) => event === 'callback');
    expect(line).toMatchObject({ source: 'shop' });
    expect(Object.keys(line ?? {}).filter((name) => name.startsWith('unverified'))).toEqual([]);
  });
});
