import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { type ReleaseDiff, diffReleases } from '../../src/policy/diff.ts';
import { formatFault } from '../../src/policy/fault.ts';
import type { Release } from '../../src/policy/release.ts';
import { A, B, C, NOON, evaluateAt, outputs, release, transfer } from './callbacks.ts';

const LIMIT = 'amount-limit: { max: 1000 }';
const ALLOW = 'allow-list: { of: userId, values: [1] }';

interface Written {
  readonly when?: string;
  readonly callback?: string;
  readonly rules?: readonly string[];
  readonly more?: string;
}

const policy = (
  name: string,
  { when = '{}', callback = 'payment', rules = [LIMIT], more = '' }: Written = {},
) =>
  `policy: ${name}\ncallback: ${callback}\nwhen: ${when}\n${more}rules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`;

const observed = (rule: string): string => `{ ${rule}, mode: observe }`;

/** The diff of two sets of policies; undefined stands for none in force. */
function diff(before: readonly string[] | undefined, after: readonly string[]): ReleaseDiff {
  const documentOf = (policies: readonly string[]): string => release(policies.join('---\n')).document;
  return diffReleases(before && documentOf(before), documentOf(after));
}

const directionsOf = ({ policies }: ReleaseDiff): unknown =>
  Object.fromEntries(policies.map(({ policy: name, direction }) => [name, direction]));

describe('a policy that is added', () => {
  it.each<[string, string, Written, string]>([
    ['to one that decides all its callbacks', '{}', { when: '{ symbol: A }' }, 'stricter'],
    ['to one of the same callbacks', '{ symbol: [A, B] }', { when: '{ payCoinSymbol: [B, A] }' }, 'stricter'],
    ['to one of other callbacks', '{ symbol: B }', { when: '{ symbol: A }' }, 'looser'],
    ['for another kind of callback', '{}', { callback: 'transfer' }, 'looser'],
    ['to one that decides some of its callbacks', '{ symbol: A }', {}, 'both'],
    ['to one of another member', '{ userId: 1 }', { when: '{ symbol: A }' }, 'both'],
  ])('%s', (_, when, added, direction) => {
    const before = policy('before', { when });
    expect(directionsOf(diff([before], [before, policy('added', added)]))).toEqual({ added: direction });
  });

  it('where nothing is in force, or where policies only observe, is looser', () => {
    const observes = policy('observes', { rules: [observed(LIMIT)] });
    const added = policy('added');
    expect(directionsOf(diff(undefined, [added]))).toEqual({ added: 'looser' });
    expect(diff(undefined, [added]).loosens).toEqual(['policy added']);
    expect(directionsOf(diff([observes], [observes, added]))).toEqual({ added: 'looser' });
  });

  it('changes no verdict if it only observes', () => {
    const before = policy('before');
    const found = diff([before], [before, policy('added', { rules: [observed(ALLOW)] })]);
    expect(found).toMatchObject({ same: false, loosens: [] });
    expect(directionsOf(found)).toEqual({ added: undefined });
  });
});

describe('a policy that is removed', () => {
  it.each<[string, string, Written, string]>([
    ['beside one that decides all its callbacks', '{}', { when: '{ symbol: A }' }, 'looser'],
    ['beside one of other callbacks', '{ symbol: B }', { when: '{ symbol: A }' }, 'stricter'],
    ['beside one that decides some of its callbacks', '{ symbol: A }', {}, 'both'],
  ])('%s', (_, when, removed, direction) => {
    const after = policy('after', { when });
    const found = diff([after, policy('removed', removed)], [after]);
    expect(directionsOf(found)).toEqual({ removed: direction });
    expect(found.loosens).toEqual(direction === 'stricter' ? [] : ['policy removed']);
  });

  it('by a withdrawal to several addresses may be decided by another too', () => {
    const [one, two] = [A, B].map((to, index) =>
      policy(`p${index}`, { callback: 'transfer', when: `{ to: '${to}' }` }),
    ) as [string, string];
    expect(directionsOf(diff([one, two], [one]))).toEqual({ p1: 'both' });
  });

  it('and comes back under another name takes conditions with it, and adds its own', () => {
    const found = diff([policy('a', { when: '{ symbol: A }' })], [policy('b', { when: '{ symbol: A }' })]);
    expect(directionsOf(found)).toEqual({ a: 'looser', b: 'stricter' });
  });
});

