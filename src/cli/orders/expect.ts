import { orderSources } from '../../compose/sources.ts';
import { CountersignError } from '../../errors.ts';
import { announceOrder, orderJson } from '../../orders/orders.ts';
import { type Call, type CommandRow, byOption } from '../command.ts';
import { takenNote } from '../taken-note.ts';
import { namedOrder, orderArguments, orderText } from './order.ts';

/** Options, and the members of an order that they give. */
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

export const ordersExpect: CommandRow = {
  path: 'orders expect',
  summary: 'Announce what is to come: only a callback that agrees then passes `expected-order`.',
  example:
    'orders expect payment 11321 --user 12345 --symbol USDT1742 --amount 100 --scheme rsa --expires 2h\norders expect transfer r-1 --to-address 0x52908400098527886E0F7030069857D2E4169EE7 --symbol ETH --amount 1.5',
  define: (command) =>
    byOption(orderArguments(command))
      .option('--symbol <symbol>', 'the asset; for web3 main_chain_symbol')
      .option('--amount <decimal>', 'the exact amount')
      .option('--user <id>', 'userId, of a payment')
      .option(
        '--scheme <scheme>',
        'how a payment will be signed (default: what the source accepts, if that is one)',
      )
      .option('--to-address <address>', 'destination')
      .option('--from <address>', 'where it comes from')
      .option('--memo <text>', 'memo of the destination')
      .option('--transfer-id <id>', 'transfer_id')
      .option('--outputs <list>', 'ADDRESS=AMOUNT,ADDRESS=AMOUNT, of a withdrawal to several addresses')
      .option('--data <hex>', 'input_data, of a web3 transaction')
      .option('--contract <address>', 'interactive_contract')
      .option('--expires <when>', 'a length from now, or an instant', '24h'),
  async run(session, call) {
    const { kind, id, source } = namedOrder(session, call);
    const expires = call.option('expires') ?? '24h';
    const { outcome, order } = await announceOrder(
      await session.store(),
      orderSources(session.settings()),
      { source: source.name, kind, id, members: membersOf(call), expires, by: session.by },
      session.clock(),
    );
    const services = await takenNote(session);
    const before = outcome === 'unchanged' ? ' It was announced like that before.' : '';
    session.print(`${orderText(order)}.${before}`, { outcome, order: orderJson(order), services });
    return 0;
  },
};

function membersOf(call: Call): Readonly<Record<string, unknown>> {
  const members: Record<string, unknown> = {};
  for (const [option, member] of Object.entries(MEMBERS)) {
    const value = call.option(option);
    if (value !== undefined) members[member] = value;
  }
  const outputs = call.option('outputs');
  if (outputs !== undefined) members['outputs'] = outputs.split(',').map(readOutput);
  return members;
}

function readOutput(written: string): { readonly to: string; readonly amount: string } {
  const [to = '', amount = '', ...more] = written.trim().split('=');
  if (to !== '' && amount !== '' && more.length === 0) return { to, amount };
  throw new CountersignError(
    'USAGE',
    `--outputs ${written}: write ADDRESS=AMOUNT, several with commas between`,
  );
}
