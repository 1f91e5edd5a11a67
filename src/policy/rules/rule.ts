import type { z } from 'zod';
import type { Callback, Kind } from '../../callback/callback.ts';
import type { Path } from '../fault.ts';
import type { AssetTable } from '../assets.ts';
import type { Facts, PluginQuestion } from '../facts.ts';
import type { ClaimRequest } from '../../claims/claims.ts';

/**
 * A kind of check that policies are made of: one file here, one row in registry.ts. It is pure, and whatever
 * it does not know how to judge it refuses; what depends on earlier callbacks or on lists in the store it
 * claims.
 */
export interface Rule {
  readonly name: string;
  /** What it lets through, in a sentence for a risk officer. */
  readonly summary: string;
  /** What must be known beyond that, a sentence each. */
  readonly notes: readonly string[];
  readonly callbacks: readonly Kind[];
  /** Its parameters as text; each is described, for the reference and the editor. */
  readonly parameters: z.ZodObject;
  /** A whole policy that uses it, as YAML. */
  readonly example: string;
  /**
   * Tests of the example, as a test file (`*.test.yaml`) has them: at least one callback that passes, one
   * that is refused.
   */
  readonly cases: string;
  /** Files that the example refers to, by name: list files, `assets.yaml`, ABIs. */
  readonly files?: Readonly<Record<string, string>>;
  /** A check; or undefined, once `context.fault` knows every fault. The parameters fit the schema by then. */
  readonly compile: (parameters: unknown, context: RuleContext) => Check | undefined;
}

/** What a rule may know of the policy that it stands in. */
export interface RuleContext {
  readonly policy: string;
  readonly callback: Kind;
  /** The texts that `when` allows, by member; a member is missing if `when` says nothing about it. */
  readonly when: ReadonlyMap<string, ReadonlySet<string>>;
  /**
   * True where a release that was compiled before is compiled again: what later became a fault is then held
   * to its stricter reading.
   */
  readonly again: boolean;
  /** The values of a list file beside the policy. Throws, with the cure, if it can't be read. */
  readonly listFile: (name: string) => readonly string[];
  /**
   * The same values as they are written in the file; undefined where a release is compiled again, which knows
   * them no more.
   */
  readonly writtenList: (name: string) => readonly string[] | undefined;
  /**
   * The text of any other file beside the policy, which becomes part of the revision. Throws, with the cure,
   * if it can't be read.
   */
  readonly textFile: (name: string) => string;
  /** The asset table beside the policies (`assets.yaml`); empty where there is none. */
  readonly assets: AssetTable;
  /** A fault at a path within the parameters. */
  readonly fault: (path: Path, message: string, cure: string) => undefined;
}

/** A rule with its parameters, ready to judge. */
export interface Check {
  /**
   * What it counts under, if it counts. Two rules of one policy must not share it: they would reserve twice.
   */
  readonly counter?: string;
  /** What must be asked before it is evaluated; the answers are among the facts. */
  readonly questions?: readonly PluginQuestion[];
  readonly evaluate: (callback: Callback, facts: Facts) => Outcome;
}

export interface Outcome {
  readonly verdict: 'pass' | 'refuse' | 'claim';
  /** A sentence with the values; for a claim what is asked for. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
  /** At least one if, and only if, the verdict is `claim`. */
  readonly claims?: readonly ClaimRequest[];
  /**
   * True if its refusal depends on what changes without a push (time, prices, orders, answers): it is decided
   * afresh each time.
   */
  readonly afresh?: boolean;
  /** True if it looked into the price table, also if it found nothing there. */
  readonly prices?: boolean;
  /** The instants [fromMs, untilMs) at which it would come out the same; without it, always. */
  readonly valid?: { readonly fromMs: number; readonly untilMs: number } | undefined;
}

/** A row for the registry, its `compile` typed by its schema. */
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
