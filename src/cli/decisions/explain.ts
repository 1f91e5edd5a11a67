import type { HistoryEntry, JournalEntry, Store } from '../../store/store.ts';
import type { CommandRow } from '../command.ts';
import { columns, counted, isoTime, printable } from '../print.ts';
import { sourceOption } from '../sources.ts';
import { type Decision, decisionJson, entryName, readDecision, wordOf } from './decision.ts';
import { entryOf, pairs } from './show.ts';

const HISTORY_MAX = 1000;

export const decisionsExplain: CommandRow = {
  path: 'decisions explain',
  summary:
    'Why one decision came out so: the deciding rule, what the others said, and what would have refused next.',
  example: 'decisions explain shop/17\ndecisions explain 17 --source shop --json',
  define: (command) =>
    sourceOption(command.argument('<id>', 'SOURCE/ID, as the log and the other commands print it')),
  async run(session, call) {
    const store = await session.store();
    const entry = await entryOf(session, call, store);
    const first = entry.of === '' ? undefined : await store.entry(entry.source, entry.of);
    const texts = [await explanation(store, entry, first)];
    if (first !== undefined)
      texts.push(`What ${entryName(first)} was:\n\n${await explanation(store, first)}`);
    session.print(texts.join('\n\n'), {
      ...(await explanationJson(store, entry, first)),
      ...(first && { first: await explanationJson(store, first) }),
    });
    return 0;
  },
};

async function explanation(store: Store, entry: JournalEntry, first?: JournalEntry): Promise<string> {
  const decision = readDecision(entry, first);
  const { verdict, code, type, subject, atMs } = entry;
  const headline = [verdict, code === '' ? type : code, entryName(entry), printable(subject), isoTime(atMs)];
  return [
    headline.filter((part) => part !== '').join('  '),
    `because ${printable(decision.because)}`,
    ...nextLines(entry, decision),
    ...(await revisionLines(store, entry)),
    ...rulesText(decision),
  ].join('\n');
}

const HAD_IT_NOT: Readonly<Record<string, string>> = {
  RULE_REFUSED: 'had it passed',
  FROZEN: 'had nothing been frozen',
  TERMS_CHANGED: 'had the terms been the same',
  SCHEME_CHANGED: 'had the scheme been the same',
};

/** What would have been the verdict without what refused, as far as that is known. */
function nextLines({ code }: JournalEntry, { next, rules }: Decision): readonly string[] {
  const otherwise = HAD_IT_NOT[code];
  if (rules.length === 0 || otherwise === undefined) return [];
  if (next !== undefined) {
    return [`${otherwise}, ${next.policy}/${next.rule} would have refused: ${printable(next.because)}`];
  }
  const unasked = rules.filter(({ mode, asked }) => mode === 'enforce' && !asked).length;
  return [
    unasked === 0
      ? `${otherwise}, nothing else would have refused`
      : `${otherwise}, it would have been up to ${counted(unasked, 'rule')} that the store was not asked about`,
  ];
}

async function revisionLines(store: Store, { revision }: JournalEntry): Promise<readonly string[]> {
  if (revision === '') return [];
  const { pushed, inForce } = await standingOf(store, revision);
  const since =
    pushed === undefined
      ? ''
      : `, put in force ${isoTime(pushed.atMs)} by ${printable(pushed.by)}: ${printable(pushed.message)}`;
  return [`under revision ${revision}${since}${inForce ? ' (in force now)' : ' (another is in force now)'}`];
}

/** When the revision was last put in force, as far as the history goes back, and whether it is. */
async function standingOf(
  store: Store,
  revision: string,
): Promise<{ readonly pushed: HistoryEntry | undefined; readonly inForce: boolean }> {
  const [control, history] = await Promise.all([store.control(), store.history(HISTORY_MAX)]);
  return {
    pushed: history.find((each) => each.revision === revision),
    inForce: control.revision === revision,
  };
}

/** A rule a line, and below it the values that it looked at. */
function rulesText({ rules }: Decision): readonly string[] {
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
  const { next } = readDecision(entry, first);
  const { pushed, inForce } = await standingOf(store, entry.revision);
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
