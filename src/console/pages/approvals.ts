import { approveCallback, rejectRequest } from '../../act/approvals.ts';
import { signPolicies } from '../../act/policies.ts';
import { askedIn, callbackContent } from '../../approvals/callbacks.ts';
import { announcedTransaction } from '../../approvals/orders.ts';
import { type ApprovalRequest, createRequests, stateOf } from '../../approvals/requests.ts';
import { type Signature, type SigningScope, bothPeople, signersOf } from '../../approvals/signers.ts';
import { CountersignError, usageError } from '../../errors.ts';
import { compileRelease } from '../../policy/compile.ts';
import { NO_PEOPLE, type People } from '../../policy/people.ts';
import type { Release } from '../../policy/release.ts';
import { callTexts, movementTexts } from '../../policy/transaction-text.ts';
import { shortRevision } from '../../release/push.ts';
import {
  type PutInForceParts,
  comparedWith,
  requestedRevision,
  signersOfPush,
} from '../../release/put-in-force.ts';
import { isForged, signersSoFar } from '../../release/trust.ts';
import { passkeyChallenge } from '../../signature/passkey-statement.ts';
import { refused } from '../../signature/statement.ts';
import { formatSpan } from '../../store/clock-state.ts';
import type { Store } from '../../store/store.ts';
import { jsonOrText } from '../../values/text.ts';
import type { CandidateChecks } from '../candidate-checks.ts';
import { hiddenFields, reasonField, reasonIn } from '../fields.ts';
import { type Html, html, lines, link } from '../html.ts';
import { card, facts, fault, instant, nothing, pageIn, pager, proseOf, table } from '../layout.ts';
import { KIND_WORDS, memberWord } from '../member-words.ts';
import {
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
import { aboutTable, termRows, transactionCard } from './decision.ts';
import { diffShown, textOfDiff } from './policies.ts';

export interface ApprovalsParts extends PutInForceParts {
  readonly store: PutInForceParts['store'] & Pick<Store, 'entries' | 'record'>;
  readonly sources: readonly { readonly name: string }[];
  /** The policies in force, which say who people are. With signers, those that enough people have signed. */
  readonly policies: { readonly current: () => Release | undefined };
  readonly checks: CandidateChecks;
  /** For which signatures count; undefined if the settings have no `deployment`. */
  readonly scope: SigningScope | undefined;
}

/** A request, with the source of its callback; the empty text for one that holds for all sources. */
interface Found {
  readonly source: string;
  readonly request: ApprovalRequest;
}

const ROWS = 50;
const ABOUT_MAX = 100;
const PUSHES_MAX = 100;
/** How long a person may take to answer the browser's question. */
const SIGNING_MS = 300_000;
const NO_DEPLOYMENT = 'The settings have no `deployment`, so nobody can sign. Set it';

/** What waits for people: transfers to approve, policies to sign. */
export function approvalsPages(parts: ApprovalsParts): Pages {
  const forms = {
    to: ({ form }: FormRequest) => pathOf(namedIn(form)),
    again: (request: FormRequest, because: string) =>
      showNamed(parts, namedIn(request.form), request, because),
  };
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
        waiting: async () => (await pendingOf(parts)).found.length,
        isFirstOf: ({ name }) => peopleIn(parts).people.get(name)?.roles.includes('approve') === true,
      },
      { path: '/approvals/:id', show: one },
      { path: '/approvals/:source/:id', show: one },
    ],
    forms: [
      formOf(approveCallback, {
        ...forms,
        path: '/approvals/approve',
        parts: {
          store: parts.store,
          clock: parts.clock,
          get people() {
            return peopleIn(parts);
          },
          get scope() {
            return scopeOf(parts);
          },
        },
        async read({ form }) {
          const found = await find(parts, namedIn(form));
          // What the page would not show must not be signed.
          const asked = shownIn(parts, found);
          if (typeof asked === 'string') throw refused(asked);
          return { ...namedIn(form), signature: signatureIn(form) };
        },
      }),
      formOf(signPolicies, {
        ...forms,
        path: '/approvals/sign',
        parts: {
          store: parts.store,
          clock: parts.clock,
          get signers() {
            if (parts.signers !== undefined) return parts.signers;
            throw usageError('The settings have no signers, so nothing waits for signatures');
          },
        },
        read: ({ form }) => ({ request: namedIn(form).request, signature: signatureIn(form) }),
      }),
      formOf(rejectRequest, {
        ...forms,
        path: '/approvals/reject',
        parts,
        async read({ form }) {
          await find(parts, namedIn(form));
          return { ...namedIn(form), message: reasonIn(form, 'reason', 'it is rejected') };
        },
      }),
    ],
  };
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

