import { releaseApproval } from '../../act/release.ts';
import { KINDS } from '../../callback/callback.ts';
import { CountersignError, usageError } from '../../errors.ts';
import { type Stream, START } from '../../journal/cursor.ts';
import { type EntryExplanation, explainJournalEntry } from '../../journal/explanation.ts';
import { type EntryFilter, searchJournal } from '../../journal/search.ts';
import { decidingValues } from '../../policy/explain.ts';
import { lastPush } from '../../release/push.ts';
import type { RecordedTransaction } from '../../simulation/recorded-transaction.ts';
import { type JournalEntry, type Store, JOURNAL_TYPES } from '../../store/store.ts';
import { actCommand } from '../act.ts';
import { type Call, type CommandRow, messageOption, requiredMessage } from '../command.ts';
import { namedOrder, orderArguments } from '../orders.ts';
import { periodOf, periodOptions } from '../period.ts';
import { columns, isoTime, printable, printableLines, table } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, knownSource, sourceOption } from '../sources.ts';
import {
  decisionJson,
  decisionRow,
  describeDecision,
  headline,
  otherwiseLine,
  pairs,
  rulesText,
  titleOfFirst,
  transactionLines,
} from './entry.ts';

export const decisionsShow: CommandRow = {
  path: 'decisions show',
  summary:
    'Show one entry of the journal: the verdict, the reason, the callback and its sender. Of a transaction, ' +
    'also its calls and what it moves.',
  example: 'decisions show shop/17\ndecisions show 17 --source shop',
  define: (command) =>
    sourceOption(command.argument('<id>', 'SOURCE/ID of the entry, from the log or another command')),
  async run(session, call) {
    const store = await session.store();
    const entry = await entryOf(session, call, store);
    const { source } = entry;
    const first = entry.of === '' ? undefined : await store.entry(source, entry.of);
    const transaction = await transactionOf(store, entry);
    const texts = [
      entryText(entry, first, transaction),
      ...(first === undefined ? [] : [`${titleOfFirst(first, entry)}:\n\n${entryText(first)}`]),
    ];
    session.print(texts.join('\n\n'), {
      ...decisionJson(entry, first),
      ...(first && { first: decisionJson(first) }),
      ...(transaction && { transaction }),
    });
    return 0;
  },
};

/** The rules are loaded only for a transaction. */
async function transactionOf(store: Store, entry: JournalEntry): Promise<RecordedTransaction | undefined> {
  if (!entry.subject.startsWith('web3:')) return undefined;
  const { recordedTransaction } = await import('../../simulation/recorded-transaction.ts');
  const { storedRelease } = await import('../../release/stored.ts');
  return recordedTransaction(entry, (revision) => storedRelease(store, revision));
}

/** The entry of the first argument. Throws USAGE, or NOT_FOUND if the journal does not have it. */
export async function entryOf(session: Session, call: Call, store: Store): Promise<JournalEntry> {
  const { source, id } = entryId(session, call, call.arguments[0] ?? '');
  const entry = await store.entry(source, id);
  if (entry !== undefined) return entry;
  throw new CountersignError(
    'NOT_FOUND',
    `the journal of ${source} has no entry ${id}. \`countersign decisions search --source ` +
      `${source} --newest\` lists the latest. If \`journal archive\` moved the entry, print it with ` +
      `\`countersign journal export DIRECTORY --id ${source}/${id}\``,
    { source, id },
  );
}

/** Reads `shop/17`, or `17` if there is only one source. Throws USAGE. */
export function entryId(session: Session, call: Call, written: string): { source: string; id: string } {
  const slash = written.indexOf('/');
  const sources = chosenSources(session, call);
  const [source, ...others] = slash === -1 ? sources : [knownSource(session, written.slice(0, slash))];
  const id = written.slice(slash + 1);
  if (source === undefined || others.length > 0 || id === '') {
    throw usageError(
      `${JSON.stringify(written)} does not name a source. Write SOURCE/ID, such as ` +
        `${sources[0]}/${id || '17'}`,
    );
  }
  if (sources.includes(source)) return { source, id };
  throw usageError(`${written} is not an entry of the source ${sources.join()}. Leave --source out`);
}

