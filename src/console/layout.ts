import { type Html, type Renderable, html, link, markupOf, withQuery } from './html.ts';
import type { Person, View } from './page.ts';

/** What surrounds the content of each page. */
export interface Frame {
  readonly view: View;
  /** The path of the page, to mark its entry in the navigation. */
  readonly path: string;
  readonly navigation: readonly NavigationEntry[];
  /** Undefined before somebody has signed in: there is no navigation then. */
  readonly person: Person | undefined;
  /** Why nothing is approved now, a sentence for each freeze. */
  readonly frozen: readonly string[];
  /** What the last act did. */
  readonly notice: string | undefined;
  readonly assets: { readonly stylesheet: string; readonly script: string };
  /** Whether the person signed in here, and so can sign out here. */
  readonly canSignOut: boolean;
}

export interface NavigationEntry {
  readonly path: string;
  readonly label: string;
  /** How much waits there; the empty text for nothing. */
  readonly waits: string;
}

/** A whole page. */
export function layout(frame: Frame): Html {
  const { view, person, assets } = frame;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        ${refresh(view)}
        <title>${view.title} · Countersign</title>
        <link rel="stylesheet" href="${assets.stylesheet}" />
        <link rel="icon" href="${link`/assets/icon.svg`}" type="image/svg+xml" />
        <script type="module" src="${assets.script}"></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header class="bar">
          <a class="brand" href="${link`/`}">${mark()}<span>Countersign</span></a>
          ${person !== undefined && navigation(frame)}
          ${person !== undefined && account(person, frame.canSignOut)}
        </header>
        ${frame.frozen.length > 0 && frozenBanner(frame.frozen)}
        <main id="content" tabindex="-1">
          ${frame.notice !== undefined && html`<p class="notice" role="status">${frame.notice}</p>`}
          ${view.up !== undefined && html`<p class="up"><a href="${view.up.to}">← ${view.up.label}</a></p>`}
          <h1>${view.title}</h1>
          ${view.content}
        </main>
      </body>
    </html> `;
}

function refresh({ refreshS, refreshTo }: View): Html | false {
  if (refreshS === undefined) return false;
  const to = refreshTo === undefined ? '' : `; url=${refreshTo}`;
  return html`<meta http-equiv="refresh" content="${refreshS}${to}" />`;
}

/** The sign of the product: a tick below a line, as a second signature. */
const mark = (): Html =>
  html`<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
    <rect width="24" height="24" rx="6"></rect>
    <path d="M6 12.5l4 4 8-9"></path>
    <path d="M6 20h12"></path>
  </svg>`;

function navigation({ navigation: entries, path }: Frame): Html {
  const isCurrent = (entry: string): boolean =>
    entry === '/' ? path === '/' || path === '/now' : path === entry || path.startsWith(`${entry}/`);
  return html`<nav aria-label="Pages">
    <ul>
      ${entries.map(
        (entry) =>
          html`<li>
            <a href="/console${entry.path}" ${isCurrent(entry.path) && html` aria-current="page"`}
              >${entry.label}${
                entry.waits !== '' &&
                html` <span class="pill warn">${entry.waits}<span class="unseen"> waiting</span></span>`
              }</a
            >
          </li>`,
      )}
    </ul>
  </nav>`;
}

function account({ name, roles }: Person, canSignOut: boolean): Html {
  return html`<div class="account">
    <span class="person" title="${roles.join(', ')}">${name}</span>${
      canSignOut &&
      html`<form method="post" action="${link`/sign-out`}"><button class="quiet">Sign out</button></form>`
    }
  </div>`;
}

/** Reasons are up to 1,000 characters long, and the banner is on each page. */
const BANNER_CHARACTERS = 160;

function frozenBanner(frozen: readonly string[]): Html {
  const all = frozen.join(' ');
  const isCut = all.length > BANNER_CHARACTERS;
  const shown = isCut ? `${all.slice(0, BANNER_CHARACTERS).trimEnd()}…` : all;
  return html`<div class="frozen" role="alert">
    <strong>Approvals are frozen.</strong> <span>${shown}</span>
    <a href="${link`/now#freeze`}"
      >${isCut ? 'Read the rest, and see who can lift it' : 'See who can lift it'}</a
    >
  </div>`;
}

// ---- parts that several pages use ----

/** A part of a page with a heading. */
export const card = (heading: Renderable, ...content: readonly Renderable[]): Html =>
  html`<section class="card">
    <h2>${heading}</h2>
    ${content}
  </section>`;

/** The buttons of a page that asks whether to do something. `up` is where a no leads. */
export const yesOrNo = (yes: string, no: string, up: string): Html =>
  html`<div class="actions">
    <button class="danger">Yes, ${yes}</button>
    <a class="button quiet" href="${up}">No, ${no}</a>
  </div>`;

/** A link to an entry of a journal. */
export const entryLink = (source: string, id: string, content: Renderable = `${source}/${id}`): Html =>
  html`<a href="${link`/decisions/${source}/${id}`}">${content}</a>`;

/** Links of which one is chosen. */
export const choices = (
  label: string,
  of: readonly { readonly to: string; readonly text: string; readonly isChosen: boolean }[],
): Html =>
  html`<nav aria-label="${label}">
    <ul class="choices">
      ${of.map(
        ({ to, text, isChosen }) =>
          html`<li><a href="${to}" ${isChosen && html` aria-current="true"`}>${text}</a></li>`,
      )}
    </ul>
  </nav>`;

/** The number of the page of a list that a query asks for, from 1. */
export function pageIn(query: URLSearchParams): number {
  const number = query.get('page') ?? '';
  return /^\d{1,6}$/.test(number) ? Number(number) : 1;
}

/** Links to the pages of a list before and after one; nothing if it has only one. */
export function pager(path: string, page: number, pages: number): Html | false {
  if (pages === 1) return false;
  const to = (label: string, number: number): Html | false =>
    number >= 1 &&
    number <= pages &&
    html`<a class="button quiet" href="${withQuery(path, { page: String(number) })}">${label}</a>`;
  return html`<nav class="actions" aria-label="Pages of this list">
    ${to('Previous', page - 1)}<span class="muted">Page ${page} of ${pages}</span>${to('Next', page + 1)}
  </nav>`;
}

/** SUCCESS or FAILURE, told by a sign and a word, not by its colour alone. */
export function verdictPill(verdict: string): Html {
  if (verdict === '') return html`<span class="pill">–</span>`;
  const approved = verdict === 'SUCCESS';
  return html`<span class="pill ${approved ? 'yes' : 'no'}">${approved ? '✓' : '✕'} ${verdict}</span>`;
}

/** An instant in UTC, to the second, with the exact one for machines. */
export function instant(atMs: number): Html {
  const iso = new Date(atMs).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)}</time>`;
}