const peopleIn = ({ policies }: ApprovalsParts): People => policies.current()?.people ?? NO_PEOPLE;

function scopeOf({ scope }: ApprovalsParts): SigningScope {
  if (scope !== undefined) return scope;
  throw usageError(NO_DEPLOYMENT);
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
  if (found !== undefined) return { source, request: found.request };
  throw new CountersignError('NOT_FOUND', 'There is no such request. The inbox lists what waits');
}

/** All that waits for people, oldest first, and why some of it can't be read. */
async function pendingOf({ store, clock, sources }: ApprovalsParts) {
  const found: Found[] = [];
  const faults: string[] = [];
  const scopes = ['', ...sources.map(({ name }) => name)].map(async (source) => {
    try {
      const pending = await createRequests(store, clock, source).pending();
      found.push(...pending.map((request) => ({ source, request })));
    } catch (thrown) {
      // A forged record must not hide what waits at other sources.
      if (!(thrown instanceof CountersignError && thrown.code === 'STORE_CORRUPT')) throw thrown;
      faults.push(`${source === '' ? 'What holds for all sources' : source}: ${thrown.message}`);
    }
  });
  await Promise.all(scopes);
  return { found: found.sort((a, b) => a.request.createdAtMs - b.request.createdAtMs), faults };
}

