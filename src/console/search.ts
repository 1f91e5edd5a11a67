import { CountersignError, usageError } from '../errors.ts';
import { START } from '../journal/cursor.ts';
import { explainJournalEntry } from '../journal/explanation.ts';
import { type SearchPage, type SearchQuery, searchJournal } from '../journal/search.ts';
import type { JournalEntry, Store } from '../store/store.ts';
import { written } from './fields.ts';
import { type Html, html, withQuery } from './html.ts';
import { instant } from './layout.ts';
import type { View } from './page.ts';

/** When a query ends: after so many entries, or after so long, but not before it has looked at some. */
export interface Bounds {
  readonly most: number;
  readonly least: number;
  readonly ms: number;
}

/** Says, before each entry, whether a query has ended by its time. */
export function endOf({ least, ms }: Omit<Bounds, 'most'>): (looked: number) => boolean {
  const startedMs = performance.now();
  return (looked) => looked >= least && performance.now() - startedMs > ms;
}

/** An entry of the journal with its explanation, which takes longer than the rest of a page. */
export interface FoundEntry extends JournalEntry {
  readonly because: string;
  /** The rule that refused, as POLICY/RULE; the empty text if none did. */
  readonly rule: string;
}

export function foundEntry(entry: JournalEntry): FoundEntry {
  const { because, deciding } = explainJournalEntry(entry);
  const rule = deciding === undefined ? '' : `${deciding.policy}/${deciding.rule}`;
  return { ...entry, because, rule };
}

export interface FoundPage extends SearchPage {
  readonly entries: readonly FoundEntry[];
}

/**
 * See searchJournal. A link may continue the search: a cursor that is not one of the search is explained without
 * commands.
 */
export async function searchFrom(
  store: Pick<Store, 'entries' | 'entry'>,
  query: Omit<SearchQuery, 'most' | 'isOver'>,
  bounds: Bounds,
): Promise<FoundPage> {
  try {
    const page = await searchJournal(store, { ...query, most: bounds.most, isOver: endOf(bounds) });
    return { ...page, entries: page.entries.map(foundEntry) };
  } catch (thrown) {
    const isCursor = thrown instanceof CountersignError && thrown.code === 'USAGE' && query.cursor !== START;
    throw isCursor ? usageError(OTHER_SEARCH) : thrown;
  }
}

const OTHER_SEARCH = 'This link continues another search, or a part of it is missing. Search again';

/** A search that has found nothing goes on by itself for so many pages, one a second. */
const STEPS_MAX = 180;
const PAUSE_S = 1;

export interface Continued {
  /** The path of the page, and the query of the search. */
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** How many pages went on by themselves until this one. */
  readonly step: number;
  readonly next: string;
  readonly lookedAtMs: number | undefined;
}

export function stepIn(query: URLSearchParams): number {
  const text = written(query, 'step') ?? '0';
  return /^\d{1,3}$/.test(text) ? Math.min(Number(text), STEPS_MAX) : 0;
}

/** A page that has found nothing yet: the browser asks for the next one, until somebody stops it. */
export function continued({ path, query, step, next, lookedAtMs }: Continued): {
  readonly refresh: Pick<View, 'refreshS' | 'refreshTo'>;
  readonly content: Html;
} {
  const to = (at: number): string => withQuery(path, { ...query, after: next, step: String(at) });
  const until = lookedAtMs !== undefined && html`, back to ${instant(lookedAtMs)} UTC`;
  const isGoingOn = step < STEPS_MAX;
  return {
    refresh: isGoingOn ? { refreshS: PAUSE_S, refreshTo: to(step + 1) } : {},
    content: html`<div class="card going-on" role="status">
      <p>Nothing found yet${until}.${isGoingOn && ' The search goes on by itself.'}</p>
      <div class="actions">
        ${isGoingOn && html`<a class="button quiet" href="${to(STEPS_MAX)}">Stop</a>`}
        <a class="button quiet" href="${to(0)}">Look further back</a>
      </div>
    </div>`,
  };
}
