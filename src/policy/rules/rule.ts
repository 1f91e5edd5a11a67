import type { z } from 'zod';
import type { Callback, Kind } from '../../callback/callback.ts';
import type { AllowedTransactions } from '../calls/transaction.ts';
import type { Facts, PluginQuestion } from '../facts.ts';
import type { RuleOutcome } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';

/**
 * A kind of check that policies consist of: a file in this folder, a row in registry.ts, and a page in
 * docs/rules with its notes, its example and tests of it. A rule is pure. It refuses a callback that it can't
 * judge. It makes a claim for each condition that depends on earlier callbacks or on lists in the store. It
 * declares everything that other parts must know about it.
 */
export interface Rule {
  readonly name: string;
  /** One sentence for a risk officer: what passes. */
  readonly summary: string;
  readonly callbacks: readonly Kind[];
  /**
   * Each parameter has a description, for the reference and for editors. It declares what makes the rule
   * looser, if that is plain: see looser.ts.
   */
  readonly parameters: z.ZodObject;
  /** False if it says nothing about a callback that it passes: a policy with only such rules covers none. */
  readonly covers?: false;
  /** True if it names calls. In a policy with `movements`, the other rules can read these. */
  readonly namesCalls?: true;
  /**
   * The parameters fit the schema. Returns undefined after it has reported every fault to `context.fault`.
   */
  readonly compile: (parameters: unknown, context: RuleContext) => Check | undefined;
}

/** A compiled rule, and its declarations. */
export interface Check {
  readonly evaluate: (callback: Callback, facts: Facts) => RuleOutcome;
  /**
   * The counter in which it reserves. Two rules of one policy must not share a counter, because each would
   * reserve in it.
   */
  readonly counter?: string;
  /** Present if rules of other policies may share the counter. */
  readonly sharedCounter?: SharedCounter;
  /** Whether it counts across the sources of a group, and so refuses those without a group. */
  readonly acrossGroup?: boolean;
  /** How long an approval counts there, at most, in milliseconds. */
  readonly countsMs?: number;
  /** What identifies the values that it remembers as approved before. */
  readonly remembers?: string;
  /** The ids that lock-outs of `userId 12345`, or of whom else a lock-out names, have if they are its own. */
  readonly lockoutIds?: (whose: string) => readonly string[];
  /** Plugin questions that need an answer before the evaluation. */
  readonly pluginQuestions?: readonly PluginQuestion[];
  /** Whose approval it needs, how long that counts, and how long a callback is held open for it. */
  readonly approval?: {
    readonly group: string;
    readonly quorum: number;
    readonly withinMs: number;
    readonly waitMs: number;
  };
  /** Lists of the store that it looks up. */
  readonly lists?: readonly string[];
  /** Whether more entries of these lists make it looser, or fewer. Absent if either may. */
  readonly looserLists?: 'more' | 'fewer';
  /**
   * Reads a value of one of its lists, as somebody writes it. Without it, the value is its comparable text.
   */
  readonly readListed?: (list: string, written: string) => ListedRead;
  /** The greatest age of the prices that it calculates with. */
  readonly maxPriceAge?: { readonly text: string; readonly ms: number };
  /** Whether it passes whatever it judges. */
  readonly alwaysPasses?: boolean;
  /** The calls that it allows. In a policy with movements, these can be read. */
  readonly allowedCalls?: AllowedTransactions;
  /** Whether it judges the amounts of a callback. */
  readonly judgesAmounts?: true;
  /** Members that it compares. */
  readonly compared?: {
    readonly members: readonly string[];
    /**
     * How another spelling of an address gets past the rule if its chain is not known, as the end of a
     * sentence: `is not denied`. Absent if the rule can only refuse it.
     */
    readonly effect?: string;
  };
}

/** A counter that rules of several policies name. */
export interface SharedCounter {
  readonly name: string;
  /** What these rules must agree in, by the name of the parameter: how they write it, and what it means. */
  readonly agreement: Readonly<Record<string, { readonly text: string; readonly identity: string }>>;
}

export type ListedRead =
  /** The texts that stand for the value. The first is the one to keep in the list. */
  | { readonly ok: true; readonly texts: readonly [string, ...string[]] }
  /** Why no callback can match the value: a clause. */
  | { readonly ok: false; readonly because: string };

/** Defines a rule for the registry. The type of the parameters of `compile` follows from the schema. */
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
