import { approveCallback, rejectRequest } from '../../act/approvals.ts';
import { approveAct, lookAtAct } from '../../act/four-eyes.ts';
import { signPolicies } from '../../act/policies.ts';
import type { PricesParts } from '../../act/prices.ts';
import { actOfRequest, valuesNotInClear } from '../../approvals/acts.ts';
import { askedIn, callbackContent } from '../../approvals/callbacks.ts';
import { announcedTransaction } from '../../approvals/orders.ts';
import { type ApprovalRequest, createRequests, stateOf } from '../../approvals/requests.ts';
import {
  type Signature,
  type Signer,
  type SigningScope,
  isAuthor,
  signersOf,
} from '../../approvals/signers.ts';
import type { Callback, Kind } from '../../callback/callback.ts';
import { CountersignError, usageError } from '../../errors.ts';
import type { OrderSource } from '../../orders/orders.ts';
import { compileRelease } from '../../policy/compile.ts';
import { membersOf } from '../../policy/freeze-rule.ts';
import { NO_PEOPLE, type People, SIGNERS_NEEDED } from '../../policy/people.ts';
import type { Release } from '../../policy/release.ts';
import { callTexts, movementTexts } from '../../policy/transaction-text.ts';
import { shortRevision } from '../../release/push.ts';
import {
  type PutInForceParts,
  comparedWith,
  requestedRevision,
  signersOfPush,
} from '../../release/put-in-force.ts';
import { filesInText } from '../../release/sources.ts';
import { type SignerRules, signersSoFar } from '../../release/trust.ts';
import { passkeyChallenge } from '../../signature/passkey-statement.ts';
import { formatSpan } from '../../store/clock-state.ts';
import type { Store } from '../../store/store.ts';
import { jsonOrText } from '../../values/text.ts';
import type { CandidateChecks } from '../candidate-checks.ts';
import { hiddenFields, reasonField, reasonIn, written } from '../fields.ts';
import { type Html, html, lines, link } from '../html.ts';
import { card, facts, fault, instant, nothing, pageIn, pager, proseOf, table } from '../layout.ts';
import { KIND_WORDS, memberWord } from '../member-words.ts';
import {
  type Form,
  type FormRequest,
  type PageRequest,
  type Pages,
  type Person,
  type View,
  authorOf,
  formOf,
  mayUse,
} from '../page.ts';
import { foundEntry } from '../search.ts';
import { requestedCards } from './candidate.ts';
import { aboutTable, termRows, transactionCard } from './decision.ts';
import { diffShown, textOfDiff } from './policies.ts';

export interface ApprovalsParts extends PutInForceParts, Pick<PricesParts, 'onPricesChanged'> {
  readonly store: Store;
  readonly sources: readonly OrderSource[];
  /** The policies in force, which say who people are. With signers, those that enough people have signed. */
  readonly policies: { readonly current: () => Release | undefined };
  /** Those who may sign policies and acts now. */
  readonly operators: () => Promise<People>;
  readonly checks: CandidateChecks;
  /** For which signatures count; undefined if the settings have no `deployment`. */
  readonly scope: SigningScope | undefined;
}

/** A request, with the source of its callback; the empty text for one that holds for all sources. */
interface Found {
  readonly source: string;
  readonly request: ApprovalRequest;
  readonly state: ReturnType<typeof stateOf>;
}

const ROWS = 50;
const ABOUT_MAX = 100;
const PUSHES_MAX = 100;
/** Of each source, so many of the newest requests are counted for the navigation. */
const COUNTED_MAX = 50;
/** How long a person may take to answer the browser's question. */
const SIGNING_MS = 300_000;

