import { describe, expect, it } from 'vitest';
import { groupOfKey } from '../../../src/claims/window.ts';
import { diffReleases } from '../../../src/policy/diff.ts';
import type { Callback } from '../../../src/callback/callback.ts';
import {
  NOON,
  evaluateAt,
  faultsOf,
  judged,
  payment,
  pricesOf,
  release,
  ruleFaults,
  transfer,
  web3,
} from '../callbacks.ts';
import { tablesOf, string } from '../../cases.ts';

const ONE = '{ symbol: USDT1742 }';
const SALES = { facts: { group: 'sales' } };

const RULES = [
  ['window-limit', 'window-limit: { window: 24h, max: 10000'],
  ['velocity-limit', 'velocity-limit: { window: 24h, max: 10'],
  ['distinct-limit', 'distinct-limit: { of: appOrderId, window: 24h, max: 10'],
  ['value-limit', 'value-limit: { window: 24h, max: 10000, maxAge: 10m'],
] as const;

const keysOf = (rule: string, group?: string): readonly string[] => {
  const facts = { prices: pricesOf({ USDT1742: '1' }), ...(group === undefined ? {} : { group }) };
  const { claims } = judged(rule, payment(), { when: ONE, facts });
  return claims.flatMap((claim) => ('window' in claim ? [claim.key] : []));
};

describe.each(RULES)('%s across a group', (_, rule) => {
  const across = `${rule}, across: group }`;

  it('counts in the counter of the group, and names it', () => {
    const facts = { prices: pricesOf({ USDT1742: '1' }), group: 'sales' };
    const { result, claims } = judged(across, payment(), { when: ONE, facts });
    expect(result.because).toContain(' for group sales in 24h');
    expect(result.values).toMatchObject({ group: 'sales' });
    expect(claims).toHaveLength(1);
    expect(groupOfKey(keysOf(across, 'sales')[0] ?? '')).toBe('sales');
  });

  it('has another counter for each group, and another than without `across`', () => {
    const keys = [...keysOf(across, 'sales'), ...keysOf(across, 'other'), ...keysOf(`${rule} }`, 'sales')];
    expect(new Set(keys).size).toBe(3);
    expect(groupOfKey(keys[2] ?? '')).toBeUndefined();
  });

  it('counts alone by default, under the same key as with `across: source` and whatever the group', () => {
    expect(keysOf(`${rule}, across: source }`)).toEqual(keysOf(`${rule} }`));
    expect(keysOf(`${rule} }`, 'sales')).toEqual(keysOf(`${rule} }`));
  });

  it('refuses a source without a group, until it has one', () => {
    const { result, proposal } = judged(across, payment(), {
      when: ONE,
      facts: { prices: pricesOf({ USDT1742: '1' }) },
    });
    expect(result).toMatchObject({
      verdict: 'refuse',
      because: 'the source shop has no group in the settings, across which this rule counts',
      values: { source: 'shop' },
    });
    expect(proposal.retryable).toBe(true);
  });

  it('can not count each source alone as well', () => {
    expect(ruleFaults(`${rule}, per: [source], across: group }`, 'payment', ONE)).toEqual([
      expect.stringContaining('leave source out of per, or leave across out'),
    ]);
  });

  it('takes source or group', () => {
    expect(ruleFaults(`${rule}, across: groups }`, 'payment', ONE)).toEqual([
      expect.stringContaining('source or group'),
    ]);
  });
});

it('distinct-limit knows a value in the whole group, and each group has its own', () => {
  const rule = 'distinct-limit: { of: appOrderId, only: new, window: 24h, max: 10, across: group }';
  const valuesIn = (group: string): readonly string[] =>
    judged(rule, payment(), { facts: { group } }).claims.flatMap((claim) =>
      claim.type === 'distinct' ? claim.values : [],
    );
  expect(valuesIn('sales').map(groupOfKey)).toEqual(['sales']);
  expect(valuesIn('sales')).not.toEqual(valuesIn('other'));
});

it('counts for each member in a group', () => {
  const rule = 'window-limit: { per: [userId], window: 24h, max: 9, across: group }';
  const { result } = judged(rule, payment(), { when: ONE, ...SALES });
  expect(result.because).toContain('more for userId 12345, group sales in 24h');
});

it('value-limit without a window takes neither', () => {
  for (const more of ['across: group', 'counter: total']) {
    expect(ruleFaults(`value-limit: { max: 1, maxAge: 10m, ${more} }`)).toEqual([
      expect.stringContaining('is only for counting in a window'),
    ]);
  }
});

// ---- shared counters ----

const withdrawals = (rule: string, when = '{ source: vault, symbol: ETH }', name = 'withdrawals'): string =>
  `policy: ${name}\ncallback: transfer\nwhen: ${when}\nrules:\n  - ${rule}\n`;
const calls = (rule: string, when = '{ source: vault, symbol: ETH }'): string =>
  `---\npolicy: calls\ncallback: web3\nwhen: ${when}\nrules:\n  - ${rule}\n`;

const SUM = 'window-limit: { window: 24h, max: 10, counter: total }';

const rowsOf = tablesOf(new URL('cases/across-and-counter.yaml', import.meta.url));

