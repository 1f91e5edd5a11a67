import { STEP_VALUES, type WrittenValue, changeList, listTexts } from '../../act/lists.ts';
import { CountersignError } from '../../errors.ts';
import { linesAsWritten } from '../../policy/language/list-file.ts';
import type { Release } from '../../policy/release.ts';
import { addedText, checkedName, listInForce, removedTexts } from '../../release/lists.ts';
import type { ListEntry, ListSummary, Store } from '../../store/store.ts';
import { toComparable } from '../../values/comparable.ts';
import { countLines } from '../../values/text.ts';
import { hiddenFields, oneOf, reasonField, reasonIn, textField, written } from '../fields.ts';
import { type Html, html, lines, link, verbatim } from '../html.ts';
import { facts, fault, instant, nothing, table } from '../layout.ts';
import {
  CONFIRM,
  type FormRequest,
  type PageRequest,
  type Pages,
  type Person,
  type Redirect,
  type View,
  formOf,
  mayUse,
} from '../page.ts';
import { endOf } from '../search.ts';

export interface ListsParts {
  readonly store: Pick<Store, 'changeList' | 'listEntries' | 'lists'>;
  readonly policies: { readonly current: () => Release | undefined };
  readonly sources: readonly { readonly name: string }[];
}

const ROWS = 200;
/** A search looks at so many entries, for so long; at some of them also if the machine is busy. */
const LOOKED = { most: 1_000_000, least: 2000, ms: 200 };
/** A change of more values, and a text of more lines, needs the command line. */
const CHANGED_MAX = STEP_VALUES;
const USE_COMMAND = 'Use `countersign list add` and `list remove` with --file';
/** Of a larger list, a preview does not say which values are on it, and it can't be replaced. */
const LOOKED_UP_MAX = 100_000;
const SHOWN_MAX = 100;
const HOWS = ['add', 'remove', 'replace'] as const;
type How = (typeof HOWS)[number];

/** The lists of all sources: look, search, add, remove, and import with a preview. */
export function listsPages(parts: ListsParts): Pages {
  return {
    pages: [
      { path: '/lists', navigation: 'Lists', show: ({ person }) => showAll(parts, person) },
      { path: '/lists/:source/:list', show: (request) => showList(parts, request) },
    ],
    forms: [
      { path: '/lists', role: 'operate', submit: (request) => openList(parts, request) },
      formOf(changeList, {
        path: '/lists/:source/:list',
        parts: () => ({ store: parts.store, release: parts.policies.current() }),
        async read(request) {
          const named = namedIn(parts, request);
          const { add, remove } = await previewOf(parts, named, typedIn(request));
          const message = reasonIn(request.form, 'message', 'it changes');
          return { ...named, add, remove, message, create: request.form.get('create') === 'yes' };
        },
        to: (_request, { source, list }) => link`/lists/${source}/${list}`,
        preview: (request) => shownPreview(parts, request),
        again: (request, because) => formAgain(parts, request, because),
      }),
    ],
  };
}

async function showAll({ store, policies, sources }: ListsParts, person: Person): Promise<View> {
  const found = await Promise.all(
    sources.map(async ({ name }) => (await store.lists(name)).map((list) => ({ source: name, ...list }))),
  );
  const release = policies.current();
  const rows = found
    .flat()
    .map(({ source, list, entries, version, changedAtMs }) => [
      html`<a href="${link`/lists/${source}/${list}`}">${source}/${list}</a>`,
      entries,
      version,
      instant(changedAtMs),
      listInForce(release, list).isUsed ? 'yes' : html`<span class="pill warn">no rule uses it</span>`,
    ]);
  return {
    title: 'Lists',
    content: html`${
      rows.length === 0
        ? nothing('There are no lists in the store.')
        : table('All lists', ['List', 'Entries', 'Version', 'Changed (UTC)', 'In use'], rows)
    }${mayUse(person, 'operate') && openForm(sources)}`,
  };
}

const openForm = (sources: ListsParts['sources']): Html =>
  html`<form class="card" method="post" action="${link`/lists`}">
    <h2>A new list</h2>
    <div class="fields">
      <label
        >Source
        <select name="source" required>
          ${sources.map(({ name }) => html`<option value="${name}">${name}</option>`)}
        </select></label
      >
      ${textField('Name', 'list', undefined, 'lower-case letters, digits, hyphens')}
    </div>
    <div class="actions"><button>Fill it</button></div>
    <p class="hint">
      A list that rules look into and that does not exist refuses. Its first change makes it. A list that no
      rule in force looks into is made only if you confirm it.
    </p>
  </form>`;

