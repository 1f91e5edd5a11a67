import { expect, it } from 'vitest';
import { client } from '../../packages/platform/test/client.ts';
import { startPlatform } from '../../packages/platform/test/plain-platform.ts';
import { platformBill } from '../../src/cli/reconcile/platform-bill.ts';
import type { ReadRecord } from '../../src/reconcile/bill.ts';
import { readDay } from '../../src/reconcile/day.ts';

const DAY = '2026-03-02';
const ORDER =
  '{"merchantUserId":1,"appOrderId":"a","payCoinSymbol":"BTC","orderAmount":1.50,"orderType":1,"userId":1,' +
  `"openId":"o","createTime":"${DAY} 10:00:00","payTime":"${DAY} 10:00:01"}`;
/** Its text has blanks, an escape, numbers with an exponent and zeros, and a member nobody knows. */
const STRANGE = String.raw`{ "appOrderId" : "s\u0041", "orderAmount": "ten",  "userId":1.0E1, "new":[1.50, {"a":null}] }`;

it('the bill of a day has a record that can’t be read, with its place, order and text', async () => {
  const platform = await startPlatform({ data: () => `{"count":3,"list":[${ORDER},${STRANGE},null]}` });
  const bill = platformBill(client(platform.url), { source: 'shop', day: readDay(DAY, 'Asia/Shanghai') });
  const records: ReadRecord[] = [];
  for await (const record of bill.records()) records.push(record);
  expect(records).toMatchObject([
    { line: 1, appOrderId: 'a' },
    { line: 2, id: 'sA', because: expect.stringContaining('orderAmount must be') as string },
    { line: 3, id: '', because: 'must be an object', text: 'null' },
  ]);
  expect(records[1]).toHaveProperty('text', STRANGE.replaceAll(/ +/g, ' '));
  expect(bill.digest()).toMatch(/^[0-9a-f]{64}$/);
});