describe('a counter with a name', () => {
  const keyOf = (yaml: string, callback: Callback): string | undefined => {
    const { claims } = evaluateAt(release(yaml), callback, NOON);
    return claims.flatMap((claim) => (claim.type === 'window' ? [claim.key] : []))[0];
  };

  it('is one for several policies and kinds of callbacks, whatever their maxima', () => {
    const yaml = withdrawals(SUM) + calls('window-limit: { window: 1d, max: 3, counter: total }');
    const key = keyOf(yaml, transfer());
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(keyOf(yaml, web3())).toBe(key);
    expect(keyOf(withdrawals(SUM, undefined, 'renamed'), transfer())).toBe(key);
  });

  it('is another than without the name, under another name, and for another window', () => {
    const keys = ['counter: total', 'counter: sum', ''].map((more) =>
      keyOf(withdrawals(`window-limit: { window: 24h, max: 10, ${more} }`), transfer()),
    );
    keys.push(keyOf(withdrawals(SUM.replace('24h', '48h')), transfer()));
    expect(new Set(keys).size).toBe(4);
  });

  it('is one for all coins that velocity-limit counts', () => {
    const rule = 'velocity-limit: { window: 24h, max: 10, counter: total }';
    const yaml = withdrawals(rule) + calls(rule, '{ source: vault, symbol: BNB }');
    expect(faultsOf(yaml)).toEqual([]);
    expect(keyOf(yaml, web3({ main_chain_symbol: 'BNB' }))).toBe(keyOf(yaml, transfer()));
  });

  it('is one for each asset with by: asset', () => {
    const rule = 'window-limit: { by: asset, window: 24h, max: { ETH: 10, BTC: 1 }, counter: total }';
    const yaml = withdrawals(rule, '{ source: vault }') + calls(rule, '{ source: vault }');
    const eth = keyOf(yaml, transfer());
    expect(keyOf(yaml, web3())).toBe(eth);
    expect(keyOf(yaml, transfer({ symbol: 'BTC' }))).not.toBe(eth);
  });

  it.each(rowsOf('faults', string, string, string))('must be counted alike: %s', (_, rule, message) => {
    const [fault = '', ...others] = faultsOf(withdrawals(SUM) + calls(rule));
    expect(others).toEqual([]);
    expect(fault).toContain(`the counter total ${message}`);
    expect(fault).toContain('withdrawals/window-limit#1 (a.yaml:5)');
    expect(fault).toMatch(/^a\.yaml:11:/);

    // Also by the rules of one policy, and by alternatives, which would otherwise let through as much each.
    const any = `any: [{ ${SUM} }, { all: [{ allow-list: { of: to, list: known } }, { ${rule} }] }]`;
    for (const one of [withdrawals(`${SUM}\n  - ${rule}`), withdrawals(any)]) {
      expect(faultsOf(one)).toEqual([expect.stringContaining(`the counter total ${message}`)]);
    }
  });

  it('must be of one coin', () => {
    expect(faultsOf(withdrawals(SUM) + calls(SUM, '{ source: vault, symbol: BNB }'))).toEqual([
      expect.stringContaining('the counter total has symbol BNB here, and ETH in'),
    ]);
  });

  it('must not count one callback twice', () => {
    const two =
      withdrawals(SUM) + '---\n' + withdrawals(SUM, '{ source: [vault, safe], symbol: ETH }', 'others');
    expect(faultsOf(two)).toEqual([
      expect.stringContaining(
        'a callback could count twice under the counter total, here and in withdrawals/',
      ),
    ]);
    const apart = withdrawals(SUM) + '---\n' + withdrawals(SUM, '{ source: safe, symbol: ETH }', 'others');
    expect(faultsOf(apart)).toEqual([]);
    const within = `policy: one\ncallback: transfer\nwhen: { symbol: ETH }\nrules:\n  - ${SUM}\n  - ${SUM}\n`;
    expect(faultsOf(within)).toEqual([expect.stringContaining('the same counter as rule 1 of this policy')]);
  });

  it('may be shared by alternatives and by another kind', () => {
    const any = `any: [{ allow-list: { of: to, list: known } }, { ${SUM} }]`;
    expect(faultsOf(withdrawals(any) + calls(SUM))).toEqual([]);
  });

  it.each(['Total', 'a b', '', '1st', 'x'.repeat(65)])('has no name like %j', (name) => {
    expect(ruleFaults(`velocity-limit: { window: 1h, max: 1, counter: "${name}" }`)).toEqual([
      expect.stringContaining('write a name like daily-total'),
    ]);
  });
});

describe('a diff', () => {
  const beginning = (before: string, after: string): readonly string[] => {
    const { policies } = diffReleases(release(before).document, release(after).document);
    return policies.flatMap((policy) =>
      policy.change === 'changed'
        ? policy.rules.flatMap((rule) =>
            rule.newCount === undefined ? [] : [`${policy.policy}/${rule.rule}`],
          )
        : [],
    );
  };
  const own = SUM.replace(', counter: total', '');

  it('says that a count begins anew where it is shared, for each policy', () => {
    expect(beginning(withdrawals(own) + calls(own), withdrawals(SUM) + calls(SUM))).toEqual([
      'calls/window-limit#1',
      'withdrawals/window-limit#1',
    ]);
  });

  it('says so where it becomes that of a group', () => {
    const group = own.replace('max', 'across: group, max');
    expect(beginning(withdrawals(own), withdrawals(group))).toEqual(['withdrawals/window-limit#1']);
    expect(beginning(withdrawals(own), withdrawals(own.replace('max', 'across: source, max')))).toEqual([]);
  });

  it('says nothing where a policy of a shared count is renamed', () => {
    expect(beginning(withdrawals(SUM), withdrawals(SUM, undefined, 'renamed'))).toEqual([]);
  });
});
