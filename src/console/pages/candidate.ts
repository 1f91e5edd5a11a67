import { perform } from '../../act/act.ts';
import { pushPolicies } from '../../act/policies.ts';
import { CountersignError, usageError } from '../../errors.ts';
import { shortRevision } from '../../release/push.ts';
import type { PutInForceParts } from '../../release/put-in-force.ts';
import { filesOfRevision, keptText } from '../../release/sources.ts';
import { freezeText } from '../../store/freezes.ts';
import { sha256Hex } from '../../values/canonical.ts';
import { counted } from '../../values/text.ts';
import {
  type Backtest,
  type CandidateChecks,
  type CandidateFile,
  type Checked,
  isTestFile,
} from '../candidate-checks.ts';
import { diffLines } from '../highlight.ts';
import { hiddenFields } from '../fields.ts';
import { type Html, html, lines, link, verbatim } from '../html.ts';
import { card, entryLink, facts, fault, instant, nothing } from '../layout.ts';
import {
  type FormRequest,
  type Pages,
  type Person,
  type Redirect,
  type View,
  authorOf,
  mayUse,
} from '../page.ts';

export interface CandidateParts extends PutInForceParts {
  readonly checks: CandidateChecks;
  /** Whether policies may be pushed here. */
  readonly mayPush: boolean;
}

const FILES_MAX = 50;
const NAME_MAX = 200;
const MESSAGE_MAX = 1000;
const DAYS = { least: 1, most: 3650, usual: 7 } as const;
/** A form holds a megabyte after it is encoded, which makes up to three characters of one. */
const PREFILL_CHARACTERS = 250_000;
const SHOWN_CHARACTERS = 100_000;
/** What a person types to confirm a push. */
const CONFIRMATION = 'push';
const REFRESH_S = 2;

/** Files that may become the policies: checked, compared, tried on recorded callbacks, and pushed. */
export function candidatePages(parts: CandidateParts): Pages {
  const { checks } = parts;
  return {
    pages: [
      {
        path: '/policies/candidate',
        async show({ person, query }) {
          const isEmpty = query.get('from') === 'empty';
          const { files, hint } = isEmpty ? { files: [], hint: '' } : await filesInForce(parts.store);
          return candidateView(parts, { person, files, hint });
        },
      },
      { path: '/policies/backtest', show: async ({ person }) => backtestView(checks.backtest(), person) },
    ],
    forms: [
      { path: '/policies/candidate', role: 'read', submit: (request) => checkFiles(parts, request) },
      { path: '/policies/backtest', role: 'operate', submit: (request) => startBacktest(parts, request) },
      {
        path: '/policies/backtest/cancel',
        role: 'operate',
        submit: async ({ person }) => cancelBacktest(checks, person),
      },
      { path: '/policies/push', role: 'operate', submit: (request) => push(parts, request) },
    ],
  };
}

/** The policies in force as files, with the comments and tests that the store has of them. */
async function filesInForce(
  store: CandidateParts['store'],
): Promise<{ readonly files: readonly CandidateFile[]; readonly hint: string }> {
  const { revision } = await store.control();
  if (revision === '') return { files: [], hint: 'No policies are in force.' };
  const found = await filesOfRevision(store, revision);
  // The files that policies refer to are those in force, unless a person gives others.
  const files = found.files.filter(({ name }) => /\.ya?ml$/i.test(name));
  if (areTooMany(files)) {
    return {
      files: [],
      hint: 'The policies in force are too large to be edited here. Use the command line.',
    };
  }
  const missing = found.asWritten
    ? ''
    : ' The store has no comments and no tests of them: choose your own files if you have them.';
  return {
    files,
    hint: `The fields have the policies of ${shortRevision(revision)}, which is in force.${missing}`,
  };
}

const areTooMany = (files: readonly CandidateFile[]): boolean =>
  files.length > FILES_MAX || files.reduce((sum, { text }) => sum + text.length, 0) > PREFILL_CHARACTERS;

// ---- what the form says ----

/**
 * The files of the form, in order. Blocks without a name and a text are left out. Throws USAGE for more files
 * than a page can show.
 */