/** What waits for people: transfers to approve, policies to sign. */
export function approvalsPages(parts: ApprovalsParts): Pages {
  const one = (request: PageRequest): Promise<View> => {
    const { source = '', id = '' } = request.parameters;
    return showNamed(parts, { source, request: id }, request);
  };
  return {
    pages: [
      {
        path: '/approvals',
        navigation: 'Inbox',
        show: (request) => showAll(parts, request),
        async waiting() {
          const { length } = (await pendingOf(parts, COUNTED_MAX + 1)).found;
          return length > COUNTED_MAX ? `${COUNTED_MAX}+` : String(length || '');
        },
        isFirstOf: (person) => isApprover(parts, person),
      },
      { path: '/approvals/:id', show: one },
      { path: '/approvals/:source/:id', show: one },
    ],
    forms: formsOf(parts),
  };
}

function formsOf(parts: ApprovalsParts): readonly Form[] {
  const forms = {
    to: ({ form }: FormRequest) => pathOf(namedIn(form)),
    again: (request: FormRequest, because: string) =>
      showNamed(parts, namedIn(request.form), request, because),
  };
  return [
    formOf(approveCallback, {
      ...forms,
      path: '/approvals/approve',
      parts: () => ({ ...parts, people: peopleIn(parts), scope: scopeOf(parts) }),
      async read({ form }) {
        await find(parts, namedIn(form));
        return { ...namedIn(form), signature: signatureIn(form), message: written(form, 'message') };
      },
    }),
    formOf(signPolicies, {
      ...forms,
      path: '/approvals/sign',
      parts: () => ({ ...parts, signers: signersIn(parts) }),
      read: signedIn,
    }),
    formOf(approveAct, {
      ...forms,
      path: '/approvals/agree',
      parts: () => ({
        ...parts,
        people: parts.operators,
        release: parts.policies.current(),
        scope: scopeOf(parts),
      }),
      read: signedIn,
    }),
    formOf(rejectRequest, {
      ...forms,
      path: '/approvals/reject',
      parts: () => parts,
      alsoFor: (person) => isApprover(parts, person),
      async read({ form, person }) {
        const found = await find(parts, namedIn(form));
        if (!mayReject(parts, found, person))
          throw usageError('Only people with the role operate reject policies and acts. Ask one of them');
        return { ...namedIn(form), message: reasonIn(form, 'reason', 'it is rejected') };
      },
    }),
  ];
}

interface Named {
  readonly request: string;
  readonly source: string;
}

const namedIn = (form: URLSearchParams): Named => ({
  request: form.get('request') ?? '',
  source: form.get('source') ?? '',
});

const pathOf = ({ source, request }: Named): string =>
  source === '' ? link`/approvals/${request}` : link`/approvals/${source}/${request}`;

const signedIn = ({ form }: FormRequest) => ({
  request: namedIn(form).request,
  signature: signatureIn(form),
});

const peopleIn = ({ policies }: ApprovalsParts): People => policies.current()?.people ?? NO_PEOPLE;

const isApprover = (parts: ApprovalsParts, { name }: Person): boolean =>
  peopleIn(parts).people.get(name)?.roles.includes('approve') === true;

/** Who may sign a request may also end it. */
const mayReject = (parts: ApprovalsParts, { request: { kind } }: Found, person: Person): boolean =>
  mayUse(person, 'operate') || (kind === 'callback' && isApprover(parts, person));

function scopeOf({ scope }: ApprovalsParts): SigningScope {
  if (scope !== undefined) return scope;
  throw usageError('The settings have no `deployment`, so nobody can sign. Set it');
}

function signersIn({ signers }: ApprovalsParts): SignerRules {
  if (signers !== undefined) return signers;
  throw usageError('The settings have no signers, so nobody can sign policies. Set them');
}

/** What the browser has of the passkey. */
function signatureIn(form: URLSearchParams): Signature {
  const response = form.get('signature') ?? '';
  const answer = jsonOrText(response);
  const id = typeof answer === 'object' && answer !== null && 'id' in answer ? String(answer.id) : '';
  if (id === '') throw usageError('The form has no signature. Sign with a passkey, which needs JavaScript');
  return { method: 'passkey', id, response };
}

