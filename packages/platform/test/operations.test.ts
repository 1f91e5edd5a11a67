import { describe, expect, it } from 'vitest';
import { PlatformError } from '../error.ts';
import { operations } from '../operations/registry.ts';
import { client, errorOf } from './client.ts';
import { BIG, type Fixture, fixtures } from './fixtures.ts';
import { startPlatform } from './plain-platform.ts';

const SCHEMES = ['md5', 'rsa', 'rsa-envelope'] as const;
const cases = SCHEMES.flatMap((scheme) =>
  fixtures.map((fixture) => ({ scheme, fixture, name: fixture.command })),
);

const operationOf = ({ command }: Fixture) => {
  const found = operations.find((operation) => operation.command === command);
  if (found === undefined) throw new Error(`there is no operation ${command}`);
  return found;
};

describe('the registry', () => {
  it('has each of the 21 operations of section 4 once, and the refresh of 4.1', () => {
    const numbers = operations.map(({ section }) => section);
    const wanted = Array.from({ length: 21 }, (_, index) => `4.${index + 1}`);
    expect(numbers.toSorted()).toEqual([...wanted, '4.1 refresh'].toSorted());
    expect(new Set(operations.map(({ command }) => command)).size).toBe(operations.length);
    expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
    expect(fixtures.map(({ command }) => command).toSorted()).toEqual(
      operations.map(({ command }) => command).toSorted(),
    );
  });

  it('only reads where nothing changes', () => {
    const changing = operations.filter(({ reads }) => !reads).map(({ section }) => section);
    expect(changing).toEqual(['4.1', '4.1 refresh', '4.2', '4.15', '4.16']);
  });
});

describe.each(cases)('$name with $scheme', ({ scheme, fixture }) => {
  it('sends what the specification names, signed, and reads every field', async () => {
    const platform = await startPlatform({ data: () => fixture.data });
    const data = await fixture.call(client(platform.url, { scheme }));
    expect(data).toEqual(fixture.read);
    const [only, ...more] = platform.received;
    expect(more).toEqual([]);
    const operation = operationOf(fixture);
    expect(only).toMatchObject({ path: `/platformapi/vendor/open/${operation.path}`, scheme });
    expect(only?.encrypted).toBe(scheme === 'rsa-envelope' || operation.section === '4.1');
    expect(only?.parameters).toEqual(fixture.sent);
  });
});

const withFields = fixtures.filter(({ data }) => data !== 'null' && !data.startsWith('{"anything"'));

/** The same JSON with each number as a string, and each string of a number as a number. */
function exchanged(json: string): string {
  return json.replaceAll(
    /"(-?(?:0|[1-9]\d*)(?:\.\d+)?)"(?=[,}\]])|(?<=[:[,])(-?\d[\d.E-]*)(?=[,}\]])/g,
    (_, quoted?: string, bare?: string) => quoted ?? `"${bare}"`,
  );
}

describe.each(withFields.map((fixture) => ({ name: fixture.command, fixture })))('$name', ({ fixture }) => {
  it('has one reading, with numbers for strings and the reverse', async () => {
    const turned = exchanged(fixture.data);
    expect(turned).not.toBe(fixture.data);
    expect(exchanged(turned)).not.toBe(turned);
    const platform = await startPlatform({ data: () => turned });
    expect(await fixture.call(client(platform.url))).toEqual(fixture.read);
  });

  it('refuses an answer or a record without one of its members, and reads null for those that may be missing', async () => {
    let data = fixture.data;
    const platform = await startPlatform({ data: () => data });
    const paths = memberPaths(JSON.parse(asStrings(fixture.data)));
    expect(paths.length).toBeGreaterThan(2);
    const found: unknown[] = [];
    const wanted: unknown[] = [];
    for (const path of paths) {
      for (const replacement of ['missing', 'null'] as const) {
        const name = path.join('.');
        data = changed(fixture.data, path, replacement);
        found.push([name, replacement, await outcomeOf(fixture.call(client(platform.url)), path)]);
        wanted.push([name, replacement, wantedOutcome(path, replacement, fixture)]);
      }
    }
    expect(found).toEqual(wanted);
  });

  it('refuses data of another kind', async () => {
    let data = '';
    const platform = await startPlatform({ data: () => data });
    for (data of [
      '"x"',
      '12',
      'true',
      '{"list":[{}]}',
      // Elsewhere, these are lists with an element that can't be read.
      ...(Array.isArray(fixture.read) && fixture.command !== 'wallet-addresses' ? [] : ['[[]]', '[{}]']),
      fixture.data.startsWith('[') ? '{}' : '[]',
    ]) {
      const error = await errorOf(fixture.call(client(platform.url)));
      expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID' });
      const outcome = operationOf(fixture).reads ? 'not-read' : 'unknown';
      expect(error.data).toMatchObject({ section: operationOf(fixture).section, outcome });
    }
  });

  it('leaves out members that the specification does not name', async () => {
    const more = fixture.data.replaceAll('{', '{"addedLater":[1],').replaceAll(',}', '}');
    const platform = await startPlatform({ data: () => more });
    expect(await fixture.call(client(platform.url))).toEqual(fixture.read);
  });
});

