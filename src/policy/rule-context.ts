import type { Kind } from '../callback/callback.ts';
import { messageOf } from '../errors.ts';
import { toComparableEntry } from '../values/comparable.ts';
import { NotUtf8 } from '../values/utf8.ts';
import type { AssetTable } from './language/assets.ts';
import { type FilePlace, type Path, fixFor, formatInput } from './fault.ts';
import type { People } from './people.ts';
import { LINE_FAULTS_MAX, QUOTED_FIX, UnreadableLines } from './language/list-file.ts';

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
  /** Those of `people.yaml` beside the policies; nobody if there is no such file. */
  readonly people: People;
  /** Reports a fault at a path within the parameters, or in a file beside the policy. */
  readonly fault: (place: Path | FilePlace, message: string, fix: string) => undefined;
  /** Reports in the same way what is valid, but hardly meant. Nothing for a stored release. */
  readonly warn: (place: Path | FilePlace, message: string, fix: string) => void;
}

/** Reports the names of a mapping that are not known. Returns whether all names are known. */
export function checkNames(
  written: object,
  known: readonly string[],
  path: Path,
  context: Pick<RuleContext, 'fault'>,
): boolean {
  const unknown = Object.keys(written).filter((name) => !known.includes(name));
  for (const name of unknown) {
    context.fault([...path, name], `${formatInput(name)} is not known here`, fixFor(name, known));
  }
  return unknown.length === 0;
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