describe('a policy that decides other callbacks', () => {
  const all = policy('all');
  const one = (when: string, more: Written = {}): string => policy('one', { when, ...more });
  it.each([
    [
      'more, which another policy decides',
      [all, one('{ symbol: A }')],
      [all, one('{ symbol: [A, B] }')],
      'stricter',
    ],
    ['more, which no other policy decides', [one('{ symbol: A }')], [one('{ symbol: [A, B] }')], 'looser'],
    [
      'more, of which others decide some',
      [policy('b', { when: '{ symbol: B }' }), one('{ symbol: A }')],
      [policy('b', { when: '{ symbol: B }' }), one('{}')],
      'both',
    ],
    ['fewer, which another policy decides', [all, one('{}')], [all, one('{ symbol: A }')], 'looser'],
    ['fewer, which no other policy decides', [one('{}')], [one('{ symbol: A }')], 'stricter'],
    ['others', [one('{ symbol: A }')], [one('{ symbol: B }')], 'both'],
    ['another kind', [one('{}')], [one('{}', { callback: 'transfer' })], 'both'],
    [
      'the same, by another name of the member',
      [one('{ symbol: A }')],
      [one('{ payCoinSymbol: A }')],
      undefined,
    ],
    [
      'none, since it only observes',
      [all, one('{}')],
      [all, one('{}', { rules: [observed(LIMIT)] })],
      'looser',
    ],
    ['its first', [one('{}', { rules: [observed(LIMIT)] })], [one('{}')], 'looser'],
  ] as const)('%s', (_, before, after, direction) => {
    expect(directionsOf(diff(before, after))).toEqual({ one: direction });
  });

  it('is unclear if it is for other addresses of a withdrawal, since it refuses those that it names in part', () => {
    const to = (...addresses: readonly string[]): string =>
      one(`{ to: ['${addresses.join("', '")}'] }`, { callback: 'transfer' });
    expect(directionsOf(diff([to(A)], [to(A, B)]))).toEqual({ one: 'unclear' });
    expect(directionsOf(diff([to(A, B)], [to(A)]))).toEqual({ one: 'unclear' });
    const everything = policy('all', { callback: 'transfer' });
    expect(diff([everything, to(A)], [everything, to(A, B)]).loosens).toEqual(['policy one']);
  });

  it('is unclear if this version can not compile one of the releases', () => {
    const after = release(one('{}')).document;
    const before = after.replace('amount-limit', 'quorum');
    expect(directionsOf(diffReleases(before, after.replace('"when":{}', '"when":{"symbol":"A"}')))).toEqual({
      one: 'unclear',
    });
  });
});

describe('a policy whose refusals', () => {
  it.each([
    ['become final is stricter', '', 'refusals: final\n', []],
    ['can be decided again is looser', 'refusals: final\n', '', ['policy p']],
  ])('%s', (_, before, after, loosens) => {
    expect(diff([policy('p', { more: before })], [policy('p', { more: after })]).loosens).toEqual(loosens);
  });

  it('do not exist, since it only observes, is neither', () => {
    const rules = [observed(LIMIT)];
    expect(
      diff([policy('p', { more: 'refusals: final\n', rules })], [policy('p', { rules })]).loosens,
    ).toEqual([]);
  });
});

