import { CountersignError } from '../../errors.ts';
import { type WrittenPrice, pricesJson, setPrices } from '../../orders/prices.ts';
import { type CommandRow, byOption } from '../command.ts';
import { servicesThatApplied } from '../services.ts';
import { pricesText } from './show.ts';

export const pricesSet: CommandRow = {
  path: 'prices set',
  summary: 'Set prices of assets for the rule `value-limit`. All of them are set, or none.',
  example: 'prices set BTC 97000 --as-of 2026-03-02T10:00:00Z\nprices set BTC=97000 ETH=3020.55',
  define: (command) =>
    byOption(command.argument('<prices...>', 'ASSET PRICE, or any number of ASSET=PRICE')).option(
      '--as-of <instant>',
      'the time of the prices (default: now)',
    ),
  async run(session, call) {
    const written = writtenPrices(call.arguments, call.option('asOf'));
    const store = await session.store();
    const nowMs = session.clock();
    const table = await setPrices(store, written, { by: session.by, nowMs });
    const services = await servicesThatApplied(session);
    session.print(pricesText(table, nowMs), { ...pricesJson(table), services });
    return 0;
  },
};

function writtenPrices(words: readonly string[], asOf: string | undefined): readonly WrittenPrice[] {
  const [asset = '', price = ''] = words;
  if (words.length === 2 && !asset.includes('=')) return [{ asset, price, asOf }];
  return words.map((word) => {
    const at = word.lastIndexOf('=');
    if (at > 0) return { asset: word.slice(0, at), price: word.slice(at + 1), asOf };
    throw new CountersignError(
      'USAGE',
      `${word} is not a price. Write ASSET PRICE, or any number of ASSET=PRICE`,
    );
  });
}
