import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimKeys } from '../../src/store/redis/claims.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import { loadScript, scriptFrom } from '../../src/store/redis/script.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { rawClient, redisOfItsOwn } from './redis-under-test.ts';
import {
  agedClaim,
  approvalClaim,
  distinctClaim,
  listClaim,
  markClaim,
  orderClaim,
  refusalsClaim,
  speedUpClaim,
  windowClaim,
} from './requests.ts';

const folder = new URL('../../src/store/redis/', import.meta.url);
const files = readdirSync(new URL('scripts/', folder)).filter((file) => file.endsWith('.lua'));
const callers = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(new URL(file, folder), 'utf8'))
  .join('\n');

const readInclude = (name: string): string =>
  readFileSync(new URL(`scripts/include/${name}.lua`, folder), 'utf8');
const settleHeader = readFileSync(new URL('scripts/settle.lua', folder), 'utf8');

let server: RedisServerProcess;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

describe('the Lua scripts', () => {
  it.each(files)('have a name, a header and a use that agree: %s', (file) => {
    const name = file.replace(/\.lua$/, '');
    const { keys, source } = loadScript(name);
    const own = readFileSync(new URL(`scripts/${file}`, folder), 'utf8');
    // What settle and its preview do is in one part, and the keys and arguments are described once.
    const settles = own.includes('--- @include settlement');
    const text = settles ? `${settleHeader}${readInclude('settlement')}` : own;
    const header = /^(?:--.*\n)+/.exec(text)?.[0] ?? '';
    expect(header).toMatch(/^-- KEYS 1 /m);
    expect(header).toMatch(/^-- ARGV /m);
    expect(header).toMatch(/^-- Returns /m);
    const documented = [...(/-- KEYS (.*)/.exec(header)?.[1] ?? '').matchAll(/(?:^|, )(\d+) /g)].length;
    const used = Math.max(...[...text.matchAll(/KEYS\[(\d+)\]/g)].map((match) => Number(match[1])));
    expect(documented).toBe(used);
    expect(keys ?? used).toBe(used);
    const argumentsDocumented = [...header.matchAll(/(?:ARGV|,|^--) +(\d+) /gm)].map((match) =>
      Number(match[1]),
    );
    const argumentsUsed = [...text.matchAll(/ARGV\[(\d+)\]/g)].map((match) => Number(match[1]));
    expect(Math.max(0, ...argumentsUsed)).toBeLessThanOrEqual(Math.max(0, ...argumentsDocumented));
    expect(callers).toContain(`loadScript('${name}')`);
    expect(source).not.toContain('@include');
  });

  it('that preview is one that Redis lets write nothing', async () => {
    expect(loadScript('preview').source.split('\n')[0]).toBe('#!lua flags=no-writes');
    const client = rawClient(server);
    const writing = "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], '1')";
    await expect(client.eval(writing, 1, 'a')).rejects.toThrow(/Write commands are not allowed/);
  });

  it('include a shared part once, wherever it is asked for', () => {
    const { source } = scriptFrom('x-2', '--- @include window\n--- @include time\nreturn 1');
    expect(source.match(/local function time_now/g)).toHaveLength(1);
    expect(source.match(/local function amount_add/g)).toHaveLength(1);
    expect(source.indexOf('local function amount_add')).toBeLessThan(
      source.indexOf('local function window_move'),
    );
    expect(source.endsWith('return 1')).toBe(true);
  });

  it('do not load with a part that does not exist', () => {
    expect(() => scriptFrom('x-1', '--- @include nothing\n')).toThrow(/ENOENT/);
    expect(() => loadScript('nothing-1')).toThrow(/ENOENT/);
  });
});