describe('a count', () => {
  const window = (more: string): string => `window-limit: { ${more} }`;
  const counting = (rule: string, when = '{ symbol: A }', name = 'p'): string =>
    policy(name, { when, rules: [rule] });
  const HOUR = window('window: 1h, max: 500');

  it.each<[string, string, string]>([
    ['another window', HOUR, window('window: 2h, max: 500')],
    ['another calendar period', window('window: day, max: 500'), window('window: week, max: 500')],
    [
      'another time zone',
      window('window: day, max: 500'),
      window('window: day, zone: Europe/Berlin, max: 500'),
    ],
    ['other members', HOUR, window('per: [userId], window: 1h, max: 500')],
    ['a table of assets', HOUR, window('by: asset, window: 1h, max: { A: 500 }')],
  ])('begins anew with %s, which is looser once', (_, before, after) => {
    const found = diff([counting(before)], [counting(after)]);
    expect(found.policies).toMatchObject([{ rules: [{ newCount: { direction: 'looser' } }] }]);
    expect(found.loosens).toEqual(['p/window-limit#1']);
  });

  it('begins anew, with its rule unchanged, if the policy no longer names one symbol', () => {
    const velocity = 'velocity-limit: { window: 1h, max: 5 }';
    const everything = policy('all');
    const found = diff(
      [everything, counting(velocity)],
      [everything, counting(velocity, '{ symbol: [A, B] }')],
    );
    expect(directionsOf(found)).toEqual({ p: 'stricter' });
    expect(found.policies).toMatchObject([
      { rules: [{ change: 'changed', parameters: [], newCount: { max: '5', window: '1h' } }] },
    ]);
    expect(found.loosens).toEqual(['p/velocity-limit#1']);
  });

  it('begins anew under another name of the policy', () => {
    const found = diff([counting(HOUR)], [counting(HOUR, '{ symbol: A }', 'q')]);
    expect(found.policies).toMatchObject([
      { policy: 'p', change: 'removed' },
      { policy: 'q', change: 'added', rules: [{ newCount: { max: '500', window: '1h' } }] },
    ]);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ['another maximum', [HOUR], [window('window: 1h, max: 400')]],
    ['another place', [LIMIT, HOUR], [HOUR, LIMIT]],
    [
      'another way to write the same',
      [window('window: 1h, per: [userId, source], max: 500')],
      [window('window: 60m, per: [userId], max: 500')],
    ],
    ['another mode', [LIMIT, observed(HOUR)], [LIMIT, HOUR]],
    ['a rule beside it', [HOUR], [HOUR, window('window: 24h, max: 900')]],
    ['a rule less beside it', [HOUR, window('window: 24h, max: 900')], [HOUR]],
  ])('goes on with %s', (_, before, after) => {
    const [rulesBefore, rulesAfter] = [before, after].map((rules) =>
      policy('p', { when: '{ symbol: A }', rules }),
    ) as [string, string];
    expect(JSON.stringify(diff([rulesBefore], [rulesAfter]))).not.toContain('newCount');
  });

  it('that only observes begins anew without loosening anything', () => {
    const rules = (hours: string): string =>
      policy('p', { when: '{ symbol: A }', rules: [LIMIT, observed(window(`window: ${hours}, max: 5`))] });
    const found = diff([rules('1h')], [rules('2h')]);
    expect(found.policies).toMatchObject([{ rules: [{ newCount: { window: '2h' } }] }]);
    expect(found.loosens).toEqual([]);
  });
});