/** Throws NOT_FOUND. */
async function find({ store, clock, sources }: ApprovalsParts, { source, request }: Named): Promise<Found> {
  const isScope = source === '' || sources.some(({ name }) => name === source);
  const found = isScope ? await createRequests(store, clock, source).read(request) : undefined;
  if (found !== undefined) return { source, ...found, state: stateOf(found.request, clock()) };
  throw new CountersignError('NOT_FOUND', 'There is no such request. The inbox lists what waits');
}

/** What waits for people, oldest first, and why some of it can't be read. */
async function pendingOf({ store, clock, sources }: ApprovalsParts, newest?: number) {
  const found: Found[] = [];
  const faults: string[] = [];
  const scopes = ['', ...sources.map(({ name }) => name)].map(async (source) => {
    try {
      const pending = await createRequests(store, clock, source).pending(newest);
      found.push(...pending.requests.map((request) => ({ source, request, state: 'pending' as const })));
      faults.push(...pending.faults);
    } catch (thrown) {
      // A forged record must not hide what waits at other sources.
      faults.push(`${source === '' ? 'What holds for all sources' : source}: ${whyNot(thrown)}`);
    }
  });
  await Promise.all(scopes);
  return { found: found.sort((a, b) => a.request.createdAtMs - b.request.createdAtMs), faults };
}

/** Why nobody must sign a request. Throws what says nothing about the request. */
function whyNot(thrown: unknown): string {
  if (!(thrown instanceof CountersignError)) throw thrown;
  const { code, message } = thrown;
  if (code === 'BUSY' || (code.startsWith('STORE_') && code !== 'STORE_CORRUPT')) throw thrown;
  return message;
}

interface ShownAsked {
  readonly kind: Kind;
  readonly id: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly rows: Parameters<typeof facts>[0];
  /** For what it moves; undefined if an order does not say enough. */
  readonly callback: Callback | undefined;
}

/** A callback, read again from what arrived, or an announced order. Throws what forbids to approve it. */
function shownIn(parts: ApprovalsParts, { source, request }: Found): ShownAsked {
  const asked = askedIn(request, { source, deployment: scopeOf(parts).deployment });
  if ('callback' in asked) {
    const { callback } = asked;
    const { kind, id, texts, symbol, terms } = callback;
    return { kind, id, texts: { ...texts, symbol }, rows: termRows(terms), callback };
  }
  const { order } = asked;
  const { kind, id, members: texts } = order;
  const rows = Object.entries(texts).map(([name, text]) => [memberWord(kind, name), text] as const);
  return { kind, id, texts, rows, callback: announcedTransaction(order) };
}

// ---- all ----

async function showAll(parts: ApprovalsParts, { query }: PageRequest): Promise<View> {
  const { found, faults } = await pendingOf(parts);
  const pages = Math.max(1, Math.ceil(found.length / ROWS));
  const page = Math.min(Math.max(pageIn(query), 1), pages);
  const shown = found.slice((page - 1) * ROWS, page * ROWS);
  return {
    title: 'Inbox',
    content: html`${faults.map((each) => fault(`${each}.`))}
    ${
      found.length === 0
        ? nothing('Nothing waits for people.')
        : table(
            'What waits for people, oldest first',
            ['What', 'Amount', 'Who', 'Why', 'Signed', 'Left'],
            await Promise.all(shown.map((each) => rowOf(parts, each))),
          )
    }
    ${pager(link`/approvals`, page, pages)}`,
  };
}

async function rowOf(parts: ApprovalsParts, found: Found): Promise<readonly (Html | string)[]> {
  const { source, request } = found;
  const { id, message, expiresAtMs } = request;
  const to = pathOf({ source, request: id });
  const left = formatSpan(expiresAtMs - parts.clock());
  const row = ([what, amount, who, signed]: readonly (Html | string)[]) => [
    html`<a href="${to}">${what}</a>`,
    amount ?? '',
    who ?? '',
    proseOf(message),
    signed ?? '',
    left,
  ];
  try {
    return row([...wordsOf(parts, found), (await progressOf(parts, found)).count]);
  } catch (thrown) {
    whyNot(thrown);
    return row([`${source} ${id}`, html`<span class="pill no">✕ don’t sign</span>`]);
  }
}

