import { KINDS, type Kind } from '../../callback/callback.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import { toComparableEntry } from '../../values/comparable.ts';
import type { Path, Problem } from '../fault.ts';
import { readOrderMembers } from '../order-members.ts';
import {
  answersShape,
  entriesOf,
  givenShape,
  itemsOf,
  listValueShape,
  oneNameOf,
  orderShape,
  priceShape,
  readShape,
  valueProblem,
} from './shape.ts';
import { type GivenState, type GivenList, type GivenOrder, NOTHING_GIVEN } from './suite.ts';

/** When a list entry without `added` was added: at the epoch. */
const DEFAULT_ADDED_MS = 0;

/** The state before the first callback of a test. Adds faults to `problems`. */
export function readGiven(
  problems: Problem[],
  written: Json | undefined,
  path: Path,
  nowMs: number,
): GivenState {
  if (written === undefined) return NOTHING_GIVEN;
  readShape(problems, givenShape, written, path);
  if (!isObject(written)) return NOTHING_GIVEN;
  const { lists, prices, orders, answers, groups } = written;
  return {
    lists: readLists(problems, lists, [...path, 'lists'], nowMs),
    prices: readPrices(problems, prices, [...path, 'prices']),
    orders: readOrders(problems, orders, [...path, 'orders']),
    answers: readAnswers(problems, answers, [...path, 'answers']),
    groups: readGroups(problems, groups, [...path, 'groups']),
  };
}

/** As the settings have them: a source belongs to one group. */
function readGroups(problems: Problem[], written: Json | undefined, path: Path): GivenState['groups'] {
  const groups = new Map<string, string>();
  for (const [group, sources] of entriesOf(
    problems,
    written,
    path,
    'sources by group, like { all: [shop] }',
  )) {
    const at = [...path, group];
    for (const [index, source] of itemsOf(problems, sources, at, 'a list of sources').entries()) {
      const known = typeof source === 'string' ? groups.get(source) : undefined;
      if (typeof source !== 'string')
        problems.push(valueProblem([...at, index], source, 'the name of a source'));
      else if (known === undefined) groups.set(source, group);
      else {
        const message = `${source} is in the group ${known} already`;
        problems.push({ path: [...at, index], of: 'value', message, fix: 'name it in one group' });
      }
    }
  }
  return groups;
}

function readLists(
  problems: Problem[],
  written: Json | undefined,
  path: Path,
  nowMs: number,
): readonly GivenList[] {
  const sources = entriesOf(problems, written, path, 'lists by source, like { shop: { blocked-users: [] } }');
  return sources.flatMap(([source, lists]) =>
    entriesOf(problems, lists, [...path, source], 'lists of values, like { blocked-users: [] }').map(
      ([list, values]): GivenList => {
        const at = [...path, source, list];
        const items = itemsOf(problems, values, at, 'a list of values, [] for an empty one');
        return {
          source,
          list,
          values: items.flatMap((item, index) => readValue(problems, item, [...at, index], nowMs)),
        };
      },
    ),
  );
}

function readValue(problems: Problem[], written: Json, path: Path, nowMs: number): GivenList['values'] {
  if (typeof written === 'string') return [{ value: toComparableEntry(written), addedMs: DEFAULT_ADDED_MS }];
  const read = readShape(problems, listValueShape, written, path);
  if (read === undefined) return [];
  const { value, added = DEFAULT_ADDED_MS } = read;
  if (added > nowMs) {
    const message = 'it is added after the first callback';
    problems.push({
      path: [...path, 'added'],
      of: 'value',
      message,
      fix: 'give an instant up to now',
    });
  }
  return [{ value: toComparableEntry(value), addedMs: added }];
}

function readPrices(problems: Problem[], written: Json | undefined, path: Path): GivenState['prices'] {
  const prices = entriesOf(
    problems,
    written,
    path,
    'prices by asset, like { BTC: { price: 97000, asOf: … } }',
  );
  return prices.flatMap(([asset, price]) => {
    const read = readShape(problems, priceShape, price, [...path, asset]);
    return read === undefined ? [] : [{ asset, price: read.price, asOfMs: read.asOf }];
  });
}

function readOrders(problems: Problem[], written: Json | undefined, path: Path): readonly GivenOrder[] {
  const seen = new Set<string>();
  return itemsOf(problems, written, path, 'a list of orders').flatMap((order, index) => {
    const at = [...path, index];
    const read = readShape(problems, orderShape, order, at);
    const kind = read && oneNameOf(problems, read, KINDS, at);
    if (read === undefined || kind === undefined) return [];
    const subject = `${kind}:${read[kind]}`;
    const name = JSON.stringify([read.source, subject]);
    if (seen.has(name)) {
      const message = `${subject} of ${read.source} is announced a second time`;
      problems.push({ path: [...at, kind], of: 'value', message, fix: 'keep one of the two' });
    }
    seen.add(name);
    const members = membersOf(problems, read.members, kind, [...at, 'members']);
    return [{ source: read.source, subject, members, expiresMs: read.expires }];
  });
}

/** Reads announced members like `orders expect`. */
function membersOf(
  problems: Problem[],
  written: Readonly<Record<string, unknown>>,
  kind: Kind,
  path: Path,
): GivenOrder['members'] {
  const read = readOrderMembers(kind, written);
  if (read.ok) return read.members;
  problems.push(...read.faults.map((fault) => ({ path, of: 'name', ...fault }) as const));
  return {};
}

function readAnswers(problems: Problem[], written: Json | undefined, path: Path): GivenState['answers'] {
  const answers = written === undefined ? undefined : readShape(problems, answersShape, written, path);
  return (['service', 'module'] as const).flatMap((type) =>
    Object.entries(answers?.[type] ?? {}).map(([name, verdict]) => ({ type, name, verdict })),
  );
}
