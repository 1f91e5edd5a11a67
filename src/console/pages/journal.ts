import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { closeException, readNumber } from '../../act/exceptions.ts';
import { type ArchiveState, archiveState } from '../../archive/records.ts';
import { CountersignError } from '../../errors.ts';
import { CLASSES } from '../../reconcile/classes.ts';
import { runName } from '../../reconcile/records.ts';
import type { Store } from '../../store/store.ts';
import { counted } from '../../values/text.ts';
import type { Clock } from '../../values/clock.ts';
import { type Html, html, link } from '../html.ts';
import { hiddenFields, reasonField, reasonIn } from '../fields.ts';
import { card, entryLink, facts, instant, nothing, pageIn, pager, table } from '../layout.ts';
import {
  type Download,
  type PageRequest,
  type Pages,
  type Person,
  type View,
  formOf,
  mayUse,
} from '../page.ts';
import type { Reconciled, ReconciledDays, ReconciledItem, ReconciledRun } from '../reconciled.ts';
import type { AskService, ServiceState } from '../service-state.ts';

export interface JournalParts {
  readonly store: Pick<Store, 'entries' | 'journalSize' | 'record'>;
  readonly reconciled: Reconciled;
  readonly sources: readonly { readonly name: string }[];
  /** Where the runs of the reconciliation are kept; undefined without one. */
  readonly runsDirectory: string | undefined;
  readonly askService: AskService;
  readonly clock: Clock;
}

/** The journals of the sources, and the reconciliation. */
export function journalPages(parts: JournalParts): Pages {
  const runWith = ({ parameters: { run = '' } }: PageRequest): ReconciledRun =>
    parts.reconciled.run(directoryIn(parts), run);
  return {
    pages: [
      { path: '/journal', navigation: 'Journal', show: (request) => showJournal(parts, request) },
      {
        path: '/journal/runs/:run',
        show: async (request) => runView(runWith(request), request.person),
      },
      {
        path: '/journal/runs/:run/items.csv',
        show: (request) => fileOf(directoryIn(parts), runWith(request), 'csv'),
      },
      {
        path: '/journal/runs/:run/run.json',
        show: (request) => fileOf(directoryIn(parts), runWith(request), 'json'),
      },
    ],
    forms: [
      formOf(closeException, {
        path: '/journal/close',
        parts: () => parts,
        read: ({ form }) => ({
          directory: directoryIn(parts),
          message: reasonIn(form, 'message', 'the exception is closed'),
          run: readNumber('a run', form.get('run') ?? ''),
          item: readNumber('an item', form.get('item') ?? ''),
        }),
        to: (_request, { closing }) => link`/journal/runs/${closing.run}`,
      }),
    ],
  };
}

async function showJournal(parts: JournalParts, { query }: PageRequest): Promise<View> {
  const { reconciled, runsDirectory, askService } = parts;
  return {
    title: 'Journal and reconciliation',
    content: html`${card(
      'Journal',
      await journalTable(parts),
      html`<p class="hint">
        <code>countersign journal archive</code> moves old entries to files.
        <code>countersign journal verify DIRECTORY --record</code> verifies them, and writes the result here.
      </p>`,
    )}
    ${
      runsDirectory === undefined
        ? card('Reconciliation', nothing(NO_RECONCILIATION))
        : html`${failureText(await askService())}${reconciliation(
            reconciled.days(runsDirectory, pageIn(query)),
          )}`
    }`,
  };
}

const NO_RECONCILIATION = 'No reconciliation is set up. Set reconcile.directory, or see docs/reconcile.md.';

