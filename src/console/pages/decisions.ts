import { KINDS } from '../../callback/callback.ts';
import { usageError } from '../../errors.ts';
import { START, type Stream } from '../../journal/cursor.ts';
import type { EntryFilter } from '../../journal/search.ts';
import { csvLine } from '../../values/csv.ts';
import { JOURNAL_TYPES, type Store } from '../../store/store.ts';
import { type Amount, parseAmount } from '../../values/amount.ts';
import { readInstant } from '../../values/clock.ts';
import { choiceField, oneOf, textField, written } from '../fields.ts';
import { type Html, html, link, withQuery } from '../html.ts';
import { entryLink, fault, instant, nothing, numbers, proseOf, table, verdictPill } from '../layout.ts';
import { type Download, type PageRequest, type Pages, type View, orAgain } from '../page.ts';
import { type FoundEntry, type FoundPage, continued, searchFrom, stepIn } from '../search.ts';

export interface DecisionsParts {
  readonly store: Pick<Store, 'control' | 'document' | 'entries' | 'entry' | 'history'>;
  readonly sources: readonly { readonly name: string }[];
}

const ROWS = 50;
const EXPORTED_ROWS = 1000;
/** A page looks at so many entries, for so long; at some of them also if the machine is busy. */
const LOOKED = { most: 20_000, least: 500, ms: 200 };

/** Search in the journals of all sources. */
export function decisionsPages(parts: DecisionsParts): Pages {
  return {
    pages: [
      { path: '/decisions', navigation: 'Decisions', show: (request) => showDecisions(parts, request) },
    ],
  };
}

async function showDecisions(parts: DecisionsParts, { query }: PageRequest): Promise<View | Download> {
  const names = parts.sources.map(({ name }) => name);
  return orAgain(
    () => search(parts, query, names),
    (because) => ({ title: TITLE, content: html`${fault(because)}${searchForm(query, names)}` }),
  );
}

async function search(
  { store }: DecisionsParts,
  query: URLSearchParams,
  names: readonly string[],
): Promise<View | Download> {
  const format = oneOf(query, 'format', ['csv', 'jsonl']);
  const asked = {
    streams: streamsOf(query, names),
    newestFirst: true,
    period: periodOf(query),
    cursor: written(query, 'after') ?? START,
    filter: filterOf(query),
    limit: format === undefined ? ROWS : EXPORTED_ROWS,
    withMembers: true,
  };
  const page = await searchFrom(store, asked, LOOKED);
  if (format === 'csv')
    return { name: 'decisions.csv', contentType: 'text/csv; charset=utf-8', chunks: csv(page) };
  if (format === 'jsonl')
    return { name: 'decisions.jsonl', contentType: 'application/jsonl', chunks: jsonLines(page) };
  const form = searchForm(query, names);
  if (page.entries.length > 0)
    return { title: TITLE, content: html`${form}${rows(page)}${farther(query, page)}` };
  if (page.next === undefined) return { title: TITLE, content: html`${form}${nothing(NO_MATCH)}` };
  const { refresh, content } = continued({
    path: link`/decisions`,
    query: typedIn(query),
    step: stepIn(query),
    next: page.next,
    lookedAtMs: page.lookedAtMs,
  });
  return { title: TITLE, ...refresh, content: html`${form}${content}` };
}

const TITLE = 'Decisions';
const NO_MATCH = 'No entry of the journal matches.';

function periodOf(query: URLSearchParams): { readonly fromMs?: number; readonly untilMs?: number } {
  const [fromMs, untilMs] = ['from', 'until'].map((name) => instantOf(query, name));
  return { ...(fromMs !== undefined && { fromMs }), ...(untilMs !== undefined && { untilMs }) };
}

