import {
  type BillListRecord,
  CountersignError,
  type PlatformConfig,
  PlatformError,
  createPlatform,
} from 'countersign-platform';
import { env } from 'node:process';

/*
 * The program of a merchant, which the test compiles and runs against the installed package. It prints what
 * it saw as JSON.
 */

interface Input {
  readonly config: PlatformConfig;
  readonly userId: string;
  /** A day with at least five payment orders. */
  readonly day: string;
}

const { config, userId, day } = JSON.parse(env['INPUT'] ?? '') as Input;
const platform = createPlatform(config);
const payment = { userId, appOrderId: 'A-1', orderAmount: '0.00000001', payCoinSymbol: 'BTC' } as const;

await platform.payments.create(payment);
const billed: BillListRecord | undefined = await platform.payments.find({ appOrderId: 'A-1', userId });

const ids: string[] = [];
const first = platform.bill.listAll({ day, orderType: 1, pageSize: 2 });
for await (const record of first) {
  if ('unreadable' in record) throw new Error(`${record.unreadable}: ${record.text}`);
  ids.push(record.appOrderId);
  if (ids.length === 3) break;
}
const rest = platform.bill.listAll({ day, orderType: 1, pageSize: 2 }, { cursor: first.cursor });
for await (const record of rest) if (!('unreadable' in record)) ids.push(record.appOrderId);
const { count } = await platform.bill.list({ day, orderType: 1 });

const untyped: string = JSON.stringify({ ...payment, appOrderId: 'A-2', orderAmount: 0.1 });
const elsewhere = createPlatform({ ...config, url: 'http://127.0.0.1:9' });
console.log(
  JSON.stringify({
    amount: billed?.orderAmount,
    ids,
    count,
    again: await errorOf(() => platform.payments.create(payment)),
    rounded: await errorOf(() => platform.payments.create(JSON.parse(untyped) as typeof payment)),
    unreachable: await errorOf(() => elsewhere.payments.create(payment)),
    misconfigured: await errorOf(async () => createPlatform({ ...config, url: '' })),
  }),
);

async function errorOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof PlatformError) {
      const { code, data } = error;
      return { code, outcome: data.outcome, refusal: data.refusal?.code };
    }
    return error instanceof CountersignError ? { code: error.code } : undefined;
  }
}
