import { readFile } from 'node:fs/promises';

import { CountersignError } from '../../errors.ts';
import { describedMembers, ruleNamed, rules } from '../../policy/rules/registry.ts';
import { type RulePage, readRulePage } from '../../policy/rule-page.ts';
import { type Content, contentOf, policyText } from '../../release/content.ts';
import { diffText } from '../../release/diff-text.ts';
import { findRevision, shortRevision } from '../../release/push.ts';
import { diffReleases } from '../../policy/diff.ts';
import type { HistoryEntry, Store } from '../../store/store.ts';
import { counted } from '../../values/text.ts';
import { yamlText } from '../../values/written-yaml.ts';
import { type Token, diffLines, highlighted } from '../highlight.ts';
import { type Html, html, lines, link, withQuery } from '../html.ts';
import { card, facts, instant, nothing, pageIn, pager, proseOf, table } from '../layout.ts';
import { type PageRequest, type Pages, type View, authorOf } from '../page.ts';
import type { CandidateChecks, DiffRequest } from '../candidate-checks.ts';
import { type CandidateParts, candidatePages } from './candidate.ts';

export interface PoliciesParts extends CandidateParts {
  readonly store: CandidateParts['store'] & Pick<Store, 'history'>;
}

/** Pushes that are looked at for who pushed a revision. */
const HISTORY_MAX = 1000;
const PUSHES_BESIDE = 10;
const PUSHES_OF_PAGE = 50;
const POLICIES_OF_PAGE = 50;
const VALUES_SHOWN = 100;
const CHARACTERS_SHOWN = 50_000;
/** Larger documents are compared in a process of their own. */
const DIFF_HERE_CHARACTERS = 32_768;
/** Of what differs. */
const DIFF_SHOWN_CHARACTERS = 100_000;

/** The policies: those in force, earlier ones, what differs, the rules, and candidates. */
export function policiesPages(parts: PoliciesParts): Pages {
  const { store } = parts;
  const candidate = candidatePages(parts);
  return {
    pages: [
      { path: '/policies', navigation: 'Policies', show: (request) => showInForce(store, request) },
      { path: '/policies/history', show: (request) => showHistory(store, request) },
      { path: '/policies/revisions/:revision', show: (request) => showRevision(store, request) },
      { path: '/policies/diff', show: (request) => showDiff(parts, request) },
      { path: '/policies/rules', show: async () => rulesView() },
      { path: '/policies/rules/:name', show: async ({ parameters }) => ruleView(parameters['name'] ?? '') },
      ...candidate.pages,
    ],
    ...(candidate.forms && { forms: candidate.forms }),
  };
}

type PoliciesStore = PoliciesParts['store'];

// ---- revisions ----

async function showInForce(store: PoliciesStore, request: PageRequest): Promise<View> {
  const [{ revision }, history] = await Promise.all([store.control(), store.history(HISTORY_MAX)]);
  const content = revision === '' ? undefined : await contentOf(store, revision);
  return {
    title: 'Policies',
    content: html`<p class="actions">
        <a class="button" href="${link`/policies/candidate`}">Try other policies</a>
        <a class="button quiet" href="${link`/policies/diff`}">Compare revisions</a>
        <a class="button quiet" href="${link`/policies/rules`}">All rules</a>
      </p>
      ${
        content === undefined
          ? nothing('No policies are in force, so every callback is refused. Push some.')
          : html`${revisionCard(revision, { inForce: revision, history, content })}
            ${contentCards(content, request, link`/policies`)}`
      }
      ${card(
        'Pushes',
        historyTable(history.slice(0, PUSHES_BESIDE + 1), revision, PUSHES_BESIDE),
        html`<p class="actions"><a href="${link`/policies/history`}">All pushes</a></p>`,
      )}`,
  };
}