function filesOf(form: URLSearchParams): readonly CandidateFile[] {
  const [names, texts] = [form.getAll('name'), form.getAll('text')];
  if (names.length !== texts.length) {
    throw usageError('The form is incomplete. Open the page of candidates again');
  }
  // Browsers send line breaks as CR LF.
  const files = names
    .map((name, at) => ({ name: name.trim(), text: (texts[at] ?? '').replaceAll('\r\n', '\n') }))
    .filter(({ name, text }) => name !== '' || text.trim() !== '');
  if (files.length <= FILES_MAX) return files;
  throw usageError(`There are ${files.length} files. Give at most ${FILES_MAX}, or use the command line`);
}

/** Why the files can't be checked; undefined if they can. */
function faultOfFiles(files: readonly CandidateFile[]): string | undefined {
  if (files.length === 0) return 'There is no file. Paste or choose one.';
  const names = files.map(({ name }) => name);
  const unnamed = names.indexOf('');
  if (unnamed !== -1) return `File ${unnamed + 1} has no name. Give it one, such as payments.yaml.`;
  const long = names.find((name) => name.length > NAME_MAX);
  if (long !== undefined) return `${long.slice(0, 40)}… is too long. Give at most ${NAME_MAX} characters.`;
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? undefined : `Two files have the name ${twice}. Give one another name.`;
}

// ---- the page with the files ----

interface Shown {
  readonly person: Person;
  readonly files: readonly CandidateFile[];
  /** What the fields have at first. */
  readonly hint?: string;
  readonly fault?: string | undefined;
  readonly status?: View['status'];
  /** Whether another empty block is wanted. */
  readonly more?: boolean;
  readonly found?: {
    readonly checked: Checked;
    readonly expected: string;
    readonly frozen: readonly string[];
  };
  readonly typed?: { readonly message: string; readonly days: string };
}

function candidateView(parts: CandidateParts, shown: Shown): View {
  const { files, hint = '', found, status, typed } = shown;
  const blank = { name: '', text: '' };
  const blocks = [...files, ...(files.length === 0 || shown.more === true ? [blank] : [])];
  return {
    title: 'A candidate for the policies',
    ...(status !== undefined && { status }),
    content: html`${shown.fault !== undefined && fault(shown.fault)}
      <form class="candidate" method="post" action="${link`/policies/candidate`}">
        ${found !== undefined && foundCards(found)}
        <section class="card">
          <h2>Files</h2>
          ${hint !== '' && html`<p class="hint">${hint}</p>`} ${blocks.map(fileFields)}
          <div class="actions">
            <button name="do" value="check">Check</button>
            <button class="quiet" name="do" value="add">Add a file</button>
          </div>
          <p class="hint">
            A file has one policy, or several with <code>---</code> between them. <code>assets.yaml</code> is
            the asset table. The tests are in files whose names end in <code>.test.yaml</code>. A list or
            other file that the policies name and that is missing here is that of the revision in force.
          </p>
        </section>
        ${found?.checked.valid === true && mayUse(shown.person, 'operate') && backtestFields(typed?.days)}
        ${found?.checked.valid === true && pushCard(parts, shown, found.checked, found.expected)}
      </form>`,
  };
}

function fileFields({ name, text }: CandidateFile, at: number): Html {
  const number = at + 1;
  return html`<fieldset>
    <legend>File ${number}</legend>
    <div class="fields">
      <label
        >Name
        <input
          id="name-${number}"
          name="name"
          value="${verbatim(name)}"
          autocomplete="off"
          spellcheck="false"
      /></label>
      <label hidden
        >Choose a file
        <input
          type="file"
          accept=".yaml,.yml,.txt,.json,.csv"
          data-file-into="text-${number}"
          data-file-name-into="name-${number}"
      /></label>
    </div>
    <label
      >Content
      <textarea id="text-${number}" name="text" rows="12" spellcheck="false" autocapitalize="none">
${verbatim(text)}</textarea>
    </label>
  </fieldset>`;
}

function foundCards({ checked, expected, frozen }: NonNullable<Shown['found']>): Html {
  if (!checked.valid) {
    return card(html`Validation <span class="pill no">✕ faults</span>`, shortened(checked.faults));
  }
  const { revision, size, warnings, lists, tests, diff } = checked;
  return html`${card(
    html`Validation <span class="pill yes">✓ no faults</span>`,
    facts([
      ['Revision', html`<span class="mono">${revision}</span>`],
      ['Content', size],
      ['In force', html`<span class="mono">${expected === '' ? 'none' : shortRevision(expected)}</span>`],
    ]),
    lists.map(fault),
    warnings.map((warning) => html`<p class="warn">${warning}</p>`),
    frozen.map((sentence) => html`<p class="warn">Approvals are frozen: ${sentence}</p>`),
    hiddenFields({ revision, expected }),
  )}
  ${testsCard(tests)}
  ${card(
    html`What it changes
    ${diff.loosens.length > 0 && html`<span class="pill warn">may approve what was refused</span>`}`,
    diffLines(cutText(diff.text)),
  )}`;
}

