import type { z } from 'zod';
import type { Json } from '../../values/canonical.ts';
import { isObject } from '../document.ts';
import { type Path, type Problem, problemsOf, shown } from '../fault.ts';

/** Where faults go while one file is read. */
export interface Reading {
  readonly problems: Problem[];
}

/** One layer of a test file, by its shape; undefined once its problems are told. */
export function readLayer<Shape extends z.ZodObject>(
  { problems }: Reading,
  shape: Shape,
  written: Json | undefined,
  path: Path,
): z.output<Shape> | undefined {
  const parsed = shape.safeParse(written);
  if (parsed.success) return parsed.data;
  problems.push(...problemsOf(parsed.error, written, Object.keys(shape.shape), path));
  return undefined;
}

/** The entries of a mapping; none of anything else, once that is told. */
export function entriesOf(
  { problems }: Reading,
  written: Json | undefined,
  path: Path,
  expected: string,
): readonly (readonly [string, Json])[] {
  if (written === undefined) return [];
  if (isObject(written))
    return Object.entries(written).filter((entry): entry is [string, Json] => entry[1] !== undefined);
  problems.push(valueProblem(path, written, expected));
  return [];
}

/** The items of a list, likewise. */
export function itemsOf(
  { problems }: Reading,
  written: Json | undefined,
  path: Path,
  expected: string,
): readonly Json[] {
  if (written === undefined) return [];
  if (Array.isArray(written)) return written as readonly Json[];
  problems.push(valueProblem(path, written, expected));
  return [];
}

export function valueProblem(path: Path, written: Json | undefined, expected: string): Problem {
  return { path, of: 'value', message: `${shown(written)} will not do`, cure: `write ${expected}` };
}

/** The one of several names that a mapping has; undefined once it is told that it has none, or several. */
export function oneNameOf<const Name extends string>(
  { problems }: Reading,
  written: Readonly<Partial<Record<Name, unknown>>>,
  names: readonly Name[],
  path: Path,
): Name | undefined {
  const given = names.filter((name) => written[name] !== undefined);
  const [name] = given;
  if (name !== undefined && given.length === 1) return name;
  problems.push({
    path,
    of: 'value',
    message: given.length === 0 ? `it has none of ${names.join(', ')}` : `it has ${given.join(' and ')}`,
    cure: `give exactly one of ${names.join(', ')}`,
  });
  return undefined;
}
