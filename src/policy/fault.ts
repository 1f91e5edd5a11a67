import type { z } from 'zod';
import { messageOf } from '../errors.ts';
import { closestMatch } from '../values/closest-match.ts';
import { quoted } from '../values/printable.ts';
import { NotUtf8 } from '../values/utf8.ts';
import type { Position } from '../values/yaml.ts';

export type Path = readonly (string | number)[];

/** A problem of a policy, and its path. */
export interface Problem {
  readonly path: Path;
  /** Whether the name at the end of the path is wrong, or its value. */
  readonly of: 'name' | 'value';
  readonly message: string;
  readonly fix: string;
  /** Where a file beside the policy has the problem. Absent if the policy itself has it. */
  readonly within?: FilePlace;
}

/** A place in a file beside the policy. */
export interface FilePlace {
  readonly file: string;
  readonly at: Position;
}

/** Line and column count from 1; they are 0 for the whole file. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A problem with its place. */
export interface PolicyFault extends Place {
  /** `rules[1].window-limit.max`; empty for a whole file or policy. */
  readonly path: string;
  readonly message: string;
  readonly fix: string;
}

/** A fault of a whole file, or of all files (`.`). */
export function faultOfFile(file: string, message: string, fix: string): PolicyFault {
  return { file, line: 0, column: 0, path: '', message, fix };
}

/** A fault of a file that can't be read. It has a place if the text is not UTF-8. */
export function faultOfUnreadable(file: string, thrown: unknown, fix: string): PolicyFault {
  return thrown instanceof NotUtf8
    ? { ...faultOfFile(file, thrown.message, thrown.fix), ...thrown.at }
    : faultOfFile(file, messageOf(thrown), fix);
}

/**
 * Formats a fault for people: `payments.yaml:7:14: rules[0].amount-limit.max: "1e4" is not valid; write …`.
 */
export function formatFault(fault: PolicyFault): string {
  const place = fault.line === 0 ? fault.file : `${fault.file}:${fault.line}:${fault.column}`;
  const path = fault.path === '' ? '' : `${fault.path}: `;
  return `${place}: ${path}${fault.message}; ${fault.fix}`;
}

/**
 * A fault in the JSON of errors and commands. The member is still called `cure`, because scripts read that
 * name.
 */
export function faultToJson({ fix, ...fault }: PolicyFault): object {
  return { ...fault, cure: fix };
}

export function formatPath(path: Path): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
}

/** The fix for an unknown name: a similar name if there is one, and all known names. */
export function fixFor(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'leave it out: no name can be written here';
  const suggestion = closestMatch(name, known);
  const all = `known here: ${known.join(', ')}`;
  return suggestion === undefined ? all : `did you mean ${suggestion}? (${all})`;
}

/** A short form of a value for messages. */
export function formatInput(value: unknown): string {
  const text = typeof value === 'string' ? quoted(value) : Array.isArray(value) ? 'a list' : 'a mapping';
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

const TEXTS_MAX = 5;

/** `BTC`, `BTC and ETH`, `A, B, C, D, E and 3 more`. */
export function formatTexts(texts: readonly string[]): string {
  const shown = texts.slice(0, TEXTS_MAX);
  if (texts.length > TEXTS_MAX) return `${shown.join(', ')} and ${texts.length - TEXTS_MAX} more`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/**
 * The problems of a value that doesn't fit its schema. The message of a schema is a phrase for the expected
 * value. A check over several members is a custom issue with a whole sentence and `params.fix`.
 */
export function problemsOf(
  error: z.ZodError,
  value: unknown,
  known: readonly string[],
  base: Path = [],
): readonly Problem[] {
  // A misspelt name is also a missing member. Only the misspelling is reported.
  const hasUnknownName = error.issues.some(({ code }) => code === 'unrecognized_keys');
  const issues = hasUnknownName ? error.issues.filter(({ code }) => code !== 'custom') : error.issues;
  return issues.flatMap((issue): Problem[] => {
    const innerPath = issue.path.filter((step) => typeof step !== 'symbol');
    const path = [...base, ...innerPath];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: [...path, key],
        of: 'name',
        message: `${formatInput(key)} is not known here`,
        fix: fixFor(key, known),
      }));
    }
    const fix: unknown = issue.code === 'custom' ? issue.params?.['fix'] : undefined;
    if (typeof fix === 'string') return [{ path, of: 'value', message: issue.message, fix }];
    const written = valueAtPath(value, innerPath);
    const expected =
      issue.code === 'invalid_type' && issue.expected === 'object'
        ? `a mapping of ${known.join(', ')}`
        : issue.message;
    const message =
      written === undefined
        ? `${innerPath.at(-1) ?? 'it'} is missing`
        : `${formatInput(written)} is not valid`;
    return [{ path, of: 'value', message, fix: `write ${expected}` }];
  });
}

function valueAtPath(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path) {
    const property: PropertyDescriptor | undefined =
      typeof at === 'object' && at !== null ? Object.getOwnPropertyDescriptor(at, step) : undefined;
    at = property?.value;
  }
  return at;
}
