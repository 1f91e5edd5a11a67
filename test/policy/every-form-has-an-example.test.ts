import { expect, it } from 'vitest';
import { GROUPS } from '../../src/policy/language/document.ts';
import { rules } from '../../src/policy/rules/registry.ts';
import { policyJsonSchema } from '../../tools/generate/policy-schemas.ts';
import { type Json, isObject } from '../../src/values/canonical.ts';
import { everySuite } from '../scenarios/rule-cases.ts';

/*
 * The forms of a policy are what its JSON Schema tells apart: the members of a mapping, the choices of `anyOf`,
 * and the words of an enumeration. A window is a duration or a period, which the schema does not tell apart.
 */

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
}

const { definitions }: { readonly definitions: Readonly<Record<string, Schema>> } = JSON.parse(
  JSON.stringify(policyJsonSchema()),
);

function resolved(schema: Schema): Schema {
  const [only] = schema.allOf ?? [];
  const name = (schema.$ref ?? only?.$ref)?.replace('#/definitions/', '');
  return name === undefined ? schema : (definitions[name] ?? schema);
}

/** The path of a mapping that is described once starts anew. */
function pathIn(schema: Schema, path: string): string {
  const name = (schema.$ref ?? schema.allOf?.[0]?.$ref)?.replace('#/definitions/', '');
  return name ?? path;
}

const shapeOf = ({ type, const: word, enum: words }: Schema): string =>
  word ?? words?.join('|') ?? (type === 'object' || type === 'array' ? type : 'text');

const WINDOWS = [
  'duration',
  ...(/(?<=period: ).*/.exec(windowText())?.[0].match(/[a-z]+(?=,|\.| \()/g) ?? []),
];

function windowText(): string {
  return definitions['rule']?.properties?.['window-limit']?.properties?.['window']?.description ?? '';
}

/** The choices of `anyOf`. Those without a type say which names belong to which kind of callback. */
const choicesOf = (schema: Schema): readonly Schema[] =>
  (resolved(schema).anyOf ?? []).filter(({ type, const: word }) => type !== undefined || word !== undefined);

/** All forms of a schema. */
function formsOf(schema: Schema, path: string, seen: Set<string>): readonly string[] {
  const at = pathIn(schema, path);
  if (at !== path && seen.has(at)) return [];
  seen.add(at);
  const { properties = {}, additionalProperties: rest, items, enum: words = [] } = resolved(schema);
  const anyOf = choicesOf(schema);
  return [
    ...Object.entries(properties).flatMap(([name, each]) => [
      `${at}.${name}`,
      ...formsOf(each, `${at}.${name}`, seen),
    ]),
    ...(typeof rest === 'object' ? formsOf(rest, `${at}.*`, seen) : []),
    ...(items === undefined ? [] : formsOf(items, `${at}[]`, seen)),
    ...anyOf.flatMap((each) => [`${at} as ${shapeOf(each)}`, ...formsOf(each, at, seen)]),
    ...words.map((word) => `${at}: ${word}`),
    ...(path.endsWith('.window') ? WINDOWS.map((window) => `${at}: ${window}`) : []),
  ];
}

/** The forms that a value has. */
function formsIn(value: Json | undefined, schema: Schema, path: string): readonly string[] {
  const at = pathIn(schema, path);
  const { properties = {}, additionalProperties: rest, items, enum: words = [] } = resolved(schema);
  const anyOf = choicesOf(schema);
  const chosen = anyOf.filter((each) => fits(value, each));
  return [
    ...(isObject(value)
      ? Object.entries(value).flatMap(([name, each]): readonly string[] => {
          const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
          if (own !== undefined) return [`${at}.${name}`, ...formsIn(each, own, `${at}.${name}`)];
          return typeof rest === 'object' ? formsIn(each, rest, `${at}.*`) : [];
        })
      : []),
    ...(Array.isArray(value) && items !== undefined
      ? (value as readonly Json[]).flatMap((each) => formsIn(each, items, `${at}[]`))
      : []),
    ...chosen.flatMap((each) => [`${at} as ${shapeOf(each)}`, ...formsIn(value, each, at)]),
    ...words.filter((word) => word === value).map((word) => `${at}: ${word}`),
    ...(path.endsWith('.window') && typeof value === 'string'
      ? [`${at}: ${/^\d/.test(value) ? 'duration' : value}`]
      : []),
  ];
}

function fits(
  value: Json | undefined,
  { type, const: word, enum: words, properties, additionalProperties }: Schema,
): boolean {
  if (word !== undefined || words !== undefined)
    return typeof value === 'string' && (words ?? [word]).includes(value);
  if (Array.isArray(value)) return type === 'array';
  if (!isObject(value)) return type !== 'array' && type !== 'object';
  return (
    type === 'object' &&
    (additionalProperties !== false ||
      Object.keys(value).every((name) => properties !== undefined && Object.hasOwn(properties, name)))
  );
}

/** The schema has one shape for the conditions of all arguments, and `plain.to` is an address. */
const NOT_OF_AN_ADDRESS =
  /\.plain\.to\.(?:min|max|each|decimals|asset|within|atLeast)\b|\.plain\.to\.is: caller$/;

it('every form of a policy is in an example that a test runs', async () => {
  const suites = await everySuite();
  const found = new Set(
    suites.flatMap(({ release }) => {
      const { policies }: { readonly policies: readonly Json[] } = JSON.parse(release.document);
      return policies.flatMap((policy) => formsIn(policy, { $ref: '#/definitions/policy' }, ''));
    }),
  );
  const forms = formsOf({ $ref: '#/definitions/policy' }, '', new Set());
  expect(forms.length).toBeGreaterThan(100);
  for (const name of [...rules.map((rule) => rule.name), ...GROUPS]) expect(forms).toContain(`rule.${name}`);
  expect(forms.filter((form) => !found.has(form) && !NOT_OF_AN_ADDRESS.test(form))).toEqual([]);
});