function openList({ sources }: ListsParts, { form }: FormRequest): Promise<Redirect> {
  const source = knownSource(sources, form.get('source') ?? '');
  const list = checkedName(written(form, 'list') ?? '');
  return Promise.resolve({ to: link`/lists/${source}/${list}`, notice: `Add values to ${source}/${list}.` });
}

function knownSource(sources: ListsParts['sources'], name: string): string {
  if (sources.some((each) => each.name === name)) return name;
  throw new CountersignError('NOT_FOUND', `The settings have no source ${name}`);
}

interface Named {
  readonly source: string;
  readonly list: string;
}

const namedIn = (
  { sources }: Pick<ListsParts, 'sources'>,
  { parameters }: Pick<PageRequest, 'parameters'>,
): Named => ({
  source: knownSource(sources, parameters['source'] ?? ''),
  list: checkedName(parameters['list'] ?? ''),
});

async function summaryOf({ store }: ListsParts, { source, list }: Named): Promise<ListSummary | undefined> {
  return (await store.lists(source)).find((each) => each.list === list);
}

// ---- one list ----

async function showList(parts: ListsParts, request: PageRequest): Promise<View> {
  const named = namedIn(parts, request);
  const summary = await summaryOf(parts, named);
  const search = written(request.query, 'search');
  const contains = search === undefined ? '' : toComparable(search);
  const found = summary && (await listValues(parts.store, named, contains));
  return {
    title: `${named.source}/${named.list}`,
    content: html`${summaryCard(parts, named, summary)}${
      summary !== undefined && searchForm(named, search)
    }${found !== undefined && entriesTable(found, request.person, named)}${
      mayUse(request.person, 'operate') && changeForm(named, { how: 'add', values: '', message: '' })
    }`,
  };
}

function summaryCard({ policies }: ListsParts, { list }: Named, summary: ListSummary | undefined): Html {
  const { isUsed } = listInForce(policies.current(), list);
  const use = isUsed
    ? 'A rule in force looks into it.'
    : 'No rule in force looks into it, so it has no effect.';
  if (summary === undefined) return nothing(`It does not exist yet: the first change makes it. ${use}`);
  return html`<section class="card">
    ${facts([
      ['Entries', summary.entries],
      ['Version', summary.version],
      ['Changed (UTC)', instant(summary.changedAtMs)],
      ['In use', use],
    ])}
  </section>`;
}

const searchForm = ({ source, list }: Named, search: string | undefined): Html =>
  html`<form class="card" method="get" action="${link`/lists/${source}/${list}`}">
    <div class="fields">${textField('Value contains', 'search', search)}</div>
    <div class="actions"><button>Search</button></div>
  </form>`;

function entriesTable({ entries, looked, more }: ListedValues, person: Person, named: Named): Html {
  const rest = more
    ? ` The page looked at ${looked} entries, and there are more: search for a longer text.`
    : '';
  if (entries.length === 0) return nothing(`No entry contains it.${rest}`);
  return html`${table(
    'Entries of the list',
    ['Value', 'Added (UTC)', ...(mayUse(person, 'operate') ? ['Remove'] : [])],
    entries.map(({ value, addedAtMs }) => [
      html`<span class="mono value">${value}</span>`,
      instant(addedAtMs),
      ...(mayUse(person, 'operate') ? [removeForm(named, value)] : []),
    ]),
  )}${more && html`<p class="hint">${rest}</p>`}`;
}

/** Leads to the preview, which asks for the reason. */
const removeForm = ({ source, list }: Named, value: string): Html =>
  html`<form method="post" action="${link`/lists/${source}/${list}`}">
    ${hiddenFields({ how: 'remove', values: JSON.stringify(value) })}
    <button class="quiet" name="do" value="preview" aria-label="Remove ${value}">Remove</button>
  </form>`;

interface ListedValues {
  /** Sorted by value. */
  readonly entries: readonly ListEntry[];
  readonly looked: number;
  /** Whether there may be more. */
  readonly more: boolean;
}