function testsCard({ count, failed, text }: Extract<Checked, { valid: true }>['tests']): Html {
  const state = count === 0 ? 'none' : failed === 0 ? 'passed' : 'failed';
  const pills = {
    none: html`<span class="pill warn">none</span>`,
    passed: html`<span class="pill yes">✓ ${counted(count, 'test')} passed</span>`,
    failed: html`<span class="pill no">✕ ${failed} of ${counted(count, 'test')} failed</span>`,
  };
  return card(html`Tests ${pills[state]}`, shortened(text));
}

/** A request for a revision, with the files that were pushed with it. */
interface Requested {
  readonly revision: string;
  readonly files: readonly CandidateFile[] | undefined;
  readonly person: Person;
}

/** The tests of a revision that people are to sign, run, and the form of its backtest. */
export async function requestedCards(
  checks: CandidateChecks,
  { revision, files, person }: Requested,
): Promise<Html> {
  const none = (because: string): Html => card('Tests', nothing(because));
  if (files === undefined) return none('It was pushed without the files of its tests.');
  if (areTooMany(files)) return none('Its files are too large to be tested here. Use the command line.');
  try {
    const checked = await checks.check({ files, inForce: '', document: '', by: authorOf(person) });
    // The store may have other files than were pushed.
    if (!checked.valid || checked.revision !== revision) {
      return none('Its files make another revision, so their tests say nothing about this one.');
    }
    return html`${testsCard(checked.tests)}
    ${
      mayUse(person, 'operate') &&
      html`<form method="post" action="${link`/policies/backtest`}">
        ${sentFiles(files)}${backtestFields()}
      </form>`
    }`;
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.code === 'USAGE') return none(`${thrown.message}.`);
    throw thrown;
  }
}

const sentFiles = (files: readonly CandidateFile[]): Html =>
  html`${files.map(
    ({ name, text }) =>
      html`<input type="hidden" name="name" value="${verbatim(name)}" /><textarea hidden name="text">
${verbatim(text)}</textarea>`,
  )}`;

const cutText = (text: string): string =>
  text.length > SHOWN_CHARACTERS
    ? `${text.slice(0, SHOWN_CHARACTERS)}\n… ${text.length - SHOWN_CHARACTERS} more characters`
    : text;
const shortened = (text: string): Html => html`<pre>${lines(cutText(text))}</pre>`;

const backtestFields = (days = String(DAYS.usual)): Html =>
  card(
    'Backtest',
    html`<p class="hint">
        Decides the recorded callbacks again under this candidate, and shows which verdicts would change. It
        runs in a process of its own, beside the service.
      </p>
      <div class="fields">
        <label
          >Days to report
          <input name="days" type="number" min="${DAYS.least}" max="${DAYS.most}" value="${days}"
        /></label>
        <button formaction="${link`/policies/backtest`}">Start the backtest</button>
      </div>`,
  );

function pushCard(
  { mayPush }: CandidateParts,
  { person, typed }: Shown,
  checked: Extract<Checked, { valid: true }>,
  expected: string,
): Html {
  const command = `countersign policy push DIRECTORY --expect ${expected.slice(0, 12) || 'none'} --message "…"`;
  if (checked.revision === expected) {
    return card('Push', nothing('This revision is in force already.'));
  }
  if (!mayPush || !mayUse(person, 'operate')) {
    const why = mayPush
      ? 'You need the role operate to push here.'
      : 'Pushing is not enabled here (console.push).';
    return card(
      'Push',
      html`<p>${why} Run this where the files are, and compare the revision that it prints:</p>
        <pre>${command}</pre>`,
    );
  }
  return card(
    'Push',
    html`<div class="fields">
        <label class="wide"
          >Message, for the history
          <input
            name="message"
            maxlength="${MESSAGE_MAX}"
            autocomplete="off"
            value="${verbatim(typed?.message ?? '')}"
        /></label>
        <label
          >Type “${CONFIRMATION}” to confirm
          <input name="confirmation" autocomplete="off" autocapitalize="none"
        /></label>
      </div>
      <div class="actions">
        <button class="danger" formaction="${link`/policies/push`}">
          Push ${shortRevision(checked.revision)}
        </button>
        <p class="hint">It is in force on all replicas at once, unless somebody pushes before you.</p>
      </div>`,
  );
}

