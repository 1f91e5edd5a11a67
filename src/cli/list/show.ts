import { listFileLine } from '../../policy/list-file.ts';
import type { ListEntry, ListSummary, Store } from '../../store/store.ts';
import type { CommandRow } from '../command.ts';
import { noSuchList } from './change.ts';
import { checkedName } from '../../release/lists.ts';
import { columns, counted, isoTime, printable } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, sourceOption } from '../sources.ts';

export const listShow: CommandRow = {
  path: 'list show',
  summary: 'Show all lists, or the values of one list.',
  example: 'list show\nlist show blocked-users --source shop',
  define: (command) =>
    sourceOption(command.argument('[name]', 'a list (default: all lists, without their values)')),
  async run(session, call) {
    const store = await session.store();
    const sources = chosenSources(session, call);
    const [name] = call.arguments;
    const found = await listsOf(store, sources);
    if (name === undefined) return showAll(session, found);
    const named = found.filter(({ list }) => list === checkedName(name));
    if (named.length === 0) throw noSuchList(name, sources);
    await showEntries(session, store, named);
    return 0;
  },
};

interface Found extends ListSummary {
  readonly source: string;
}

async function listsOf(store: Store, sources: readonly string[]): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (const source of sources) {
    for (const summary of await store.lists(source)) found.push({ source, ...summary });
  }
  return found;
}

function showAll(session: Session, found: readonly Found[]): 0 {
  const rows = found.map((each) => [
    `${each.source}/${each.list}`,
    counted(each.entries, 'entry', 'entries'),
    `version ${each.version}`,
    `changed ${isoTime(each.changedAtMs)}`,
  ]);
  session.print(
    rows.length === 0 ? 'There are no lists. Make one with `countersign list add`.' : columns(rows),
    found.map(summaryJson),
  );
  return 0;
}

async function showEntries(session: Session, store: Store, lists: readonly Found[]): Promise<void> {
  const shown: { readonly found: Found; readonly entries: readonly ListEntry[] }[] = [];
  for (const found of lists) shown.push({ found, entries: await entriesOf(store, found) });
  await session.drained();
  session.print(
    shown
      .map(({ found, entries }) => {
        const title =
          `# ${found.source}/${found.list}: ${counted(found.entries, 'entry', 'entries')}, version ` +
          `${found.version}, changed ${isoTime(found.changedAtMs)}`;
        return [
          title,
          ...entries.map(
            ({ value, addedAtMs }) => `${printable(listFileLine(value))} # ${isoTime(addedAtMs)}`,
          ),
        ].join('\n');
      })
      .join('\n'),
    shown.map(({ found, entries }) => ({
      ...summaryJson(found),
      values: entries.map(({ value, addedAtMs }) => ({ value, addedAt: isoTime(addedAtMs) })),
    })),
  );
}

/** Sorted by value, each once: the store may return one twice while the list changes. */
async function entriesOf(store: Store, { source, list }: Found): Promise<readonly ListEntry[]> {
  const entries = new Map<string, ListEntry>();
  for await (const entry of store.listEntries(source, list)) entries.set(entry.value, entry);
  return [...entries.values()].sort((a, b) => (a.value < b.value ? -1 : 1));
}

function summaryJson({ source, list, entries, version, changedAtMs }: Found) {
  return { source, list, entries, version, changedAt: isoTime(changedAtMs) };
}
