import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { clockJumped } from '../clock-state.ts';
import { missingList } from '../arguments.ts';
import type { ListChange, ListEntry, ListSummary, Lists } from '../store.ts';
import { type RedisParts, journalArguments } from './parts.ts';
import { count, digits, parseReply, pairs, readHash, text, texts } from './reply.ts';
import { loadScript, run } from './script.ts';
import { advanceTime } from './time.ts';

const changeScript = loadScript('change-list-4');
/**
 * The most values that one change may name. A change is one step, and settles wait for it: about 0.2 s at
 * this bound.
 */
const VALUES_MAX = 50_000;
const ENTRIES_PER_SCAN = 1000;

/** A list is a hash, so that the cost of a look-up does not depend on the number of entries. */
export function createLists(parts: RedisParts): Lists {
  return {
    changeList: (change) => changeList(parts, change),
    async lists(source) {
      const rows = await readHash(parts.connection, `the lists of ${source}`, parts.keys.of(source).lists);
      return [...rows].map(([list, row]) => summaryOf(list, row)).sort((a, b) => (a.list < b.list ? -1 : 1));
    },
    listEntries: (source, list) => listEntries(parts, source, list),
  };
}

type Change = Awaited<ReturnType<Lists['changeList']>>;
const changed = z.tuple([count, count, count, count, digits]);
const jumped = z.tuple([z.literal('jumped'), digits]);

async function changeList(parts: RedisParts, change: ListChange): Promise<Change> {
  const keys = parts.keys.of(change.source);
  const { list, add, remove, by, message } = change;
  const values = add.length + remove.length;
  if (values > VALUES_MAX) {
    throw new CountersignError(
      'LIST_INVALID',
      `the change of ${list} names ${values} values; split it into changes of at most ${VALUES_MAX}`,
      { list, values },
    );
  }
  const detail = JSON.stringify({ list, add, remove, by, message });
  const send = (): Promise<unknown> =>
    run(
      parts.connection,
      changeScript,
      [keys.control, keys.lists, keys.list(list), keys.journal],
      [...journalArguments(parts), list, detail, add.length, ...add, ...remove],
    );
  let reply = await send();
  if (jumped.safeParse(reply).success) {
    await advanceTime(parts, [change.source]);
    reply = await send();
  }
  const stillJumped = jumped.safeParse(reply).data;
  if (stillJumped !== undefined) throw clockJumped(stillJumped[1]);
  if (reply === null) throw missingList(change.source, list);
  const [added, removed, entries, version, changedAtMs] = parseReply(changed, `the list ${list}`, reply);
  return { added, removed, summary: { list, entries, version, changedAtMs } };
}

function summaryOf(list: string, row: string): ListSummary {
  const fields = z.tuple([digits, digits, digits]);
  const [version, changedAtMs, entries] = parseReply(fields, `the list ${list}`, row.split('|'));
  return { list, entries, version, changedAtMs };
}

/** Like HSCAN, it may yield an entry twice if the list changes meanwhile. */
async function* listEntries(parts: RedisParts, source: string, list: string): AsyncGenerator<ListEntry> {
  const keys = parts.keys.of(source);
  if ((await parts.connection.call('hexists', [keys.lists, list])) !== 1) {
    throw missingList(source, list);
  }
  let cursor = '0';
  do {
    const reply = await parts.connection.call('hscan', [keys.list(list), cursor, 'COUNT', ENTRIES_PER_SCAN]);
    const [next, flat] = parseReply(z.tuple([text, texts]), `the list ${list}`, reply);
    for (const [value, addedAt] of parseReply(pairs, `the list ${list}`, flat)) {
      yield { value, addedAtMs: parseReply(digits, `an entry of the list ${list}`, addedAt) };
    }
    cursor = next;
  } while (cursor !== '0');
}
