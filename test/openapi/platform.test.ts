import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createPlatform } from '../../packages/platform/client.ts';
import { PlatformError } from '../../packages/platform/error.ts';
import { operations } from '../../packages/platform/operations/registry.ts';
import { readCredentials } from '../../packages/sandbox/credentials.ts';
import { client, credentials } from '../../packages/platform/test/client.ts';
import { fixtures } from '../../packages/platform/test/fixtures.ts';
import { startPlatform } from '../../packages/platform/test/plain-platform.ts';
import { APP_KEY, flat, keysOf, openAnswer, startTestSandbox } from '../../packages/sandbox/test/sandbox.ts';
import { decrypt } from '../../packages/sandbox/signing.ts';
import { createValidators, documents, mediaTypesOf, pointerOf } from './validators.ts';

const document = documents.platform;
const faultsOf = createValidators(document);
const DEMO = 'config/demo';
const demo = keysOf(DEMO);

const documented = Object.entries(document.paths).flatMap(([path, { post }]) =>
  post === undefined ? [] : [{ path, operation: post }],
);
const find = (name: string) => {
  const found = documented.find(({ operation }) => operation.operationId === name);
  if (found === undefined) throw new Error(`the document has no operation ${name}`);
  return found;
};
const pointerTo = (name: string, ...names: readonly string[]): string =>
  pointerOf('paths', find(name).path, 'post', ...names, 'content', 'application/json', 'schema');
const request = (name: string): string => pointerTo(name, 'requestBody');
const answer = (name: string): string => pointerTo(name, 'responses', '200');
const plaintext = (name: string, of: 'request' | 'answer'): string =>
  find(name).operation['x-plaintext']?.[of].$ref.slice(1) ?? '';

it('has each method of the client as an operation', () => {
  const platform = createPlatform({ url: 'http://127.0.0.1:9', credentials: credentials('md5') });
  const methods = Object.entries(platform)
    .flatMap(([resource, verbs]) => Object.keys(verbs as object).map((verb) => `${resource}.${verb}`))
    .filter((name) => !name.endsWith('.listAll') && name !== 'payments.find');
  expect(documented.map(({ operation }) => operation.operationId).toSorted()).toEqual(methods.toSorted());
  expect(documented.map(({ path }) => path)).toEqual(operations.map(({ path }) => `/${path}`));
});

