import { z } from 'zod';

/**
 * What makes a rule looser, so that it may pass more: a greater bound, or a smaller one; more texts in a list or in
 * the file that a parameter names, or fewer. A bound that is declared and optional also makes the rule looser if it is
 * left out, and a further symbol does in a table of greatest amounts. `never`: the rule passes the same with each value.
 */
export type Looser = 'higher' | 'lower' | 'more' | 'fewer' | 'never';

/**
 * Each parameter of a rule declares it, unless it isn't plain: any change of the parameter may then loosen. The diff
 * knows nothing else of rules. It is the last call for a schema, after `optional`.
 */
export const looserIf = z.registry<{ readonly by: Looser }>();

export const HIGHER = { by: 'higher' } as const;
export const LOWER = { by: 'lower' } as const;
export const MORE = { by: 'more' } as const;
export const FEWER = { by: 'fewer' } as const;
export const NEVER = { by: 'never' } as const;

/** What is declared for a parameter, or for the one that it is a part of: `max` for `max.BTC`. */
export function declaredAt(
  parameters: z.ZodType | undefined,
  path: readonly string[],
): { readonly by: Looser; readonly isPart: boolean } | undefined {
  let schema = parameters;
  for (const [at, name] of path.entries()) {
    const object = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
    const shape: Readonly<Record<string, z.ZodType>> = object instanceof z.ZodObject ? object.shape : {};
    schema = shape[name];
    const declared = schema && looserIf.get(schema);
    if (declared !== undefined) return { by: declared.by, isPart: at < path.length - 1 };
  }
  return undefined;
}