// ---- forms ----

async function checkFiles(parts: CandidateParts, { form, person }: FormRequest): Promise<View> {
  const files = filesOf(form);
  if (form.get('do') === 'add') {
    return candidateView(parts, { person, files, more: files.length < FILES_MAX });
  }
  return checkedView(parts, { person, files });
}

/** The files with what was found about them. A fault of theirs is shown with status 422. */
async function checkedView(parts: CandidateParts, shown: Shown): Promise<View> {
  const because = faultOfFiles(shown.files);
  if (because !== undefined) return candidateView(parts, { ...shown, fault: because, status: 422 });
  const found = await check(parts, shown.files, shown.person);
  const { fault: given } = shown;
  const status = found.checked.valid && given === undefined ? undefined : (shown.status ?? 422);
  return candidateView(parts, { ...shown, found, status });
}

async function check(
  { store, checks }: CandidateParts,
  files: readonly CandidateFile[],
  person: Person,
): Promise<NonNullable<Shown['found']>> {
  const { revision: expected, frozen } = await store.control();
  const document = expected === '' ? '' : ((await store.document(expected)) ?? '');
  const checked = await checks.check({ files, inForce: expected, document, by: authorOf(person) });
  if (checked.valid && sha256Hex(checked.document) !== checked.revision) {
    throw new Error('the revision of a candidate is not the digest of its document');
  }
  return { checked, expected, frozen: frozen.map(freezeText) };
}

async function startBacktest(parts: CandidateParts, { form, person }: FormRequest): Promise<Redirect | View> {
  const files = filesOf(form);
  const days = (form.get('days') ?? String(DAYS.usual)).trim();
  const typed = { message: form.get('message') ?? '', days };
  const number = /^\d{1,4}$/.test(days) ? Number(days) : 0;
  if (number < DAYS.least || number > DAYS.most) {
    const because = `The number of days is not between ${DAYS.least} and ${DAYS.most}. Correct it.`;
    return checkedView(parts, { person, files, typed, fault: because });
  }
  const because = faultOfFiles(files);
  if (because !== undefined) return candidateView(parts, { person, files, fault: because, status: 422 });
  const found = await check(parts, files, person);
  const { checked } = found;
  if (!checked.valid) return candidateView(parts, { person, files, found, status: 422 });
  const { revision, document } = checked;
  parts.checks.startBacktest({ revision, document, files, days: number, by: authorOf(person) });
  return { to: link`/policies/backtest`, notice: `The backtest of ${shortRevision(revision)} has begun.` };
}

function cancelBacktest(checks: CandidateChecks, person: Person): Redirect {
  const did = checks.cancelBacktest(authorOf(person));
  return {
    to: link`/policies/backtest`,
    notice: did ? 'The backtest was cancelled.' : 'No backtest was running.',
  };
}