describe('the parameters of section 4', () => {
  const required: Readonly<Record<string, readonly string[]>> = {
    'tokens.exchange': ['appKey', 'code'],
    'tokens.refresh': ['openId', 'token', 'refreshToken'],
    'payments.create': ['userId', 'appOrderId', 'orderAmount', 'payCoinSymbol'],
    'orders.list': ['symbol', 'startDate', 'endDate'],
    'accounts.listChanged': ['updateTime'],
    'walletAddresses.list': ['walletType', 'symbol'],
    'walletSymbols.list': ['walletType'],
    'otherTransfers.list': ['transactionScene'],
    'coupons.list': ['page', 'pageSize'],
    'coupons.recover': ['id'],
    'assets.search': ['coinSymbols'],
    'loginTokens.create': ['apiKey', 'secret', 'uid'],
    'agents.list': ['uids'],
  };
  it.each(operations)('$name requires what the specification requires', ({ name }) => {
    const schema = document.components.schemas[plaintext(name, 'request').split('/').at(-1) ?? ''];
    expect(schema).toMatchObject({ required: required[name] ?? [], additionalProperties: false });
  });

  const MD5 = { appKey: 'a', sign: 'f'.repeat(32) };
  it.each<[string, object, boolean]>([
    ['deposits.list', { userId: '1' }, true],
    ['deposits.list', { openId: 'o', email: 'a@example.com' }, true],
    ['deposits.list', { pageSize: '20' }, false],
    ['deposits.list', { userId: '1', pageSize: '1000' }, true],
    ['deposits.list', { userId: '1', pageSize: '1001' }, false],
    ['deposits.list', { userId: '1', pageSize: '0' }, false],
    ['deposits.list', { userId: '1', pageSize: 20 }, false],
    ['assets.search', { coinSymbols: 'BTC' }, false],
    ['assets.search', { coinSymbols: 'BTC,', userId: '1' }, false],
    ['assets.search', { coinSymbols: 'BTC,ETH', userId: '1' }, true],
    ['otcTrades.list', {}, false],
    ['orders.list', { symbol: 'btcusdt', startDate: 0, endDate: 1 }, true],
    ['orders.list', { symbol: 'btcusdt', startDate: '0', endDate: 1 }, false],
    ['orders.list', { symbol: 'btcusdt', startDate: 0, endDate: 1.5 }, false],
    ['orders.list', { symbol: 'btcusdt', startDate: -1, endDate: 1 }, false],
    ['orders.list', { symbol: 'btcusdt', startDate: 0, endDate: 1, pageSize: 1000, page: 1 }, true],
    ['orders.list', { symbol: 'btcusdt', startDate: 0, endDate: 1, pageSize: 1001 }, false],
    ['orders.list', { symbol: 'btcusdt', startDate: 0, endDate: 1, page: 0 }, false],
    ['orders.list', { symbol: 'btc usdt', startDate: 0, endDate: 1 }, false],
    ['walletSymbols.list', { walletType: 4 }, true],
    ['walletSymbols.list', { walletType: 5 }, false],
    ['walletSymbols.list', { walletType: '4' }, false],
    ['bill.list', {}, true],
    ['bill.list', { pageSize: '2000' }, true],
    ['bill.list', { pageSize: '2001' }, false],
    ['bill.list', { startDate: '2026-03-02 00:00:00' }, false],
    ['bill.list', { startDate: '2026-03-02 00:00:00', endDate: '2026-03-03 00:00:00' }, true],
    ['bill.list', { day: '2026-03-02T00:00:00Z' }, false],
    ['bill.list', { orderType: '2' }, false],
    ['feeShares.list', { billstatus: '-999' }, true],
    ['feeShares.list', { billstatus: '2' }, false],
    ['payments.create', { userId: '1', appOrderId: 'a', orderAmount: '0.10', payCoinSymbol: 'B' }, true],
    ['payments.create', { userId: '1', appOrderId: 'a', orderAmount: '0.00', payCoinSymbol: 'B' }, false],
    ['payments.create', { userId: '1', appOrderId: 'a', orderAmount: 0.1, payCoinSymbol: 'B' }, false],
    ['payments.create', { userId: '1', appOrderId: 'a', orderAmount: '1e2', payCoinSymbol: 'B' }, false],
    ['otherTransfers.list', { transactionScene: 'a scene' }, true],
    ['otherTransfers.list', { transactionScene: 'a scene ' }, false],
    ['otherTransfers.list', { transactionScene: '' }, false],
    ['coupons.list', { page: '1' }, false],
  ])('of %s, %j: %s', (name, parameters, isValid) => {
    expect(faultsOf(request(name), { ...MD5, ...parameters }).length === 0).toBe(isValid);
    expect(faultsOf(plaintext(name, 'request'), parameters).length === 0).toBe(isValid);
  });
});

describe('the error codes', () => {
  it.each([
    { code: '70006', msg: 'balance too low', data: null },
    { code: '12345', msg: 'not documented', data: '', sign: '' },
    { code: 50005, msg: 'signature error' },
  ])('%j is a refusal of each operation', (refusal) => {
    for (const { name } of operations) expect(faultsOf(answer(name), refusal)).toEqual([]);
  });

  it('an answer without a code is no refusal, and 0 is none', () => {
    for (const code of [undefined, null, '', '0', 0, true])
      expect(faultsOf('/components/schemas/Refusal', { code, msg: 'x' })).not.toEqual([]);
  });

  it('have a meaning each, also in the text', () => {
    const { anyOf } = document.components.schemas['ErrorCode'] as { anyOf: { const?: string }[] };
    const codes = anyOf.flatMap((each) => each.const ?? []);
    expect(codes.length).toBeGreaterThan(20);
    const text = JSON.stringify(document);
    for (const code of codes) expect(text).toMatch(new RegExp(`\\| ${code} \\| [a-z].+? \\| (?:yes|no) \\|`));
  });
});

it('spells names as the platform does', () => {
  const text = JSON.stringify(document.components);
  for (const name of ['cuerrentUser', 'sellerCommnetGrade', 'persentTypeArr', 'qouteConvertValueStr'])
    expect(text).toContain(`"${name}":{`);
});

it('offers nothing that only the client does', () => {
  expect(JSON.stringify(document)).not.toMatch(/or as an instant|listAll|by itself/);
});

