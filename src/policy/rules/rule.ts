import type { z } from 'zod';
import type { Callback, Kind } from '../../callback/callback.ts';
import type { ClaimRequest } from '../../claims/claims.ts';
import type { AssetTable } from '../assets.ts';
import type { Facts, PluginQuestion } from '../facts.ts';
import type { Path } from '../fault.ts';

/**
 * A kind of check that policies consist of: a file in this folder and a row in registry.ts. A rule is pure.
 * It refuses what it can't judge. What depends on earlier callbacks or on lists in the store, it claims. It
 * declares itself what other parts must know of it.
 */
export interface Rule {
  readonly name: string;
  /** One sentence for a risk officer: what passes. */
  readonly summary: string;
  /** Further sentences for the reference. */
  readonly notes: readonly string[];
  readonly callbacks: readonly Kind[];
  /** Each parameter has a description, for the reference and for editors. */
  readonly parameters: z.ZodObject;
  /** The paths of parameters that limit: a greater maximum, and a smaller minimum, let more through. */
  readonly bounds?: Readonly<Record<string, 'maximum' | 'minimum'>>;
  /** Whether the rule passes or refuses the values in its parameter `values` or in its list file. */
  readonly listed?: 'pass' | 'refuse';
  /** A whole policy with this rule, as YAML. */
  readonly example: string;
  /**
   * Tests of the example, as in a test file (`*.test.yaml`). At least one callback passes, and one is
   * refused.
   */
  readonly cases: string;
  /** Files that the example refers to, by name: list files, `assets.yaml`, ABIs. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * The parameters fit the schema. Returns undefined after it has reported every fault to `context.fault`.
   */
  readonly compile: (parameters: unknown, context: RuleContext) => Check | undefined;
}

/** What a rule may know of its policy and of the files beside it. */
export interface RuleContext {
  readonly policy: string;
  readonly callback: Kind;
  /** The texts that `when` allows, by member; a member that `when` doesn't name is absent. */
  readonly when: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * True for a stored release. It may have values that are a fault today, and must keep its strict meaning.
   */
  readonly isStored: boolean;
  /** The values of a list file beside the policy. Throws, with the cure, if it can't be read. */
  readonly listFile: (name: string) => readonly string[];
  /** The same values as the file has them; undefined for a stored release, which doesn't keep them. */
  readonly writtenList: (name: string) => readonly string[] | undefined;
  /**
   * The text of another file beside the policy; it becomes part of the revision. Throws if it can't be read.
   */
  readonly textFile: (name: string) => string;
  /** The asset table beside the policies (`assets.yaml`); empty if there is no such file. */
  readonly assets: AssetTable;
  /** Reports a fault at a path within the parameters. */
  readonly fault: (path: Path, message: string, cure: string) => undefined;
}

/** A rule with its parameters, ready to judge, and what it needs beside the callback. */
export interface Check {
  readonly evaluate: (callback: Callback, facts: Facts) => Outcome;
  /**
   * The count that it reserves in. Two rules of one policy must not share a count: it would be reserved
   * twice.
   */
  readonly counter?: string;
  /** Plugin questions that need an answer before the evaluation. */
  readonly questions?: readonly PluginQuestion[];
  /** Lists of the store that it looks up. */
  readonly lists?: readonly string[];
  /** The greatest age of the prices that it calculates with. */
  readonly maxPriceAge?: { readonly text: string; readonly ms: number };
  /** Members whose addresses it refuses unless they are written as their chain writes them. */
  readonly checkedAddresses?: readonly string[];
  /** Members that it compares as exact text. For an address that makes another spelling another value. */
  readonly compared?: {
    readonly members: readonly string[];
    /** The fate of the other spelling, such as `is not denied`. */
    readonly effect: string;
    /** Whether the other spelling evades the rule. */
    readonly evades: boolean;
  };
}

export interface Outcome {
  readonly verdict: 'pass' | 'refuse' | 'claim';
  /** A sentence with the values; for a claim, what is claimed. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
  /** At least one if the verdict is `claim`, and only then. */
  readonly claims?: readonly ClaimRequest[];
  /**
   * True if a refusal depends on what changes without a push (time, prices, orders, answers). It is decided
   * again.
   */
  readonly afresh?: boolean;
  /** True if it looked up a price, found or not. */
  readonly prices?: boolean;
  /** The outcome is the same at all instants in [fromMs, untilMs); without `valid`, at every instant. */
  readonly valid?: { readonly fromMs: number; readonly untilMs: number } | undefined;
}

/** A row for the registry. The schema gives `compile` the type of its parameters. */
export function defineRule<Schema extends z.ZodObject>(
  definition: Omit<Rule, 'parameters' | 'compile'> & {
    readonly parameters: Schema;
    readonly compile: (parameters: z.output<Schema>, context: RuleContext) => Check | undefined;
  },
): Rule {
  return {
    ...definition,
    compile: (parameters, context) => definition.compile(definition.parameters.parse(parameters), context),
  };
}

export function refuse(because: string, values: Outcome['values'] = {}): Outcome {
  return { verdict: 'refuse', because, values };
}

export function pass(because: string, values: Outcome['values'] = {}): Outcome {
  return { verdict: 'pass', because, values };
}