/** Pushes what was shown: the files must have the revision that was checked, against the same in force. */
async function push(
  parts: CandidateParts,
  { form, person, fourEyes }: FormRequest,
): Promise<Redirect | View> {
  if (!parts.mayPush) {
    throw usageError('Policies are not pushed here. Set console.push, or run countersign policy push');
  }
  const files = filesOf(form);
  const message = (form.get('message') ?? '').trim();
  const typed = { message, days: form.get('days') ?? String(DAYS.usual) };
  const refuse = (because: string, status: 409 | 422 = 422): Promise<View> =>
    checkedView(parts, { person, files, typed, fault: `Nothing was pushed. ${because}`, status });
  if (message === '') return refuse('The message is empty. Say why the policies change.');
  if (message.length > MESSAGE_MAX) return refuse(`The message is longer than ${MESSAGE_MAX} characters.`);
  if (form.get('confirmation')?.trim().toLowerCase() !== CONFIRMATION) {
    return refuse(`Type “${CONFIRMATION}” to confirm.`);
  }
  if (faultOfFiles(files) !== undefined) return refuse('');
  const { checked, expected, frozen } = await check(parts, files, person);
  const found = { checked, expected, frozen };
  const show = (because: string, status: 409 | 422): View =>
    candidateView(parts, { person, files, typed, found, fault: `Nothing was pushed. ${because}`, status });
  if (!checked.valid) return show('The files have faults.', 422);
  if (form.get('revision') !== checked.revision) {
    return show(
      'The files are not those that were checked. Look at what they change now, and push again.',
      409,
    );
  }
  const wanted = form.get('expected') ?? '';
  if (wanted !== expected) return show(overtaken(expected), 409);
  if (checked.revision === expected) return show('This revision is in force already.', 409);
  if (checked.tests.failed > 0) return show('Tests failed. Correct the policies or their tests.', 422);
  if (checked.lists.length > 0) {
    return show('Lists in the store have values that no callback can match. Correct them first.', 422);
  }
  try {
    const { revision, document } = checked;
    const given = { revision, document, files: keptText(files), expected, message };
    const pushed = await perform(pushPolicies, parts, given, { by: authorOf(person), fourEyes });
    const tested = files.some(isTestFile) ? '' : ' It has no tests.';
    return { to: link`/policies`, notice: `${pushPolicies.text(pushed)}${tested}` };
  } catch (thrown) {
    if (!(thrown instanceof CountersignError && thrown.code === 'POLICY_CONFLICT')) throw thrown;
    return refuse(overtaken(String(thrown.data['inForce'])), 409);
  }
}

const overtaken = (inForce: string): string =>
  `${shortRevision(inForce)} is in force since the check. Look at what differs now, and push again.`;

// ---- the backtest ----

function backtestView(backtest: Backtest | undefined, person: Person): View {
  const title = 'Backtest';
  if (backtest === undefined) {
    return {
      title,
      content: html`${nothing('No backtest was run since this service started.')}
        <p class="actions"><a class="button" href="${link`/policies/candidate`}">Try other policies</a></p>`,
    };
  }
  const { revision, files, days, by, startedAtMs, callbacks, part, outcome } = backtest;
  const isRunning = outcome.state === 'running';
  return {
    title,
    ...(isRunning && { refreshS: REFRESH_S }),
    content: html`<section class="card">
        <h2>Candidate ${shortRevision(revision)} ${OUTCOMES[outcome.state]}</h2>
        ${facts([
          ['Period', `the last ${counted(days, 'day')} before the start`],
          ['Started', html`${instant(startedAtMs)} by ${by}`],
          ...(isRunning
            ? [['Read', `${counted(callbacks, 'callback')}, ${Math.floor(part * 100)}%`] as const]
            : []),
        ])}
        ${isRunning && html`<progress max="100" value="${Math.floor(part * 100)}">${Math.floor(part * 100)}%</progress>`}
        ${
          isRunning &&
          mayUse(person, 'operate') &&
          html`<form class="actions" method="post" action="${link`/policies/backtest/cancel`}">
            <button class="quiet">Cancel it</button>
          </form>`
        }
      </section>
      ${outcomeCard(outcome)}
      ${
        !isRunning &&
        html`<form class="actions" method="post" action="${link`/policies/candidate`}">
          ${sentFiles(files)}
          <button>Go on with this candidate</button>
        </form>`
      }`,
  };
}

const OUTCOMES: Readonly<Record<Backtest['outcome']['state'], Html>> = {
  running: html`<span class="pill">running</span>`,
  done: html`<span class="pill yes">✓ done</span>`,
  failed: html`<span class="pill no">✕ failed</span>`,
  cancelled: html`<span class="pill warn">cancelled</span>`,
};

function outcomeCard(outcome: Backtest['outcome']): Html | false {
  if (outcome.state === 'running') return false;
  if (outcome.state === 'failed') return fault(`${outcome.because}.`);
  if (outcome.state === 'cancelled') return nothing(`${outcome.by} cancelled it.`);
  return card('Result', html`<pre>${cutText(outcome.text).split('\n').map(resultLine)}</pre>`);
}

/** The time, source and id of a callback that a backtest lists. */
const LISTED = /^(\d{4}-\S+Z {2})([^\s/]+)\/(\S+)( .*)$/;

/** A line of the result, with a link to the decision that it names. */
function resultLine(line: string, at: number): Html {
  const [, time = '', source = '', id = '', rest = ''] = LISTED.exec(line) ?? [];
  const shown = id === '' ? lines(line) : html`${time}${entryLink(source, id)}${lines(rest)}`;
  return html`${at > 0 && lines('\n')}${shown}`;
}