async function showRevision(store: PoliciesStore, request: PageRequest): Promise<View> {
  const revision = await knownRevision(store, request.parameters['revision'] ?? '');
  const [{ revision: inForce }, history, content] = await Promise.all([
    store.control(),
    store.history(HISTORY_MAX),
    contentOf(store, revision),
  ]);
  return {
    title: `Revision ${shortRevision(revision)}`,
    content: html`${revisionCard(revision, { inForce, history, content })}
    ${contentCards(content, request, link`/policies/revisions/${revision}`)}
    ${
      revision !== inForce &&
      card(
        'To put it in force again',
        html`<pre>countersign policy rollback ${shortRevision(revision)} --message "…"</pre>`,
      )
    }`,
  };
}

interface RevisionFacts {
  readonly inForce: string;
  readonly history: readonly HistoryEntry[];
  readonly content: Content;
}

function revisionCard(revision: string, { inForce, history, content }: RevisionFacts): Html {
  const at = history.findIndex((entry) => entry.revision === revision);
  const pushed = history[at];
  const before = at === -1 ? undefined : history[at + 1];
  const { policies, lists, files = {}, assets } = content;
  const ruleCount = policies.reduce(
    (sum, { rules: each }) => sum + (Array.isArray(each) ? each.length : 0),
    0,
  );
  const others = Object.keys(lists).length + Object.keys(files).length + (assets === undefined ? 0 : 1);
  const isInForce = revision === inForce;
  const other = isInForce ? before?.revision : inForce;
  return card(
    html`Revision ${shortRevision(revision)}
    ${isInForce ? IN_FORCE : html`<span class="pill">not in force</span>`}`,
    facts([
      ['SHA-256', html`<span class="mono">${revision}</span>`],
      [
        'Content',
        `${counted(policies.length, 'policy', 'policies')}, ${counted(ruleCount, 'rule')}, ${counted(others, 'other file')}`,
      ],
      ['Pushed', pushed === undefined ? '' : html`${instant(pushed.atMs)} by ${pushed.by}`],
      ['Message', pushed?.message ?? ''],
    ]),
    other !== undefined &&
      other !== '' &&
      html`<p class="actions">
        <a href="${isInForce ? diffPath(other, revision) : diffPath(revision, other)}"
          >${isInForce ? 'What it changed' : 'Compare with what is in force'}</a
        >
      </p>`,
  );
}

const IN_FORCE = html`<span class="pill yes">✓ in force</span>`;

const diffPath = (from: string, to: string): string =>
  withQuery(link`/policies/diff`, { from: shortRevision(from), to: shortRevision(to) });

/** The policies, a card each, and the files beside them. */
function contentCards(content: Content, { query }: PageRequest, path: string): Html {
  const { policies, lists, files = {}, assets } = content;
  const { page, pages } = pageOf(query, policies.length, POLICIES_OF_PAGE);
  const shown = policies.slice((page - 1) * POLICIES_OF_PAGE, page * POLICIES_OF_PAGE);
  return html`${shown.map((policy) => yamlCard(`Policy ${nameOf(policy)}`, policyText(policy)))}
  ${pager(path, page, pages)} ${assets !== undefined && yamlCard('assets.yaml', yamlText(assets))}
  ${Object.entries(lists).map(([file, values]) => listCard(file, values))}
  ${Object.entries(files).map(([file, text]) => fileCard(file, text))}`;
}

function nameOf({ policy }: Content['policies'][number]): string {
  return typeof policy === 'string' ? policy : '';
}

const yamlCard = (title: string, text: string): Html =>
  card(title, highlighted(text.slice(0, CHARACTERS_SHOWN), ruleLink), cut(text));

const cut = (text: string): Html | false =>
  text.length > CHARACTERS_SHOWN &&
  html`<p class="hint">
    The first ${CHARACTERS_SHOWN} of ${text.length} characters. <code>countersign policy show --json</code>
    prints all.
  </p>`;

const PARENTS_OF_RULES: ReadonlySet<string> = new Set(['rules', 'any', 'all']);

