import { compileRelease } from '../../policy/compile.ts';
import { SOURCE } from '../../policy/members.ts';
import type { CompiledRule, Release } from '../../policy/release.ts';
import type { ListedRead } from '../../policy/rules/rule.ts';
import { toComparableEntry } from '../../values/comparable.ts';
import type { Session } from '../session.ts';

/** What the rules in force say about a list. */
export interface ListInForce {
  /** False if policies are in force, and none of their rules looks into the list. */
  readonly isUsed: boolean;
  /** Reads a value for the list of a source. It is refused if rules look it up, and none can match it. */
  readonly readFor: (source: string) => (written: string) => ListedRead;
}

export async function listInForce(session: Session, list: string): Promise<ListInForce> {
  const release = await releaseInForce(session);
  return {
    isUsed: release === undefined || rulesWith(release, list).length > 0,
    readFor(source) {
      const rules = release === undefined ? [] : rulesWith(release, list, source);
      return (written) => readBy(rules, list, written);
    },
  };
}

/** Undefined if nothing is in force, or if this version of the program can't compile it. */
async function releaseInForce(session: Session): Promise<Release | undefined> {
  const store = await session.store();
  const { revision } = await store.control();
  const document = revision === '' ? undefined : await store.document(revision);
  const compiled = document === undefined ? undefined : compileRelease(document);
  return compiled?.ok === true ? compiled.release : undefined;
}

/** The rules that look into the list, of any source or of one. */
function rulesWith({ policies }: Release, list: string, source?: string): readonly CompiledRule[] {
  const mayJudge = ({ when }: Pick<CompiledRule, 'when'>): boolean =>
    source === undefined || when.texts.get(SOURCE)?.has(source) !== false;
  return policies
    .filter(mayJudge)
    .flatMap(({ rules }) => rules)
    .filter((rule) => mayJudge(rule) && rule.lists?.includes(list) === true);
}

function readBy(rules: readonly CompiledRule[], list: string, written: string): ListedRead {
  const comparable = toComparableEntry(written);
  const reads = rules.map(
    ({ readListed }): ListedRead => readListed?.(list, written) ?? { ok: true, texts: [comparable] },
  );
  const good = reads.filter((read) => read.ok);
  const wrong = reads.find((read) => !read.ok);
  if (wrong !== undefined && good.length === 0) return wrong;
  const [kept = comparable, another] = new Set(good.map(({ texts }) => texts[0]));
  // Each rule finds the comparable text, but perhaps not what another would keep.
  const first = another === undefined ? kept : comparable;
  return { ok: true, texts: [first, ...good.flatMap(({ texts }) => texts)] };
}
