import type { z } from 'zod';

/** The kinds of JSON values by the names that zod gives them. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  record: 'an object',
  object: 'an object',
  array: 'a list',
  number: 'a number',
  boolean: 'true or false',
};
const FAULTS_MAX = 8;

/**
 * Says what is wrong with a value that a schema refused, one clause for each member. `whole` names the value.
 */
export function formatSchemaError({ issues }: z.ZodError, value: unknown, whole = 'it'): string {
  const faults = issues.flatMap((issue) => faultsOf(issue, value, whole));
  const more = faults.length > FAULTS_MAX ? [`and ${faults.length - FAULTS_MAX} more`] : [];
  return [...faults.slice(0, FAULTS_MAX), ...more].join('; ');
}

function faultsOf(issue: z.core.$ZodIssue, value: unknown, whole: string): readonly string[] {
  const path = issue.path.map(String);
  const name = path.length === 0 ? whole : path.join('.');
  const found = valueAt(value, path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `the member ${JSON.stringify([...path, key].join('.'))} is unknown`);
  }
  if (found === undefined) return [`${name} is missing`];
  if (issue.code === 'invalid_type') {
    return [`${name} is ${kindOf(found)} and must be ${KINDS[issue.expected] ?? 'another value'}`];
  }
  if (issue.code === 'invalid_value') {
    return [`${name} is ${shown(found)} and must be one of ${issue.values.map(String).join(', ')}`];
  }
  return [`${name} has a value that is not allowed`];
}

/** The value at the path. Inherited members don't count. */
function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = Object.entries(found).find(([key]) => key === name)?.[1];
  }
  return found;
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : kindOf(value);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return KINDS[Array.isArray(value) ? 'array' : typeof value] ?? 'another value';
}