/** The page of a rule, for a key that is one. */
function ruleLink({ text, within }: Token): string | undefined {
  const isRule = PARENTS_OF_RULES.has(within.at(-1) ?? '') && ruleNamed(text) !== undefined;
  return isRule ? link`/policies/rules/${text}` : undefined;
}

function listCard(file: string, values: readonly string[]): Html {
  const more = values.length - VALUES_SHOWN;
  return card(
    html`List ${file} <span class="pill">${counted(values.length, 'value')}</span>`,
    html`<pre>${lines(values.slice(0, VALUES_SHOWN).join('\n'))}</pre>`,
    more > 0 && html`<p class="hint">And ${more} more.</p>`,
  );
}

const fileCard = (file: string, text: string): Html =>
  card(`File ${file}`, html`<pre>${lines(text.slice(0, CHARACTERS_SHOWN))}</pre>`, cut(text));

// ---- history ----

async function showHistory(store: PoliciesStore, { query }: PageRequest): Promise<View> {
  const [{ revision }, history] = await Promise.all([store.control(), store.history(HISTORY_MAX)]);
  const { page, pages } = pageOf(query, history.length, PUSHES_OF_PAGE);
  const from = (page - 1) * PUSHES_OF_PAGE;
  return {
    title: 'Pushes of policies',
    content: html`${historyTable(history.slice(from, from + PUSHES_OF_PAGE + 1), revision, PUSHES_OF_PAGE)}
    ${pager(link`/policies/history`, page, pages)}
    ${
      history.length === HISTORY_MAX &&
      html`<p class="hint">Only the last ${HISTORY_MAX} pushes are listed.</p>`
    }`,
  };
}

/** The first pushes of a list, each with a link to what it changed, for which the push before is needed. */
function historyTable(history: readonly HistoryEntry[], inForce: string, shown: number): Html {
  if (history.length === 0) return nothing('No policies were pushed yet.');
  const current = history.find(({ revision }) => revision === inForce);
  return table(
    'Pushes, newest first',
    ['Push', 'Revision', 'At (UTC)', 'By', 'Message', 'Difference'],
    history.slice(0, shown).map((entry, at) => {
      const { sequence, revision, atMs, by, message } = entry;
      const before = history[at + 1];
      return [
        sequence,
        html`<a class="mono" href="${link`/policies/revisions/${revision}`}">${shortRevision(revision)}</a
          >${entry === current && html` ${IN_FORCE}`}`,
        instant(atMs),
        by,
        message,
        before === undefined
          ? ''
          : html`<a href="${diffPath(before.revision, revision)}" aria-label="Changes of push ${sequence}"
              >changes</a
            >`,
      ];
    }),
  );
}

/** The number of the page that a query asks for, from 1, and how many there are. */
function pageOf(
  query: URLSearchParams,
  items: number,
  itemsOfPage: number,
): { readonly page: number; readonly pages: number } {
  const pages = Math.max(1, Math.ceil(items / itemsOfPage));
  return { page: Math.min(Math.max(pageIn(query), 1), pages), pages };
}

// ---- what differs ----

/** What differs between two documents. */
export const textOfDiff = async (checks: CandidateChecks, documents: DiffRequest): Promise<string> =>
  (documents.before ?? '').length + documents.after.length > DIFF_HERE_CHARACTERS
    ? checks.diff(documents)
    : diffText(diffReleases(documents.before, documents.after));

export const diffShown = (text: string): Html =>
  html`${diffLines(text.slice(0, DIFF_SHOWN_CHARACTERS))}${
    text.length > DIFF_SHOWN_CHARACTERS &&
    html`<p class="hint">
      The first ${DIFF_SHOWN_CHARACTERS} of ${text.length} characters.
      <code>countersign policy diff</code> prints all.
    </p>`
  }`;

