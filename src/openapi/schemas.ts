import { z } from 'zod';

/** A part of an OpenAPI document. */
export type Part = Readonly<Record<string, unknown>>;

/** The named schemas of one document. */
export interface Schemas {
  /** By name, for `components.schemas`. */
  readonly named: Readonly<Record<string, Part>>;
  /** Adds a named schema, and returns a reference to it. */
  add(name: string, schema: Part): Part;
  /** The JSON Schema of what a zod schema accepts. Schemas that have an id are added, and referred to. */
  of(shape: z.ZodType): Part;
}

export function createSchemas(): Schemas {
  const named: Record<string, Part> = {};
  return {
    named,
    add(name, schema) {
      named[name] = schema;
      return refTo(name);
    },
    of(shape) {
      const { $schema: _, $defs, ...schema } = part.parse(portable(z.toJSONSchema(shape, OPTIONS)));
      Object.assign(named, $defs);
      return schema;
    },
  };
}

export function refTo(name: string): Part {
  return { $ref: `#/components/schemas/${name}` };
}

/** Base64 or base64url of at least one byte, padded or not, as a pattern. */
export const BASE64 = '[A-Za-z0-9+/_-]+={0,2}';

/** A body of JSON with examples by name. */
export function json(schema: Part, examples: Part): Part {
  const values = Object.entries(examples).map(([name, value]) => [name, { value }] as const);
  return { 'application/json': { schema, examples: Object.fromEntries(values) } };
}

export const part = z.record(z.string(), z.unknown());

const EMPTY = { const: '' };

const OPTIONS: Parameters<typeof z.toJSONSchema>[1] = {
  io: 'input',
  override({ zodSchema, jsonSchema }) {
    delete jsonSchema['tsType'];
    if (jsonSchema['mayBeNull'] === true) {
      delete jsonSchema['mayBeNull'];
      if (jsonSchema.type === 'array') Object.assign(jsonSchema, { type: ['array', 'null'] });
    }
    if (jsonSchema['mayBeEmpty'] === true) {
      delete jsonSchema['mayBeEmpty'];
      jsonSchema.anyOf = [...new Set([...(jsonSchema.anyOf ?? []), EMPTY])];
      if (jsonSchema.$ref !== undefined) delete jsonSchema.anyOf;
    }
    if (jsonSchema['mayBeUnreadable'] === true) {
      const [readable] = jsonSchema.anyOf ?? [];
      for (const name of Object.keys(jsonSchema)) delete jsonSchema[name];
      Object.assign(jsonSchema, readable);
    }
    // It says that the program changes no value, and not that a request may not have it.
    delete jsonSchema.readOnly;
    if (!(zodSchema instanceof z.ZodObject)) return;
    const { shape } = zodSchema;
    const required = Object.keys(shape).filter((name) => !z.safeParse(shape[name], undefined).success);
    const properties = Object.entries(jsonSchema.properties ?? {});
    const written = properties.filter(([, schema]) => typeof schema === 'boolean' || !schema['derived']);
    jsonSchema.properties = Object.fromEntries(written);
    jsonSchema.required = required.filter((name) => Object.hasOwn(jsonSchema.properties ?? {}, name));
    if (jsonSchema.required.length === 0) delete jsonSchema.required;
  },
};

/**
 * The schema with the references of a document, and with patterns that the engines of all languages know:
 * control characters stand for the Unicode classes of characters without a glyph.
 */
function portable(schema: object): unknown {
  const text = JSON.stringify(schema)
    .replaceAll('"#/$defs/', '"#/components/schemas/')
    .replaceAll(String.raw`\\p{Cc}\\p{Cf}\\p{Cs}`, String.raw`\\x00-\\x1f\\x7f`);
  return JSON.parse(text);
}
