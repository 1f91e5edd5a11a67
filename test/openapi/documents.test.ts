import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { createValidators, documents, mediaTypesOf, operationsOf } from './validators.ts';

type Json = Record<string, Record<string, never>>;
const isValid = async (document: object): Promise<boolean> =>
  (await new Validator().validate(structuredClone(document) as Json)).valid;

describe.each(Object.entries(documents))('the document of the %s', (_name, document) => {
  it('is valid OpenAPI 3.1', async () => {
    expect(await new Validator().validate(structuredClone(document) as never)).toEqual({ valid: true });
    expect((document as never as Json)['openapi']).toMatch(/^3\.1\.\d+$/);
  });

  const [{ path, method, operation } = { path: '', method: '', operation: {} }] = operationsOf(document);
  const withOperation = (over: object): object => ({
    ...document,
    paths: { ...document.paths, [path]: { ...document.paths[path], [method]: { ...operation, ...over } } },
  });
  it.each<[string, object]>([
    ['without a title', { ...document, info: { version: '1' } }],
    ['of another version', { ...document, openapi: '4.0.0' }],
    ['with a path that begins without a slash', { ...document, paths: { orders: {} } }],
    ['with an operation that has a wrong member', withOperation({ response: {} })],
    ['with an answer without description', withOperation({ responses: { 200: {} } })],
    ['with an answer that refers to nothing', withOperation({ responses: { 200: { $ref: '#/nowhere' } } })],
    ['with a parameter in the body', withOperation({ parameters: [{ name: 'a', in: 'body', schema: {} }] })],
  ])('would not be valid %s', async (_, broken) => {
    expect(await isValid(broken)).toBe(false);
  });

  it('has a JSON Schema 2020-12 for each body', () => {
    const faultsOf = createValidators(document);
    const pointers = [
      ...mediaTypesOf(document).map(({ pointer }) => pointer),
      ...Object.keys(document.components.schemas).map((each) => `/components/schemas/${each}`),
    ];
    expect(pointers.length).toBeGreaterThan(20);
    for (const pointer of pointers) expect(() => faultsOf(pointer, null)).not.toThrow();
  });

  it.each<[string, unknown, RegExp]>([
    ['an unknown keyword', { type: 'object', propertys: {} }, /unknown keyword: "propertys"/],
    ['an unknown type', { type: 'text' }, /type/],
    ['a pattern that is none', { type: 'string', pattern: '(' }, /regular expression/],
    ['a reference to nothing', { $ref: '#/components/schemas/Nothing' }, /can't resolve reference/],
    ['an unknown format', { type: 'string', format: 'sort-of-date' }, /unknown format "sort-of-date"/],
  ])('would not have one with %s', (_, broken, fault) => {
    const schemas = { ...document.components.schemas, Broken: broken };
    const faultsOf = createValidators({ ...document, components: { ...document.components, schemas } });
    expect(() => faultsOf('/components/schemas/Broken', null)).toThrow(fault);
  });

  it('has patterns that the engines of all languages know', () => {
    const patterns = stringsAt(document, 'pattern');
    expect(patterns.length).toBeGreaterThan(10);
    expect(patterns.filter((pattern) => UNPORTABLE.test(pattern))).toEqual([]);
  });

  it('names each operation once', () => {
    const ids = operationsOf(document).map(({ operation: { operationId } }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

/** Unicode classes, lookarounds, named groups, back references, and a thousand repetitions. */
const UNPORTABLE = /\\[pPuk1-9]|\(\?[^:]|\{[\d,]*\d{4}/;

it.each(['^\\p{L}$', '(?=a)', '(?<!a)', '(a)\\1', 'a{1,4096}', 'a{4096}', '\\u{1F600}'])(
  'the pattern %s would be found',
  (pattern) => {
    expect(UNPORTABLE.test(pattern)).toBe(true);
  },
);

/** All texts under a name, at any depth. */
function stringsAt(value: unknown, name: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, below]: [string, unknown]) =>
    key === name && typeof below === 'string' ? [below] : stringsAt(below, name),
  );
}
