import { KINDS } from '../../callback/callback.ts';
import { CountersignError } from '../../errors.ts';
import { START, type Stream } from '../../journal/cursor.ts';
import type { EntryFilter } from '../../journal/search.ts';
import { JOURNAL_TYPES } from '../../store/store.ts';
import { type Amount, parseAmount } from '../../values/amount.ts';
import { readInstant } from '../../values/clock.ts';
import { choiceField, oneOf, textField, written } from '../fields.ts';
import { type Html, html, link, withQuery } from '../html.ts';
import { instant, nothing, table, verdictPill } from '../layout.ts';
import type { Download, PageRequest, Pages, View } from '../page.ts';
import type { FoundEntry, FoundPage, Reading } from '../reading.ts';

export interface DecisionsParts {
  /** A handle of the console's own, so that its queries don't delay callbacks. */
  readonly reading: Pick<Reading, 'entry' | 'control' | 'history' | 'search' | 'about' | 'transaction'>;
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

async function showDecisions(
  { reading, sources }: DecisionsParts,
  { query }: PageRequest,
): Promise<View | Download> {
  const names = sources.map(({ name }) => name);
  const format = oneOf(query, 'format', ['csv', 'jsonl']);
  const page = await reading.search(
    {
      streams: streamsOf(query, names),
      newestFirst: true,
      period: periodOf(query),
      cursor: written(query, 'after') ?? START,
      filter: filterOf(query),
      limit: format === undefined ? ROWS : EXPORTED_ROWS,
    },
    LOOKED,
  );
  if (format === 'csv')
    return { name: 'decisions.csv', contentType: 'text/csv; charset=utf-8', chunks: csv(page) };
  if (format === 'jsonl')
    return { name: 'decisions.jsonl', contentType: 'application/jsonl', chunks: jsonLines(page) };
  return {
    title: 'Decisions',
    content: html`${searchForm(query, names)}${
      page.entries.length === 0
        ? nothing('No entry of the journal matches, as far as the search looked.')
        : rows(page)
    }${farther(query, page)}`,
  };
}

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
  throw new CountersignError('USAGE', `${name} ${text} is not a time. Write 2026-03-02T10:00`);
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
  throw new CountersignError('USAGE', `the amount ${text} is not a decimal number. Write one such as 100.5`);
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

function searchForm(query: URLSearchParams, names: readonly string[]): Html {
  const value = (name: string): string | undefined => written(query, name);
  const isNarrow = FIELDS.slice(2).some((name) => !['verdict'].includes(name) && value(name) !== undefined);
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
${choiceField('Entry', 'type', value('type'), JOURNAL_TYPES)}
<label>From (UTC)<input type="datetime-local" name="from" value="${value('from') ?? ''}"></label>
<label>Until (UTC)<input type="datetime-local" name="until" value="${value('until') ?? ''}"></label>
</div></details>
<div class="actions"><button>Search</button><a class="button quiet" href="${link`/decisions`}">Clear</a></div>
</form>`;
}

function rows({ entries }: FoundPage): Html {
  return table(
    'Entries of the journal, newest first',
    ['Time (UTC)', 'Verdict', 'Code', 'Source', 'Subject', 'Why'],
    entries.map((entry) => [
      html`<a href="${link`/decisions/${entry.source}/${entry.id}`}">${instant(entry.atMs)}</a>`,
      entry.verdict === '' ? '' : verdictPill(entry.verdict),
      entry.code === '' || entry.type !== 'decision' ? `${entry.code} ${entry.type}`.trim() : entry.code,
      entry.source,
      entry.subject,
      entry.because,
    ]),
  );
}

/** The next page, how far this one looked, and the same as a file. */
function farther(query: URLSearchParams, { entries, next, lookedAtMs }: FoundPage): Html {
  const same = Object.fromEntries(FIELDS.map((name) => [name, written(query, name)]));
  const here = { ...same, after: written(query, 'after') };
  const isShort = next !== undefined && entries.length < ROWS;
  return html`<div class="actions">
    ${next !== undefined && html`<a class="button quiet" href="${withQuery(link`/decisions`, { ...same, after: next })}">${isShort ? 'Look further back' : 'Older'}</a>`}
    ${isShort && lookedAtMs !== undefined && html`<span class="muted">Looked back to ${instant(lookedAtMs)} UTC.</span>`}
    ${
      entries.length > 0 &&
      html`<a href="${withQuery(link`/decisions`, { ...here, format: 'csv' })}">CSV</a>
        <a href="${withQuery(link`/decisions`, { ...here, format: 'jsonl' })}">JSON lines</a>`
    }
  </div>`;
}

async function* jsonLines({ entries }: FoundPage): AsyncGenerator<string> {
  for (const entry of entries) yield `${JSON.stringify(exported(entry))}\n`;
}

const COLUMNS = ['id', 'at', 'type', 'verdict', 'code', 'subject', 'rule', 'because', 'revision'] as const;

async function* csv({ entries }: FoundPage): AsyncGenerator<string> {
  yield `${COLUMNS.join(',')}\r\n`;
  for (const entry of entries) {
    const row = exported(entry);
    yield `${COLUMNS.map((column) => csvField(row[column])).join(',')}\r\n`;
  }
}

function exported(entry: FoundEntry): Readonly<Record<(typeof COLUMNS)[number], string>> {
  const { source, id, atMs, ...texts } = entry;
  return { ...texts, id: `${source}/${id}`, at: new Date(atMs).toISOString() };
}

/** Quoted. A spreadsheet would run a text that begins like a formula, so it gets an apostrophe. */
const csvField = (text: string): string =>
  `"${/^[=+\-@\t\r]/.test(text) ? "'" : ''}${text.replaceAll('"', '""')}"`;