describe('the examples', () => {
  it('are valid', () => {
    const examples = mediaTypesOf(document).flatMap(({ pointer, examples: named }) =>
      Object.values(named).map(({ value }) => ({ pointer, faults: faultsOf(pointer, value) })),
    );
    expect(examples.length).toBe(operations.length * 5);
    expect(examples.filter(({ faults }) => faults.length > 0)).toEqual([]);
  });

  const examplesOf = (name: string) => {
    const { requestBody, responses } = find(name).operation;
    const of = (body: typeof requestBody) => body?.content?.['application/json']?.examples ?? {};
    const [sent, answered] = [of(requestBody), of(responses['200'])];
    return {
      md5: sent['md5']?.value as Readonly<Record<string, string | number>>,
      envelope: sent['rsa-envelope']?.value as Readonly<Record<string, string>>,
      answer: answered['rsa-envelope']?.value as Readonly<Record<string, string>>,
    };
  };

  it.each(operations)('$name are signed, and their plaintexts are valid', ({ name }) => {
    const { md5, envelope, answer: sealed } = examplesOf(name);
    const { sign, appKey: _, ...members } = md5;
    expect(JSON.parse(flat(members, demo.secret))).toEqual({ ...members, appKey: APP_KEY, sign });
    const bytes = decrypt(envelope['data'] ?? '', demo.platformPrivate) ?? Buffer.alloc(0);
    expect(faultsOf(plaintext(name, 'request'), JSON.parse(bytes.toString()))).toEqual([]);
    const hash = Buffer.from(createHash('md5').update(bytes).digest('hex'));
    const signature = Buffer.from(envelope['sign'] ?? '', 'base64url');
    expect(verify('sha256', hash, createPublicKey(demo.merchantPrivate), signature)).toBe(true);
    expect(faultsOf(plaintext(name, 'answer'), JSON.parse(openAnswer(sealed, demo)))).toEqual([]);
  });

  it.each(operations)(
    '$name are authentic for a sandbox with the demo credentials',
    async ({ name, path }) => {
      const sandbox = await startTestSandbox({ credentials: readCredentials(DEMO, APP_KEY) });
      const { md5, envelope } = examplesOf(name);
      for (const body of [md5, envelope]) {
        const { code = '0' } = await sandbox.post(path, JSON.stringify(body));
        // The sandbox has other users and times, but it knows the sender.
        expect(String(code)).toMatch(/^(?:0|10015|10020|50012|[67]\d{4})$/);
      }
    },
  );
});

/** Values that a member may have in place of its own; undefined leaves it out. */
const VALUES: readonly unknown[] = [
  undefined,
  null,
  '',
  true,
  'true',
  {},
  'x',
  1.5,
  -1,
  '1',
  '007',
  '2019-06-18 16:05:53',
  '9'.repeat(39),
];

describe.each(fixtures.map((fixture) => ({ ...fixture, name: fixture.command })))('$name', (fixture) => {
  const { name } = operations.find(({ command }) => command === fixture.command) ?? { name: '' };

  it('the client reads exactly the answers that are valid', async () => {
    let data = fixture.data;
    const platform = await startPlatform({ data: () => data });
    const isRead = async (): Promise<boolean> =>
      fixture.call(client(platform.url)).then(
        (read) => !JSON.stringify(read).includes('"unreadable":'),
        (thrown: unknown) => {
          if (thrown instanceof PlatformError && thrown.code === 'PLATFORM_ANSWER_INVALID') return false;
          throw thrown;
        },
      );
    expect(faultsOf(answer(name), { code: '0', msg: 'suc', data: JSON.parse(data) as unknown })).toEqual([]);
    const differences: unknown[] = [];
    for (const path of pathsOf(JSON.parse(data))) {
      for (const value of VALUES) {
        const changed: unknown = JSON.parse(fixture.data);
        const parent = path.slice(0, -1).reduce((found, step) => (found as never)[step], changed) as object;
        Object.assign(parent, { [path.at(-1) ?? '']: value });
        data = JSON.stringify(changed);
        const isValid = faultsOf(plaintext(name, 'answer'), JSON.parse(data)).length === 0;
        if ((await isRead()) !== isValid) differences.push([path.join('.'), value, { isValid }]);
      }
    }
    expect(differences).toEqual([]);
  });
});

/** The paths of all members below a value, through the first element of each list. */
function pathsOf(value: unknown, before: readonly string[] = []): readonly (readonly string[])[] {
  if (Array.isArray(value)) return pathsOf(value[0], [...before, '0']);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [...before, name],
    ...pathsOf(member, [...before, name]),
  ]);
}
