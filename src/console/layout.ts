import { type Html, html, link } from './html.ts';
import type { Person, View } from './page.ts';

/** What surrounds the content of each page. */
export interface Frame {
  readonly view: View;
  /** The path of the page, to mark its entry in the navigation. */
  readonly path: string;
  readonly navigation: readonly { readonly path: string; readonly label: string }[];
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
        ${view.refreshS !== undefined && html`<meta http-equiv="refresh" content="${view.refreshS}" />`}
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
          <h1>${view.title}</h1>
          ${view.content}
        </main>
      </body>
    </html> `;
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
    entry === '/' ? path === '/' : path === entry || path.startsWith(`${entry}/`);
  return html`<nav aria-label="Pages">
    <ul>
      ${entries.map(
        (entry) =>
          html`<li>
            <a href="/console${entry.path}" ${isCurrent(entry.path) && html` aria-current="page"`}
              >${entry.label}</a
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

const frozenBanner = (frozen: readonly string[]): Html =>
  html`<div class="frozen" role="alert">
    <strong>Approvals are frozen.</strong> ${frozen.map((sentence) => html`<span>${sentence}</span> `)}<a
      href="${link`/#freeze`}"
      >See who can lift it</a
    >
  </div>`;

// ---- parts that several pages use ----

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

/** A table that scrolls by itself on a narrow screen. `caption` says what it lists. */
export function table(
  caption: string,
  headings: readonly string[],
  rows: readonly (readonly (Html | string | number)[])[],
): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Names with their values, one under the other. */
export function facts(rows: readonly (readonly [name: string, value: Html | string | number])[]): Html {
  return html`<dl class="facts">
    ${rows.map(
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
export const fault = (sentence: string): Html => html`<p class="fault" role="alert">${sentence}</p>`;