function entryText(entry: JournalEntry, first?: JournalEntry, transaction?: RecordedTransaction): string {
  const decision = explainJournalEntry(entry, first);
  const { body, plaintext, statement, signature } = decision.detail;
  return [
    describeDecision(entry, first),
    '',
    columns(factsOf(entry, decision).filter(([, fact]) => fact !== '')),
    ...(transaction === undefined ? [] : ['', 'transaction', ...transactionLines(transaction)]),
    ...(body === undefined ? [] : ['', 'body', printableLines(body)]),
    ...(plaintext === undefined ? [] : ['', 'plaintext', printableLines(plaintext)]),
    ...(statement === undefined ? [] : ['', 'statement', printableLines(statement)]),
    ...(signature === undefined
      ? []
      : ['', 'signature', printableLines(signature.signature ?? signature.response ?? '')]),
  ].join('\n');
}

function factsOf(entry: JournalEntry, explanation: EntryExplanation): readonly [string, string][] {
  const { detail } = explanation;
  const { address, by, question, terms = {}, unknown = [], kind = '', requestId = '', txid = '' } = detail;
  const type = question === undefined || question.type === kind ? '' : ` ${question.type}`;
  const asked = `${kind}${type}${question?.speedUp === true ? ', a speed-up' : ''}`;
  const facts: readonly [string, string][] = [
    ['when', isoTime(entry.atMs)],
    ['entry', entry.type],
    ['asked', asked],
    ['sent by', isChange(entry) ? '' : (by ?? '')],
    ['from', address ?? ''],
    ['request', requestId],
    ['trace', detail.traceId ?? ''],
    ['revision', entry.revision],
    ['values', pairs(decidingValues(explanation))],
    ['terms', pairs(terms)],
    ['unknown', unknown.join(', ')],
    ['txid', txid],
    ['key', detail.key ?? ''],
    ['added', (detail.add ?? []).join(', ')],
    ['removed', (detail.remove ?? []).join(', ')],
  ];
  return facts.map(([name, fact]) => [name, printable(fact)]);
}

/** Whether it is a change by a person or a service. Such entries have no sender. */
const isChange = ({ type }: JournalEntry): boolean =>
  ['list', 'order', 'freeze', 'release', 'lockout', 'reconciliation', 'approval', 'archive'].includes(type);

export const decisionsExplain: CommandRow = {
  path: 'decisions explain',
  summary:
    'Explain a decision: the deciding rule, the results of the others, and which rule would have ' +
    'refused next.',
  example: 'decisions explain shop/17\ndecisions explain 17 --source shop --json',
  define: (command) =>
    sourceOption(command.argument('<id>', 'SOURCE/ID of the entry, from the log or another command')),
  async run(session, call) {
    const store = await session.store();
    const entry = await entryOf(session, call, store);
    const first = entry.of === '' ? undefined : await store.entry(entry.source, entry.of);
    const { text, json } = await explain(store, entry, first);
    const before = first && { title: titleOfFirst(first, entry), ...(await explain(store, first)) };
    session.print(before === undefined ? text : `${text}\n\n${before.title}:\n\n${before.text}`, {
      ...json,
      ...(before && { first: before.json }),
    });
    return 0;
  },
};

async function explain(
  store: Store,
  entry: JournalEntry,
  first?: JournalEntry,
): Promise<{ readonly text: string; readonly json: object }> {
  const { code, revision } = entry;
  const decision = explainJournalEntry(entry, first);
  const otherwise = otherwiseLine(code, decision);
  const push = revision === '' ? undefined : await lastPush(store, revision);
  const inForce = (await store.control()).revision === revision;
  const since =
    push === undefined
      ? ''
      : `, put in force ${isoTime(push.atMs)} by ${printable(push.by)}: ${printable(push.message)}`;
  const lines = [
    headline(entry, isoTime(entry.atMs)),
    `because ${printable(decision.because)}`,
    ...(otherwise === undefined ? [] : [otherwise]),
    ...(revision === ''
      ? []
      : [`under revision ${revision}${since}${inForce ? ' (in force now)' : ' (another is in force now)'}`]),
    ...rulesText(decision),
  ];
  const pushed = push && { at: isoTime(push.atMs), by: push.by, message: push.message };
  const policies = revision === '' ? null : { revision, inForce, ...pushed };
  return {
    text: lines.join('\n'),
    json: { ...decisionJson(entry, first), next: decision.next ?? null, policies },
  };
}

const SHOWN = 50;