async function showDiff({ store, checks }: PoliciesParts, { query, person }: PageRequest): Promise<View> {
  const history = await store.history(PUSHES_OF_PAGE);
  const from = (query.get('from') ?? history[1]?.revision ?? '').trim();
  const to = (query.get('to') ?? history[0]?.revision ?? '').trim();
  const title = 'Compare revisions';
  if (from === '' || to === '') {
    return { title, content: html`${diffForm(from, to, history)}${nothing('Give two revisions.')}` };
  }
  const [before, after] = await Promise.all([knownRevision(store, from), knownRevision(store, to)]);
  const [old = '', now = ''] = await Promise.all([store.document(before), store.document(after)]);
  const text = await textOfDiff(checks, { before: old, after: now, by: authorOf(person) });
  return {
    title,
    content: html`${diffForm(shortRevision(before), shortRevision(after), history)}
    ${card(`${shortRevision(before)} → ${shortRevision(after)}`, diffShown(text))}`,
  };
}

function diffForm(from: string, to: string, history: readonly HistoryEntry[]): Html {
  const options = history.map(
    ({ revision, by, message }) =>
      html`<option value="${shortRevision(revision)}">${by}: ${message.slice(0, 100)}</option>`,
  );
  return html`<form class="card" method="get" action="${link`/policies/diff`}">
    <div class="fields">
      <label>From <input name="from" value="${from}" list="revisions" autocomplete="off" /></label>
      <label>To <input name="to" value="${to}" list="revisions" autocomplete="off" /></label>
      <button>Compare</button>
    </div>
    <datalist id="revisions">${options}</datalist>
  </form>`;
}

/** Throws NOT_FOUND in place of the command's REVISION_UNKNOWN. */
async function knownRevision(store: PoliciesStore, prefix: string): Promise<string> {
  try {
    const revision = await findRevision(store, prefix);
    if ((await store.document(revision)) !== undefined) return revision;
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && thrown.code === 'REVISION_UNKNOWN')) throw thrown;
    throw new CountersignError('NOT_FOUND', thrown.message);
  }
  throw new CountersignError('NOT_FOUND', `the store has no revision ${shortRevision(prefix)}`);
}

// ---- rules ----

function rulesView(): View {
  const rows = rules.map(({ name, callbacks, summary }) => [
    html`<a class="mono" href="${link`/policies/rules/${name}`}">${name}</a>`,
    callbacks.join(', '),
    proseOf(summary),
  ]);
  return { title: 'Rules', content: table('Rules of policies', ['Rule', 'For', 'What passes'], rows) };
}

const RULE_PAGES = new URL('../../../docs/rules/', import.meta.url);

async function ruleView(name: string): Promise<View> {
  const rule = ruleNamed(name);
  if (rule === undefined) {
    throw new CountersignError('NOT_FOUND', 'there is no such rule. The page of rules lists all');
  }
  const page = readRulePage(await readFile(new URL(`${rule.name}.md`, RULE_PAGES), 'utf8'));
  const parameters = describedMembers(rule.parameters.shape);
  return {
    title: rule.name,
    content: html`<p>${proseOf(rule.summary)}</p>
      <p class="muted">For ${rule.callbacks.join(', ')}. <a href="${link`/policies/rules`}">All rules</a></p>
      ${card(
        'Parameters',
        parameters.length === 0
          ? html`<p>No parameters: write <code>{}</code>.</p>`
          : facts(
              parameters.map(({ name: parameter, optional, description }) => [
                `${parameter}${optional ? ' (optional)' : ''}`,
                proseOf(description),
              ]),
            ),
      )}
      ${card(
        'Notes',
        html`<ul>
          ${page.notes.map((note) => html`<li>${proseOf(note)}</li>`)}
        </ul>`,
      )}
      ${yamlCard('Example', page.example)} ${filesOfExample(page)}
      ${yamlCard('Tests of the example', page.cases)}`,
  };
}

const filesOfExample = ({ files }: RulePage): readonly Html[] =>
  Object.entries(files).map(([name, text]) =>
    /\.ya?ml$/.test(name) ? yamlCard(`The file ${name}`, text) : fileCard(name, text),
  );
