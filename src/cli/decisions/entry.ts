import { type EntryExplanation, explainJournalEntry } from '../../journal/explanation.ts';
import { exportedEntry } from '../../journal/exported.ts';
import { wordOf } from '../../policy/explain.ts';
import type { CallText, CallTexts, PolicyMovementTexts } from '../../policy/transaction-text.ts';
import type { RecordedTransaction } from '../../simulation/recorded-transaction.ts';
import type { JournalEntry } from '../../store/store.ts';
import { columns, counted, isoTime, printable } from '../print.ts';

/** The name of an entry, such as `shop/17`. */
function entryName({ source, id }: Pick<JournalEntry, 'source' | 'id'>): string {
  return `${source}/${id}`;
}

/** A title for the entry that another one names as its `of`. */
export function titleOfFirst(first: JournalEntry, entry: Pick<JournalEntry, 'type'>): string {
  const title =
    first.type === 'release'
      ? 'The release'
      : entry.type === 'release'
        ? 'The approval'
        : 'The first decision';
  return `${title}, ${entryName(first)}`;
}

/** The verdict, the code and the name of an entry, and what else belongs to its first line. */
export function headline(entry: JournalEntry, ...more: readonly string[]): string {
  const { verdict, code, type, subject } = entry;
  return [verdict, code === '' ? type : code, entryName(entry), printable(subject), ...more]
    .filter((part) => part !== '')
    .join('  ');
}

/** A decision as text: the verdict, the reason, and the result of each rule. */
export function describeDecision(entry: JournalEntry, first?: JournalEntry): string {
  const { because, rules } = explainJournalEntry(entry, first);
  return [headline(entry), `because ${printable(because)}`, ...ruleLines(rules)].join('\n');
}

function ruleLines(rules: EntryExplanation['rules']): readonly string[] {
  if (rules.length === 0) return [];
  const rows = rules.map((rule) => [
    `  ${wordOf(rule)}`,
    `${rule.policy}/${rule.rule}`,
    printable(rule.because),
  ]);
  return columns(rows).split('\n');
}

/** A line for each rule, and below it the values that the rule used. */
export function rulesText({ rules }: Pick<EntryExplanation, 'rules'>): readonly string[] {
  const lines = ruleLines(rules).flatMap((line, at) => {
    const values = pairs(rules[at]?.values ?? {});
    return values === '' ? [line] : [line, `          ${printable(values)}`];
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** The values that are not empty, such as `amount 5000.5, max 1000`. */
export function pairs(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

const OTHERWISE: Readonly<Record<string, string>> = {
  RULE_REFUSED: 'if this rule had passed',
  AWAITING_APPROVAL: 'if people had approved it',
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

/** A decision as a row of a table. */
export function decisionRow(entry: JournalEntry): readonly string[] {
  const { atMs, verdict, type, code, subject } = entry;
  const kind = type === 'decision' || code === '' ? code || type : `${code} (${type})`;
  const { because, detail } = explainJournalEntry(entry);
  const people = verdict === 'SUCCESS' ? (detail.approval?.approvers ?? []) : [];
  const by = people.length === 0 ? '' : `; approved by people: ${people.join(', ')}`;
  return [isoTime(atMs), verdict, kind, entryName(entry), printable(subject), printable(`${because}${by}`)];
}

/** An entry as JSON, with the explanation of {@link describeDecision}. */
export function decisionJson(entry: JournalEntry, first?: JournalEntry) {
  const { because, deciding, rules } = explainJournalEntry(entry, first);
  const { source, id, of, ...journalled } = exportedEntry(entry);
  return {
    id: `${source}/${id}`,
    at: isoTime(entry.atMs),
    ...journalled,
    of: of === '' ? '' : `${source}/${of}`,
    because,
    decidedBy: deciding === undefined ? '' : `${deciding.policy}/${deciding.rule}`,
    rules,
  };
}

/** Each call of a transaction with its arguments, and what it moves for each policy. */
export function transactionLines({ calls, movements }: RecordedTransaction): readonly string[] {
  return [...callLines(calls), ...movements.flatMap(movementLines)];
}

function callLines({ list, problem }: CallTexts): readonly string[] {
  return [
    ...list.flatMap(linesOfCall),
    ...(problem === '' ? [] : [`${list.length === 0 ? 'call' : 'then'}: ${printable(problem)}`]),
  ];
}

function linesOfCall({
  position,
  contract,
  token,
  method,
  delegatecall,
  native,
  arguments: written,
}: CallText): readonly string[] {
  const at = position === '' ? 'call' : `call ${position}`;
  const of = token === '' ? contract : `${printable(token)} (${contract})`;
  const how = delegatecall ? ', by delegatecall' : '';
  const coins = native === '0' ? '' : `, with ${native} native coins`;
  return [
    `${at}: ${printable(method)} ${method === 'plain transfer' ? 'to' : 'of'} ${of}${coins}${how}`,
    ...written.map(({ name, value }) => `  ${printable(name)}: ${printable(value)}`),
  ];
}

/** A line for each movement that the rules of a policy see. */
export function movementLines({ policy, list, problem }: PolicyMovementTexts): readonly string[] {
  if (problem !== '') return [`for ${policy}: ${printable(problem)}`];
  return list.map(({ type, amount, symbol, contract, to }) => {
    const what = type === 'approval' ? 'an approval of' : 'a transfer of';
    return `for ${policy}: ${what} ${amount} ${printable(symbol ?? contract ?? 'an unknown asset')} to ${printable(to)}`;
  });
}
