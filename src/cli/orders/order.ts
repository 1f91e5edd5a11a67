import type { Command } from 'commander';
import { type OrderSource, orderSource } from '../../orders/orders.ts';
import { KINDS, type Kind } from '../../callback/callback.ts';
import { orderSources } from '../../start/sources.ts';
import { CountersignError } from '../../errors.ts';
import type { Order } from '../../store/store.ts';
import type { Call } from '../command.ts';
import { isoTime, printable } from '../print.ts';
import type { Session } from '../session.ts';

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
    throw new CountersignError(
      'USAGE',
      `${written} is not a kind of callback. Write one of ${KINDS.join(', ')}`,
    );
  }
  const sources = orderSources(session.settings());
  const name = call.option('source');
  if (name !== undefined) return { kind, id, source: orderSource(sources, name, kind) };
  const candidates = sources.filter(({ kinds }) => kinds.includes(kind));
  const [source] = candidates;
  if (source !== undefined && candidates.length === 1) return { kind, id, source };
  const names = candidates.map((each) => each.name).join(', ');
  throw new CountersignError(
    'USAGE',
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