async function journalTable({ store, sources }: JournalParts): Promise<Html> {
  const rows = await Promise.all(
    sources.map(async ({ name: source }) => {
      const [size, [oldest], [newest], { moved, verified }] = await Promise.all([
        store.journalSize(source),
        store.entries({ source, explained: false, limit: 1 }),
        store.entries({ source, explained: false, limit: 1, newestFirst: true }),
        archiveState(store, source),
      ]);
      const entry = (found: typeof oldest): Html =>
        found === undefined ? html`–` : entryLink(source, found.id, instant(found.atMs));
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
  return html`${entryLink(source, moved.id, instant(moved.atMs))}<br /><span class="muted"
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
  return html`${entryLink(source, verified.id, instant(verified.atMs))} ${result}<br /><span class="muted"
      >${counted(entries, 'entry', 'entries')}, by ${by}</span
    >`;
}

// ---- the reconciliation ----

/** Throws NOT_FOUND without one. */
function directoryIn({ runsDirectory }: Pick<JournalParts, 'runsDirectory'>): string {
  if (runsDirectory !== undefined) return runsDirectory;
  throw new CountersignError('NOT_FOUND', 'no reconciliation is set up. Set reconcile.directory');
}

function failureText(state: ServiceState | undefined): Html | false {
  if (state?.reconciliationFailure === undefined) return false;
  const { day, because, count, atMs } = state.reconciliationFailure;
  return html`<p class="warn">
    ${day} could not be reconciled (${counted(count, 'try', 'tries')}, the last at ${instant(atMs)} UTC):
    ${because}. This replica tries again by itself.
  </p>`;
}

function reconciliation(found: ReconciledDays): Html {
  const { days, last, next, open, classes } = found;
  if (last === undefined) {
    return card('Reconciliation', nothing('No day was reconciled yet.'));
  }
  return html`${card(
    html`Reconciliation ${openPill(open)}`,
    facts([
      ['Days', `${days}, up to ${last.day} in ${last.zone}`],
      ['Next', next ?? '–'],
      ...Object.entries(classes).map(([name, count]) => [name, String(count)] as const),
    ]),
  )}${runsCard(found)}`;
}

const openPill = (open: number): Html =>
  open === 0
    ? html`<span class="pill yes">✓ nothing open</span>`
    : html`<span class="pill no">✕ ${counted(open, 'open exception')}</span>`;

function runsCard({ rows, page, pages }: ReconciledDays): Html {
  return card(
    'Days',
    table(
      'Days, newest first',
      ['Day', 'Run', 'Items', 'Exceptions', 'Open', 'By'],
      rows.map(({ number, day, by, items, exceptions, open }) => [
        day,
        html`<a href="${link`/journal/runs/${number}`}">run ${number}</a>`,
        items,
        exceptions,
        open,
        by,
      ]),
    ),
    pager(link`/journal`, page, pages),
  );
}

// ---- one run ----

function runView(run: ReconciledRun, person: Person): View {
  const { number, day, zone, at, by, csv, last, exceptions, closed, open } = run;
  return {
    title: `Run ${number} of ${day}`,
    content: html`${
      last !== number &&
      html`<p class="warn">
        <a href="${link`/journal/runs/${last}`}">Run ${last}</a> replaced this one, because its inputs
        changed.
      </p>`
    }
    ${card(
      html`Result ${openPill(open)}`,
      facts([
        ['Day', `${day} in ${zone}`],
        ['Made', html`${instant(Date.parse(at))} by ${by}`],
        ['Items', `${csv.items}, ${counted(exceptions, 'exception')}, ${closed} closed`],
        ['SHA-256 of the items', html`<span class="mono">${csv.sha256}</span>`],
      ]),
      html`<p class="actions">
        <a class="button quiet" href="${link`/journal/runs/${number}/items.csv`}">Items as CSV</a>
        <a class="button quiet" href="${link`/journal/runs/${number}/run.json`}">Run as JSON</a>
      </p>`,
    )}
    ${card('Sums', coinTable(run))} ${exceptionCards(run, mayUse(person, 'operate') && last === number)}`,
  };
}

function coinTable({ coins, moreCoins: more }: ReconciledRun): Html {
  if (coins.length === 0) return nothing('There was nothing to compare.');
  return html`${table(
    'Sums of the day',
    ['Flow', 'Coin', 'Approved', 'Settled', 'Difference', 'Settling', 'Unexplained'],
    coins.map(({ flow, coin, approved, settled, difference, settling, unexplained }) => [
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

/** The exceptions of each class. */
function exceptionCards({ number, classes }: ReconciledRun, mayClose: boolean): Html | readonly Html[] {
  if (classes.length === 0) return nothing('Everything is matched or explained.');
  return classes.map(({ name, count, items }) => {
    const more = count - items.length;
    const { level, meaning } = CLASSES[name];
    return card(
      html`${name} <span class="pill ${level === 'alarm' ? 'no' : 'warn'}">${level}</span>`,
      html`<p class="muted">${counted(count, 'item')}: ${meaning}.</p>`,
      table(
        `Exceptions: ${name}`,
        ['Item', 'Order or request', 'Approved', 'Settled', 'Note', 'Closed'],
        items.map((item) => exceptionRow(number, item, mayClose)),
      ),
      more > 0 && html`<p class="hint">And ${more} more, in the CSV.</p>`,
    );
  });
}

function exceptionRow(
  run: number,
  { item, source, id, ours, theirs, note, closing }: ReconciledItem,
  mayClose: boolean,
): readonly (Html | string)[] {
  return [
    `${run}/${item}`,
    html`${source} ${id}`,
    ours === undefined
      ? ''
      : html`${ours.amount} ${ours.coin}
        ${placeLink(ours.place)}${
          ours.approvers !== undefined && html` <span class="muted">by ${ours.approvers.join(', ')}</span>`
        }`,
    theirs === undefined
      ? ''
      : html`${theirs.amount} ${theirs.coin} <span class="muted">${theirs.place}</span>`,
    note,
    closing === undefined
      ? mayClose
        ? closeForm(run, item)
        : 'open'
      : html`${closing.message} <span class="muted">by ${closing.by}</span> ${placeLink(closing.entry)}`,
  ];
}

/** `shop/17` as a link to the entry. */
function placeLink(place: string): Html {
  const at = place.indexOf('/');
  return at < 1 ? html`${place}` : entryLink(place.slice(0, at), place.slice(at + 1));
}

const closeForm = (run: number, item: number): Html =>
  html`<details>
    <summary>Close</summary>
    <form method="post" action="${link`/journal/close`}">
      ${hiddenFields({ run, item })} ${reasonField('Reason', 'message')}
      <div class="actions"><button>Close ${run}/${item}</button></div>
    </form>
  </details>`;

// ---- files ----

/** The file of items, and the record, which was verified. */
const CONTENT_TYPES = { csv: 'text/csv; charset=utf-8', json: 'application/json; charset=utf-8' } as const;
const NAME = /^\d{8}-run-\d{4}-\d\d-\d\d\.(?:csv|json)$/;

/** A file of the directory. Its name is made from the record, and never leaves the directory. */
async function fileOf(
  directory: string,
  { number, day }: ReconciledRun,
  type: keyof typeof CONTENT_TYPES,
): Promise<Download> {
  const name = `${runName(number, day)}.${type}`;
  const path = join(directory, name);
  const isFile = NAME.test(name) && (await stat(path).catch(() => undefined))?.isFile() === true;
  if (!isFile) {
    throw new CountersignError('NOT_FOUND', `the file ${name} is missing. Reconcile ${day} again`);
  }
  return { name, contentType: CONTENT_TYPES[type], chunks: textOf(path) };
}

async function* textOf(path: string): AsyncGenerator<string> {
  for await (const chunk of createReadStream(path, 'utf8')) yield String(chunk);
}
