import type { Command } from 'commander';
import { type Kind, KINDS, subjectOf } from '../callback/callback.ts';
import { CountersignError, usageError } from '../errors.ts';
import { type OrderSource, announceOrder, orderJson, orderSource } from '../orders/orders.ts';
import { orderSources } from '../start/sources.ts';
import type { Order } from '../store/store.ts';
import { type Call, type CommandRow, byOption } from './command.ts';
import { isoTime, printable } from './print.ts';
import { servicesThatApplied } from './services.ts';
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
  throw usageError(`--outputs ${written} is not valid. Write ADDRESS=AMOUNT, several with commas between`);
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

/** An order as text, such as `shop payment:11321 is expected until …: amount 100, …`. */
export function orderText({ source, subject, state, members, expiresAtMs, endedAtMs }: Order): string {
  const when = {
    expected: `is expected until ${isoTime(expiresAtMs)}`,
    used: `was used at ${isoTime(endedAtMs)}`,
    cancelled: `was cancelled at ${isoTime(endedAtMs)}`,
    expired: `expired unused at ${isoTime(expiresAtMs)}`,
  }[state];
  const shown = Object.entries(members)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `${name} ${text === '' ? '(none)' : text}`);
  return printable(`${source} ${subject} ${when}: ${shown.join(', ').replaceAll('\n', '; ')}`);
}
