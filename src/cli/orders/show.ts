import { orderJson } from '../../orders/orders.ts';
import { subjectOf } from '../../callback/callback.ts';
import { CountersignError } from '../../errors.ts';
import type { CommandRow } from '../command.ts';
import { namedOrder, orderArguments, orderText } from './order.ts';

export const ordersShow: CommandRow = {
  path: 'orders show',
  summary: 'Show an announced order: its members, and whether it is expected, used, cancelled or expired.',
  example: 'orders show payment 11321 --source shop',
  define: orderArguments,
  async run(session, call) {
    const { kind, id, source } = namedOrder(session, call);
    const subject = subjectOf({ kind, id });
    const store = await session.store();
    const order = await store.order(source.name, subject);
    if (order === undefined) {
      throw new CountersignError(
        'NOT_FOUND',
        `no order ${subject} was announced for ${source.name}. Announce it with \`countersign ` +
          'orders expect`',
        { source: source.name, subject },
      );
    }
    session.print(orderText(order), orderJson(order));
    return 0;
  },
};