/** The heading of a column. Numbers are on the right. */
export type Heading = string | { readonly text: string; readonly isNumber: true };

export const numbers = (text: string): Heading => ({ text, isNumber: true });

/**
 * A table. On a narrow screen, its rows are stacked, each cell beside its heading; the roles keep it a table
 * for screen readers. `caption` says what it lists.
 */
export function table(
  caption: string,
  headings: readonly Heading[],
  rows: readonly (readonly (Html | string | number)[])[],
): Html {
  const columns = headings.map((heading) =>
    typeof heading === 'string'
      ? { text: heading, tone: false as const }
      : { text: heading.text, tone: html` class="number"` },
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table role="table">
      <caption class="unseen">
        ${caption}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${columns.map(({ text, tone }) => html`<th scope="col" role="columnheader" ${tone}>${text}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr role="row">
              ${row.map((cell, at) => {
                const { text = '', tone = false } = columns[at] ?? {};
                const content = isEmpty(cell) ? '' : html`<div>${cell}</div>`;
                const whole = tone === false && hasShortWords(cell) && html`class="words"`;
                return html`<td role="cell" data-label="${text}" ${tone}${whole}>${content}</td>`;
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Words of up to 26 characters are never broken. */
const LONG_WORD = /[^\s-]{27}/;

/** Whether the words of a cell may keep their length, because none of them makes a table too wide. */
function hasShortWords(value: Html | string | number): boolean {
  const text = typeof value === 'object' ? markupOf(value).replaceAll(/<[^>]*>/g, ' ') : String(value);
  return !LONG_WORD.test(text);
}

/** What is shown of it is nothing. */
const isEmpty = (value: Html | string | number): boolean =>
  value === '' || (typeof value === 'object' && markupOf(value).trim() === '');

/** Names with their values, one under the other. Names without a value are left out. */
export function facts(rows: readonly (readonly [name: string, value: Html | string | number])[]): Html {
  const known = rows.filter(([, value]) => !isEmpty(value));
  if (known.length === 0) return html``;
  return html`<dl class="facts">
    ${known.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

/** What a page says when there is nothing to list, and what to do. */
export const nothing = (sentence: string): Html => html`<p class="nothing">${sentence}</p>`;

/** A fault that the person can mend. */
export const fault = (sentence: string): Html =>
  html`<p class="fault" role="alert">${proseOf(capitalised(sentence))}</p>`;

/** A sentence that begins with a capital letter, unless it begins with a name such as `request_id`. */
const capitalised = (sentence: string): string =>
  /^[a-z][a-z'’-]*(?=[\s,.:;]|$)/.test(sentence)
    ? `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}`
    : sentence;

/** Text with what is between two backticks as code. */
export const proseOf = (text: string): Html =>
  html`${text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;
