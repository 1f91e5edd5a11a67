import { createReadStream, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ArchiveState, archiveState } from '../../archive/records.ts';
import { CountersignError } from '../../errors.ts';
import { CLASSES, type ClassName } from '../../reconcile/classes.ts';
import { closeException } from '../../reconcile/close.ts';
import {
  type Closing,
  type RecordedItem,
  type Records,
  type Run,
  lastRuns,
  openExceptions,
  readRecords,
  runName,
} from '../../reconcile/records.ts';
import { stateOf } from '../../reconcile/state.ts';
import type { Store } from '../../store/store.ts';
import { counted } from '../../values/text.ts';
import type { Clock } from '../../values/clock.ts';
import { type Html, html, link, withQuery } from '../html.ts';
import { facts, instant, nothing, table } from '../layout.ts';
import {
  type ActRequest,
  type Download,
  type PageRequest,
  type Pages,
  type Person,
  type Redirect,
  type View,
  authorOf,
  mayUse,
} from '../page.ts';

export interface JournalParts {
  readonly store: Pick<Store, 'record' | 'entries'>;
  readonly reading: Pick<Store, 'entries' | 'journalSize'>;
  readonly sources: readonly { readonly name: string }[];
  /** Where the runs of the reconciliation are kept; undefined without one. */
  readonly runsDirectory: string | undefined;
  readonly clock: Clock;
}

const RUNS_OF_PAGE = 50;
const EXCEPTIONS_OF_CLASS = 50;
const COINS_SHOWN = 100;
const MESSAGE_MAX = 1000;
/** All records are read and verified for each page. */
const RECORDS_BYTES_MAX = 33_554_432;

/** The journals of the sources, and the reconciliation. */
export function journalPages(parts: JournalParts): Pages {
  const { runsDirectory } = parts;
  return {
    pages: [
      { path: '/journal', navigation: 'Journal', show: (request) => showJournal(parts, request) },
      {
        path: '/journal/runs/:run',
        show: async ({ parameters, person }) => runView(recordsIn(runsDirectory), parameters, person),
      },
      {
        path: '/journal/runs/:run/items.csv',
        show: async ({ parameters }) => itemsOf(recordsIn(runsDirectory), parameters),
      },
      {
        path: '/journal/runs/:run/run.json',
        show: async ({ parameters }) => recordOf(recordsIn(runsDirectory), parameters),
      },
    ],
    acts: [{ path: '/journal/close', role: 'operate', perform: (request) => close(parts, request) }],
  };
}

async function showJournal(parts: JournalParts, { query }: PageRequest): Promise<View> {
  const { runsDirectory } = parts;
  return {
    title: 'Journal and reconciliation',
    content: html`<section class="card">
        <h2>Journal</h2>
        ${await journalTable(parts)}
        <p class="hint">
          <code>countersign journal archive</code> moves old entries to files.
          <code>countersign journal verify DIRECTORY --record</code> verifies them, and writes the result
          here.
        </p>
      </section>
      ${
        runsDirectory === undefined
          ? html`<section class="card">
              <h2>Reconciliation</h2>
              ${nothing('No reconciliation is set up. Set reconcile.directory, or see docs/reconcile.md.')}
            </section>`
          : reconciliation(recordsIn(runsDirectory), query)
      }`,
  };
}

async function journalTable({ reading, sources }: JournalParts): Promise<Html> {
  const rows = await Promise.all(
    sources.map(async ({ name: source }) => {
      const [size, [oldest], [newest], { moved, verified }] = await Promise.all([
        reading.journalSize(source),
        reading.entries({ source, explained: false, limit: 1 }),
        reading.entries({ source, explained: false, limit: 1, newestFirst: true }),
        archiveState(reading, source),
      ]);
      const entry = (found: typeof oldest): Html =>
        found === undefined
          ? html`–`
          : html`<a href="${link`/decisions/${source}/${found.id}`}">${instant(found.atMs)}</a>`;
      return [
        source,
        String(size),
        entry(oldest),
        entry(newest),
        archivedText(source, moved),
        verifiedText(source, verified),
      ];
    }),
  );
  const headings = [
    'Source',
    'Entries',
    'Oldest (UTC)',
    'Newest (UTC)',
    'Archived last (UTC)',
    'Verified last (UTC)',
  ];
  return table('Journals of the sources', headings, rows);
}