/** The paths of all members below a value, through the first element of each list. */
function memberPaths(value: unknown, before: readonly string[] = []): readonly (readonly string[])[] {
  if (Array.isArray(value)) return memberPaths(value[0], [...before, '0']);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [...before, name],
    ...memberPaths(member, [...before, name]),
  ]);
}

/** What a call makes of a member that is missing or null. */
async function outcomeOf(call: Promise<unknown>, path: readonly string[]): Promise<unknown> {
  return call.then(
    (read) => {
      const faults = faultsOnTheWay(read, path);
      if (faults !== undefined) return faults.includes(path.at(-1) ?? '') ? 'unreadable' : faults;
      return readAt(read, path) ?? (readAt(read, path) === null ? 'reads null' : 'leaves it out');
    },
    (thrown: unknown) => {
      if (!(thrown instanceof PlatformError)) throw thrown;
      const name = (path.at(-1) ?? '').replace(/^(btc|usdt1742)Precision$/, '$1');
      return thrown.message.includes(name) ? thrown.code : thrown.message;
    },
  );
}

/** What is wrong with the first element on a path that can't be read. */
function faultsOnTheWay(value: unknown, path: readonly string[]): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if ('unreadable' in value) return String(value.unreadable);
  const [name, ...rest] = path;
  return name === undefined ? undefined : faultsOnTheWay((value as Record<string, unknown>)[name], rest);
}

function wantedOutcome(
  path: readonly string[],
  replacement: string,
  { optional, data, command }: Fixture,
): unknown {
  const [name, parent] = [path.at(-1) ?? '', path.at(-2) ?? ''];
  if (optional.includes(`~${name}`) && replacement === 'missing') return 'leaves it out';
  const isOptional =
    optional.includes(name) ||
    optional.includes(`${parent}.*`) ||
    (path.length === 1 && optional.includes(`^${name}`));
  if (isOptional) return 'reads null';
  const isList = Array.isArray(readAt(JSON.parse(asStrings(data)), path));
  if (isList && replacement === 'null') return [];
  // A symbol of 4.8 is a list of records itself.
  const lists = path.filter((each) => each === '0').length - (command === 'wallet-addresses' ? 1 : 0);
  return lists > 0 ? 'unreadable' : 'PLATFORM_ANSWER_INVALID';
}

/** The same JSON with all numbers as strings. They read the same. */
function asStrings(json: string): string {
  return json.replaceAll(/(?<=[:[,])-?\d[\d.E-]*(?=[,}\]])/g, '"$&"');
}

/** The JSON without a member, or with null for it. */
function changed(json: string, path: readonly string[], to: 'missing' | 'null'): string {
  const value: unknown = JSON.parse(asStrings(json));
  const parent = readAt(value, path.slice(0, -1)) as Record<string, unknown>;
  const name = path.at(-1) ?? '';
  if (to === 'null') parent[name] = null;
  else delete parent[name];
  return JSON.stringify(value);
}

function readAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((found, name) => (found as Record<string, unknown>)[name], value);
}

it('an id above 2^53 would not survive as a number', () => {
  expect(String(Number(BIG))).not.toBe(BIG);
});
