import { type JsonSchema, settingsJsonSchema } from './schema-file.ts';

/** One setting: where it stands in the file, and the environment variable that sets it. */
export interface SettingKey {
  /** Names from the top; `*` stands for the number of a list's element. */
  readonly path: readonly string[];
  /** `COUNTERSIGN_SOURCES_<n>_APP_KEY`; only a scalar has one. */
  readonly variable: string | undefined;
  /** What may be written, such as `a whole number from 0 to 65535`; one for each form. */
  readonly types: readonly string[];
  readonly description: string;
  readonly default: unknown;
}

export const VARIABLE_PREFIX = 'COUNTERSIGN_';

let known: readonly SettingKey[] | undefined;

/**
 * All settings, sections and lists included, in the schema's order; those that several forms share, once.
 * Made when first asked for: a start with neither a fault nor a variable needs none of it.
 */
export function settingKeys(): readonly SettingKey[] {
  known ??= readKeys();
  return known;
}

function readKeys(): readonly SettingKey[] {
  const keys = new Map<string, SettingKey>();
  const visit = (schema: JsonSchema, path: readonly string[]): void => {
    const forms = schema.anyOf ?? schema.oneOf ?? [schema];
    // The elements of a list are described by the list; only a scalar among them can be set by itself.
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