/** What a row says that a request is about, how much it moves, and for whom. */
function wordsOf(parts: ApprovalsParts, found: Found): readonly (Html | string)[] {
  const { source, request } = found;
  const { id, kind, by } = request;
  if (kind === 'revision') return [`Policies ${id}`, '', by];
  if (kind === 'act') return [`${actOfRequest(request, scopeOf(parts).deployment).act} ${id}`, '', by];
  const asked = shownIn(parts, found);
  const { amount = '', symbol = '', userId, to = '' } = asked.texts;
  return [
    html`${KIND_WORDS[asked.kind]} ${asked.id}<br /><span class="muted">${source}</span>`,
    `${amount} ${symbol}`,
    html`<span class="mono">${userId ?? to}</span>`,
  ];
}

interface Progress {
  /** Whose signatures count so far. */
  readonly names: string;
  /** How many count, of how many that are needed. */
  readonly count: string;
}

/** How far a request is, with its signatures verified. Throws what forbids to sign it. */
async function progressOf(parts: ApprovalsParts, { request, state }: Found): Promise<Progress> {
  const { store, clock } = parts;
  if (request.kind === 'revision') {
    const rules = signersIn(parts);
    const { document, expected } = requestedRevision(request);
    const isPending = state === 'pending';
    if (isPending && (await store.control()).revision !== expected)
      throw usageError('Another revision was put in force meanwhile. Push it again');
    const { signers, needed } = isPending
      ? await signersOfPush({ store, clock, signers: rules }, request, { document, expected })
      : await signersSoFar({ store, rules, forPeople: true }, request, document);
    return { names: namesOf(signers), count: `${signers.length} of ${needed}` };
  }
  const scope = scopeOf(parts);
  if (request.kind === 'act') {
    const { signers } = await signersOf(request, await parts.operators(), { role: 'operate', scope });
    return { names: namesOf(signers), count: `${signers.length} of ${SIGNERS_NEEDED}` };
  }
  const people = peopleIn(parts);
  const { signers } = await signersOf(request, people, { role: 'approve', scope });
  const counts = callbackContent(request).needs.map(({ group, quorum }) => {
    const members = membersOf(people, group);
    const counting = signers.filter(({ person }) => members.includes(person) && !isAuthor(request, person));
    return `${counting.length} of ${quorum}`;
  });
  return { names: namesOf(signers), count: counts.join(', ') };
}

const namesOf = (signers: readonly Signer[]): string =>
  signers.map(({ person }) => person).join(', ') || 'nobody';

// ---- one ----

async function showNamed(
  parts: ApprovalsParts,
  named: Named,
  { person }: PageRequest,
  problem?: string,
): Promise<View> {
  const found = await find(parts, named);
  const { source, state } = found;
  const { id, kind, statement } = found.request;
  const maySign = kind === 'callback' || mayUse(person, 'operate');
  const isPending = state === 'pending';
  const shown = await partOf(parts, found, person).catch(whyNot);
  const part = typeof shown === 'string' ? undefined : shown;
  const subject = source === '' ? [] : await aboutSubject(parts, found);
  return {
    title: `Request ${id}`,
    up: { to: link`/approvals`, label: 'Inbox' },
    content: html`${problem !== undefined && fault(problem)}
    ${typeof shown === 'string' && fault(`${shown}.`)} ${await summary(parts, found, part)} ${part?.content}
    ${card('What people sign', html`<pre tabindex="0">${lines(statement)}</pre>`)}
    ${isPending && part !== undefined && maySign && signCard(parts, found, part, person)}
    ${isPending && mayReject(parts, found, person) && rejectCard(found)} ${aboutTable(subject)}`,
  };
}

