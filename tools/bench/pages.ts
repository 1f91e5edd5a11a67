/** Who opens the pages. */
export const PERSON = { 'x-person': 'ada' };

/** `ORDER` and `USER` change from click to click. */
export const PAGES = [
  '/',
  '/decisions',
  '/decisions?verdict=FAILURE',
  '/decisions?id=ORDER',
  '/decisions?user=USER',
  '/decisions?user=nobody',
  '/decisions?least=97&most=97.5',
  '/decisions?rule=payments',
  '/decisions?from=2020-01-01T00:00&until=2020-01-02T00:00',
  '/limits',
  '/try?kind=payment&userId=USER&amount=5&symbol=USDT1742',
  '/policies',
  '/lists',
  '/prices',
  '/journal',
] as const;

/** The path of a page for the click of this number. */
export function pathOf(page: string, click: number, decisions: number): string {
  const order = Math.floor((decisions * ((click * 7) % 100)) / 100);
  const user = 10_000 + ((click * 37) % 1000);
  return `/console${page.replace('ORDER', `order-${order}`).replace('USER', String(user))}`;
}