/** A callback, read again from what arrived, or an announced order; or why it must not be approved. */
function shownIn({ scope }: ApprovalsParts, { source, request }: Found) {
  if (scope === undefined) return NO_DEPLOYMENT;
  try {
    const asked = askedIn(request, { source, deployment: scope.deployment });
    if ('callback' in asked) {
      const { callback } = asked;
      const { kind, id, texts, symbol, terms } = callback;
      return { kind, id, texts: { ...texts, symbol }, rows: termRows(terms), callback };
    }
    const { order } = asked;
    const { kind, id, members: texts } = order;
    const rows = Object.entries(texts).map(([name, text]) => [memberWord(kind, name), text] as const);
    return { kind, id, texts, rows, callback: announcedTransaction(order) };
  } catch (thrown) {
    if (thrown instanceof CountersignError) return thrown.message;
    throw thrown;
  }
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
            shown.map((each) => rowOf(parts, each)),
          )
    }
    ${pager(link`/approvals`, page, pages)}`,
  };
}

function rowOf(parts: ApprovalsParts, found: Found): readonly (Html | string | number)[] {
  const { source, request } = found;
  const { id, kind, by, message, signatures, expiresAtMs } = request;
  const to = pathOf({ source, request: id });
  const left = formatSpan(expiresAtMs - parts.clock());
  const row = (what: Html | string, amount: Html | string, who: Html | string) => [
    html`<a href="${to}">${what}</a>`,
    amount,
    who,
    proseOf(message),
    signatures.length,
    left,
  ];
  if (kind !== 'callback') return row(`${kind === 'revision' ? 'Policies' : kind} ${id}`, '', by);
  const asked = shownIn(parts, found);
  if (typeof asked === 'string') {
    return row(`${source} ${id}`, html`<span class="pill no">✕ don’t approve</span>`, '');
  }
  const texts: Readonly<Record<string, string>> = asked.texts;
  return row(
    html`${KIND_WORDS[asked.kind]} ${asked.id}<br /><span class="muted">${source}</span>`,
    `${texts['amount'] ?? ''} ${texts['symbol'] ?? ''}`,
    html`<span class="mono">${texts['userId'] ?? texts['to'] ?? ''}</span>`,
  );
}

// ---- one ----

async function showNamed(
  parts: ApprovalsParts,
  named: Named,
  { person }: PageRequest,
  problem?: string,
): Promise<View> {
  const found = await find(parts, named);
  const { source, request } = found;
  const { kind, id, statement } = request;
  const shown = await (kind === 'callback'
    ? callbackPart(parts, found)
    : kind === 'revision'
      ? revisionPart(parts, request, person)
      : { content: '', signed: '', because: 'This is approved at the command line' });
  const isPending = stateOf(request, parts.clock()) === 'pending';
  const subject = source === '' ? [] : await aboutSubject(parts, found);
  return {
    title: `Request ${id}`,
    up: { to: link`/approvals`, label: 'Inbox' },
    content: html`${problem !== undefined && fault(problem)}
    ${shown.because !== '' && fault(`${shown.because}.`)} ${await summary(parts, found, shown.signed)}
    ${shown.content} ${card('What people sign', html`<pre tabindex="0">${lines(statement)}</pre>`)}
    ${isPending && shown.because === '' && signCard(parts, found, shown, person)}
    ${isPending && mayUse(person, 'operate') && rejectCard(found)} ${aboutTable(subject)}`,
  };
}

const aboutSubject = async ({ store }: ApprovalsParts, { source, request: { id: subject } }: Found) =>
  (await store.entries({ source, subject, newestFirst: true, limit: ABOUT_MAX })).map(foundEntry);

/** Who made it, why, until when, and what became of it. */
async function summary({ store, clock }: ApprovalsParts, { source, request }: Found, signed: Html | string) {
  const { by, message, createdAtMs, expiresAtMs, endedBy, reason } = request;
  const state = stateOf(request, clock());
  const pushes = (await store.history(PUSHES_MAX)).filter(({ atMs }) => atMs > createdAtMs);
  const left = formatSpan(expiresAtMs - clock());
  return card(
    html`<span class="pill ${PILLS[state]}">${state}</span> ${source}`,
    html`<p class="because">${proseOf(message)}</p>`,
    facts([
      ['Asked', html`${instant(createdAtMs)} by ${by}`],
      [
        'Needs',
        request.kind === 'callback'
          ? html`${needsIn(request).map(
              ({ policy, rule, group, quorum }) => html`<div>${quorum} of ${group} (${policy}/${rule})</div>`,
            )}`
          : '',
      ],
      ['Signed by', signed],
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

const PILLS: Readonly<Record<ReturnType<typeof stateOf>, string>> = {
  pending: 'warn',
  done: 'yes',
  rejected: 'no',
  superseded: '',
  expired: '',
};

function needsIn(request: ApprovalRequest): ReturnType<typeof callbackContent>['needs'] {
  try {
    return callbackContent(request).needs;
  } catch (thrown) {
    // The page says so anyway.
    if (thrown instanceof CountersignError) return [];
    throw thrown;
  }
}

/** What a page shows of what a request is about. */
interface Part {
  readonly content: Html | string;
  /** Who has signed so far. */
  readonly signed: string;
  /** Why nobody should sign it; the empty text if people may. */
  readonly because: string;
  /** Whose passkeys are asked for. */
  readonly people?: People;
  readonly act?: { readonly path: string; readonly verb: string; readonly command: string };
}

async function callbackPart(parts: ApprovalsParts, found: Found): Promise<Part> {
  const { source, request } = found;
  const asked = shownIn(parts, found);
  if (typeof asked === 'string') return { content: '', signed: '', because: asked };
  const { kind, rows, callback } = asked;
  const release = parts.policies.current();
  const people = peopleIn(parts);
  const { signers } = await signersOf(request, people, { role: 'approve', scope: scopeOf(parts) });
  return {
    signed: namesOf(signers),
    because: '',
    people,
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

const namesOf = (signers: readonly { readonly person: string }[]): string =>
  signers.map(({ person }) => person).join(', ') || 'nobody';

async function revisionPart(parts: ApprovalsParts, request: ApprovalRequest, person: Person): Promise<Part> {
  const { store, clock, checks, signers: rules } = parts;
  const refusing = (because: string): Part => ({ content: '', signed: '', because });
  if (rules === undefined) return refusing('The settings have no signers');
  try {
    const { document, expected } = requestedRevision(request);
    if (!compileRelease(document).ok)
      return refusing('The policies have faults, so no service could follow them');
    const isPending = stateOf(request, clock()) === 'pending';
    const isLate = isPending && (await store.control()).revision !== expected;
    const { signers, needed, revision } =
      isPending && !isLate
        ? await signersOfPush({ store, clock, signers: rules }, request, { document, expected })
        : await signersSoFar({ store, rules, forPeople: true }, request, document);
    const compared = await comparedWith(store, rules, expected);
    const before = expected === '' ? undefined : await store.document(compared.revision);
    if (before === undefined && expected !== '') return refusing('The store has not the revision before');
    const diff = await textOfDiff(checks, { before, after: document, by: authorOf(person) });
    return {
      content: html`${compared.warning !== '' && fault(compared.warning)}
      ${card(`${shortRevision(expected)} → ${shortRevision(revision)}`, diffShown(diff))}`,
      signed: `${namesOf(signers)} (${needed} needed)`,
      because: isLate ? 'Another revision was put in force meanwhile. Push it again' : '',
      people: bothPeople(rules.pinned, peopleIn(parts)),
      act: { path: link`/approvals/sign`, verb: 'Sign', command: `policy sign ${request.id} --key FILE` },
    };
  } catch (thrown) {
    if (isForged(thrown)) return refusing(thrown.message);
    throw thrown;
  }
}

function signCard(
  { scope }: ApprovalsParts,
  { source, request }: Found,
  { people, act }: Part,
  person: Person,
): Html | false {
  if (act === undefined) return false;
  const { verb, path, command } = act;
  const passkeys = passkeysOf(people ?? NO_PEOPLE, person);
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