const aboutSubject = async ({ store }: ApprovalsParts, { source, request: { id: subject } }: Found) =>
  (await store.entries({ source, subject, newestFirst: true, limit: ABOUT_MAX })).map(foundEntry);

/** Who made it, why, until when, and what became of it. */
async function summary(
  { store, clock }: ApprovalsParts,
  { source, request, state }: Found,
  part: Part | undefined,
) {
  const { by, message, createdAtMs, expiresAtMs, endedBy, reason } = request;
  const pushes = (await store.history(PUSHES_MAX)).filter(({ atMs }) => atMs > createdAtMs);
  const left = formatSpan(expiresAtMs - clock());
  return card(
    html`<span class="pill ${PILLS[state]}">${state}</span> ${source}`,
    html`<p class="because">${proseOf(message)}</p>`,
    facts([
      ['Asked', html`${instant(createdAtMs)} by ${by}`],
      ['Needs', part?.needs ?? ''],
      ['Signed by', part?.signed ?? ''],
      [
        state === 'pending' ? 'Left' : 'Could be signed',
        html`${state === 'pending' && `${left}, `}until ${instant(expiresAtMs)}`,
      ],
      ['Ended', endedBy === '' ? '' : `${endedBy}${reason === '' ? '' : `: ${reason}`}`],
      [
        'Policies changed since',
        html`${pushes.map(
          ({ revision, atMs, by: pusher, message: why }) =>
            html`<div>
              <a class="mono" href="${link`/policies/revisions/${revision}`}">${shortRevision(revision)}</a>
              ${instant(atMs)} by ${pusher}: ${why}
            </div>`,
        )}`,
      ],
    ]),
  );
}

const PILLS: Readonly<Record<Found['state'], string>> = {
  pending: 'warn',
  done: 'yes',
  rejected: 'no',
  superseded: '',
  expired: '',
};

/** What a page shows of what a request is about. */
interface Part {
  readonly content: Html | string;
  readonly needs?: Html | string;
  /** Who has signed so far. */
  readonly signed?: string;
  /** Whose passkeys are asked for. */
  readonly people: People;
  readonly act: { readonly path: string; readonly verb: string; readonly command: string };
}

/** Throws what forbids to sign it. */
async function partOf(parts: ApprovalsParts, found: Found, person: Person): Promise<Part> {
  const { kind } = found.request;
  const { names, count } = await progressOf(parts, found);
  const part = await (kind === 'callback'
    ? callbackPart(parts, found)
    : kind === 'revision'
      ? revisionPart(parts, found, person)
      : actPart(parts, found));
  return { ...part, signed: `${names} (${count})` };
}

async function callbackPart(parts: ApprovalsParts, found: Found): Promise<Part> {
  const { source, request } = found;
  const { kind, rows, callback } = shownIn(parts, found);
  const release = parts.policies.current();
  return {
    needs: html`${callbackContent(request).needs.map(
      ({ policy, rule, group, quorum }) => html`<div>${quorum} of ${group} (${policy}/${rule})</div>`,
    )}`,
    people: peopleIn(parts),
    act: {
      path: link`/approvals/approve`,
      verb: 'Approve',
      command: `approvals approve ${request.id} --source ${source} --key FILE`,
    },
    content: html`${card(KIND_WORDS[kind], facts(rows))}
    ${
      callback?.kind === 'web3' &&
      transactionCard({ calls: callTexts(release, callback), movements: movementTexts(release, callback) })
    }`,
  };
}

