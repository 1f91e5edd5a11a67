import type { z } from 'zod';
import type { Callback, Kind } from '../../callback/callback.ts';
import type { ClaimRequest } from '../../claims/claims.ts';
import type { AllowedTransactions } from '../calls/transaction.ts';
import type { AssetTable } from '../assets.ts';
import type { Facts, PluginQuestion } from '../facts.ts';
import { messageOf } from '../../errors.ts';
import { toComparableEntry } from '../../values/comparable.ts';
import { NotUtf8 } from '../../values/utf8.ts';
import type { FilePlace, Path } from '../fault.ts';
import { LINE_FAULTS_MAX, QUOTED_FIX, UnreadableLines } from '../list-file.ts';

/**
 * A kind of check that policies consist of: a file in this folder and a row in registry.ts. A rule is pure.
 * It refuses a callback that it can't judge. It makes a claim for each condition that depends on earlier
 * callbacks or on lists in the store. It declares everything that other parts must know about it.
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
  /** False if it says nothing about a callback that it passes: a policy with only such rules covers none. */
  readonly covers?: false;
  /** True if it names calls. In a policy with `movements`, the other rules can read these. */
  readonly namesCalls?: true;
  /**
   * The paths of parameters that are limits. A greater maximum, or a smaller minimum, lets more through. So
   * does leaving out an optional limit, and a further asset in a table of maxima.
   */
  readonly bounds?: Readonly<Record<string, 'maximum' | 'minimum'>>;
  /**
   * Whether the rule passes or refuses the values in its parameter `values` or in its list file. More values
   * then pass more, or refuse more.
   */
  readonly listedValues?: 'pass' | 'refuse';
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

/** The parts of the policy, and the files beside it, that a rule may use. */
export interface RuleContext {
  readonly policy: string;
  /** Whether the rule, with the groups around it, only observes. */
  readonly mode: 'enforce' | 'observe';
  readonly callback: Kind;
  /**
   * The texts that `when` of the policy and of the rule allow, by member; a member that neither names is
   * absent.
   */
  readonly when: ReadonlyMap<string, ReadonlySet<string>>;
  /** The `when` of the rule and of its groups, as canonical JSON. The rule counts what meets it apart. */
  readonly scope: string | undefined;
  /** Whether the rules see the movements of a transaction. */
  readonly movements: 'count' | undefined;
  /**
   * True for a stored release. It may have values that are a fault in a new policy. A rule must not become
   * less strict for it.
   */
  readonly isStored: boolean;
  /** The values of a list file beside the policy. Throws, with the fix, if it can't be read. */
  readonly listFile: (name: string) => readonly string[];
  /**
   * The same values, as written in the file, with their lines; undefined for a stored release, which doesn't
   * keep them.
   */
  readonly listAsWritten: (name: string) => ReadonlyMap<string, number> | undefined;
  /**
   * The text of another file beside the policy; it becomes part of the revision. Throws if it can't be read.
   */
  readonly textFile: (name: string) => string;
  /** The asset table beside the policies (`assets.yaml`); empty if there is no such file. */
  readonly assets: AssetTable;
  /** Reports a fault at a path within the parameters, or in a file beside the policy. */
  readonly fault: (place: Path | FilePlace, message: string, fix: string) => undefined;
  /** Reports in the same way what is valid, but hardly meant. Nothing for a stored release. */
  readonly warn: (place: Path | FilePlace, message: string, fix: string) => void;
}

/**
 * Reports that a file beside the policy can't be read: at its place in the file if it has one, otherwise at a
 * path within the parameters, with this fix.
 */
export function faultOfRuleFile(
  file: string,
  thrown: unknown,
  parameter: { readonly path: Path; readonly fix: string },
  context: Pick<RuleContext, 'fault'>,
): undefined {
  if (thrown instanceof UnreadableLines) {
    for (const { line, because } of thrown.lines) context.fault(lineOf(file, line), because, QUOTED_FIX);
    return undefined;
  }
  return thrown instanceof NotUtf8
    ? context.fault({ file, at: thrown.at }, thrown.message, thrown.fix)
    : context.fault(parameter.path, messageOf(thrown), parameter.fix);
}

/**
 * What the values of a list file compile to. After a fault, `compile` is called with each line alone, so that
 * every line with a fault is reported at its place, up to a bound. It gets the comparable values, and the
 * values as written.
 */