/** Such as `2026-03-02T10:00`, as browsers send it, in UTC; also with a zone. */
function instantOf(query: URLSearchParams, name: string): number | undefined {
  const text = written(query, name);
  if (text === undefined) return undefined;
  const found = readInstant(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  if (found !== undefined) return found;
  throw usageError(`the time ${text} (${name}) can't be read. Write 2026-03-02T10:00`);
}

function streamsOf(query: URLSearchParams, names: readonly string[]): readonly Stream[] {
  const chosen = oneOf(query, 'source', names);
  const sources = chosen === undefined ? names : [chosen];
  const id = written(query, 'id');
  if (id === undefined) return sources.map((source) => ({ source }));
  const isSubject = KINDS.some((kind) => id.startsWith(`${kind}:`));
  const subjects = isSubject ? [id] : KINDS.map((kind) => `${kind}:${id}`);
  return sources.flatMap((source) => subjects.map((subject) => ({ source, subject })));
}

function filterOf(query: URLSearchParams): EntryFilter {
  return {
    type: oneOf(query, 'type', JOURNAL_TYPES),
    verdict: oneOf(query, 'verdict', ['SUCCESS', 'FAILURE']),
    code: written(query, 'code')?.toUpperCase(),
    rule: written(query, 'rule'),
    user: written(query, 'user'),
    address: written(query, 'address'),
    asset: written(query, 'asset'),
    fromAmount: amountOf(query, 'least'),
    toAmount: amountOf(query, 'most'),
  };
}

function amountOf(query: URLSearchParams, name: string): Amount | undefined {
  const text = written(query, name);
  const amount = text === undefined ? undefined : parseAmount(text);
  if (text === undefined || amount !== undefined) return amount;
  throw usageError(`the amount ${text} is not a decimal number. Write one such as 100.5`);
}

const FIELDS = [
  'source',
  'id',
  'user',
  'address',
  'asset',
  'least',
  'most',
  'verdict',
  'code',
  'rule',
  'type',
  'from',
  'until',
];

/** Those that are seen without opening the others. */
const SHOWN_FIELDS: ReadonlySet<string> = new Set(['source', 'id', 'verdict', 'user']);

function searchForm(query: URLSearchParams, names: readonly string[]): Html {
  const value = (name: string): string | undefined => written(query, name);
  const isNarrow = FIELDS.some((name) => !SHOWN_FIELDS.has(name) && value(name) !== undefined);
  return html`<form class="card" method="get" action="${link`/decisions`}" role="search">
<div class="fields">
${choiceField('Source', 'source', value('source'), names)}
${textField('Order or request', 'id', value('id'), '11321')}
${choiceField('Verdict', 'verdict', value('verdict'), ['SUCCESS', 'FAILURE'])}
${textField('User', 'user', value('user'))}
</div>
<details${isNarrow && html` open`}><summary>More to search by</summary><div class="fields">
${textField('Address', 'address', value('address'), '0x…')}
${textField('Asset', 'asset', value('asset'), 'USDT1742')}
${textField('Amount from', 'least', value('least'))}
${textField('Amount to', 'most', value('most'))}
${textField('Rule that refused', 'rule', value('rule'), 'usdt-payments/amount-limit')}
${textField('Code', 'code', value('code'), 'TERMS_CHANGED')}
${choiceField('Entry', 'type', value('type'), JOURNAL_TYPES, 'any', typeName)}
<label>From (UTC)<input type="datetime-local" name="from" value="${value('from') ?? ''}"></label>
<label>Until (UTC)<input type="datetime-local" name="until" value="${value('until') ?? ''}"></label>
</div></details>
<div class="actions"><button>Search</button><a class="button quiet" href="${link`/decisions`}">Clear</a></div>
</form>`;
}

function rows({ entries, members }: FoundPage): Html {
  return table(
    'Entries of the journal, newest first',
    ['Time (UTC)', 'Verdict', 'Source', 'Subject', numbers('Amount'), 'Asset', 'User', 'Why'],
    entries.map((entry, at) => {
      const { amount = '', asset = '', user = '' } = members[at] ?? {};
      return [
        entryLink(entry.source, entry.id, instant(entry.atMs)),
        outcome(entry),
        entry.source,
        entry.subject,
        amount,
        asset,
        user,
        proseOf(entry.because),
      ];
    }),
  );
}

/** The verdict with its code. Entries that decide nothing say what they are. */
function outcome({ verdict, code, type }: FoundEntry): Html {
  const words = [code, ...(code === '' || type !== 'decision' ? [typeName(type)] : [])];
  return html`${verdict !== '' && verdictPill(verdict)}${words.map(
    (word) => word !== '' && html`<span class="code">${word}</span>`,
  )}`;
}

/** The type of an entry in the words of the documentation. */
export const typeName = (type: string): string => (type === 'notice' ? 'notification' : type);

/** What was typed into the form. */
const typedIn = (query: URLSearchParams): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(FIELDS.map((name) => [name, written(query, name)]));

/** The next page, how far this one looked, and the same as a file. */
function farther(query: URLSearchParams, { entries, next, lookedAtMs }: FoundPage): Html {
  const same = typedIn(query);
  const here = { ...same, after: written(query, 'after') };
  const isShort = next !== undefined && entries.length < ROWS;
  return html`<div class="actions">
    ${next !== undefined && html`<a class="button quiet" href="${withQuery(link`/decisions`, { ...same, after: next })}">${isShort ? 'Look further back' : 'Older'}</a>`}
    ${isShort && lookedAtMs !== undefined && html`<span class="muted">Looked back to ${instant(lookedAtMs)} UTC.</span>`}
    <a href="${withQuery(link`/decisions`, { ...here, format: 'csv' })}">CSV</a>
    <a href="${withQuery(link`/decisions`, { ...here, format: 'jsonl' })}">JSON lines</a>
  </div>`;
}

async function* jsonLines(page: FoundPage): AsyncGenerator<string> {
  for (const row of exported(page)) yield `${JSON.stringify(row)}\n`;
}

/** Spreadsheets and scripts know the columns by their places: new ones come last. */
const COLUMNS = [
  'id',
  'at',
  'type',
  'verdict',
  'code',
  'subject',
  'rule',
  'because',
  'revision',
  'amount',
  'asset',
  'user',
] as const;

async function* csv(page: FoundPage): AsyncGenerator<string> {
  yield `${csvLine(COLUMNS)}\r\n`;
  for (const row of exported(page)) yield `${csvLine(COLUMNS.map((column) => row[column]))}\r\n`;
}

function exported({
  entries,
  members,
}: FoundPage): readonly Readonly<Record<(typeof COLUMNS)[number], string>>[] {
  return entries.map((entry, at) => {
    const { type, verdict, code, subject, rule, because, revision } = entry;
    const { amount = '', asset = '', user = '' } = members[at] ?? {};
    return {
      type,
      verdict,
      code,
      subject,
      revision,
      because,
      rule,
      id: `${entry.source}/${entry.id}`,
      at: new Date(entry.atMs).toISOString(),
      amount,
      asset,
      user,
    };
  });
}
