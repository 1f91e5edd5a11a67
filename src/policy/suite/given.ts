import type { Kind } from '../../callback/callback.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import { comparableEntry } from '../../values/comparable.ts';
import { KINDS } from '../document.ts';
import type { Path } from '../fault.ts';
import { readOrderMembers } from '../order-members.ts';
import {
  type Reading,
  answersShape,
  entriesOf,
  givenShape,
  itemsOf,
  listValueShape,
  oneNameOf,
  orderShape,
  priceShape,
  readLayer,
} from './shape.ts';
import { type Given, type GivenList, type GivenOrder, NOTHING_GIVEN } from './suite.ts';

/** When a list entry without `added` was added: at the epoch. */
const DEFAULT_ADDED_MS = 0;

/** The state before the first callback of a test. Reports faults to the reading. */
export function readGiven(reading: Reading, written: Json | undefined, path: Path, nowMs: number): Given {
  if (written === undefined) return NOTHING_GIVEN;
  readLayer(reading, givenShape, written, path);
  if (!isObject(written)) return NOTHING_GIVEN;
  const { lists, prices, orders, answers } = written;
  return {
    lists: readLists(reading, lists, [...path, 'lists'], nowMs),
    prices: readPrices(reading, prices, [...path, 'prices']),
    orders: readOrders(reading, orders, [...path, 'orders']),
    answers: readAnswers(reading, answers, [...path, 'answers']),
  };
}

function readLists(
  reading: Reading,
  written: Json | undefined,
  path: Path,
  nowMs: number,
): readonly GivenList[] {
  const sources = entriesOf(reading, written, path, 'lists by source, like { shop: { blocked-users: [] } }');
  return sources.flatMap(([source, lists]) =>
    entriesOf(reading, lists, [...path, source], 'lists of values, like { blocked-users: [] }').map(
      ([list, values]): GivenList => {
        const at = [...path, source, list];
        const items = itemsOf(reading, values, at, 'a list of values, [] for an empty one');
        return {
          source,
          list,
          values: items.flatMap((item, index) => readValue(reading, item, [...at, index], nowMs)),
        };
      },
    ),
  );
}

function readValue(reading: Reading, written: Json, path: Path, nowMs: number): GivenList['values'] {
  if (typeof written === 'string') return [{ value: comparableEntry(written), addedMs: DEFAULT_ADDED_MS }];
  const read = readLayer(reading, listValueShape, written, path);
  if (read === undefined) return [];
  const { value, added = DEFAULT_ADDED_MS } = read;
  if (added > nowMs) {
    const message = 'it is added after the first callback';
    reading.problems.push({
      path: [...path, 'added'],
      of: 'value',
      message,
      cure: 'give an instant up to now',
    });
  }
  return [{ value: comparableEntry(value), addedMs: added }];
}

function readPrices(reading: Reading, written: Json | undefined, path: Path): Given['prices'] {
  const prices = entriesOf(
    reading,
    written,
    path,
    'prices by asset, like { BTC: { price: 97000, asOf: … } }',
  );
  return prices.flatMap(([asset, price]) => {
    const read = readLayer(reading, priceShape, price, [...path, asset]);
    return read === undefined ? [] : [{ asset, price: read.price, asOfMs: read.asOf }];
  });
}

function readOrders(reading: Reading, written: Json | undefined, path: Path): readonly GivenOrder[] {
  const seen = new Set<string>();
  return itemsOf(reading, written, path, 'a list of orders').flatMap((order, index) => {
    const at = [...path, index];
    const read = readLayer(reading, orderShape, order, at);
    const kind = read && oneNameOf(reading, read, KINDS, at);
    if (read === undefined || kind === undefined) return [];
    const subject = `${kind}:${read[kind]}`;
    const name = JSON.stringify([read.source, subject]);
    if (seen.has(name)) {
      const message = `${subject} of ${read.source} is announced a second time`;
      reading.problems.push({ path: [...at, kind], of: 'value', message, cure: 'keep one of the two' });
    }
    seen.add(name);
    const members = membersOf(reading, read.members, kind, [...at, 'members']);
    return [{ source: read.source, subject, members, expiresMs: read.expires }];
  });
}

/** Reads announced members like `orders expect`. */
function membersOf(
  { problems }: Reading,
  written: Readonly<Record<string, unknown>>,
  kind: Kind,
  path: Path,
): GivenOrder['members'] {
  const read = readOrderMembers(kind, written);
  if (read.ok) return read.members;
  for (const fault of read.faults) {
    const [message = '', ...cure] = fault.split('; ');
    problems.push({ path, of: 'name', message, cure: cure.join('; ') });
  }
  return {};
}

function readAnswers(reading: Reading, written: Json | undefined, path: Path): Given['answers'] {
  const answers = written === undefined ? undefined : readLayer(reading, answersShape, written, path);
  return (['service', 'module'] as const).flatMap((of) =>
    Object.entries(answers?.[of] ?? {}).map(([name, verdict]) => ({ of, name, verdict })),
  );
}
