import { CountersignError } from '../../errors.ts';
import { type EntryExplanation, explainJournalEntry } from '../../journal/explanation.ts';
import { type RuleReport, wordOf } from '../../policy/explain.ts';
import { lastPush } from '../../release/push.ts';
import { storedRelease } from '../../release/stored.ts';
import type { CallText, PolicyMovementTexts } from '../../policy/transaction-text.ts';
import { type RecordedTransaction, recordedTransaction } from '../../simulation/recorded-transaction.ts';
import type { JournalEntry } from '../../store/store.ts';
import { sha256Hex } from '../../values/canonical.ts';
import { counted } from '../../values/text.ts';
import { hiddenFields } from '../fields.ts';
import { type Html, html, lines, link } from '../html.ts';
import { card, entryLink, facts, instant, numbers, proseOf, table, verdictPill } from '../layout.ts';
import type { PageRequest, Pages, View } from '../page.ts';
import { type FoundEntry, foundEntry } from '../search.ts';
import { type DecisionsParts, typeName } from './decisions.ts';

const ABOUT_MAX = 100;

/** One entry of the journal, with everything that is known about it. */
export function decisionPages(parts: DecisionsParts): Pages {
  return {
    pages: [{ path: '/decisions/:source/:id', show: (request) => show(parts, request) }],
  };
}

async function show({ store, sources }: DecisionsParts, { parameters }: PageRequest): Promise<View> {
  const { source = '', id = '' } = parameters;
  const entry = sources.some(({ name }) => name === source) ? await entryOf(store, source, id) : undefined;
  if (entry === undefined) {
    throw new CountersignError(
      'NOT_FOUND',
      `The journal of ${source} has no entry ${id}. It may be archived`,
    );
  }
  const [first, others, pushed, transaction] = await Promise.all([
    entry.of === '' ? undefined : store.entry(source, entry.of),
    entry.subject === ''
      ? []
      : store.entries({ source, subject: entry.subject, newestFirst: true, limit: ABOUT_MAX }),
    pushOf(store, entry.revision),
    // Policies that are no longer in force are compiled again.
    recordedTransaction(entry, (known) => storedRelease(store, known)),
  ]);
  const explanation = explainJournalEntry(entry, first);
  const about = entry.subject === '' ? `${source}/${id}` : entry.subject;
  const isDecision = entry.type === 'decision' || entry.type === 'repeat';
  return {
    title: `${isDecision ? 'Decision' : 'Entry'} ${about}`,
    up: { to: link`/decisions`, label: 'Decisions' },
    content: html`${summary(entry, explanation, pushed)}${rulesTable(explanation.rules)}${
      transaction !== undefined && transactionCard(transaction)
    }${callbackCard(explanation)}${signatureCard(explanation)}${aboutTable(
      others.filter((each) => each.id !== id).map(foundEntry),
    )}`,
  };
}

/** Undefined also for what is no id of this store. */
async function entryOf(
  store: DecisionsParts['store'],
  source: string,
  id: string,
): Promise<JournalEntry | undefined> {
  try {
    return await store.entry(source, id);
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.code === 'USAGE') return undefined;
    throw thrown;
  }
}

async function pushOf(store: DecisionsParts['store'], revision: string): Promise<string> {
  if (revision === '') return 'none was in force';
  const [{ revision: inForce }, push] = await Promise.all([store.control(), lastPush(store, revision)]);
  const by = push === undefined ? '' : `, pushed by ${push.by}: ${push.message}`;
  return `${inForce === revision ? 'in force now' : 'no longer in force'}${by}`;
}

function summary(entry: JournalEntry, { because, detail, next }: EntryExplanation, pushed: string): Html {
  const { source, id, atMs, verdict, code, type, of, revision } = entry;
  const { address, by, requestId, traceId, question, txid } = detail;
  const asked = question === undefined ? '' : `${question.type}${question.speedUp ? ', a speed-up' : ''}`;
  const known: readonly (readonly [string, Html | string | undefined])[] = [
    ['Time (UTC)', instant(atMs)],
    ['Entry', `${source}/${id}, ${typeName(type)}`],
    ['Question', asked],
    ['Authenticated by', by],
    ['Address', address],
    ['Request', requestId],
    ['Trace', traceId],
    ['Transaction', txid],
    ['Repeats', of === '' ? undefined : entryLink(source, of)],
    ['Would have refused next', next && html`${next.policy}/${next.rule}: ${proseOf(next.because)}`],
    [
      'Revision',
      revision === ''
        ? undefined
        : html`<a class="mono" href="${link`/policies/revisions/${revision}`}">${revision}</a><br /><span
              class="muted"
              >${pushed}</span
            >`,
    ],
  ];
  return card(
    html`${verdict !== '' && verdictPill(verdict)} ${code}`,
    html`<p class="because">${proseOf(because)}</p>`,
    facts(known.map(([name, value = '']) => [name, value])),
    tryForm(entry, detail),
  );
}

/** Asks what the callback would be answered now. */
function tryForm(
  { source, subject }: JournalEntry,
  { body, plaintext, scheme }: EntryExplanation['detail'],
): Html | false {
  const text = plaintext ?? body;
  const [kind = ''] = subject.split(':');
  if (text === undefined || subject === '') return false;
  return html`<form class="actions" method="post" action="${link`/try`}">
    ${hiddenFields({ kind, source, scheme, body: text })}
    <button class="quiet">What would it be now?</button>
  </form>`;
}

