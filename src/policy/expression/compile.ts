import {
  type ASTNode,
  EvaluationError,
  type ParseResult,
  ParseError,
  TypeError as TypeFault,
} from '@marcbachmann/cel-js';
import type { Callback } from '../../callback/callback.ts';
import { messageOf } from '../../errors.ts';
import type { Facts } from '../facts.ts';
import { type CheckText, ExpressionFault, analyseExpression } from './grammar.ts';
import { BOUNDS, LISTS, type Names, RENAMED, type Subject, languageOf } from './language.ts';
import { shownValue } from './values.ts';

/** A compiled expression. */
interface Expression {
  /** The members that it uses; the outputs of a withdrawal are its `to`. */
  readonly members: readonly string[];
  /** Never throws. */
  readonly evaluate: (callback: Callback, facts: Facts) => Evaluated;
}

export interface Evaluated {
  /** True only if the value of the expression is true. An error counts as false. */
  readonly holds: boolean;
  /** Why the expression has no value. */
  readonly error: string | undefined;
  /** The values that the expression used, as short texts by name. */
  readonly values: Readonly<Record<string, string>>;
}

type ExpressionCompiled =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly message: string; readonly fix: string };

const FIX =
  "compare texts with texts in quotes, and amounts with whole numbers or decimals like decimal('1.5')";

/**
 * Compiles an expression in CEL for the names and types of the kind. A text that `check` refuses is a fault
 * where it is compared with the member. A fault has the position, as a character counted from 1.
 */
export function compileExpression(
  text: string,
  subject: Subject,
  check: CheckText = () => undefined,
): ExpressionCompiled {
  try {
    if (text.length > BOUNDS.characters) {
      throw new ExpressionFault(
        BOUNDS.characters,
        `it has ${text.length} characters`,
        `shorten it: at most ${BOUNDS.characters} are allowed`,
      );
    }
    const { names, environment } = languageOf(subject);
    const { uses, nodesInLoops } = analyseExpression(environment.parse(text).ast, names, check);
    const parsed = environment.parse(renamed(text, uses));
    const { valid, type, error } = parsed.check();
    if (!valid) throw error ?? new ExpressionFault(0, 'its types do not fit', FIX);
    if (type !== 'bool')
      throw new ExpressionFault(0, `its value is a ${type}, not true or false`, 'compare it with something');
    const used = new Set(uses.map(({ name }) => name));
    const members = [...used].flatMap((name) => (LISTS.has(name) ? 'to' : (names.get(name)?.member ?? [])));
    return { ok: true, expression: { members, evaluate: evaluatorOf(parsed, names, used, nodesInLoops) } };
  } catch (thrown) {
    return { ok: false, ...faultOf(thrown, text) };
  }
}

/** Replaces names by others of the same length, so that positions in the text stay the same. */
function renamed(text: string, uses: readonly { readonly name: string; readonly start: number }[]): string {
  let written = text;
  for (const { name, start } of uses) {
    const other = RENAMED.get(name);
    if (other !== undefined) written = written.slice(0, start) + other + written.slice(start + other.length);
  }
  return written;
}

function faultOf(thrown: unknown, text: string): { readonly message: string; readonly fix: string } {
  const at = (offset: number, message: string): string => {
    const quoted = offset < text.length ? `, ${JSON.stringify(text.slice(offset, offset + 20))}` : '';
    return `at character ${offset + 1}${quoted}: ${message}`;
  };
  if (thrown instanceof ExpressionFault) return { message: at(thrown.at, thrown.message), fix: thrown.fix };
  const offset = thrown instanceof ParseError || thrown instanceof TypeFault ? (thrown.range?.start ?? 0) : 0;
  if (thrown instanceof ParseError) {
    const fix =
      thrown.code === 'limit_exceeded' ? 'write it shorter, or as two rules' : 'correct the expression here';
    return { message: at(offset, `it can't be read: ${thrown.summary}`), fix };
  }
  return {
    message: at(offset, thrown instanceof TypeFault ? thrown.summary : messageOf(thrown)),
    fix: FIX,
  };
}

function evaluatorOf(
  evaluate: ParseResult,
  names: Names,
  used: ReadonlySet<string>,
  nodesInLoops: number,
): Expression['evaluate'] {
  const readers = [...used].flatMap((name) => {
    const found = names.get(name);
    return found === undefined ? [] : [{ name, known: RENAMED.get(name) ?? name, ...found }];
  });
  return (callback, facts) => {
    const values: Record<string, string> = {};
    try {
      const context: Record<string, unknown> = Object.create(null);
      for (const { name, known, read } of readers) {
        const value = read(callback, facts);
        if (value !== undefined) context[known] = value;
        values[name] = value === undefined ? 'none' : shownValue(value);
      }
      const items = callback.movements?.list.length ?? callback.payouts.length;
      const steps = nodesInLoops * items;
      if (steps > BOUNDS.steps) {
        const what = callback.movements === undefined ? 'outputs' : 'movements';
        const error = `${items} ${what} make ${steps} steps, more than ${BOUNDS.steps}`;
        return { holds: false, error, values };
      }
      const value: unknown = evaluate(context);
      return { holds: value === true, error: undefined, values };
    } catch (thrown) {
      return { holds: false, error: reasonOf(thrown, names), values };
    }
  };
}

const REASON_MAX = 200;

function reasonOf(thrown: unknown, names: Names): string {
  if (!(thrown instanceof EvaluationError)) return messageOf(thrown).slice(0, REASON_MAX);
  const node: ASTNode | undefined = thrown.node;
  const missing =
    thrown.code === 'unknown_variable' && node?.op === 'id' ? names.get(node.args)?.missing : undefined;
  return missing ?? thrown.summary.slice(0, REASON_MAX);
}
