import { CountersignError } from '../../errors.ts';
import { pricesJson } from '../../orders/prices.ts';
import { type CommandRow, byOption } from '../command.ts';
import { takenNote } from '../taken-note.ts';
import { pricesText } from './show.ts';

export const pricesRemove: CommandRow = {
  path: 'prices remove',
  summary: 'Forget prices of assets: what `value-limit` then has to judge in them is refused.',
  example: 'prices remove BTC ETH',
  define: (command) => byOption(command.argument('<assets...>', 'assets that have a price')),
  async run(session, call) {
    const store = await session.store();
    const { prices } = await store.prices();
    const remove = [...new Set(call.arguments)];
    const strange = remove.filter((asset) => !prices.has(asset));
    if (strange.length > 0) {
      throw new CountersignError(
        'NOT_FOUND',
        `there is no price of ${strange.join(', ')}; \`countersign prices show\` lists those there are`,
        { assets: strange },
      );
    }
    const table = await store.changePrices({ set: [], remove, by: session.by });
    const services = await takenNote(session);
    session.print(pricesText(table, session.clock()), { ...pricesJson(table), services });
    return 0;
  },
};