/** The first entries of a list that contain a text, in the order of the store. */
async function listValues(
  store: ListsParts['store'],
  { source, list }: Named,
  contains: string,
): Promise<ListedValues> {
  const isLate = endOf(LOOKED);
  const found = new Map<string, ListEntry>();
  let looked = 0;
  const result = (more: boolean): ListedValues => ({
    entries: [...found.values()].sort((a, b) => (a.value < b.value ? -1 : 1)),
    looked,
    more,
  });
  for await (const entry of store.listEntries(source, list)) {
    if (found.size === ROWS || looked === LOOKED.most || isLate(looked)) return result(true);
    looked += 1;
    if (entry.value.includes(contains)) found.set(entry.value, entry);
  }
  return result(false);
}

/** Which of the values are on the list; all of its values if none are given. */
async function listed(
  store: ListsParts['store'],
  { source, list }: Named,
  wanted: ReadonlySet<string> | undefined,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for await (const { value } of store.listEntries(source, list)) {
    if (wanted === undefined || wanted.has(value)) found.add(value);
    if (found.size === wanted?.size) break;
  }
  return [...found];
}

// ---- changes ----

interface Typed {
  readonly how: How;
  readonly values: string;
  readonly message: string;
}

const WORDS: Readonly<Record<How, string>> = {
  add: 'add these values',
  remove: 'remove these values',
  replace: 'replace all values by these',
};

const changeForm = ({ source, list }: Named, { how, values, message }: Typed): Html =>
  html`<form class="card" method="post" action="${link`/lists/${source}/${list}`}">
    <h2>Change the list</h2>
    <div class="fields">
      <label
        >What to do
        <select name="how">
          ${HOWS.map(
            (each) =>
              html`<option value="${each}" ${each === how && html` selected`}>${WORDS[each]}</option>`,
          )}
        </select></label
      >
      <label hidden>Choose a file <input type="file" accept=".txt,.csv" data-file-into="values" /></label>
      <label class="wide"
        >Values, one on each line; # begins a comment
        <textarea id="values" name="values" rows="6" spellcheck="false" autocapitalize="none">
${verbatim(values)}</textarea>
      </label>
      ${reasonField('Reason, for the journal', 'message', message, false)}
    </div>
    <div class="actions"><button name="do" value="preview">Show what would change</button></div>
  </form>`;

/** What a change comes to, before it is made. */
interface Preview {
  readonly summary: ListSummary | undefined;
  /** What is not on the list, and what is. */
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** False for a large list: `add` and `remove` then have all values. */
  readonly isExact: boolean;
  /** How many values change nothing. */
  readonly idle: number;
  /** Whether the list exists, or a rule in force looks into it. */
  readonly isKnown: boolean;
}

function typedIn({ form }: FormRequest): Typed {
  const how = oneOf(form, 'how', HOWS) ?? 'add';
  return { how, values: form.get('values') ?? '', message: (form.get('message') ?? '').trim() };
}

async function shownPreview(parts: ListsParts, request: FormRequest, problem = ''): Promise<View> {
  const [named, typed] = [namedIn(parts, request), typedIn(request)];
  const found = await previewOf(parts, named, typed);
  const isStale = problem !== '' && written(request.form, 'version') !== String(found.summary?.version ?? 0);
  return previewView(named, typed, found, isStale ? STALE : problem);
}

const STALE = 'The list changed meanwhile. Look at what would change again.';

/** The preview as it is now, or the form alone if the values are the fault. */
async function formAgain(parts: ListsParts, request: FormRequest, because: string): Promise<View> {
  const { source, list } = namedIn(parts, request);
  if (request.form.get('do') === CONFIRM) {
    const shown = await shownPreview(parts, request, because).catch((thrown: unknown) => {
      if (!(thrown instanceof CountersignError)) throw thrown;
      return undefined;
    });
    if (shown !== undefined) return shown;
  }
  return {
    title: `${source}/${list}`,
    content: html`${fault(because)}${changeForm({ source, list }, shownAgain(typedIn(request)))}`,
  };
}

/** What was typed, so that it is not lost by a mistake; not what is too long for a page. */
const shownAgain = (typed: Typed): Typed =>
  countLines(typed.values) > CHANGED_MAX ? { ...typed, values: '' } : typed;

