import type { Callback, Kind } from '../callback/callback.ts';
import { SOURCE } from './members.ts';
import type { Check } from './rules/rule.ts';
import type { When } from './when.ts';

export interface CompiledRule {
  /** `amount-limit#1`. */
  readonly name: string;
  readonly mode: 'enforce' | 'observe';
  readonly evaluate: Check['evaluate'];
}

export interface CompiledPolicy {
  readonly name: string;
  readonly callback: Kind;
  readonly when: When;
  readonly final: boolean;
  readonly rules: readonly CompiledRule[];
}

/** Compiled policies, and the text that they can be compiled from again. */
export interface Release {
  /** SHA-256, in hexadecimal, of the document. */
  readonly revision: string;
  /** Canonical JSON: the policies by name, and the list files they refer to. */
  readonly document: string;
  /** By name. */
  readonly policies: readonly CompiledPolicy[];
  /** Those that may apply to a callback, by its kind and source: `when` is still to be asked. */
  readonly policiesFor: (callback: Pick<Callback, 'kind' | 'source'>) => readonly CompiledPolicy[];
}

export function indexPolicies(
  revision: string,
  document: string,
  policies: readonly CompiledPolicy[],
): Release {
  const index = new Map<Kind, { readonly any: readonly CompiledPolicy[]; readonly named: Named }>();
  for (const kind of new Set(policies.map(({ callback }) => callback))) {
    const ofKind = policies.filter(({ callback }) => callback === kind);
    const sources = new Set(ofKind.flatMap(({ when }) => [...(when.get(SOURCE) ?? [])]));
    const serving = (source: string): readonly CompiledPolicy[] =>
      ofKind.filter(({ when }) => when.get(SOURCE)?.has(source) ?? true);
    index.set(kind, {
      any: ofKind.filter(({ when }) => !when.has(SOURCE)),
      named: new Map([...sources].map((source) => [source, serving(source)])),
    });
  }
  return {
    revision,
    document,
    policies,
    policiesFor: ({ kind, source }) => {
      const ofKind = index.get(kind);
      return ofKind?.named.get(source) ?? ofKind?.any ?? [];
    },
  };
}

type Named = ReadonlyMap<string, readonly CompiledPolicy[]>;
