/*
 * What both stores gave, written down once. A value in which they differ is written as what each of them gave.
 */

export type StoreName = 'embedded' | 'redis';

/** Wide enough for the result of a rule or for a claim on a line. */
const COLUMNS = 200;

/**
 * JSON in which nothing that was given is lost: the same text means the same values, in the same order of names,
 * on each of the two stores.
 */
export function writtenOfBoth({ embedded, redis }: Readonly<Record<StoreName, unknown>>): string {
  return written(merged(embedded, redis));
}

/** JSON with what fits into a line on one line, so that a change of a value is a change of a short line. */
export function written(value: unknown): string {
  return `${formatted(value, 0)}\n`;
}

function merged(embedded: unknown, redis: unknown): unknown {
  if (JSON.stringify(embedded) === JSON.stringify(redis)) return embedded;
  if (Array.isArray(embedded) && Array.isArray(redis) && embedded.length === redis.length) {
    return embedded.map((each, at) => merged(each, redis[at]));
  }
  if (isObject(embedded) && isObject(redis)) {
    const names = namesOfBoth(Object.keys(embedded), Object.keys(redis));
    if (names !== undefined) {
      return Object.fromEntries(names.map((name) => [name, merged(embedded[name], redis[name])]));
    }
  }
  // JSON has no undefined: a name that one of them lacks.
  return { '<embedded>': embedded, '<redis>': redis };
}

/** All names in an order that is that of each; undefined if there is none. */
function namesOfBoth(embedded: readonly string[], redis: readonly string[]): readonly string[] | undefined {
  const names: string[] = [];
  let next = 0;
  for (const name of embedded) {
    const at = redis.indexOf(name);
    if (at >= 0) {
      if (at < next) return undefined;
      names.push(...redis.slice(next, at));
      next = at + 1;
    }
    names.push(name);
  }
  return [...names, ...redis.slice(next)];
}

function formatted(value: unknown, depth: number): string {
  const line = JSON.stringify(value);
  if (line.length + depth <= COLUMNS || typeof value !== 'object' || value === null) return line;
  const indent = ' '.repeat(depth + 1);
  const inside = (each: string): string => `${indent}${each}`;
  const parts = Array.isArray(value)
    ? value.map((each) => inside(formatted(each, depth + 1)))
    : Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([name, each]) => inside(`${JSON.stringify(name)}: ${formatted(each, depth + 1)}`));
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${parts.join(',\n')}\n${' '.repeat(depth)}${close}`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