export function rulesTable(rules: readonly RuleReport[]): Html | false {
  if (rules.length === 0) return false;
  const tone = (rule: RuleReport): string =>
    !rule.asked || rule.mode !== 'enforce' ? '' : rule.verdict === 'SUCCESS' ? 'yes' : 'no';
  return html`<h2>Rules</h2>
    ${table(
      'The rules that applied, with what each found',
      ['Result', 'Rule', 'Why', 'Values'],
      rules.map((rule) => [
        html`<span class="pill ${tone(rule)}">${wordOf(rule)}</span>`,
        html`<span class="mono">${rule.policy}/${rule.rule}</span>`,
        proseOf(rule.because),
        html`${Object.entries(rule.values).map(
          ([name, value]) =>
            value !== '' && html`<span class="value"><span class="muted">${name}</span> ${value}</span> `,
        )}`,
      ]),
    )}`;
}

export function transactionCard({ calls, movements }: RecordedTransaction): Html {
  return card(
    'The transaction',
    calls.list.length > 0 &&
      table(
        'Its calls, in order; a wrapper comes before the calls in it',
        ['Call', 'Method', 'Contract', 'Native coins', 'Arguments'],
        calls.list.map(callRow),
      ),
    calls.problem !== '' && html`<p class="because">${proseOf(calls.problem)}</p>`,
    movementsTable(movements) || html`<p class="hint">${proseOf(NO_MOVEMENTS)}</p>`,
  );
}

const NO_MOVEMENTS = 'No policy that it was decided by uses `movements`, so no rule looked at what it moves.';

const callRow = (call: CallText): readonly (Html | string)[] => [
  call.position === '' ? 'outer' : call.position,
  html`<span class="mono">${call.method}</span>${call.delegatecall && ' by delegatecall'}`,
  html`${call.token !== '' && html`${call.token} `}<span class="mono">${call.contract}</span>`,
  call.native,
  html`${call.arguments.map(
    ({ name, value }) => html`<span class="value"><span class="muted">${name}</span> ${value}</span> `,
  )}`,
];

export function movementsTable(movements: readonly PolicyMovementTexts[]): Html | false {
  if (movements.length === 0) return false;
  return html`<h3>What it moves</h3>
    ${table(
      'What the rules of each policy see',
      ['Policy', 'What', numbers('Amount'), 'Asset', 'To'],
      movements.flatMap(({ policy, list, problem }) =>
        problem === ''
          ? list.map(({ type, amount, symbol, contract, to }) => [
              policy,
              type,
              amount,
              symbol ?? contract ?? 'unknown',
              html`<span class="mono">${to}</span>`,
            ])
          : [[policy, problem, '', '', '']],
      ),
    )}`;
}

/** The terms that the journal has under other names than the wire. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  transId: 'trans_id',
  transferId: 'transfer_id',
  inputData: 'input_data',
  interactiveContract: 'interactive_contract',
  outputMembers: 'further members of outputs',
};

/** The terms of a callback, by their names on the wire. Those that it has not are left out. */
export const termRows = (
  terms: Readonly<Record<string, string>>,
): readonly (readonly [name: string, value: Html | ''])[] =>
  Object.entries(terms).map(([name, value]) => [
    WIRE_NAMES[name] ?? name,
    value === '' ? '' : html`<span class="mono">${value}</span>`,
  ]);

function callbackCard({ detail }: EntryExplanation): Html | false {
  const { terms = {}, unknown = [], body, plaintext } = detail;
  if (body === undefined) return false;
  return card(
    'The callback',
    facts([
      ...termRows(terms),
      ['Unknown members', unknown.join(', ')],
      ['Length of the body', counted(Buffer.byteLength(body), 'byte')],
      ['SHA-256 of the body', html`<span class="mono">${sha256Hex(body)}</span>`],
    ]),
    textUnder('Body, as it arrived', body),
    plaintext !== undefined && textUnder('What was in its envelope', plaintext),
  );
}

/** What a person signed. Who trusts no program of ours verifies it. */
function signatureCard({ detail: { key = '', statement, signature } }: EntryExplanation): Html | false {
  if (statement === undefined) return false;
  const by = signature?.signature ?? signature?.response;
  return card(
    'What was signed',
    facts([['Key', html`<span class="mono">${key}</span>`]]),
    textUnder('Statement', statement),
    by !== undefined && textUnder('Signature', by),
  );
}

const textUnder = (heading: string, text: string): Html =>
  html`<h3>${heading}</h3>
    <pre tabindex="0">${lines(text)}</pre>`;

export function aboutTable(entries: readonly FoundEntry[]): Html | false {
  if (entries.length === 0) return false;
  return html`<h2>Other entries about it</h2>
    ${table(
      'Other entries about the same order or request, newest first',
      ['Time (UTC)', 'Entry', 'Verdict', 'Code', 'Why'],
      entries.map((entry) => [
        entryLink(entry.source, entry.id, instant(entry.atMs)),
        typeName(entry.type),
        entry.verdict === '' ? '' : verdictPill(entry.verdict),
        entry.code === '' ? '' : html`<span class="code">${entry.code}</span>`,
        proseOf(entry.because),
      ]),
    )}`;
}
