import { type EntryExplanation, explainJournalEntry } from '../../journal/explanation.ts';
import { wordOf } from '../../policy/explain.ts';
import type { HistoryEntry, JournalEntry, Store } from '../../store/store.ts';
import type { CommandRow } from '../command.ts';
import { columns, counted, isoTime, printable } from '../print.ts';
import { sourceOption } from '../sources.ts';
import { decisionJson, entryName, titleOfFirst } from './decision.ts';
import { entryOf, pairs } from './show.ts';

const HISTORY_MAX = 1000;

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
    const texts = [await explanation(store, entry, first)];
    if (first !== undefined)
      texts.push(`${titleOfFirst(first, entry)}:\n\n${await explanation(store, first)}`);
    session.print(texts.join('\n\n'), {
      ...(await explanationJson(store, entry, first)),
      ...(first && { first: await explanationJson(store, first) }),
    });
    return 0;
  },
};

async function explanation(store: Store, entry: JournalEntry, first?: JournalEntry): Promise<string> {
  const decision = explainJournalEntry(entry, first);
  const { verdict, code, type, subject, atMs } = entry;
  const otherwise = otherwiseLine(code, decision);
  const headline = [verdict, code === '' ? type : code, entryName(entry), printable(subject), isoTime(atMs)];
  return [
    headline.filter((part) => part !== '').join('  '),
    `because ${printable(decision.because)}`,
    ...(otherwise === undefined ? [] : [otherwise]),
    ...(await revisionLines(store, entry)),
    ...rulesText(decision),
  ].join('\n');
}

const OTHERWISE: Readonly<Record<string, string>> = {
  RULE_REFUSED: 'if this rule had passed',
  FROZEN: 'without the freeze',
  TERMS_CHANGED: 'with unchanged terms',
  SCHEME_CHANGED: 'with the same scheme',
  RELEASED: 'without the release',
};

/** What would have refused without the deciding refusal; undefined if nothing can be said about it. */
export function otherwiseLine(
  code: string,
  { next, rules }: Pick<EntryExplanation, 'next' | 'rules'>,
): string | undefined {
  const otherwise = OTHERWISE[code];
  if (rules.length === 0 || otherwise === undefined) return undefined;
  if (next !== undefined) {
    return `${otherwise}, ${next.policy}/${next.rule} would have refused: ${printable(next.because)}`;
  }
  const unasked = rules.filter(({ mode, asked }) => mode === 'enforce' && !asked).length;
  return unasked === 0
    ? `${otherwise}, nothing else would have refused`
    : `${otherwise}, the verdict would have depended on ${counted(unasked, 'rule')} that the store ` +
        'did not check';
}

async function revisionLines(store: Store, { revision }: JournalEntry): Promise<readonly string[]> {
  if (revision === '') return [];
  const { pushed, inForce } = await pushOf(store, revision);
  const since =
    pushed === undefined
      ? ''
      : `, put in force ${isoTime(pushed.atMs)} by ${printable(pushed.by)}: ${printable(pushed.message)}`;
  return [`under revision ${revision}${since}${inForce ? ' (in force now)' : ' (another is in force now)'}`];
}

/** The last push of a revision, if the history still has it, and whether the revision is in force. */
async function pushOf(
  store: Store,
  revision: string,
): Promise<{ readonly pushed: HistoryEntry | undefined; readonly inForce: boolean }> {
  const [control, history] = await Promise.all([store.control(), store.history(HISTORY_MAX)]);
  return {
    pushed: history.find((each) => each.revision === revision),
    inForce: control.revision === revision,
  };
}

/** A line for each rule, and below it the values that the rule used. */
export function rulesText({ rules }: Pick<EntryExplanation, 'rules'>): readonly string[] {
  if (rules.length === 0) return [];
  const rows = rules.map((rule) => [
    `  ${wordOf(rule)}`,
    `${rule.policy}/${rule.rule}`,
    printable(rule.because),
  ]);
  const lines = columns(rows).split('\n');
  return [
    '',
    ...lines.flatMap((line, at) => {
      const values = pairs(rules[at]?.values ?? {});
      return values === '' ? [line] : [line, `          ${printable(values)}`];
    }),
  ];
}

async function explanationJson(store: Store, entry: JournalEntry, first?: JournalEntry): Promise<object> {
  const { next } = explainJournalEntry(entry, first);
  const { pushed, inForce } = await pushOf(store, entry.revision);
  return {
    ...decisionJson(entry, first),
    next: next ?? null,
    policies:
      entry.revision === ''
        ? null
        : {
            revision: entry.revision,
            inForce,
            ...(pushed && { at: isoTime(pushed.atMs), by: pushed.by, message: pushed.message }),
          },
  };
}
