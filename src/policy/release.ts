import type { Callback, Kind } from '../callback/callback.ts';
import type { AssetTable } from './language/assets.ts';
import type { Place, PolicyFault } from './fault.ts';
import { SOURCE } from './language/members.ts';
import type { MovementReader } from './movements.ts';
import { NO_PEOPLE, type People } from './people.ts';
import type { Check } from './rules/rule.ts';
import type { When } from './language/conditions.ts';

interface CompiledBase {
  /** `amount-limit#1`; in a group `amount-limit#1.2`. */
  readonly name: string;
  readonly mode: 'enforce' | 'observe';
  readonly when: When;
}

/** A rule of a policy: its check, and what it declares. */
export interface CompiledRule extends CompiledBase, Check {
  /** Where its file has it; undefined for a stored release. */
  readonly place?: Place | undefined;
  /** Whether it judges each callback that the policy applies to: it is not in `any`, and has no `when`. */
  readonly always: boolean;
  /** See Rule. */
  readonly covers: boolean;
}

/** Rules of which one must hold (`any`), or each (`all`). */
export interface CompiledGroup extends CompiledBase {
  readonly group: 'any' | 'all';
  readonly entries: readonly CompiledEntry[];
}

export type CompiledEntry = CompiledRule | CompiledGroup;

export interface CompiledPolicy {
  readonly name: string;
  readonly callback: Kind;
  readonly when: When;
  /** Reads the movements that its rules see; absent if they see only the native coins. */
  readonly movements?: MovementReader;
  readonly entries: readonly CompiledEntry[];
  /** The rules of the entries, those in groups included, in order. */
  readonly rules: readonly CompiledRule[];
}

/** Compiled policies, and the document from which they can be compiled again. */
export interface Release {
  /** SHA-256, in hexadecimal, of the document. */
  readonly revision: string;
  /**
   * Canonical JSON: its format, the policies in the order of their names, the asset table, and the files that
   * the policies refer to (lists, ABIs).
   */
  readonly document: string;
  /** By name. */
  readonly policies: readonly CompiledPolicy[];
  readonly assets: AssetTable;
  readonly people: People;
  /** What is valid, but hardly meant, in the order of the files. Empty for a stored release. */
  readonly warnings: readonly PolicyFault[];
  /** Whether one of its rules asks a plugin. */
  readonly asksPlugins: boolean;
  /** Whether one of its rules needs people's approval. */
  readonly asksPeople: boolean;
  /**
   * The policies that may apply to a callback, by its kind, source and symbol. The caller must still check
   * the rest of `when`.
   */
  readonly policiesFor: (callback: Pick<Callback, 'kind' | 'source' | 'values'>) => readonly CompiledPolicy[];
}

export function indexPolicies(
  revision: string,
  document: string,
  policies: readonly CompiledPolicy[],
  {
    assets = new Map(),
    people = NO_PEOPLE,
    warnings = [],
  }: Partial<Pick<Release, 'assets' | 'people' | 'warnings'>> = {},
): Release {
  const sources = namedUnder(SOURCE, policies);
  const symbols = namedUnder(SYMBOL, policies);
  const hasRule = (wanted: (rule: CompiledRule) => boolean): boolean =>
    policies.some(({ rules }) => rules.some(wanted));
  const asksPlugins = hasRule(({ pluginQuestions }) => pluginQuestions !== undefined);
  const asksPeople = hasRule(({ approval }) => approval !== undefined);
  // All sources and symbols that no policy names share one entry, so that callbacks can't make the map grow.
  const indexed = new Map<string, readonly CompiledPolicy[]>();
  return {
    revision,
    document,
    policies,
    assets,
    people,
    warnings,
    asksPlugins,
    asksPeople,
    policiesFor({ kind, source, values }) {
      const symbol = values.get(SYMBOL)?.[0] ?? '';
      const key = `${kind} ${sources.has(source) ? source : ''} ${symbols.has(symbol) ? symbol : ''}`;
      const known = indexed.get(key);
      if (known !== undefined) return known;
      const candidates = policies.filter(
        ({ callback, when }) =>
          callback === kind && mayMatch(when, SOURCE, source) && mayMatch(when, SYMBOL, symbol),
      );
      indexed.set(key, candidates);
      return candidates;
    },
  };
}

const SYMBOL = 'symbol';

/** A policy, or one of its entries. */
export interface Part {
  /** `small`, `small/amount-limit#1`. */
  readonly name: string;
  readonly policy: CompiledPolicy;
  readonly itself: CompiledPolicy | CompiledEntry;
  /** The policy and the groups that it is in, outermost first. */
  readonly around: readonly Part[];
}

/** The policy, and then each of its entries, those in groups included, in order. */
export function partsOf(policy: CompiledPolicy): readonly Part[] {
  const partsIn = (
    itself: CompiledPolicy | CompiledEntry,
    around: readonly Part[],
    name: string,
  ): readonly Part[] => {
    const part = { name, policy, itself, around };
    if (!('entries' in itself)) return [part];
    const inner = [...around, part];
    return [part, ...itself.entries.flatMap((each) => partsIn(each, inner, `${policy.name}/${each.name}`))];
  };
  return partsIn(policy, [], policy.name);
}

const mayMatch = ({ texts }: When, member: string, value: string): boolean =>
  texts.get(member)?.has(value) ?? true;

function namedUnder(member: string, policies: readonly CompiledPolicy[]): ReadonlySet<string> {
  return new Set(policies.flatMap(({ when }) => [...(when.texts.get(member) ?? [])]));
}
