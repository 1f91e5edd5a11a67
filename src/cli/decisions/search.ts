import { CountersignError } from '../../errors.ts';
import { JOURNAL_TYPES, type JournalEntry } from '../../store/store.ts';
import type { Call, CommandRow } from '../command.ts';
import { mergedEntries } from '../journal/record.ts';
import { periodOf, periodOptions } from '../period.ts';
import { columns } from '../print.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { decisionJson, decisionRow, readDecision } from './decision.ts';

const SHOWN = 50;

export const decisionsSearch: CommandRow = {
  path: 'decisions search',
  summary: 'Entries of the journal, a line each, of all sources by time.',
  example:
    'decisions search --newest\ndecisions search --order 11321\ndecisions search --since 2h --verdict FAILURE --rule usdt-payments/amount-limit',
  define: (command) =>
    periodOptions(sourceOption(command))
      .option('--subject <subject>', 'about this subject, such as payment:11321')
      .option('--order <id>', 'about this appOrderId')
      .option('--request <id>', 'about this request_id')
      .option('--verdict <verdict>', 'SUCCESS or FAILURE')
      .option('--code <code>', 'with this code, such as TERMS_CHANGED')
      .option('--type <type>', `of this type: ${JOURNAL_TYPES.join(', ')}`)
      .option('--rule <rule>', 'refused by this policy, POLICY, or rule, POLICY/RULE')
      .option('--newest', 'the newest first')
      .option('--limit <number>', `at most so many (default: ${SHOWN})`),
  async run(session, call) {
    const limit = call.count('limit', { least: 1, most: 1000 }) ?? SHOWN;
    const matches = filterOf(call);
    const period = periodOf(call, session.clock());
    const subjects = subjectsOf(call);
    const streams = chosenSources(session, call).flatMap((source) =>
      subjects.length === 0
        ? [{ source, ...period }]
        : subjects.map((subject) => ({ source, ...period, subject })),
    );
    const found: JournalEntry[] = [];
    for await (const entry of mergedEntries(await session.store(), streams, call.flag('newest'))) {
      if (matches(entry)) found.push(entry);
      if (found.length === limit) break;
    }
    await session.drained();
    const text = found.length === 0 ? 'Nothing in the journal matches.' : columns(found.map(decisionRow));
    session.print(
      text,
      found.map((entry) => decisionJson(entry)),
    );
    return 0;
  },
};

function subjectsOf(call: Call): readonly string[] {
  const [subject, order, request] = ['subject', 'order', 'request'].map((name) => call.option(name));
  if ([subject, order, request].filter((each) => each !== undefined).length > 1) {
    throw new CountersignError('USAGE', 'give one of --subject, --order and --request');
  }
  if (subject !== undefined) return [checkedSubject(subject)];
  if (order !== undefined) return [`payment:${order}`];
  return request === undefined ? [] : [`transfer:${request}`, `web3:${request}`];
}

function checkedSubject(subject: string): string {
  if (/^(?:payment|transfer|web3):./s.test(subject)) return subject;
  throw new CountersignError(
    'USAGE',
    `--subject ${subject}: write payment:ID, transfer:ID or web3:ID; or use --order or --request`,
  );
}

function filterOf(call: Call): (entry: JournalEntry) => boolean {
  const [verdict, code] = ['verdict', 'code'].map((name) => call.option(name)?.toUpperCase());
  const rule = call.option('rule');
  if (verdict !== undefined && verdict !== 'SUCCESS' && verdict !== 'FAILURE') {
    throw new CountersignError('USAGE', `--verdict ${verdict}: write SUCCESS or FAILURE`);
  }
  const type = call.option('type');
  if (type !== undefined && !JOURNAL_TYPES.some((each) => each === type)) {
    throw new CountersignError('USAGE', `--type ${type}: write one of ${JOURNAL_TYPES.join(', ')}`);
  }
  return (entry) =>
    (type === undefined || entry.type === type) &&
    (verdict === undefined || entry.verdict === verdict) &&
    (code === undefined || entry.code === code) &&
    (rule === undefined || refusedBy(entry, rule));
}

/**
 * By a policy, by all rules of a kind in it, or by the one at its place: `p`, `p/amount-limit`,
 * `p/amount-limit#1`.
 */
function refusedBy(entry: JournalEntry, wanted: string): boolean {
  const { deciding } = readDecision(entry);
  if (deciding === undefined) return false;
  const { policy, rule } = deciding;
  return [policy, `${policy}/${rule}`, `${policy}/${rule.replace(/#\d+$/, '')}`].includes(wanted);
}