describe('whatever changes', () => {
  const subset = (...values: readonly string[]) => fc.subarray([...values], { minLength: 1 });
  const list = (values: readonly string[]): string => `[${values.map((value) => `'${value}'`).join(', ')}]`;
  const amount = fc.integer({ min: 1, max: 4 });
  const rule = fc
    .oneof(
      amount.map((max) => `amount-limit: { max: ${max} }`),
      amount.map((min) => `amount-limit: { min: ${min} }`),
      fc
        .tuple(subset('X', 'Y'), amount)
        .map(
          ([symbols, max]) =>
            `amount-limit: { by: asset, max: { ${symbols.map((each) => `${each}: ${max}`).join(', ')} } }`,
        ),
      fc
        .tuple(fc.constantFrom('allow-list', 'deny-list'), subset(A, B, C))
        .map(([kind, values]) => `${kind}: { of: to, values: ${list(values)} }`),
      subset(A, B).map((values) => `member-equals: { member: to, values: ${list(values)} }`),
    )
    .chain((text) => fc.constantFrom(`{ ${text} }`, `{ ${text} }`, observed(text)));
  const when = fc
    .record(
      { symbol: subset('X', 'Y').map(list), to: subset(A, B).map(list), source: fc.constant('vault') },
      { requiredKeys: [] },
    )
    .map(
      (members) =>
        `{ ${Object.entries(members)
          .map(([name, value]) => `${name}: ${value}`)
          .join(', ')} }`,
    );
  const written = fc.record({ when, rules: fc.array(rule, { minLength: 1, maxLength: 3 }) });
  const policies = fc.dictionary(fc.constantFrom('p', 'q', 'r'), written, { minKeys: 1 });
  // A change of one part is what people make, and what a random pair hardly ever is.
  const pairs = fc.oneof(
    fc.tuple(policies, policies),
    fc
      .tuple(policies, fc.constantFrom('p', 'q', 'r'), written)
      .map(([all, name, other]) => [all, { ...all, [name]: other }] as const),
    fc.tuple(policies, fc.constantFrom('p', 'q', 'r'), rule).map(([all, name, added]) => {
      const one = all[name];
      return [
        all,
        one === undefined ? all : { ...all, [name]: { ...one, rules: [...one.rules, added] } },
      ] as const;
    }),
    fc.tuple(policies, fc.constantFrom('p', 'q', 'r'), when).map(([all, name, other]) => {
      const one = all[name];
      return [all, one === undefined ? all : { ...all, [name]: { ...one, when: other } }] as const;
    }),
  );
  const CALLBACKS = ['X', 'Y'].flatMap((symbol) =>
    ['1', '2', '4'].flatMap((total) => [
      ...[A, B, C].map((to) => transfer({ to, symbol, amount: total })),
      transfer({ to: A, symbol, amount: total, ...outputs([A, '0.5'], [B, String(Number(total) - 0.5)]) }),
    ]),
  );

  function releaseOf(all: Readonly<Record<string, Written>>): Release {
    const text = Object.entries(all)
      .map(([name, each]) => policy(name, { ...each, callback: 'transfer' }))
      .join('---\n');
    const compiled = readPolicyFiles([{ name: 'a.yaml', text }], () => undefined);
    if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
    return compiled.release;
  }

  it('approves no callback that was refused, unless a change is said to loosen', () => {
    let proven = 0;
    fc.assert(
      fc.property(pairs, ([before, after]) => {
        const [old, current] = [releaseOf(before), releaseOf(after)];
        const { loosens } = diffReleases(old.document, current.document);
        if (loosens.length > 0) return;
        proven++;
        for (const callback of CALLBACKS) {
          const approves = evaluateAt(current, callback, NOON).approves;
          expect(approves && !evaluateAt(old, callback, NOON).approves).toBe(false);
        }
      }),
      { numRuns: 400 },
    );
    expect(proven).toBeGreaterThan(20);
  });

  it('refuses no callback that was approved, where a policy is only looser', () => {
    fc.assert(
      fc.property(pairs, ([before, after]) => {
        const [old, current] = [releaseOf(before), releaseOf(after)];
        const { policies: changes } = diffReleases(old.document, current.document);
        const only = changes.length === 1 ? changes[0] : undefined;
        if (only?.direction !== 'looser' || (only.change === 'changed' && only.rules.length > 0)) return;
        for (const callback of CALLBACKS) {
          const approved = evaluateAt(old, callback, NOON).approves;
          expect(approved && !evaluateAt(current, callback, NOON).approves).toBe(false);
        }
      }),
      { numRuns: 400 },
    );
  });
});

describe('the movements of a policy', () => {
  const ASSETS = 'assets: { ETH: { chain: evm, decimals: 18 } }\n';
  const tables = 'amount-limit: { by: asset, max: { ETH: 1 } }';
  const web3 = (name: string, movements: string, when = '{}'): string =>
    policy(name, { when, callback: 'web3', rules: [tables], more: movements });
  const change = (before: readonly string[], after: readonly string[]): ReleaseDiff => {
    const documentOf = (policies: readonly string[]): string =>
      release(policies.join('---\n'), {}, ASSETS).document;
    return diffReleases(documentOf(before), documentOf(after));
  };

  it('may loosen, whether they are added or removed', () => {
    const movements = 'movements: { approvals: count }\n';
    for (const [before, after] of [
      ['', movements],
      [movements, ''],
    ] as const) {
      const { loosens, policies } = change([web3('a', before)], [web3('a', after)]);
      expect(loosens).toEqual(['policy a']);
      expect(policies).toMatchObject([{ members: [{ name: 'movements', direction: 'unclear' }] }]);
    }
  });

  it('are other addresses than the callback’s own', () => {
    const when = `{ to: '${A}' }`;
    const added = (movements: string): unknown =>
      directionsOf(change([web3('a', '', when)], [web3('a', '', when), web3('b', movements, when)]));
    expect(added('')).toEqual({ b: 'stricter' });
    expect(added('movements: { approvals: count }\n')).toEqual({ b: 'both' });
  });
});
