import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { type ReleaseDiff, diffReleases } from '../../src/policy/diff.ts';
import { formatFault } from '../../src/policy/fault.ts';
import { type ListTexts, release } from './callbacks.ts';

const policy = (rules: readonly string[], top = ''): string =>
  `policy: p\ncallback: payment\nwhen: { source: shop, symbol: [USDT1742] }\n${top}rules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`;

interface Side {
  readonly text: string;
  readonly files?: ListTexts;
  readonly assets?: string;
}

function documentOf({ text, files = {}, assets }: Side): string {
  const all = [
    { name: 'a.yaml', text },
    ...(assets === undefined ? [] : [{ name: 'assets.yaml', text: assets }]),
  ];
  const compiled = readPolicyFiles(all, (name) => files[name]);
  if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
  return compiled.release.document;
}

const diff = (before: Side, after: Side): ReleaseDiff => diffReleases(documentOf(before), documentOf(after));

/** What became of the rules of the one policy. */
function rulesOf(before: readonly string[], after: readonly string[]): readonly unknown[] {
  const [change] = diff({ text: policy(before) }, { text: policy(after) }).policies;
  return change?.change === 'changed' ? change.rules : [];
}

const LIMIT = 'amount-limit: { max: 1000 }';
const HOUR = 'window-limit: { per: [userId], window: 1h, max: 5000 }';
const DAY = 'window-limit: { per: [userId], window: 24h, max: 50000 }';
const observed = (rule: string): string => `{ ${rule}, mode: observe }`;

