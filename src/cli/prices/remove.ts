import { CountersignError } from '../../errors.ts';
import { pricesJson } from '../../orders/prices.ts';
import { type CommandRow, byOption } from '../command.ts';
import { servicesThatApplied } from '../services.ts';
import { pricesText } from './show.ts';

export const pricesRemove: CommandRow = {
  path: 'prices remove',
  summary: 'Remove prices of assets. The rule `value-limit` then refuses these assets.',
  example: 'prices remove BTC ETH',
  define: (command) => byOption(command.argument('<assets...>', 'assets with a price')),
  async run(session, call) {
    const store = await session.store();
    const { prices } = await store.prices();
    const remove = [...new Set(call.arguments)];
    const missing = remove.filter((asset) => !prices.has(asset));
    if (missing.length > 0) {
      throw new CountersignError(
        'NOT_FOUND',
        `there is no price of ${missing.join(', ')}. \`countersign prices show\` lists the prices`,
        { assets: missing },
      );
    }
    const table = await store.changePrices({ set: [], remove, by: session.by });
    const services = await servicesThatApplied(session);
    session.print(pricesText(table, session.clock()), { ...pricesJson(table), services });
    return 0;
  },
};
