import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { type ReleaseDiff, diffReleases } from '../../src/policy/diff.ts';
import { formatFault } from '../../src/policy/fault.ts';
import { declaredAt } from '../../src/policy/language/looser.ts';
import { ruleNamed, rules } from '../../src/policy/rules/registry.ts';
import { diffText } from '../../src/release/diff-text.ts';
import { string, tablesOf } from '../cases.ts';
import { A, B, type ListTexts } from './callbacks.ts';
import { ROUTER, USDT } from './calls/transactions.ts';

const names = { A: `'${A}'`, B: `'${B}'`, ROUTER, USDT };
const textsOf = tablesOf(new URL('cases/diff.yaml', import.meta.url), names);

/** Rows like `before -> after => expected`, or `what => expected`. */
const rowsOf = (table: string): readonly (readonly [before: string, after: string, expected: string])[] =>
  textsOf(table, string).map(([row]) => {
    const [change = '', expected = ''] = row.split(' => ');
    const [before = '', after = ''] = change.split(' -> ');
    return [before, after, expected];
  });

const PAYMENT = 'callback: payment, when: { symbol: A }';
const LIMIT = 'amount-limit: { max: 1000 }';
const HOUR = 'window-limit: { window: 1h, max: 500 }';
const PEOPLE =
  'people: { ada: { roles: [approve] }, ben: { roles: [approve] } }\ngroups: { treasury: [ada, ben] }\n';
const ASSETS = 'assets: { ETH: { chain: evm, decimals: 18 } }';

const braced = (text: string): string => (text.startsWith('{') ? text : `{ ${text} }`);

/** A policy with these rules, and what it is for. */
const policy = (name: string, ofPolicy: readonly string[], members = PAYMENT): string =>
  `{ policy: ${name}, ${members}, rules: [${ofPolicy.map(braced).join(', ')}] }`;

interface Beside {
  readonly files?: ListTexts;
  readonly assets?: string;
}

function documentOf(policies: readonly string[], { files = {}, assets = '' }: Beside = {}): string {
  const all = [{ name: 'a.yaml', text: policies.join('\n---\n') }];
  if (assets !== '') all.push({ name: 'assets.yaml', text: assets });
  if (policies.some((text) => text.includes('approval:'))) all.push({ name: 'people.yaml', text: PEOPLE });
  const compiled = readPolicyFiles(all, (name) => files[name]);
  if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
  return compiled.release.document;
}

const diff = (before: readonly string[], after: readonly string[], beside: Beside = {}): ReleaseDiff =>
  diffReleases(documentOf(before, beside), documentOf(after, beside));

const reversed = (text: string): string =>
  text.replace(/stricter|looser/g, (each) => (each === 'looser' ? 'stricter' : 'looser'));

describe('a parameter of a rule that changes', () => {
  const rows = rowsOf('parameters').map(([before, after, says]) => {
    const kind = before.split(':', 1)[0] ?? '';
    return [before, `${kind}: ${after}`, says, kind] as const;
  });

  it.each(rows)('%s -> %s', (before, after, says, kind) => {
    const callback = ruleNamed(kind)?.callbacks[0] ?? '';
    const when = callback === 'web3' ? 'main_chain_symbol: ETH' : 'symbol: A';
    const side = (rule: string) => [policy('p', [rule], `callback: ${callback}, when: { ${when} }`)];
    for (const [from, to, expected] of [
      [before, after, says],
      [after, before, reversed(says)],
    ] as const) {
      const { policies, loosens } = diff(side(from), side(to), { assets: ASSETS });
      const parameters = policies.flatMap((each) =>
        each.change === 'changed'
          ? each.rules.flatMap((rule) => (rule.change === 'changed' ? rule.parameters : []))
          : [],
      );
      expect(parameters.map(({ name, direction = 'no' }) => `${name} ${direction}`).join(', ')).toBe(
        expected,
      );
      expect(loosens).toEqual(/looser|unclear/.test(expected) ? [`p/${kind}#1`] : []);
    }
  });

  it('is in the table for each parameter that declares what is looser', () => {
    const declared = rules.flatMap(({ name, parameters }) =>
      Object.keys(parameters.shape).flatMap((each) =>
        declaredAt(parameters, [each]) === undefined ? [] : [`${name} ${each}`],
      ),
    );
    const tested = new Set(
      rows.flatMap(([, , says, kind]) =>
        [...says.matchAll(/(\w+)[^ ]* (?:stricter|looser|no)/g)].map(([, name]) => `${kind} ${name}`),
      ),
    );
    // The files of rules are in the table of lists.
    const untested = declared.filter((each) => !tested.has(each));
    expect(untested).toEqual(['allow-list file', 'deny-list file', 'schedule holidays']);
  });
});

