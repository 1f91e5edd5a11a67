import { CountersignError } from '../../errors.ts';
import { type EntryExplanation, explainJournalEntry } from '../../journal/explanation.ts';
import type { RecordedTransaction } from '../../simulation/recorded-transaction.ts';
import type { JournalEntry, Store } from '../../store/store.ts';
import type { Call, CommandRow } from '../command.ts';
import { columns, isoTime, printable, printableLines } from '../print.ts';
import type { Session } from '../session.ts';
import { chosenSources, knownSource, sourceOption } from '../sources.ts';
import { decisionJson, describeDecision, titleOfFirst } from './decision.ts';
import { transactionLines } from './transaction.ts';

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
    throw new CountersignError(
      'USAGE',
      `${JSON.stringify(written)} does not name a source. Write SOURCE/ID, such as ` +
        `${sources[0]}/${id || '17'}`,
    );
  }
  if (sources.includes(source)) return { source, id };
  throw new CountersignError(
    'USAGE',
    `${written} is not an entry of the source ${sources.join()}. Leave --source out`,
  );
}

function entryText(entry: JournalEntry, first?: JournalEntry, transaction?: RecordedTransaction): string {
  const decision = explainJournalEntry(entry, first);
  const { body, plaintext } = decision.detail;
  return [
    describeDecision(entry, first),
    '',
    columns(factsOf(entry, decision).filter(([, fact]) => fact !== '')),
    ...(transaction === undefined ? [] : ['', 'transaction', ...transactionLines(transaction)]),
    ...(body === undefined ? [] : ['', 'body', printableLines(body)]),
    ...(plaintext === undefined ? [] : ['', 'plaintext', printableLines(plaintext)]),
  ].join('\n');
}

function factsOf(
  entry: JournalEntry,
  { detail, deciding, rules }: EntryExplanation,
): readonly [string, string][] {
  const { address, by, question, terms = {}, unknown = [], kind = '', requestId = '', txid = '' } = detail;
  const decider = rules.find(({ policy, rule }) => policy === deciding?.policy && rule === deciding.rule);
  const type = question === undefined || question.type === kind ? '' : ` ${question.type}`;
  const asked = `${kind}${type}${question?.speedUp === true ? ', a speed-up' : ''}`;
  const facts: readonly [string, string][] = [
    ['when', isoTime(entry.atMs)],
    ['entry', entry.type],
    ['asked', asked],
    ['sent by', isChange(entry) ? '' : (by ?? '')],
    ['from', address ?? ''],
    ['request', requestId],
    ['revision', entry.revision],
    ['values', decider === undefined ? '' : pairs(decider.values)],
    ['terms', pairs(terms)],
    ['unknown', unknown.join(', ')],
    ['txid', txid],
    ['added', (detail.add ?? []).join(', ')],
    ['removed', (detail.remove ?? []).join(', ')],
  ];
  return facts.map(([name, fact]) => [name, printable(fact)]);
}

/** Whether it is a change by a person or a service. Such entries have no sender. */
const isChange = ({ type }: JournalEntry): boolean =>
  ['list', 'order', 'freeze', 'release', 'lockout', 'reconciliation', 'archive'].includes(type);

/** The values that are not empty, such as `amount 5000.5, max 1000`. */
export function pairs(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