function archivedText(source: string, moved: ArchiveState['moved']): Html {
  if (moved === undefined) return html`–`;
  const { by, directory, entries } = moved.detail;
  return html`<a href="${link`/decisions/${source}/${moved.id}`}">${instant(moved.atMs)}</a><br /><span
      class="muted"
      >${counted(entries, 'entry', 'entries')} to ${directory}, by ${by}</span
    >`;
}

function verifiedText(source: string, verified: ArchiveState['verified']): Html {
  if (verified === undefined) return html`–`;
  const { by, faults, entries } = verified.detail;
  const result =
    faults === 0
      ? html`<span class="pill yes">✓ no fault</span>`
      : html`<span class="pill no">✕ ${counted(faults, 'fault')}</span>`;
  return html`<a href="${link`/decisions/${source}/${verified.id}`}">${instant(verified.atMs)}</a>
    ${result}<br /><span class="muted">${counted(entries, 'entry', 'entries')}, by ${by}</span>`;
}

// ---- the reconciliation ----

/** Throws NOT_FOUND without a directory, and USAGE for one that is too large for a page. */
function recordsIn(directory: string | undefined): Records {
  if (directory === undefined) {
    throw new CountersignError('NOT_FOUND', 'no reconciliation is set up. Set reconcile.directory');
  }
  const bytes = sizeOf(directory);
  if (bytes <= RECORDS_BYTES_MAX) return readRecords(directory);
  throw new CountersignError(
    'USAGE',
    `the records in ${directory} have ${bytes} bytes, and a page reads at most ${RECORDS_BYTES_MAX}. Use ` +
      '`countersign reconcile show`',
  );
}