/** What a diff says of the policy `p`. */
function linesOf(found: ReleaseDiff): string {
  const lines = diffText(found)
    .split('\n')
    .map((line) => line.trim().replace('~ policy p (', '('));
  return lines.filter((line) => line !== '~ policy p').join(' & ');
}

const rulesIn = (texts: string): readonly string[] => texts.split('; ');

it.each(rowsOf('rules'))('rules %s -> %s', (before, after, says) => {
  expect(linesOf(diff([policy('p', rulesIn(before))], [policy('p', rulesIn(after))]))).toBe(says);
});

/** `one { when: { symbol: A } }; all {}` */
const policiesIn = (texts: string): readonly string[] =>
  texts.split('; ').map((text) => {
    const [name = '', members = ''] = text.split(/ (.*)/);
    const own = members.replace(/rules: \[(.*)\]/, (_, all: string) => `rules: [${braced(all)}]`);
    const has = (member: string): boolean => own.includes(`${member}:`);
    const defaults = [
      `policy: ${name}`,
      ...(has('callback') ? [] : ['callback: payment']),
      ...(has('rules') ? [] : [`rules: [{ ${LIMIT} }]`]),
    ];
    return own.replace(/^\{ ?/, `{ ${defaults.join(', ')}, `);
  });

const BESIDE = { assets: ASSETS, files: { f: '1\n2\n' } };

it.each(rowsOf('scopes'))('what is judged %s -> %s', (before, after, direction) => {
  const [from, to] = [before, after].map(policiesIn) as [string[], string[]];
  for (const [found, expected] of [
    [diff(from, to, BESIDE), direction],
    [diff(to, from, BESIDE), reversed(direction)],
  ] as const) {
    expect(found.policies.map((each) => `${each.policy} ${each.direction ?? 'no'}`)).toEqual([
      `one ${expected}`,
    ]);
    expect(found.loosens.includes('policy one')).toBe(!['no', 'stricter'].includes(expected));
  }
});

describe('what a policy judges', () => {
  it('is looser where nothing was in force', () => {
    expect(diffReleases(undefined, documentOf([policy('p', [LIMIT])]))).toMatchObject({
      policies: [{ direction: 'looser' }],
      loosens: ['policy p'],
    });
  });

  it('is unclear if this version can not compile one of the releases', () => {
    const after = documentOf([policy('p', [LIMIT])]);
    const before = after.replace('amount-limit', 'quorum').replace('"symbol":"A"', '"symbol":"B"');
    expect(diffReleases(before, after).policies).toMatchObject([{ direction: 'unclear' }]);
  });

  it('comes and goes under two names if the policy is renamed', () => {
    const { policies } = diff([policy('a', [LIMIT])], [policy('b', [LIMIT])]);
    expect(policies).toMatchObject([{ direction: 'looser' }, { direction: 'stricter' }]);
  });
});

it.each(rowsOf('covering').map(([own, , covers]) => [own, covers === 'yes'] as const))(
  'a policy with %s covers what it passes: %s',
  (own, covers) => {
    const p = policy('p', rulesIn(own), 'callback: payment');
    const [one, other] = ['A', 'B'].map((symbol) =>
      policy(symbol.toLowerCase(), [LIMIT], `callback: payment, when: { symbol: ${symbol} }`),
    ) as [string, string];
    expect(diff([p, one], [p, one, other]).loosens).toEqual(covers ? [] : ['policy b']);
    // A rule more may be the first that covers a callback.
    const more = policy('p', [...rulesIn(own), 'pass: { because: x }'], 'callback: payment');
    expect(diff([p], [more]).loosens).toEqual(covers ? [] : [`p/pass#${rulesIn(own).length + 1}`]);
  },
);

describe('a count', () => {
  const isAnew = (before: readonly string[], after: readonly string[]): boolean =>
    JSON.stringify(diff(before, after)).includes('newCount');

  // Another way to write a window may loosen, for all that the diff knows.
  it.each(rowsOf('counts'))('%s -> %s goes %s', (before, after, goes) => {
    const [from, to] = [policy('p', [before]), policy('p', [`window-limit: ${after}`])];
    expect(isAnew([from], [to])).toBe(goes === 'anew');
    expect(diff([from], [to]).loosens).toEqual(goes === 'on' ? [] : ['p/window-limit#1']);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['another place', [LIMIT, HOUR], [HOUR, LIMIT]],
    ['another mode', [LIMIT, `${HOUR}, mode: observe`], [LIMIT, HOUR]],
    ['a rule beside it', [HOUR], [HOUR, HOUR.replace('1h', '2h')]],
    ['a rule less beside it', [HOUR, HOUR.replace('1h', '2h')], [HOUR]],
  ])('goes on with %s', (_, before, after) => {
    expect(isAnew([policy('p', before)], [policy('p', after)])).toBe(false);
  });

  it('begins anew, with its rule unchanged, if the policy no longer names one symbol', () => {
    const velocity = (symbols: string): string =>
      policy(
        'p',
        ['velocity-limit: { window: 1h, max: 5 }'],
        `callback: payment, when: { symbol: ${symbols} }`,
      );
    const everything = policy('all', [LIMIT], 'callback: payment');
    const found = diff([everything, velocity('A')], [everything, velocity('[A, B]')]);
    expect(linesOf(found)).toBe(
      '(decides other callbacks: stricter) & ~ when symbol + B & ' +
        '~ velocity-limit#1; begins a new count: up to 5 more may pass in the first 1h (looser)',
    );
    expect(found.loosens).toEqual(['p/velocity-limit#1']);
  });

  it('begins anew under another name of the policy', () => {
    expect(diffText(diff([policy('p', [HOUR])], [policy('q', [HOUR])]))).toContain(
      '+ window-limit#1 { max: 500, window: 1h }; begins a new count: up to 500 more may pass in the first 1h',
    );
  });

  it('that only observes begins anew without loosening anything', () => {
    const side = (window: string) => [
      policy('p', [LIMIT, `window-limit: { window: ${window}, max: 5 }, mode: observe`]),
    ];
    expect(diff(side('1h'), side('2h'))).toMatchObject({
      policies: [{ rules: [{ newCount: {} }] }],
      loosens: [],
    });
  });
});

describe('the calls that a rule names, in a policy with movements', () => {
  const TABLE = 'amount-limit: { by: asset, max: { ETH: 1 } }';
  const CALLS = `contract-calls: { calls: [{ contract: '${ROUTER}', method: deposit() }] }`;
  const WEB3 = 'callback: web3, when: { main_chain_symbol: ETH }';
  const judging = (of: readonly string[], members = `${WEB3}, movements: { approvals: count }`) => [
    policy('p', [TABLE, ...of], members),
  ];
  const loosensBy = (before: readonly string[], after: readonly string[]): readonly string[] =>
    diff(before, after, { assets: ASSETS }).loosens;

  it.each([
    CALLS,
    `any: [{ ${CALLS} }, { pass: { because: x } }]`,
    `any: [{ all: [{ ${TABLE} }, { ${CALLS} }] }]`,
    `${CALLS}, when: { source: vault }`,
  ])('are read by the others, so that limits pass what they refused: %s', (rule) => {
    const observed = judging([`${rule}, mode: observe`]);
    const [with_, without] = [judging([rule]), judging([])];
    for (const [before, after] of [
      [without, with_],
      [with_, without],
      [observed, with_],
      [with_, observed],
    ] as const) {
      expect(loosensBy(before, after)).toHaveLength(1);
    }
    expect(loosensBy(without, observed)).toEqual([]);
  });

  it('matter to no policy without movements, and to none with other rules', () => {
    expect(loosensBy(judging([], WEB3), judging([CALLS], WEB3))).toEqual([]);
    expect(loosensBy(judging([]), judging([`all: [{ ${TABLE} }, { pass: { because: x } }]`]))).toEqual([]);
  });

  it('may loosen it when movements are added, and when they are removed', () => {
    expect(loosensBy(judging([], WEB3), judging([]))).toEqual(['policy p']);
    expect(loosensBy(judging([]), judging([], WEB3))).toEqual(['policy p']);
  });
});

describe('a file beside the policies', () => {
  const listed = (
    rule: string,
    before: string,
    after: string,
    { more = [], when = '{}' }: { readonly more?: readonly string[]; readonly when?: string } = {},
  ): ReleaseDiff => {
    const side = (text: string): string =>
      documentOf([policy('p', [...more, rule], `callback: payment, when: ${when}`)], { files: { f: text } });
    return diffReleases(side(before), side(after));
  };
  const lines = (texts: string): string => texts.replaceAll(' ', '\n');

  it.each(rowsOf('lists'))('%s -> %s', (before, after, direction) => {
    const [rule = '', entries = ''] = before.split(': ');
    const [parameters, from] =
      rule === 'schedule' ? ['zone: UTC, holidays: f', entries] : ['of: userId, file: f', entries];
    const text = `${rule}: { ${parameters} }`;
    const there = listed(text, lines(from), lines(after));
    expect(there).toMatchObject({ policies: [], lists: [{ file: 'f', change: 'changed', direction }] });
    expect(there.loosens).toEqual(direction === 'stricter' ? [] : ['list file f']);
    expect(listed(text, lines(after), lines(from)).lists).toMatchObject([{ direction: reversed(direction) }]);
    // One that only observes does not count.
    const [change] = listed(`${text}, mode: observe`, lines(from), lines(after), { more: [LIMIT] }).lists;
    expect(change?.direction).toBeUndefined();
  });

  it.each([
    ['used by rules in two ways', 'allow-list: { of: userId, file: f }', '{}'],
    ['in conditions of the policy', 'deny-list: { of: userId, file: f }', '{ userId: { file: f } }'],
    ['in conditions of a rule', `${LIMIT}, when: { userId: { file: f } }`, '{}'],
    ['in a rule of a group', 'any: [{ allow-list: { of: userId, file: f } }]', '{}'],
  ])('is unclear if it is %s', (_, rule, when) => {
    const more = ['deny-list: { of: userId, file: f }'];
    const found = listed(rule, '1', '1\n2', rule === more[0] ? { when } : { more, when });
    expect(found).toMatchObject({ lists: [{ direction: 'unclear' }] });
  });

  it('is unclear if a rule lets its entries through, deep in its parameters', () => {
    const rule = 'contract-calls: { plain: { max: 1, to: { file: f } } }';
    const [one, other] = [`0x${'11'.repeat(20)}\n`, `0x${'22'.repeat(20)}\n`];
    const side = (text: string): string =>
      documentOf(
        [policy('p', ['deny-list: { of: from, file: f }', rule], 'callback: web3, when: { symbol: ETH }')],
        {
          files: { f: text },
        },
      );
    expect(diffReleases(side(one), side(one + other)).lists).toMatchObject([{ direction: 'unclear' }]);
  });

  it('is shown by the counts and first entries of what changed; comments and order mean nothing', () => {
    const many = Array.from({ length: 12 }, (_, index) => `${index + 10}\n`).join('');
    const rule = 'deny-list: { of: userId, file: f }';
    expect(diffText(listed(rule, '1\n', many))).toBe(
      '~ list file f: 12 added (10, 11, 12, 13, 14, …), 1 removed (1) (unclear)',
    );
    expect(listed(rule, '2\n1\n', '# note\n1\n2\n').same).toBe(true);
  });

  it('has no direction if it comes or goes with the rule that names it', () => {
    const before = documentOf([policy('p', [LIMIT, 'deny-list: { of: userId, file: f }'])], {
      files: { f: '1' },
    });
    expect(diffReleases(before, documentOf([policy('p', [LIMIT])])).lists).toMatchObject([
      { change: 'removed', direction: undefined },
    ]);
  });

  it('is unclear if it is no list; assets differ member by member', () => {
    const text = '{"format":1,"lists":{},"policies":[],"files":{"a.abi":"1","b.abi":"1"}}';
    const other = '{"format":1,"lists":{},"policies":[],"files":{"b.abi":"2","c.abi":"1"}}';
    expect(diffText(diffReleases(text, other))).toBe(
      '- file a.abi (unclear)\n~ file b.abi (unclear)\n+ file c.abi (unclear)',
    );
    const side = (assets: string): string =>
      documentOf([policy('p', [LIMIT])], { assets: `assets: { ${assets} }` });
    const found = diffReleases(
      side('ETH: { chain: evm, decimals: 18 }, XRP: { chain: ripple, decimals: 6 }'),
      side('ETH: { chain: evm, decimals: 6 }, BTC: { chain: bitcoin, decimals: 8 }'),
    );
    expect(diffText(found).split('\n')).toEqual([
      '+ asset BTC chain (none) -> bitcoin; decimals (none) -> 8 (unclear)',
      '~ asset ETH decimals 18 -> 6 (unclear)',
      '- asset XRP chain ripple -> (none); decimals 6 -> (none) (unclear)',
    ]);
    expect(found.loosens).toEqual(['asset BTC', 'asset ETH', 'asset XRP']);
  });
});

describe('two releases', () => {
  it('that say the same differ in nothing, however their files are cut and written', () => {
    const before = documentOf([policy('p', [LIMIT]), policy('q', [LIMIT])]);
    const after = documentOf([policy('q', [LIMIT]), policy('p', ["amount-limit: { max: '1000' }"])]);
    const nothing = { same: true, loosens: [], policies: [], lists: [], assets: [], files: [] };
    expect(diffReleases(before, after)).toEqual(nothing);
    expect(diffReleases(undefined, undefined)).toEqual(nothing);
  });

  it('differ in all of a policy that is new or gone', () => {
    const [one, both] = [[policy('p', [LIMIT])], [policy('p', [LIMIT]), policy('q', [LIMIT, HOUR])]];
    const q = {
      policy: 'q',
      callback: 'payment',
      rules: [{ name: 'amount-limit#1' }, { name: 'window-limit#2' }],
    };
    expect(diff(one, both).policies).toMatchObject([{ ...q, change: 'added' }]);
    expect(diff(both, one).policies).toMatchObject([{ ...q, change: 'removed' }]);
    expect(diffReleases(documentOf(both), undefined).policies).toMatchObject([{ policy: 'p' }, q]);
  });

  it('differ in what a policy says of itself, and in whom it is for, member by member', () => {
    const side = (text: string, symbols: string) => [
      policy(
        'p',
        [LIMIT],
        `description: ${text}, callback: payment, when: { source: shop, symbol: ${symbols} }`,
      ),
    ];
    expect(linesOf(diff(side('one', 'A'), side('two', '[A, B]')))).toBe(
      '(decides other callbacks: looser) & ~ description one -> two & ~ when symbol + B',
    );
  });

  it('may have rules that this program does not know', () => {
    const quorum = (of: string): string =>
      `{"format":1,"lists":{},"policies":[{"policy":"p","callback":"payment","rules":[{"quorum":{"of":"${of}"}}]}]}`;
    expect(linesOf(diffReleases(quorum('2'), quorum('3')))).toBe('~ quorum#1 of 2 -> 3 (unclear)');
  });

  it.each(['', '{}', '[]', '{"policies":1,"lists":{}}'])('are refused if one is %j', (text) => {
    expect(() => diffReleases(undefined, text)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  });
});
