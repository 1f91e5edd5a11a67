import { z } from 'zod';

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** The fields that a schema reads, such as `list[].id`, without those that only have others in them. */
export function fieldsOf(schema: z.ZodType): readonly string[] {
  const json = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as JsonSchema;
  return [...new Set(inSchema(json, ''))].filter((path) => path !== '').toSorted();
}

function inSchema(
  { properties, additionalProperties, items, anyOf }: JsonSchema,
  path: string,
): readonly string[] {
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, member]) => inSchema(member, joined(path, name)));
  }
  if (items !== undefined) return inSchema(items, `${path}[]`);
  if (typeof additionalProperties === 'object') return inSchema(additionalProperties, joined(path, '*'));
  const alternatives = anyOf?.flatMap((each) => inSchema(each, path)) ?? [];
  const within = alternatives.filter((each) => each !== path);
  return within.length > 0 ? within : [path];
}

/** The fields of a value that have one: null is none. Each coin's precision (2.3) counts as `precision.*`. */
export function fieldsIn(value: unknown, { nulls = false } = {}): readonly string[] {
  return [...new Set(inValue(value, '', nulls))].toSorted();
}

function inValue(value: unknown, path: string, nulls: boolean): readonly string[] {
  if (value === undefined || (value === null && !nulls)) return [];
  if (Array.isArray(value)) return value.flatMap((each) => inValue(each, `${path}[]`, nulls));
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) => inValue(member, joined(path, name), nulls));
}

const joined = (path: string, name: string): string =>
  (path === '' ? name : `${path}.${name}`).replace(/^(?:\w+Precision|precision\.\w+)$/, 'precision.*');