/** The values as they were written. Throws LIST_INVALID, for too many lines before any value is read. */
function valuesIn(text: string): readonly WrittenValue[] {
  const lineCount = countLines(text);
  if (lineCount > CHANGED_MAX) {
    throw new CountersignError(
      'LIST_INVALID',
      `the text has ${lineCount} lines, more than ${CHANGED_MAX}. ${USE_COMMAND}`,
    );
  }
  return Array.from(linesAsWritten('the values', text), ([value, line]) => ({
    value,
    place: `line ${line}: `,
  }));
}

async function previewOf(parts: ListsParts, named: Named, { how, values }: Typed): Promise<Preview> {
  const { source, list } = named;
  const summary = await summaryOf(parts, named);
  if (how === 'remove' && summary === undefined) {
    throw new CountersignError('NOT_FOUND', `There is no list ${source}/${list}`);
  }
  const { isNamedFor, readFor } = listInForce(parts.policies.current(), list);
  const read = readFor(source);
  const given = valuesIn(values);
  const unique = new Set(
    await listTexts(given, (value) =>
      how === 'remove' ? removedTexts(value, read) : [addedText(value, read)],
    ),
  );
  const isExact = (summary?.entries ?? 0) <= LOOKED_UP_MAX;
  if (!isExact && how === 'replace') {
    throw new CountersignError(
      'LIST_INVALID',
      `the list has more than ${LOOKED_UP_MAX} entries, too many to be replaced here. Use the command line`,
    );
  }
  const existing = new Set(
    summary === undefined || !isExact
      ? []
      : await listed(parts.store, named, how === 'replace' ? undefined : unique),
  );
  const add = how === 'remove' ? [] : [...unique].filter((value) => !existing.has(value));
  const remove =
    how === 'add'
      ? []
      : isExact
        ? [...existing].filter((value) => unique.has(value) === (how === 'remove'))
        : [...unique];
  if (add.length + remove.length > CHANGED_MAX) {
    throw new CountersignError(
      'LIST_INVALID',
      `${add.length + remove.length} values would change, more than ${CHANGED_MAX}. ${USE_COMMAND}`,
    );
  }
  const changed = how === 'remove' ? remove.length : add.length;
  const isKnown = summary !== undefined || isNamedFor(source);
  return { summary, add, remove, isExact, idle: Math.max(0, given.length - changed), isKnown };
}

function previewView(named: Named, typed: Typed, preview: Preview, problem = ''): View {
  const { summary, add, remove, isExact, idle, isKnown } = preview;
  const { source, list } = named;
  const changes = add.length + remove.length;
  const isNew = summary === undefined && changes === 0;
  return {
    title: `${source}/${list}`,
    content: html`${problem !== '' && fault(problem)}
      <form class="card" method="post" action="${link`/lists/${source}/${list}`}">
        <h2>What would change</h2>
        ${
          isExact
            ? facts([
                ['Added', add.length],
                ['Removed', remove.length],
                ['Without effect', idle],
                ['Entries afterwards', (summary?.entries ?? 0) + add.length - remove.length],
              ])
            : html`<p>
                At most ${add.length} are added, and at most ${remove.length} are removed. The list is too
                large to look up which of them are on it.
              </p>`
        }
        ${valuesCard('Added', add)}${valuesCard('Removed', remove)}
        ${hiddenFields({ how: typed.how, values: typed.values, version: summary?.version ?? 0 })}
        ${
          changes > 0 || isNew
            ? html`<div class="fields">
                  ${reasonField('Reason, for the journal', 'message', typed.message)}
                  ${
                    !isKnown &&
                    html`<label
                      ><input type="checkbox" name="create" value="yes" required /> Make ${list}, although no
                      rule in force looks into it</label
                    >`
                  }
                </div>
                <div class="actions">
                  <button class="${remove.length > 0 && 'danger'}" name="do" value="${CONFIRM}">
                    ${isNew ? 'Make an empty list' : 'Change the list'}
                  </button>
                </div>`
            : html`<p class="nothing">Nothing would change.</p>`
        }
      </form>
      ${changeForm(named, typed)}`,
  };
}

function valuesCard(title: string, values: readonly string[]): Html | false {
  if (values.length === 0) return false;
  const more = values.length > SHOWN_MAX ? `\n… and ${values.length - SHOWN_MAX} more` : '';
  return html`<h3>${title}</h3>
    <pre tabindex="0">${lines(values.slice(0, SHOWN_MAX).join('\n'))}${lines(more)}</pre>`;
}