export function compileLines<T, C extends Pick<RuleContext, 'fault' | 'listFile' | 'listAsWritten'>>(
  file: string,
  parameter: { readonly path: Path; readonly fix: string },
  context: C,
  compile: (values: readonly string[], written: readonly string[], context: C) => T | undefined,
): T | undefined {
  let values: readonly string[];
  let written: ReadonlyMap<string, number>;
  try {
    values = context.listFile(file);
    written = context.listAsWritten(file) ?? new Map();
  } catch (thrown) {
    return faultOfRuleFile(file, thrown, parameter, context);
  }
  const compiled = compile(values, [...written.keys()], { ...context, fault: () => undefined });
  if (compiled !== undefined) return compiled;
  let faults = 0;
  for (const [text, line] of written) {
    const fault: C['fault'] = (_, message, fix) => context.fault(lineOf(file, line), message, fix);
    const isFine = compile([toComparableEntry(text)], [text], { ...context, fault }) !== undefined;
    if (!isFine && ++faults === LINE_FAULTS_MAX) break;
  }
  return faults > 0 ? undefined : compile(values, [...written.keys()], context);
}

const lineOf = (file: string, line: number): FilePlace => ({ file, at: { line, column: 1 } });

/** For rules that compare or count addresses. */
export const ADDRESS_NOTE =
  'If the asset table names the chain of the asset, all spellings of an address are the same address, and a ' +
  'text that is not an address of the chain is refused. For an asset that is not in the table or has the chain ' +
  '`text`, see [Addresses](../rules.md#addresses).';

/** For rules that treat a new value in another way than a known one. */
export const NEW_VALUES_NOTE =
  'When a value is new, and what makes it new again: see [new-values.md](../new-values.md).';

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
  /** Lists of the store that it looks up. */
  readonly lists?: readonly string[];
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

export interface RuleOutcome {
  readonly verdict: 'pass' | 'refuse' | 'claim';
  /** A sentence with the values; for a claim, what is claimed. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
  /** At least one if the verdict is `claim`, and only then. */
  readonly claims?: readonly ClaimRequest[];
  /**
   * True if a refusal depends on something that changes without a push, other than a list in the store: time,
   * prices, orders, answers. A repeat is then decided again.
   */
  readonly retryable?: boolean;
  /**
   * True if a refusal says nothing about the callback, because something that the rule needs failed: an
   * answer, a price, the rule itself. It counts for no lock-out.
   */
  readonly failed?: boolean;
  /** True if it looked up a price, found or not. */
  readonly usesPrices?: boolean;
  /** Without `valid`, the outcome is the same at every instant. */
  readonly valid?: Validity | undefined;
}

/** The instants [fromMs, untilMs) at which something is the same. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The instants at which both are valid. */
export function bothValid(one: Validity, other: Validity | undefined): Validity {
  return {
    fromMs: Math.max(one.fromMs, other?.fromMs ?? one.fromMs),
    untilMs: Math.min(one.untilMs, other?.untilMs ?? one.untilMs),
  };
}

/**
 * The outcome of a rule that judges several parts, all of which must hold; undefined if there are none.
 * Values of one name are joined with blanks.
 */
export function allOf(parts: readonly RuleOutcome[]): RuleOutcome | undefined {
  if (parts.length < 2) return parts[0];
  const usesPrices = parts.some((part) => part.usesPrices === true);
  const refused = parts.find(({ verdict }) => verdict === 'refuse');
  if (refused !== undefined) return { ...refused, usesPrices };
  const names = new Set(parts.flatMap(({ values }) => Object.keys(values)));
  const valid = parts.reduce<Validity | undefined>(
    (all, part) => (part.valid === undefined ? all : bothValid(part.valid, all)),
    undefined,
  );
  const claims = parts.flatMap((part) => part.claims ?? []);
  return {
    verdict: claims.length > 0 ? 'claim' : 'pass',
    because: parts.map(({ because }) => because).join('; '),
    values: Object.fromEntries(
      [...names].map((name) => [name, parts.flatMap(({ values }) => values[name] ?? []).join(' ')]),
    ),
    ...(claims.length > 0 ? { claims } : {}),
    retryable: parts.some((part) => part.retryable === true),
    usesPrices,
    valid,
  };
}

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

export function refuse(because: string, values: RuleOutcome['values'] = {}): RuleOutcome {
  return { verdict: 'refuse', because, values };
}

export function pass(because: string, values: RuleOutcome['values'] = {}): RuleOutcome {
  return { verdict: 'pass', because, values };
}
