import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readHere } from '../../tools/generate/marks.ts';
import { parse } from 'yaml';
import { codesPage } from '../../tools/generate/codes.ts';
import { generatedSettingsFiles } from '../../tools/generate/settings.ts';
import type { Settings } from '../../src/settings/schema.ts';
import { type JsonSchema, settingKeys, settingsJsonSchema } from '../../src/settings/keys.ts';
import { PAYMENT_PATH } from '../../src/settings/sources.ts';
import type { SourceConfig } from '../../src/signature/config.ts';
import { SHOP, settingsOf, settingsOfFile } from './written.ts';

describe('what is generated from the schema', () => {
  it.each([...generatedSettingsFiles(readHere), codesPage(readHere)])(
    '%s is as it is checked in',
    (path, content) => {
      expect(readFileSync(path, 'utf8')).toBe(content);
    },
  );
});

it('only the secrets of the store are not read again when their file changes', () => {
  const files = settingKeys().filter(({ description }) => description.startsWith('A file that holds'));
  expect(files.length).toBeGreaterThan(5);
  const atStart = files.filter(({ description }) => description.includes('when the service starts'));
  expect(atStart.map(({ path }) => path.join('.'))).toEqual(['store.password.file', 'store.tls.key.file']);
});

describe('config/countersign.example.yaml', () => {
  const { sources } = settingsOfFile('config/countersign.example.yaml');

  it('has every setting at its default', () => {
    const { sources: _, ...rest } = settingsOf(readFileSync('config/countersign.example.yaml', 'utf8'));
    const { sources: __, ...defaults } = settingsOf(SHOP);
    expect(rest).toEqual(defaults);
  });

  it('writes out every setting that has a default', () => {
    const written: unknown = parse(readFileSync('config/countersign.example.yaml', 'utf8'));
    const scalars = settingKeys().filter((key) => key.default !== undefined && !key.path.includes('*'));
    expect(scalars.length).toBeGreaterThan(20);
    expect(
      scalars.filter(({ path, default: otherwise }) => !isDeepStrictEqual(valueAt(written, path), otherwise)),
    ).toEqual([]);
  });

  it('shows every scheme and both callbacks', () => {
    const text = JSON.stringify(sources);
    for (const form of [
      'md5',
      'rsa',
      'rsa-envelope',
      'payment',
      'cosigner',
      'addresses',
      'header',
      'path',
      'none',
      'selfCheck',
    ]) {
      expect(text).toContain(`"${form}"`);
    }
  });
});

describe('the schema', () => {
  it('describes every setting', () => {
    const undescribed = settingKeys().filter(
      ({ description, path }) => description === '' && path.at(-1) !== '*',
    );
    expect(undescribed.map(({ path }) => path.join('.'))).toEqual([]);
  });

  it('gives every variable to one setting', () => {
    const variables = settingKeys().flatMap(({ variable }) => variable ?? []);
    expect(new Set(variables).size).toBe(variables.length);
  });

  it('allows no other names, at any depth', () => {
    const open: JsonSchema[] = [];
    const visit = (schema: JsonSchema): void => {
      if (schema.properties !== undefined && schema['additionalProperties'] !== false) open.push(schema);
      for (const below of [
        ...Object.values(schema.properties ?? {}),
        ...(schema.anyOf ?? []),
        ...(schema.oneOf ?? []),
      ])
        visit(below);
      if (schema.items !== undefined) visit(schema.items);
    };
    visit(settingsJsonSchema());
    expect(open).toEqual([]);
  });

  it('lets an editor write the store as a text', () => {
    expect(settingsJsonSchema().properties?.['store']?.anyOf?.map(({ type }) => type)).toEqual([
      'string',
      'object',
    ]);
  });

  it('yields sources as authentication needs them', () => {
    const sources: readonly SourceConfig[] = settingsOf(SHOP).sources satisfies Settings['sources'];
    expect(sources).toEqual([
      {
        name: 'shop',
        callback: 'payment',
        appKey: 'a1',
        bindScheme: true,
        answer: 'plain',
        signatures: [{ scheme: 'md5', secret: { env: 'S' }, emptyValues: 'keep' }],
      },
    ]);
  });

  it('names the path that payments are served at as the platform spells it', () => {
    expect(PAYMENT_PATH).toBe('/nofity/transferToMerchantAuthCheck');
  });
});

function valueAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (node, step) => (typeof node === 'object' && node !== null ? Reflect.get(node, step) : undefined),
    tree,
  );
}
