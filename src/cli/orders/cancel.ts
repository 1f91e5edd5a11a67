import { subjectOf } from '../../callback/callback.ts';
import { orderJson } from '../../orders/orders.ts';
import { type CommandRow, byOption } from '../command.ts';
import { servicesThatApplied } from '../services.ts';
import { namedOrder, orderArguments, orderText } from './order.ts';

export const ordersCancel: CommandRow = {
  path: 'orders cancel',
  summary: 'Cancel an announced order. A used order stays used.',
  example: 'orders cancel payment 11321 --source shop',
  define: (command) => byOption(orderArguments(command)),
  async run(session, call) {
    const { kind, id, source } = namedOrder(session, call);
    const store = await session.store();
    const cancel = { source: source.name, subject: subjectOf({ kind, id }), by: session.by };
    const { outcome, order } = await store.cancelOrder(cancel);
    const text = outcome === 'cancelled' ? orderText(order) : `Nothing to cancel: ${orderText(order)}`;
    const services = await servicesThatApplied(session);
    session.print(text, { outcome, order: orderJson(order), services });
    return outcome === 'cancelled' ? 0 : 1;
  },
};
