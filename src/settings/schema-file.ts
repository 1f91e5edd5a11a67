import { z } from 'zod';
import { settingsSchema } from './schema.ts';

/** What the settings' JSON Schema is made of. */
export interface JsonSchema {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string | undefined;
  readonly const?: string | undefined;
  readonly enum?: readonly string[] | undefined;
  readonly default?: unknown;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly items?: JsonSchema | undefined;
  readonly anyOf?: readonly JsonSchema[] | undefined;
  readonly oneOf?: readonly JsonSchema[] | undefined;
  readonly [keyword: string]: unknown;
}

/** The JSON Schema of the settings as they are written, so that an editor completes and checks them. */
export function settingsJsonSchema(): JsonSchema {
  const written = asJsonSchema.parse(
    z.toJSONSchema(settingsSchema, {
      io: 'input',
      override: ({ jsonSchema }) => {
        // A section that may be left out says so by not being required; an empty default would say nothing
        // more.
        if (JSON.stringify(jsonSchema.default) === '{}') delete jsonSchema.default;
      },
    }),
  );
  const { description, ...form } = written.properties?.['store'] ?? {};
  const shortForm = {
    type: 'string',
    title: 'store URL',
    description: form.properties?.['url']?.description,
  };
  const store = { description, anyOf: [shortForm, form] };
  return { ...written, title: 'Countersign settings', properties: { ...written.properties, store } };
}

/** What zod writes, by the keywords that are used here. */
const asJsonSchema = z.custom<JsonSchema>((value) => typeof value === 'object' && value !== null);
