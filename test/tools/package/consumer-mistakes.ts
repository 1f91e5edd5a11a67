import { type OrdersListRecord, type Platform, PlatformError, createPlatform } from 'countersign-platform';

/* Mistakes that the types of the package find. Nobody runs this. */

const payment = { userId: 12345n, appOrderId: 'A-1', orderAmount: '1.50', payCoinSymbol: 'BTC' };

export async function mistakesOfParameters(platform: Platform): Promise<void> {
  await platform.payments.create(payment);
  // @ts-expect-error An amount as a number may be rounded.
  await platform.payments.create({ ...payment, orderAmount: 1.5 });
  // @ts-expect-error orderAmount is missing.
  await platform.payments.create({ userId: 1, appOrderId: 'A-1', payCoinSymbol: 'BTC' });
  // @ts-expect-error There is no such parameter.
  await platform.payments.create({ ...payment, amount: '1.50' });
  // @ts-expect-error The parameters are missing.
  await platform.payments.create();
  // @ts-expect-error There is no such operation.
  await platform.payments.cancel({ appOrderId: 'A-1' });
  // @ts-expect-error There is no such type of order.
  await platform.bill.list({ orderType: 2 });
  // @ts-expect-error One of openId, userId, mobileNumber and email is needed.
  await platform.deposits.list({ pageSize: 10 });
  // @ts-expect-error One of openId, userId, mobileNumber and email is needed.
  platform.otcTrades.listAll({});
  // @ts-expect-error One of openId and userId is needed, and undefined is none.
  await platform.assets.search({ coinSymbols: 'BTC', userId: undefined });
  await platform.assets.search({ coinSymbols: 'BTC', openId: 'o', userId: undefined });
  platform.deposits.listAll({ email: 'a@example.com', pageSize: 10 });
  // @ts-expect-error All pages are read.
  platform.deposits.listAll({ userId: 1, pageNumber: 2 });
  await platform.accounts.listChanged({ updateTime: new Date() });
  // @ts-expect-error The time zone of this time is not documented, so a Date can't be converted.
  await platform.coupons.list({ timeStart: new Date() });
  // @ts-expect-error There is no such wallet.
  await platform.walletSymbols.list({ walletType: 5 });
  // @ts-expect-error All pages are read.
  platform.bill.listAll({ pageNum: 2 });
  // @ts-expect-error This operation has no pages.
  platform.symbols.listAll({});
  // @ts-expect-error A time limit is a number.
  await platform.symbols.list({}, { timeoutMs: '100' });
}

export async function mistakesOfData(platform: Platform): Promise<void> {
  const { list } = await platform.bill.list({});
  // @ts-expect-error What is read is not changed.
  list.push(list[0]);
  for await (const record of platform.bill.listAll({})) {
    // @ts-expect-error It may be a record that can't be read.
    console.log(record.orderAmount);
    if ('unreadable' in record) continue;
    // @ts-expect-error An amount is text.
    console.log(record.orderAmount * 2);
    // @ts-expect-error A text that the platform may leave out can be null.
    console.log(record.payTime.length);
    // @ts-expect-error There is no such member.
    console.log(record.amount);
  }
}

type Status = OrdersListRecord['status'];
/** The specification describes 0 to 6. */
export const undocumented: Status = 7;
// @ts-expect-error A status is a number.
export const textual: Status = 'filled';

export function mistakesOfErrors(error: unknown): boolean {
  if (!(error instanceof PlatformError)) return false;
  // @ts-expect-error There is no such outcome.
  if (error.data.outcome === 'failed') return false;
  // @ts-expect-error An operation never fails with this code.
  return error.code === 'SETTINGS_INVALID';
}

export function mistakesOfCredentials(url: string): void {
  createPlatform({ url, credentials: { scheme: 'md5', appKey: 'k', secret: 's' } });
  // @ts-expect-error This scheme has keys, and no secret.
  createPlatform({ url, credentials: { scheme: 'rsa-envelope', appKey: 'k', secret: 's' } });
  // @ts-expect-error There is no such scheme for requests.
  createPlatform({ url, credentials: { scheme: 'hmac', appKey: 'k', secret: 's' } });
}
