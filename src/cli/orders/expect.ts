import { orderSources } from '../../start/sources.ts';
import { CountersignError } from '../../errors.ts';
import { announceOrder, orderJson } from '../../orders/orders.ts';
import { type Call, type CommandRow, byOption } from '../command.ts';
import { servicesThatApplied } from '../services.ts';
import { namedOrder, orderArguments, orderText } from './order.ts';

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

export const ordersExpect: CommandRow = {
  path: 'orders expect',
  summary: 'Announce an order. The rule `expected-order` only passes a callback that agrees with it.',
  example:
    'orders expect payment 11321 --user 12345 --symbol USDT1742 --amount 100 --scheme rsa --expires 2h\n' +
    'orders expect transfer r-1 --to-address 0x52908400098527886E0F7030069857D2E4169EE7 --symbol ETH --amount 1.5',
  define: (command) =>
    byOption(orderArguments(command))
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
      .option('--expires <when>', 'a duration from now, or a time', '24h'),
  async run(session, call) {
    const { kind, id, source } = namedOrder(session, call);
    const expires = call.option('expires') ?? '24h';
    const { outcome, order } = await announceOrder(
      await session.store(),
      orderSources(session.settings()),
      { source: source.name, kind, id, members: membersOf(call), expires, by: session.by },
      session.clock(),
    );
    const services = await servicesThatApplied(session);
    const before = outcome === 'unchanged' ? ' It was already announced.' : '';
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
    `--outputs ${written} is not valid. Write ADDRESS=AMOUNT, several with commas between`,
  );
}