async function actPart(parts: ApprovalsParts, { request, state }: Found): Promise<Part> {
  const content = actOfRequest(request, scopeOf(parts).deployment);
  // What is over has ended already what it would end.
  const ends =
    state === 'pending' ? await lookAtAct({ ...parts, release: parts.policies.current() }, content) : [];
  const texts = [...ends.map((line) => `Would end ${line}`), ...valuesNotInClear(content)];
  return {
    needs: `${SIGNERS_NEEDED} people with the role operate`,
    people: await parts.operators(),
    act: {
      path: link`/approvals/agree`,
      verb: 'Sign',
      command: `approvals approve ${request.id} --key FILE`,
    },
    content:
      texts.length === 0
        ? ''
        : card('What it does', html`<pre tabindex="0">${lines(texts.join('\n'))}</pre>`),
  };
}

async function revisionPart(parts: ApprovalsParts, { request, state }: Found, person: Person): Promise<Part> {
  const { store, checks } = parts;
  const rules = signersIn(parts);
  const { document, files = '', expected } = requestedRevision(request);
  const compiled = compileRelease(document);
  if (!compiled.ok) throw usageError('The policies have faults, so no service could follow them');
  const { revision } = compiled.release;
  const compared = await comparedWith(store, rules, expected);
  const before = expected === '' ? undefined : await store.document(compared.revision);
  if (before === undefined && expected !== '') throw usageError('The store has not the revision before');
  const by = authorOf(person);
  const diff = await textOfDiff(checks, { before, after: document, by });
  return {
    content: html`${compared.warning !== '' && fault(compared.warning)}
    ${card(`${shortRevision(expected)} → ${shortRevision(revision)}`, diffShown(diff))}
    ${state === 'pending' && (await requestedCards(checks, { revision, files: filesInText(files), person }))}`,
    people: await parts.operators(),
    act: { path: link`/approvals/sign`, verb: 'Sign', command: `policy sign ${request.id} --key FILE` },
  };
}

function signCard(
  { scope }: ApprovalsParts,
  { source, request }: Found,
  { people, act }: Part,
  person: Person,
): Html {
  const { verb, path, command } = act;
  const passkeys = passkeysOf(people, person);
  const site = scope?.site;
  const options = site && {
    challenge: passkeyChallenge(Buffer.from(request.statement)),
    rpId: site.host,
    allowCredentials: passkeys.map((id) => ({ id, type: 'public-key' })),
    userVerification: 'required',
    timeout: SIGNING_MS,
  };
  return card(
    verb,
    options !== undefined && passkeys.length > 0
      ? html`<form method="post" action="${path}" data-sign="${JSON.stringify(options)}" hidden>
          ${hiddenFields({ source, request: request.id, signature: '' })}
          ${
            request.kind === 'callback' &&
            html`<div class="fields">
              ${reasonField('Why you approve it, for the journal (not signed)', 'message', '', false)}
            </div>`
          }
          <p>Your passkey signs exactly the text above.</p>
          <div class="actions"><button>${verb} with a passkey</button></div>
          <p class="fault" role="alert" hidden></p>
        </form>`
      : html`<p class="hint">
          You have no passkey in <code>people.yaml</code> that can sign this here.
          <code>countersign console people --yaml ${person.name}</code> prints its lines.
        </p>`,
    html`<p class="hint">With an SSH key, on your own machine:</p>
      <pre tabindex="0">countersign ${command}</pre>`,
  );
}

/** Those of the person who looks, or of everybody if people.yaml does not know the name. */
function passkeysOf({ people }: People, { name }: Person): readonly string[] {
  const own = people.get(name);
  const whose = own === undefined ? [...people.values()] : [own];
  return whose.flatMap(({ passkeys }) => passkeys.map(({ id }) => id));
}

const rejectCard = ({ source, request: { id } }: Found): Html =>
  card(
    'Reject',
    html`<form method="post" action="${link`/approvals/reject`}">
      ${hiddenFields({ source, request: id })}
      <div class="fields">${reasonField('Reason, for the journal', 'reason')}</div>
      <div class="actions">
        <button class="danger">Reject</button>
        <p class="hint">Nobody can approve or sign it any more.</p>
      </div>
    </form>`,
  );
