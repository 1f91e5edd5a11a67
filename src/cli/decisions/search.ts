import { KINDS } from '../../callback/callback.ts';
import { CountersignError } from '../../errors.ts';
import { START, type Stream } from '../../journal/cursor.ts';
import { type EntryFilter, searchJournal } from '../../journal/search.ts';
import { JOURNAL_TYPES } from '../../store/store.ts';
import type { Call, CommandRow } from '../command.ts';
import { periodOf, periodOptions } from '../period.ts';
import { columns } from '../print.ts';
import { chosenSources, sourceOption } from '../sources.ts';
import { decisionJson, decisionRow } from './decision.ts';

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
    const text = found.length === 0 ? 'No entry of the journal matches.' : columns(found.map(decisionRow));
    const json = found.map((entry) => decisionJson(entry));
    session.print(text, after === undefined ? json : { entries: json, next: next ?? null });
    if (next !== undefined) session.report(`More entries: --after ${next}`);
    return 0;
  },
};

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

function filterOf(call: Call): EntryFilter {
  const [verdict, code] = ['verdict', 'code'].map((name) => call.option(name)?.toUpperCase());
  if (verdict !== undefined && verdict !== 'SUCCESS' && verdict !== 'FAILURE') {
    throw new CountersignError('USAGE', `--verdict ${verdict} is not a verdict. Write SUCCESS or FAILURE`);
  }
  const written = call.option('type');
  const type = JOURNAL_TYPES.find((each) => each === written);
  if (written !== undefined && type === undefined) {
    throw new CountersignError(
      'USAGE',
      `--type ${written} is not a type of entries. Write one of ${JOURNAL_TYPES.join(', ')}`,
    );
  }
  return { type, verdict, code, rule: call.option('rule') };
}