export const decisionsSearch: CommandRow = {
  path: 'decisions search',
  summary: 'List entries of the journal, one on each line, of all sources by time.',
  example:
    'decisions search --newest\n' +
    'decisions search --order 11321\n' +
    'decisions search --since 2h --verdict FAILURE --rule usdt-payments/amount-limit\n' +
    'decisions search --since 7d --limit 500 --after start --json',
  define: (command) =>
    periodOptions(sourceOption(command))
      .option('--subject <subject>', 'only entries about this subject, such as payment:11321')
      .option('--order <id>', 'only entries about this appOrderId')
      .option('--request <id>', 'only entries about this request_id')
      .option('--verdict <verdict>', 'only SUCCESS or only FAILURE')
      .option('--code <code>', 'only entries with this code, such as TERMS_CHANGED')
      .option('--type <type>', `only entries of this type: ${JOURNAL_TYPES.join(', ')}`)
      .option('--rule <rule>', 'only refusals by this policy (POLICY) or rule (POLICY/RULE)')
      .option('--newest', 'newest first')
      .option('--limit <number>', `at most this many (default: ${SHOWN})`)
      .option(
        '--after <cursor>',
        `the page after this cursor, with the same options; \`${START}\` is the first page. JSON is then ` +
          '{ entries, next }, with the cursor of the next page, or null at the end',
      ),
  async run(session, call) {
    const limit = call.count('limit', { least: 1, most: 1000 }) ?? SHOWN;
    const filter = filterOf(call);
    const period = periodOf(call, session.clock());
    const subjects = subjectsOf(call);
    const sources = chosenSources(session, call);
    const streams: readonly Stream[] =
      subjects.length === 0
        ? sources.map((source) => ({ source }))
        : sources.flatMap((source) => subjects.map((subject) => ({ source, subject })));
    const after = call.option('after');
    const { entries: found, next } = await searchJournal(await session.store(), {
      streams,
      newestFirst: call.flag('newest'),
      period,
      cursor: after ?? START,
      filter,
      limit,
    });
    await session.drained();
    const text = table(found.map(decisionRow), 'No entry of the journal matches.');
    const json = found.map((entry) => decisionJson(entry));
    session.print(text, after === undefined ? json : { entries: json, next: next ?? null });
    if (next !== undefined) session.report(`More entries: --after ${next}`);
    return 0;
  },
};

function subjectsOf(call: Call): readonly string[] {
  const [subject, order, request] = ['subject', 'order', 'request'].map((name) => call.option(name));
  if ([subject, order, request].filter((each) => each !== undefined).length > 1) {
    throw usageError('several of --subject, --order and --request were given. Give one of them');
  }
  if (subject !== undefined) return [checkedSubject(subject)];
  if (order !== undefined) return [`payment:${order}`];
  return request === undefined ? [] : [`transfer:${request}`, `web3:${request}`];
}

function checkedSubject(subject: string): string {
  if (KINDS.some((kind) => subject.startsWith(`${kind}:`) && subject !== `${kind}:`)) return subject;
  throw usageError(
    `--subject ${subject} is not a subject. Write payment:ID, transfer:ID or web3:ID, or use ` +
      '--order or --request',
  );
}

function filterOf(call: Call): EntryFilter {
  const [verdict, code] = ['verdict', 'code'].map((name) => call.option(name)?.toUpperCase());
  if (verdict !== undefined && verdict !== 'SUCCESS' && verdict !== 'FAILURE') {
    throw usageError(`--verdict ${verdict} is not a verdict. Write SUCCESS or FAILURE`);
  }
  const written = call.option('type');
  const type = JOURNAL_TYPES.find((each) => each === written);
  if (written !== undefined && type === undefined) {
    throw usageError(`--type ${written} is not a type of entries. Write one of ${JOURNAL_TYPES.join(', ')}`);
  }
  return { type, verdict, code, rule: call.option('rule') };
}

export const decisionsRelease = actCommand(releaseApproval, {
  example:
    'decisions release payment 11321 --source shop --message "the platform refused it, ticket 4711"\n' +
    'decisions release payment 11321 --user 12345 --amount 100 --message "never debited"',
  define: (command) =>
    messageOption(orderArguments(command))
      .option('--user <id>', 'release only if the approved userId is this one')
      .option('--symbol <symbol>', 'release only if the approved asset is this one')
      .option('--amount <decimal>', 'release only if the approved amount is this one'),
  input(session, call) {
    const { source, ...operation } = namedOrder(session, call);
    return {
      ...operation,
      source: source.name,
      message: requiredMessage(call),
      members: {
        userId: call.option('user'),
        symbol: call.option('symbol'),
        amount: call.option('amount'),
      },
    };
  },
});