/** The bytes of all records. 0 if there is no such directory: reading then says so. */
function sizeOf(directory: string): number {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return 0;
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return names.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

function reconciliation(records: Records, query: URLSearchParams): Html {
  const { days, last, next, open, classes } = stateOf(records);
  if (last === undefined) {
    return html`<section class="card">
      <h2>Reconciliation</h2>
      ${nothing('No day was reconciled yet.')}
    </section>`;
  }
  return html`<section class="card">
      <h2>Reconciliation ${openPill(open.length)}</h2>
      ${facts([
        ['Days', `${days}, up to ${last.day} in ${last.zone}`],
        ['Next', next ?? '–'],
        ...Object.entries(classes).map(([name, count]) => [name, String(count)] as const),
      ])}
    </section>
    ${runsCard(records, query)}`;
}

const openPill = (open: number): Html =>
  open === 0
    ? html`<span class="pill yes">✓ nothing open</span>`
    : html`<span class="pill no">✕ ${counted(open, 'open exception')}</span>`;

function runsCard(records: Records, query: URLSearchParams): Html {
  const runs = [...lastRuns(records).values()].sort((a, b) => (a.day < b.day ? 1 : -1));
  const pages = Math.max(1, Math.ceil(runs.length / RUNS_OF_PAGE));
  const written = query.get('page') ?? '';
  const page = Math.min(Math.max(/^\d{1,6}$/.test(written) ? Number(written) : 1, 1), pages);
  const shown = runs.slice((page - 1) * RUNS_OF_PAGE, page * RUNS_OF_PAGE);
  const to = (label: string, number: number): Html | false =>
    number >= 1 &&
    number <= pages &&
    html`<a class="button quiet" href="${withQuery(link`/journal`, { page: String(number) })}">${label}</a>`;
  return html`<section class="card">
    <h2>Days</h2>
    ${table(
      'Days, newest first',
      ['Day', 'Run', 'Items', 'Exceptions', 'Open', 'By'],
      shown.map((run) => [
        run.day,
        html`<a href="${link`/journal/runs/${run.number}`}">run ${run.number}</a>`,
        run.csv.items,
        run.exceptions.length,
        openExceptions(records, run).length,
        run.by,
      ]),
    )}
    ${
      pages > 1 &&
      html`<nav class="actions" aria-label="Pages of this list">
        ${to('Previous', page - 1)}<span class="muted">Page ${page} of ${pages}</span>${to('Next', page + 1)}
      </nav>`
    }
  </section>`;
}

// ---- one run ----

/** Throws NOT_FOUND. */
function runOf({ runs }: Records, { run: number = '' }: PageRequest['parameters']): Run {
  const run = runs.find((each) => String(each.number) === number);
  if (run !== undefined) return run;
  throw new CountersignError('NOT_FOUND', 'there is no such run. The page of the journal lists all');
}

function runView(records: Records, parameters: PageRequest['parameters'], person: Person): View {
  const run = runOf(records, parameters);
  const { number, day, zone, at, by, csv, coins, exceptions } = run;
  const last = lastRuns(records).get(day)?.number ?? number;
  const open = new Set(openExceptions(records, run).map(({ item }) => item));
  const closings = records.closings.filter((each) => each.run === number);
  return {
    title: `Run ${number} of ${day}`,
    content: html`${
        last !== number &&
        html`<p class="warn">
          <a href="${link`/journal/runs/${last}`}">Run ${last}</a> replaced this one, because its inputs
          changed.
        </p>`
      }
      <section class="card">
        <h2>Result ${openPill(open.size)}</h2>
        ${facts([
          ['Day', `${day} in ${zone}`],
          ['Made', html`${instant(Date.parse(at))} by ${by}`],
          ['Items', `${csv.items}, ${counted(exceptions.length, 'exception')}, ${closings.length} closed`],
          ['SHA-256 of the items', html`<span class="mono">${csv.sha256}</span>`],
        ])}
        <p class="actions">
          <a class="button quiet" href="${link`/journal/runs/${number}/items.csv`}">Items as CSV</a>
          <a class="button quiet" href="${link`/journal/runs/${number}/run.json`}">Run as JSON</a>
        </p>
      </section>
      <section class="card">
        <h2>Sums</h2>
        ${coinTable(coins)}
      </section>
      ${exceptionCards(run, closings, mayUse(person, 'operate') && last === number)}`,
  };
}

function coinTable(coins: Run['coins']): Html {
  if (coins.length === 0) return nothing('There was nothing to compare.');
  const more = coins.length - COINS_SHOWN;
  return html`${table(
    'Sums of the day',
    ['Flow', 'Coin', 'Approved', 'Settled', 'Difference', 'Settling', 'Unexplained'],
    coins
      .slice(0, COINS_SHOWN)
      .map(({ flow, coin, approved, settled, difference, settling, unexplained }) => [
        flow,
        coin,
        `${approved.amount} (${approved.count})`,
        `${settled.amount} (${settled.count})`,
        difference,
        settling.amount,
        unexplained,
      ]),
  )}${more > 0 && html`<p class="hint">And ${more} more, in the JSON.</p>`}`;
}

const isClass = (name: string): name is ClassName => Object.hasOwn(CLASSES, name);

/** The exceptions of each class, alarms first. */
function exceptionCards(run: Run, closings: readonly Closing[], mayClose: boolean): Html | readonly Html[] {
  const names = Object.keys(CLASSES)
    .filter(isClass)
    .filter((name) => run.exceptions.some((item) => item.class === name))
    .sort((a, b) => (CLASSES[a].level < CLASSES[b].level ? -1 : 0));
  if (names.length === 0) return nothing('Everything is matched or explained.');
  return names.map((name) => {
    const items = run.exceptions.filter((item) => item.class === name);
    const more = items.length - EXCEPTIONS_OF_CLASS;
    const { level, meaning } = CLASSES[name];
    return html`<section class="card">
      <h2>${name} <span class="pill ${level === 'alarm' ? 'no' : 'warn'}">${level}</span></h2>
      <p class="muted">${counted(items.length, 'item')}: ${meaning}.</p>
      ${table(
        `Exceptions: ${name}`,
        ['Item', 'Order or request', 'Approved', 'Settled', 'Note', 'Closed'],
        items.slice(0, EXCEPTIONS_OF_CLASS).map((item) => exceptionRow(run, item, closings, mayClose)),
      )}
      ${more > 0 && html`<p class="hint">And ${more} more, in the CSV.</p>`}
    </section>`;
  });
}

function exceptionRow(
  run: Run,
  { item, source, id, ours, theirs, note }: RecordedItem,
  closings: readonly Closing[],
  mayClose: boolean,
): readonly (Html | string)[] {
  const closing = closings.find((each) => each.item === item);
  return [
    `${run.number}/${item}`,
    html`${source} ${id}`,
    ours === undefined ? '' : html`${ours.amount} ${ours.coin} ${entryLink(ours.place)}`,
    theirs === undefined
      ? ''
      : html`${theirs.amount} ${theirs.coin} <span class="muted">${theirs.place}</span>`,
    note,
    closing === undefined
      ? mayClose
        ? closeForm(run.number, item)
        : 'open'
      : html`${closing.message} <span class="muted">by ${closing.by}</span> ${entryLink(closing.entry)}`,
  ];
}

/** `shop/17` as a link to the entry. */
function entryLink(place: string): Html {
  const at = place.indexOf('/');
  if (at < 1) return html`${place}`;
  return html`<a href="${link`/decisions/${place.slice(0, at)}/${place.slice(at + 1)}`}">${place}</a>`;
}

const closeForm = (run: number, item: number): Html =>
  html`<details>
    <summary>Close</summary>
    <form method="post" action="${link`/journal/close`}">
      <input type="hidden" name="run" value="${run}" />
      <input type="hidden" name="item" value="${item}" />
      <label>Reason <input name="message" required maxlength="${MESSAGE_MAX}" autocomplete="off" /></label>
      <div class="actions"><button>Close ${run}/${item}</button></div>
    </form>
  </details>`;

async function close(parts: JournalParts, { form, person }: ActRequest): Promise<Redirect> {
  const { store, clock } = parts;
  const { directory } = recordsIn(parts.runsDirectory);
  const message = (form.get('message') ?? '').trim();
  if (message === '') {
    throw new CountersignError('USAGE', 'The reason is empty. Say what explains the exception');
  }
  if (message.length > MESSAGE_MAX) {
    throw new CountersignError('USAGE', `The reason has more than ${MESSAGE_MAX} characters. Shorten it`);
  }
  const [run, item] = [numberOf(form, 'run'), numberOf(form, 'item')];
  const by = authorOf(person);
  const { closing, open } = await closeException({ directory, run, item, message, by, clock, store });
  return {
    to: link`/journal/runs/${run}`,
    notice: `Closed ${run}/${item} as entry ${closing.entry}. ${counted(open, 'exception')} left open.`,
  };
}

function numberOf(form: URLSearchParams, name: string): number {
  const written = form.get(name) ?? '';
  if (/^[1-9]\d{0,8}$/.test(written)) return Number(written);
  throw new CountersignError('USAGE', `The number of the ${name} is missing. Use the form of a run`);
}

// ---- files ----

const CSV_NAME = /^\d{8}-run-\d{4}-\d\d-\d\d\.csv$/;

/** The file of items beside the record. Its name is made from the record, and never leaves the directory. */
function itemsOf(records: Records, parameters: PageRequest['parameters']): Download {
  const run = runOf(records, parameters);
  const name = `${runName(run.number, run.day)}.csv`;
  const path = join(records.directory, name);
  if (!CSV_NAME.test(name) || statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new CountersignError(
      'NOT_FOUND',
      `the file of the items of run ${run.number} is missing. Reconcile ${run.day} again`,
    );
  }
  return { name, contentType: 'text/csv; charset=utf-8', chunks: textOf(path) };
}

async function* textOf(path: string): AsyncGenerator<string> {
  for await (const chunk of createReadStream(path, 'utf8')) yield String(chunk);
}

function recordOf(records: Records, parameters: PageRequest['parameters']): Download {
  const run = runOf(records, parameters);
  return {
    name: `${runName(run.number, run.day)}.json`,
    contentType: 'application/json; charset=utf-8',
    chunks: once(`${JSON.stringify(run, undefined, 1)}\n`),
  };
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