describe('two releases', () => {
  it('that say the same differ in nothing, however their files are cut and written', () => {
    const [one, two] = [policy([LIMIT]), policy([LIMIT]).replace('policy: p', 'policy: q')];
    const first = readPolicyFiles([{ name: 'a.yaml', text: `${one}---\n${two}` }], () => undefined);
    const second = readPolicyFiles(
      [
        { name: 'z.yaml', text: one.replace('{ max: 1000 }', "{ max: '1000' }") },
        { name: 'b.yaml', text: two },
      ],
      () => undefined,
    );
    if (!first.ok || !second.ok) throw new Error('they do not compile');
    const found = diffReleases(first.release.document, second.release.document);
    expect(found).toEqual({ same: true, loosens: [], policies: [], lists: [], assets: [], files: [] });
  });

  it('of which one has more policies differ in those', () => {
    const more = `${policy([LIMIT])}---\n${policy([LIMIT, HOUR]).replace('policy: p', 'policy: q')}`;
    expect(diff({ text: policy([LIMIT]) }, { text: more })).toMatchObject({
      same: false,
      policies: [
        {
          policy: 'q',
          change: 'added',
          callback: 'payment',
          rules: [{ name: 'amount-limit#1' }, { name: 'window-limit#2' }],
        },
      ],
    });
    expect(diff({ text: more }, { text: policy([LIMIT]) }).policies).toMatchObject([
      { policy: 'q', change: 'removed' },
    ]);
  });

  it('are all new, or all gone, where nothing is in force', () => {
    const { document } = release(policy([LIMIT]));
    expect(diffReleases(undefined, document).policies).toMatchObject([{ policy: 'p', change: 'added' }]);
    expect(diffReleases(document, undefined).policies).toMatchObject([{ policy: 'p', change: 'removed' }]);
    expect(diffReleases(undefined, undefined).same).toBe(true);
  });

  it('differ in whom a policy is for, member by member, and in what it says of itself', () => {
    const before = policy([LIMIT], 'description: one\n');
    const after = policy([LIMIT], 'description: two\n').replace('[USDT1742]', '[USDT1742, USDT9]');
    expect(diff({ text: before }, { text: after }).policies).toEqual([
      {
        policy: 'p',
        change: 'changed',
        members: [{ name: 'description', before: 'one', after: 'two', direction: undefined }],
        when: [{ name: 'symbol', added: ['USDT9'], removed: [], direction: undefined }],
        rules: [],
        direction: 'looser',
      },
    ]);
  });

  it('that are none are refused', () => {
    for (const text of ['', '{}', '[]', '{"policies":1,"lists":{}}']) {
      expect(() => diffReleases(undefined, text)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
    }
  });

  it('can be compared also with rules that this program does not know', () => {
    const unknown =
      '{"format":1,"lists":{},"policies":[{"policy":"p","callback":"payment","rules":[{"quorum":{"of":"2"}}]}]}';
    expect(diffReleases(unknown, unknown.replace('"2"', '"3"')).policies).toMatchObject([
      {
        rules: [
          { rule: 'quorum#1', parameters: [{ name: 'of', before: '2', after: '3', direction: 'unclear' }] },
        ],
      },
    ]);
  });
});

describe('rules', () => {
  it.each<[string, string, string, string | undefined]>([
    ['a lower max', LIMIT, 'amount-limit: { max: 999.5 }', 'stricter'],
    ['a higher max', LIMIT, 'amount-limit: { max: 1000.000000000000000000000000000000000001 }', 'looser'],
    ['the same max', LIMIT, "amount-limit: { max: '1000.0' }", undefined],
    ['a higher min', 'amount-limit: { min: 1 }', 'amount-limit: { min: 2 }', 'stricter'],
    ['a lower min', 'amount-limit: { min: 1 }', 'amount-limit: { min: 0.5 }', 'looser'],
    [
      'a shorter maxAge',
      'value-limit: { max: 1, maxAge: 10m }',
      'value-limit: { max: 1, maxAge: 90s }',
      'stricter',
    ],
    [
      'a longer maxAge',
      'value-limit: { max: 1, maxAge: 10m }',
      'value-limit: { max: 1, maxAge: 1h }',
      'looser',
    ],
    ['another window', HOUR, HOUR.replace('1h', '2h'), 'unclear'],
    ['a further bound', 'amount-limit: { min: 1 }', 'amount-limit: { min: 1, max: 9 }', 'stricter'],
    ['a bound less', 'amount-limit: { min: 1, max: 9 }', 'amount-limit: { max: 9 }', 'looser'],
    [
      'a minimum for one asset more',
      'amount-limit: { by: asset, max: { A: 9, B: 9 }, min: { A: 1 } }',
      'amount-limit: { by: asset, max: { A: 9, B: 9 }, min: { A: 1, B: 1 } }',
      'unclear',
    ],
    [
      'fewer assets',
      'amount-limit: { by: asset, max: { A: 9, B: 9 } }',
      'amount-limit: { by: asset, max: { A: 9 } }',
      'stricter',
    ],
    [
      'more that may',
      'allow-list: { of: userId, values: [1] }',
      'allow-list: { of: userId, values: [1, 2] }',
      'looser',
    ],
    [
      'fewer that may',
      'allow-list: { of: userId, values: [1, 2] }',
      'allow-list: { of: userId, values: [2] }',
      'stricter',
    ],
    [
      'others that may',
      'allow-list: { of: userId, values: [1, 2] }',
      'allow-list: { of: userId, values: [2, 3] }',
      'unclear',
    ],
    [
      'the same that may, in another order',
      'allow-list: { of: userId, values: [1, 2] }',
      'allow-list: { of: userId, values: [2, 1] }',
      undefined,
    ],
    [
      'one value more that a member may have',
      'allow-list: { of: userId, values: [1] }',
      'allow-list: { of: userId, values: [1, 2] }',
      'looser',
    ],
    [
      'more that may not',
      'deny-list: { of: userId, values: [1] }',
      'deny-list: { of: userId, values: [1, 2] }',
      'stricter',
    ],
    [
      'fewer that may not',
      'deny-list: { of: userId, values: [1, 2] }',
      'deny-list: { of: userId, values: [2] }',
      'looser',
    ],
    ['another list', 'deny-list: { of: userId, list: a }', 'deny-list: { of: userId, list: b }', 'unclear'],
    [
      'a longer cooling period',
      'cooling-period: { of: userId, list: a, for: 24h }',
      'cooling-period: { of: userId, list: a, for: 2d }',
      'stricter',
    ],
    [
      'a time before a value is known',
      'first-use-limit: { of: userId, max: 1 }',
      'first-use-limit: { of: userId, max: 1, for: 1h }',
      'stricter',
    ],
    [
      'other office hours',
      'schedule: { zone: UTC, days: mon }',
      'schedule: { zone: UTC, days: [mon, tue] }',
      'unclear',
    ],
  ])('with %s', (_, before, after, direction) => {
    expect(rulesOf([before], [after])).toMatchObject([
      { change: 'changed', moved: false, mode: undefined, parameters: [{ direction }] },
    ]);
  });

  it('are unclear with a table in place of no bound, since it refuses and approves assets', () => {
    expect(
      rulesOf(['amount-limit: { min: 1 }'], ['amount-limit: { min: 1, by: asset, max: { A: 9 } }']),
    ).toMatchObject([
      {
        parameters: [
          { name: 'by', direction: 'unclear' },
          { name: 'max', direction: 'unclear' },
        ],
      },
    ]);
  });

  it('tell of a table of bounds only what changed in it', () => {
    const before = 'amount-limit: { by: asset, max: { BTC: 1, ETH: 10 } }';
    const after = 'amount-limit: { by: asset, max: { BTC: 0.5, ETH: 10, USDT1742: 100 } }';
    expect(rulesOf([before], [after])).toMatchObject([
      {
        parameters: [
          { name: 'max.BTC', before: '1', after: '0.5', direction: 'stricter' },
          { name: 'max.USDT1742', before: undefined, after: '100', direction: 'looser' },
        ],
      },
    ]);
  });

  it('are matched by what they say, not by where they stand', () => {
    expect(rulesOf([LIMIT, HOUR, DAY], [HOUR, DAY])).toMatchObject([
      { change: 'removed', rule: 'amount-limit#1', direction: 'looser' },
    ]);
    expect(rulesOf([HOUR, DAY], [LIMIT, HOUR, DAY])).toMatchObject([
      { change: 'added', rule: 'amount-limit#1', direction: 'stricter' },
    ]);
    expect(rulesOf([HOUR, DAY], [DAY])).toMatchObject([{ change: 'removed', rule: 'window-limit#1' }]);
    const tighter = DAY.replace('50000', '20000');
    expect(rulesOf([HOUR, DAY], [tighter])).toMatchObject([
      {
        change: 'changed',
        rule: 'window-limit#1',
        was: 'window-limit#2',
        moved: false,
        parameters: [{ name: 'max', before: '50000', after: '20000', direction: 'stricter' }],
      },
      { change: 'removed', rule: 'window-limit#1' },
    ]);
  });

  it('are moved if their place among those that both releases have is another', () => {
    const moved = (rule: string, was: string) =>
      ({ change: 'changed', rule, was, moved: true, mode: undefined, parameters: [] }) as const;
    expect(rulesOf([LIMIT, HOUR, DAY], [LIMIT, DAY, HOUR])).toEqual([
      moved('window-limit#2', 'window-limit#3'),
      moved('window-limit#3', 'window-limit#2'),
    ]);
    expect(rulesOf([LIMIT, HOUR, DAY], [HOUR, DAY, LIMIT])).toEqual([
      moved('window-limit#1', 'window-limit#2'),
      moved('window-limit#2', 'window-limit#3'),
      moved('amount-limit#3', 'amount-limit#1'),
    ]);
    expect(rulesOf([LIMIT, HOUR, DAY], [LIMIT, HOUR, DAY])).toEqual([]);
  });

  it('are not moved by a rule before them that was added or removed', () => {
    const other = 'velocity-limit: { window: 1h, max: 3 }';
    expect(rulesOf([LIMIT, HOUR, DAY], [other, HOUR, DAY])).toMatchObject([
      { change: 'added', rule: 'velocity-limit#1' },
      { change: 'removed', rule: 'amount-limit#1' },
    ]);
  });

  it('have the direction of their bound also for an asset that is called like another bound', () => {
    const before = 'amount-limit: { by: asset, max: { min: 1 } }';
    expect(rulesOf([before], [before.replace('1', '2')])).toMatchObject([
      { parameters: [{ name: 'max.min', direction: 'looser' }] },
    ]);
  });

  it('are stricter once they decide, and looser once they only observe', () => {
    expect(rulesOf([LIMIT, HOUR], [LIMIT, observed(HOUR)])).toMatchObject([
      { mode: { before: 'enforce', after: 'observe', direction: 'looser' } },
    ]);
    expect(rulesOf([LIMIT, observed(HOUR)], [LIMIT, HOUR])).toMatchObject([
      { mode: { direction: 'stricter' } },
    ]);
    expect(rulesOf([LIMIT], [LIMIT, observed(HOUR)])).toMatchObject([
      { change: 'added', direction: undefined },
    ]);
  });

  it('are neither, where a policy that enforced nothing, and so let nothing through, enforces something', () => {
    expect(rulesOf([observed(HOUR)], [observed(HOUR), LIMIT])).toMatchObject([
      { change: 'added', direction: undefined },
    ]);
    expect(rulesOf([LIMIT, observed(HOUR)], [observed(HOUR)])).toMatchObject([
      { change: 'removed', direction: undefined },
    ]);
    expect(rulesOf([observed(HOUR)], [HOUR])).toMatchObject([{ mode: { direction: undefined } }]);
  });

  it('have no direction for a changed parameter unless they enforce before and after', () => {
    const lower = HOUR.replace('5000', '4000');
    const direction = undefined;
    expect(rulesOf([LIMIT, observed(HOUR)], [LIMIT, observed(lower)])).toMatchObject([
      { mode: undefined, parameters: [{ name: 'max', direction }] },
    ]);
    expect(rulesOf([LIMIT, HOUR], [LIMIT, observed(lower)])).toMatchObject([
      { mode: { direction: 'looser' }, parameters: [{ name: 'max', direction }] },
    ]);
    expect(rulesOf([LIMIT, observed(HOUR)], [LIMIT, lower])).toMatchObject([
      { mode: { direction: 'stricter' }, parameters: [{ name: 'max', direction }] },
    ]);
    expect(rulesOf([observed(HOUR)], [observed(lower)])).toMatchObject([{ parameters: [{ direction }] }]);
  });
});

describe('files beside the policies', () => {
  const listed = (rule: string): string => policy([`${rule}: { of: userId, file: users.txt }`]);

  it.each([
    ['deny-list', '1\n2\n', '1\n2\n3\n', 'stricter'],
    ['deny-list', '1\n2\n', '1\n', 'looser'],
    ['allow-list', '1\n2\n', '1\n2\n3\n', 'looser'],
    ['allow-list', '1\n2\n', '2\n', 'stricter'],
    ['allow-list', '1\n2\n', '2\n3\n', 'unclear'],
  ])('of a %s, from %j to %j', (rule, before, after, direction) => {
    const found = diff(
      { text: listed(rule), files: { 'users.txt': before } },
      { text: listed(rule), files: { 'users.txt': after } },
    );
    expect(found).toMatchObject({
      same: false,
      policies: [],
      lists: [{ file: 'users.txt', change: 'changed', direction }],
    });
  });

  it('are unclear if a rule lets their entries through, deep in its parameters', () => {
    const text = `policy: p
callback: web3
when: { symbol: ETH }
rules:
  - deny-list: { of: from, file: users.txt }
  - contract-calls: { plain: { max: 1, to: { file: users.txt } } }
`;
    const [one, other] = [`0x${'11'.repeat(20)}\n`, `0x${'22'.repeat(20)}\n`];
    const found = diff({ text, files: { 'users.txt': one } }, { text, files: { 'users.txt': one + other } });
    expect(found.lists).toMatchObject([{ change: 'changed', added: { count: 1 }, direction: 'unclear' }]);
  });

  it('have the direction of the rules that enforce, and none if all rules that use them observe', () => {
    const [allow, deny] = ['allow-list', 'deny-list'].map(
      (rule) => `${rule}: { of: userId, file: users.txt }`,
    ) as [string, string];
    const added = (...rules: readonly string[]): unknown =>
      diff(
        { text: policy(rules), files: { 'users.txt': '1\n' } },
        { text: policy(rules), files: { 'users.txt': '1\n2\n' } },
      ).lists[0]?.direction;
    expect(added(LIMIT, observed(deny))).toBeUndefined();
    expect(added(allow, observed(deny))).toBe('looser');
  });

  it('are told by their counts and first entries', () => {
    const many = Array.from({ length: 12 }, (_, index) => `${index + 10}\n`).join('');
    const [change] = diff(
      { text: listed('deny-list'), files: { 'users.txt': '1\n' } },
      { text: listed('deny-list'), files: { 'users.txt': many } },
    ).lists;
    expect(change).toMatchObject({
      added: { count: 12, first: ['10', '11', '12', '13', '14'] },
      removed: { count: 1, first: ['1'] },
    });
  });

  it('come and go with the rules that name them; comments and order mean nothing', () => {
    const before = { text: listed('deny-list'), files: { 'users.txt': '2\n1\n' } };
    expect(diff(before, { ...before, files: { 'users.txt': '# note\n1\n2\n' } }).same).toBe(true);
    expect(diff(before, { text: policy([LIMIT]) }).lists).toMatchObject([
      { change: 'removed', direction: undefined },
    ]);
  });

  it('differ by asset, member by member', () => {
    const assets = (...rows: readonly string[]): string =>
      `assets:\n${rows.map((row) => `  ${row}\n`).join('')}`;
    const before = assets('ETH: { chain: evm, decimals: 18 }', 'XRP: { chain: ripple, decimals: 6 }');
    const after = assets('ETH: { chain: evm, decimals: 6 }', 'BTC: { chain: bitcoin, decimals: 8 }');
    expect(
      diff({ text: policy([LIMIT]), assets: before }, { text: policy([LIMIT]), assets: after }).assets,
    ).toMatchObject([
      { symbol: 'BTC', change: 'added' },
      { symbol: 'ETH', change: 'changed', members: [{ name: 'decimals', before: '18', after: '6' }] },
      { symbol: 'XRP', change: 'removed' },
    ]);
  });

  it('of any other kind are told by name', () => {
    const text = '{"format":1,"lists":{},"policies":[],"files":{"a.abi":"1","b.abi":"1"}}';
    const other = '{"format":1,"lists":{},"policies":[],"files":{"b.abi":"2","c.abi":"1"}}';
    expect(diffReleases(text, other).files).toEqual([
      { file: 'a.abi', change: 'removed', direction: 'unclear' },
      { file: 'b.abi', change: 'changed', direction: 'unclear' },
      { file: 'c.abi', change: 'added', direction: 'unclear' },
    ]);
  });
});
