import { KINDS } from '../../callback/callback.ts';
import { CountersignError } from '../../errors.ts';
import { JOURNAL_TYPES, type JournalEntry } from '../../store/store.ts';
import type { Call, CommandRow } from '../command.ts';
import { mergedEntries } from '../journal/record.ts';
import { periodOf, periodOptions } from '../period.ts';
import { columns } from '../print.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import {
  START,
  type Stream,
  cursorOf,
  notACursor,
  passEntry,
  positionOf,
  queriesFrom,
  startOf,
} from './cursor.ts';
import { decisionJson, decisionRow, explainJournalEntry } from './decision.ts';

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
    const matches = filterOf(call);
    const period = periodOf(call, session.clock());
    const subjects = subjectsOf(call);
    const sources = chosenSources(session, call);
    const streams: readonly Stream[] =
      subjects.length === 0
        ? sources.map((source) => ({ source }))
        : sources.flatMap((source) => subjects.map((subject) => ({ source, subject })));
    const newestFirst = call.flag('newest');
    const start = startOf(streams, { ...period, newestFirst });
    const after = call.option('after');
    const position = positionOf(after ?? START, start);
    const entries = mergedEntries(await session.store(), queriesFrom(position, streams), newestFirst);
    const found: JournalEntry[] = [];
    let next: string | undefined;
    for await (const entry of entriesAfter(after, entries)) {
      if (found.length === limit) {
        next = cursorOf(position);
        break;
      }
      passEntry(position, entry);
      if (matches(entry)) found.push(entry);
    }
    await session.drained();
    const text = found.length === 0 ? 'No entry of the journal matches.' : columns(found.map(decisionRow));
    const json = found.map((entry) => decisionJson(entry));
    session.print(text, after === undefined ? json : { entries: json, next: next ?? null });
    if (next !== undefined) session.report(`More entries: --after ${next}`);
    return 0;
  },
};

/** The entries. Throws USAGE if the ids of the cursor are not those of the store. */
async function* entriesAfter(
  after: string | undefined,
  entries: AsyncGenerator<JournalEntry>,
): AsyncGenerator<JournalEntry> {
  try {
    yield* entries;
  } catch (thrown) {
    const isOurs = thrown instanceof CountersignError && thrown.code === 'USAGE' && 'after' in thrown.data;
    throw isOurs && after !== undefined ? notACursor(after) : thrown;
  }
}

function subjectsOf(call: Call): readonly string[] {
  const [subject, order, request] = ['subject', 'order', 'request'].map((name) => call.option(name));
  if ([subject, order, request].filter((each) => each !== undefined).length > 1) {
    throw new CountersignError(
      'USAGE',
      'several of --subject, --order and --request were given. Give one of them',
    );
  }
  if (subject !== undefined) return [checkedSubject(subject)];
  if (order !== undefined) return [`payment:${order}`];
  return request === undefined ? [] : [`transfer:${request}`, `web3:${request}`];
}

function checkedSubject(subject: string): string {
  if (KINDS.some((kind) => subject.startsWith(`${kind}:`) && subject !== `${kind}:`)) return subject;
  throw new CountersignError(
    'USAGE',
    `--subject ${subject} is not a subject. Write payment:ID, transfer:ID or web3:ID, or use ` +
      '--order or --request',
  );
}

function filterOf(call: Call): (entry: JournalEntry) => boolean {
  const [verdict, code] = ['verdict', 'code'].map((name) => call.option(name)?.toUpperCase());
  const rule = call.option('rule');
  if (verdict !== undefined && verdict !== 'SUCCESS' && verdict !== 'FAILURE') {
    throw new CountersignError('USAGE', `--verdict ${verdict} is not a verdict. Write SUCCESS or FAILURE`);
  }
  const type = call.option('type');
  if (type !== undefined && !JOURNAL_TYPES.some((each) => each === type)) {
    throw new CountersignError(
      'USAGE',
      `--type ${type} is not a type of entries. Write one of ${JOURNAL_TYPES.join(', ')}`,
    );
  }
  return (entry) =>
    (type === undefined || entry.type === type) &&
    (verdict === undefined || entry.verdict === verdict) &&
    (code === undefined || entry.code === code) &&
    (rule === undefined || refusedBy(entry, rule));
}

/** Whether a policy (`p`), a kind of rule (`p/amount-limit`) or one rule (`p/amount-limit#1`) refused. */
function refusedBy(entry: JournalEntry, wanted: string): boolean {
  const { deciding } = explainJournalEntry(entry);
  if (deciding === undefined) return false;
  const { policy, rule } = deciding;
  return [policy, `${policy}/${rule}`, `${policy}/${rule.replace(/#\d+$/, '')}`].includes(wanted);
}