describe('the keys', () => {
  it('of one settle are all in one slot, whatever the names', async () => {
    const client = rawClient(await redisOfItsOwn({ args: ['--cluster-enabled', 'yes'] }));
    const name = fc.string({ unit: 'binary', maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(name, name, name, name, async (prefix, source, subject, list) => {
        const keys = createKeys(prefix).of(source);
        const claims = [
          listClaim(list, 'hold-all', ['a']),
          agedClaim(list, 1, ['a']),
          windowClaim('1', '1'),
          distinctClaim(['a', 'b'], 1, { onlyNew: true }),
          refusalsClaim(1),
          markClaim(),
          orderClaim(),
          approvalClaim(subject, 1),
          speedUpClaim(1, 1),
        ];
        const all = [
          keys.control,
          keys.subject(subject),
          keys.journal,
          keys.lists,
          ...claims.flatMap((claim) => claimKeys(keys, subject, claim)),
        ];
        const asked = client.pipeline(all.map((key) => ['cluster', 'KEYSLOT', key]));
        const slots = (await asked.exec())?.map(([fault, slot]) => fault ?? slot);
        expect(slots).toHaveLength(all.length);
        expect(new Set(slots).size).toBe(1);
      }),
      { numRuns: 300 },
    );
  });

  it('of different sources, kinds and names are never the same', () => {
    const names = ['global', 'a', 'a}', '{a', '', '%', '%7B', '{', 'a:lists', 'a}:lists'];
    const all = names.flatMap((name) => {
      const { inForce, history, documents, prices, priceHistory, sources, changed, of, ...others } =
        createKeys(name);
      const { services, sharedRequests } = others;
      const named = names.flatMap((each) => [others.access(each), others.sharedRequest(each)]);
      const own = names.flatMap((source) => {
        const { control, lists, journal, lockouts, requests, ...ofSource } = of(source);
        const { subject, counter, distinct, list, mark, order, refusals, request } = ofSource;
        return [
          control,
          lists,
          journal,
          lockouts,
          requests,
          ...names.flatMap((each) =>
            [subject, counter, distinct, list, mark, order, refusals, request].map((keyOf) => keyOf(each)),
          ),
        ];
      });
      const ofAll = [inForce, history, documents, prices, priceHistory, sources, services, changed];
      return [...ofAll, sharedRequests, ...named, ...own];
    });
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('amounts in Lua', () => {
  const { source } = scriptFrom(
    'amounts-0',
    [
      '--- @include amount',
      'local a, b = amount_read(ARGV[2]), amount_read(ARGV[3])',
      "if ARGV[1] == 'add' then return amount_text(amount_add(a, b)) end",
      "if ARGV[1] == 'subtract' then return amount_text(amount_subtract(a, b)) end",
      "return amount_at_most(a, b) and 'yes' or 'no'",
    ].join('\n'),
  );
  // Around the chunks' borders carries and leading zeros are where errors would be.
  const border = fc
    .tuple(fc.integer({ min: 0, max: 90 }), fc.integer({ min: -2, max: 2 }))
    .map(([power, near]) => 10n ** BigInt(power) + BigInt(near))
    .filter((value) => value >= 0n);
  // The most that is kept as a number, and around it.
  const short = fc.bigInt({ min: 0n, max: 2n * 10n ** 15n }).map((value) => value * 10n ** 28n);
  const amount = fc.oneof(
    fc.bigInt({ min: 0n, max: 10n ** 90n }),
    border,
    border.map((value) => value * 10n ** 28n),
    short,
    fc.bigInt({ min: 0n, max: 10n ** 15n }),
  );

  it('add, subtract and compare as whole numbers of any length do', async () => {
    const client = rawClient(server);
    await fc.assert(
      fc.asyncProperty(amount, amount, fc.boolean(), async (a, b, abridged) => {
        const written = (value: bigint): string =>
          abridged ? String(value).replace(/0{3,99}$/, (zeros) => `e${zeros.length}`) : String(value);
        const ask = (operation: string, x: bigint, y: bigint): Promise<unknown> =>
          client.eval(source, 0, operation, written(x), written(y));
        const [less, more] = a < b ? [a, b] : [b, a];
        expect(
          await Promise.all([
            ask('add', a, b),
            ask('subtract', more, less),
            ask('compare', less, more),
            ask('compare', more, less),
            ask('compare', a, a),
          ]),
        ).toEqual([String(a + b), String(more - less), 'yes', a === b ? 'yes' : 'no', 'yes']);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['subtract', '1', '2'],
    ['subtract', `1${'0'.repeat(28)}`, `1${'0'.repeat(27)}1`.padEnd(30, '0')],
    ['add', '-1', '1'],
    ['add', '1.5', '1'],
    ['add', '1e', '1'],
    ['add', '1e-3', '1'],
    ['add', 'e28', '1'],
    ['add', '1e28e28', '1'],
    ['add', '1e280', '1'],
    ['add', '0x1e28', '1'],
    ['add', '', '1'],
    ['compare', ' 1', '1'],
    ['compare', '1', 'nan'],
  ])('refuse what is no amount or would be below zero: %s %s %s', async (...args) => {
    await expect(rawClient(server).eval(source, 0, ...args)).rejects.toThrow(/amount/);
  });
});
