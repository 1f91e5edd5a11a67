import type { z } from 'zod';
import { closestMatch } from '../values/closest-match.ts';

export type Path = readonly (string | number)[];

/** A problem of a policy, and its path. */
export interface Problem {
  readonly path: Path;
  /** Whether the name at the end of the path is wrong, or its value. */
  readonly of: 'name' | 'value';
  readonly message: string;
  readonly cure: string;
}

/** A problem with its place. Line and column count from 1; they are 0 for a fault of the whole file. */
export interface PolicyFault {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** `rules[1].window-limit.max`; empty for a whole file or policy. */
  readonly path: string;
  readonly message: string;
  readonly cure: string;
}

/** A fault of a whole file, or of all files (`.`). */
export function faultOfFile(file: string, message: string, cure: string): PolicyFault {
  return { file, line: 0, column: 0, path: '', message, cure };
}

/**
 * Formats a fault for people: `payments.yaml:7:14: rules[0].amount-limit.max: "1e4" will not do; write …`.
 */
export function formatFault(fault: PolicyFault): string {
  const place = fault.line === 0 ? fault.file : `${fault.file}:${fault.line}:${fault.column}`;
  const path = fault.path === '' ? '' : `${fault.path}: `;
  return `${place}: ${path}${fault.message}; ${fault.cure}`;
}

export function formatPath(path: Path): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
}

/** The cure for an unknown name: a similar name if there is one, and all known names. */
export function cureFor(name: string, known: readonly string[]): string {
  const meant = closestMatch(name, known);
  const all = `known here: ${known.join(', ')}`;
  return meant === undefined ? all : `did you mean ${meant}? (${all})`;
}

/** A short form of a value for messages. */
export function formatInput(value: unknown): string {
  const text =
    typeof value === 'string' ? JSON.stringify(value) : Array.isArray(value) ? 'a list' : 'a mapping';
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

/**
 * The problems of a value that doesn't fit its schema. The message of a schema is a phrase for the expected
 * value. A check over several members is a custom issue with a whole sentence and `params.cure`.
 */
export function problemsOf(
  error: z.ZodError,
  value: unknown,
  known: readonly string[],
  base: Path = [],
): readonly Problem[] {
  // A misspelt name is also a missing member. Only the misspelling is reported.
  const misspelt = error.issues.some(({ code }) => code === 'unrecognized_keys');
  const issues = misspelt ? error.issues.filter(({ code }) => code !== 'custom') : error.issues;
  return issues.flatMap((issue): Problem[] => {
    const inner = issue.path.filter((step) => typeof step !== 'symbol');
    const path = [...base, ...inner];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: [...path, key],
        of: 'name',
        message: `${formatInput(key)} is not known here`,
        cure: cureFor(key, known),
      }));
    }
    const cure: unknown = issue.code === 'custom' ? issue.params?.['cure'] : undefined;
    if (typeof cure === 'string') return [{ path, of: 'value', message: issue.message, cure }];
    const written = valueAtPath(value, inner);
    const expected =
      issue.code === 'invalid_type' && issue.expected === 'object'
        ? `a mapping of ${known.join(', ')}`
        : issue.message;
    const message =
      written === undefined ? `${inner.at(-1) ?? 'it'} is missing` : `${formatInput(written)} will not do`;
    return [{ path, of: 'value', message, cure: `write ${expected}` }];
  });
}

function valueAtPath(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path) {
    const own: PropertyDescriptor | undefined =
      typeof at === 'object' && at !== null ? Object.getOwnPropertyDescriptor(at, step) : undefined;
    at = own?.value;
  }
  return at;
}
