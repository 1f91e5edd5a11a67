import type { Command } from 'commander';
import { EXPIRES, cancelOrder, expectOrder, orderText, readOutputs } from '../act/orders.ts';
import { type Kind, KINDS, subjectOf } from '../callback/callback.ts';
import { CountersignError, usageError } from '../errors.ts';
import { type OrderSource, orderJson, orderSource } from '../orders/orders.ts';
import { orderSources } from '../start/sources.ts';
import { actCommand } from './act.ts';
import type { Call, CommandRow } from './command.ts';
import type { Session } from './session.ts';

/** The member of an order for each option. */
const MEMBERS: Readonly<Record<string, string>> = {
  user: 'userId',
  symbol: 'symbol',
  amount: 'amount',
  scheme: 'scheme',
  from: 'from',
  toAddress: 'to',
  memo: 'memo',
  transferId: 'transfer_id',
  data: 'input_data',
  contract: 'interactive_contract',
};

export const ordersExpect = actCommand(expectOrder, {
  example:
    'orders expect payment 11321 --user 12345 --symbol USDT1742 --amount 100 --scheme rsa --expires 2h\n' +
    'orders expect transfer r-1 --to-address 0x52908400098527886E0F7030069857D2E4169EE7 --symbol ETH --amount 1.5 --ask',
  define: (command) =>
    orderArguments(command)
      .option('--symbol <symbol>', 'the asset; main_chain_symbol for web3')
      .option('--amount <decimal>', 'the exact amount')
      .option('--user <id>', 'userId of a payment')
      .option(
        '--scheme <scheme>',
        'the signature scheme of a payment (default: the scheme of the source, if it accepts only one)',
      )
      .option('--to-address <address>', 'the destination address')
      .option('--from <address>', 'the source address')
      .option('--memo <text>', 'the memo of the destination')
      .option('--transfer-id <id>', 'transfer_id')
      .option('--outputs <list>', 'ADDRESS=AMOUNT,ADDRESS=AMOUNT for a withdrawal to several addresses')
      .option('--data <hex>', 'input_data of a web3 transaction')
      .option('--contract <address>', 'interactive_contract')
      .option('--expires <when>', 'a duration from now, or a time', EXPIRES)
      .option('--ask', 'ask people now to approve its callback'),
  input(session, call) {
    const { source, ...order } = namedOrder(session, call);
    const ask = call.flag('ask');
    return { ...order, source: source.name, members: membersOf(call), expires: call.option('expires'), ask };
  },
});

function membersOf(call: Call): Readonly<Record<string, unknown>> {
  const members: Record<string, unknown> = {};
  for (const [option, member] of Object.entries(MEMBERS)) {
    const value = call.option(option);
    if (value !== undefined) members[member] = value;
  }
  const outputs = call.option('outputs');
  if (outputs !== undefined) members['outputs'] = readOutputs(outputs);
  return members;
}

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

export const ordersCancel = actCommand(cancelOrder, {
  example: 'orders cancel payment 11321 --source shop',
  define: orderArguments,
  input(session, call) {
    const { source, ...order } = namedOrder(session, call);
    return { ...order, source: source.name };
  },
});

/** The arguments and the option that name an order: `payment 11321` and `--source`. */
export function orderArguments(command: Command): Command {
  return command
    .argument('<kind>', KINDS.join(', '))
    .argument('<id>', 'appOrderId or request_id of the expected callback')
    .option('--source <name>', 'a source of the settings (default: the only source of such callbacks)');
}

export interface NamedOrder {
  readonly kind: Kind;
  readonly id: string;
  readonly source: OrderSource;
}

/** Throws USAGE or ORDER_INVALID. */
export function namedOrder(session: Session, call: Call): NamedOrder {
  const [written = '', id = ''] = call.arguments;
  const kind = KINDS.find((each) => each === written);
  if (kind === undefined) {
    throw usageError(`${written} is not a kind of callback. Write one of ${KINDS.join(', ')}`);
  }
  const sources = orderSources(session.settings());
  const name = call.option('source');
  if (name !== undefined) return { kind, id, source: orderSource(sources, name, kind) };
  const candidates = sources.filter(({ kinds }) => kinds.includes(kind));
  const [source] = candidates;
  if (source !== undefined && candidates.length === 1) return { kind, id, source };
  const names = candidates.map((each) => each.name).join(', ');
  throw usageError(
    names === ''
      ? `no source of ${session.settingsFile} takes ${kind} callbacks. Add one`
      : `--source is missing, and several sources take ${kind} callbacks. Give one of ${names}`,
  );
}
