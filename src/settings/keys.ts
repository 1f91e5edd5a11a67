import { z } from 'zod';
import { settingsSchema } from './schema.ts';

/** One setting. */
export interface SettingKey {
  /** Names from the top; `*` is an index of a list. */
  readonly path: readonly string[];
  /** The environment variable, such as `COUNTERSIGN_SOURCES_<n>_APP_KEY`. Only a scalar has one. */
  readonly variable: string | undefined;
  /** The allowed values, such as `a whole number from 0 to 65535`; one for each form. */
  readonly types: readonly string[];
  readonly description: string;
  readonly default: unknown;
}

export const VARIABLE_PREFIX = 'COUNTERSIGN_';

let known: readonly SettingKey[] | undefined;

/**
 * All settings in the order of the schema, with sections and lists. A setting that several forms share
 * appears once. They are derived on first use: only faults, variables and the reference need them.
 */
export function settingKeys(): readonly SettingKey[] {
  known ??= readKeys();
  return known;
}

function readKeys(): readonly SettingKey[] {
  const keys = new Map<string, SettingKey>();
  const visit = (schema: JsonSchema, path: readonly string[]): void => {
    const forms = schema.anyOf ?? schema.oneOf ?? [schema];
    // The list itself describes its elements. Only a scalar element can be set on its own.
    if (path.length > 0 && (path.at(-1) !== '*' || forms.some(isScalar))) {
      const id = path.join('.');
      keys.set(id, keyOf(schema, forms, path, keys.get(id)));
    }
    for (const form of forms) {
      for (const [name, property] of Object.entries(form.properties ?? {})) visit(property, [...path, name]);
      if (form.items !== undefined) visit(form.items, [...path, '*']);
    }
  };
  visit(settingsJsonSchema(), []);
  return [...keys.values()];
}

function keyOf(
  schema: JsonSchema,
  forms: readonly JsonSchema[],
  path: readonly string[],
  before: SettingKey | undefined,
): SettingKey {
  const descriptions = new Set([before?.description ?? '', schema.description ?? '']);
  return {
    path,
    variable: forms.some(isScalar) ? variableOf(path) : before?.variable,
    types: [...new Set([...(before?.types ?? []), ...forms.flatMap(typesOf)])],
    description: [...descriptions].join(' ').trim(),
    default: before?.default ?? schema.default,
  };
}

function isScalar(schema: JsonSchema): boolean {
  return schema.properties === undefined && schema.items === undefined;
}

function typesOf(schema: JsonSchema): readonly string[] {
  if (schema.const !== undefined) return [`\`${schema.const}\``];
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``);
  if (schema.type === 'boolean') return ['`true`', '`false`'];
  if (schema.type === 'integer') return [`a whole number from ${schema.minimum} to ${schema.maximum}`];
  if (schema.items !== undefined) return ['a list'];
  if (schema.properties !== undefined) return ['a section'];
  return [schema.title ?? 'text'];
}

/** `['public', 'port']` is set by `COUNTERSIGN_PUBLIC_PORT`. */
export function variableOf(path: readonly (string | number)[]): string {
  const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return VARIABLE_PREFIX + path.map((step) => (step === '*' ? '<n>' : snake(String(step)))).join('_');
}

/** The keywords that the JSON Schema of the settings uses. */
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

/** The JSON Schema of the settings file, by which an editor completes and checks it. */
export function settingsJsonSchema(): JsonSchema {
  const schema = asJsonSchema.parse(
    z.toJSONSchema(settingsSchema, {
      io: 'input',
      override: ({ jsonSchema }) => {
        // An optional section isn't in `required`, so its empty default adds nothing.
        if (JSON.stringify(jsonSchema.default) === '{}') delete jsonSchema.default;
      },
    }),
  );
  const { description, ...form } = schema.properties?.['store'] ?? {};
  const shortForm = {
    type: 'string',
    title: 'store URL',
    description: form.properties?.['url']?.description,
  };
  const store = { description, anyOf: [shortForm, form] };
  return { ...schema, title: 'Countersign settings', properties: { ...schema.properties, store } };
}

const asJsonSchema = z.custom<JsonSchema>((value) => typeof value === 'object' && value !== null);
