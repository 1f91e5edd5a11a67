import { describe, expect, it } from 'vitest';
import { place, prints, reports } from '../terminal.ts';

const LISTED = '0x52908400098527886e0f7030069857d2e4169ee7';
const XRP = 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh';
const ASSETS = 'assets:\n  ETH: { chain: evm, decimals: 18 }\n  XRP: { chain: ripple, decimals: 6 }\n';
const deny = (of: string, { symbol = 'ETH', list = 'sanctioned' } = {}): string =>
  `policy: p\ncallback: transfer\nwhen: { symbol: ${symbol} }\nrules:\n  - deny-list: { of: ${of}, list: ${list} }\n`;

/** A folder with a list that was filled before its policy. */
async function filled(of: string, values: readonly string[], assets = ASSETS) {
  const made = place({ policies: { 'a.yaml': deny(of), 'assets.yaml': assets } });
  const added = await made.run`list add sanctioned ${values} --source vault --create`;
  expect(added.code).toBe(0);
  return made;
}

describe('a push of a policy whose list was filled before', () => {
  it.each([
    ['a comment after a semicolon', 'to', `${LISTED} ; theirs`, `(to can't be "${LISTED} ; theirs")`],
    ['typographic quotation marks', 'to', `“${LISTED}”`, `(to can't be "“${LISTED}”")`],
    ['an address of another chain', 'to', XRP, `("${XRP}" is not an address of ETH`],
    ['too few parts', '[to, memo]', LISTED, '(it has too few parts for to, memo)'],
  ])('is refused for %s, with the value and the cure', async (_, of, value, said) => {
    const { run } = await filled(of, [of === 'to' ? LISTED : `${LISTED} 7`, value]);
    const { code, out } = await run`policy push --message x`;
    expect({ code, out }).toEqual(prints(1, 'Nothing was pushed.'));
    expect(out).toContain(`vault/sanctioned has a value that no callback can have: ${value} ${said}`);
    expect(out).toContain('countersign list remove sanctioned --source vault');
    const { json } = await run`policy push --message x --json`;
    expect(json()).toMatchObject({
      pushed: false,
      lists: [{ source: 'vault', list: 'sanctioned', count: 1 }],
    });
  });

  it('is refused for a user id with zeros at its beginning, which rules look up without', async () => {
    const { run, write } = await filled('to', [LISTED]);
    write(
      'policies/b.yaml',
      'policy: q\ncallback: payment\nrules:\n  - deny-list: { of: userId, list: users }\n',
    );
    await run`list add users 0012345 666 --source shop --create`;
    const { code, out } = await run`policy push --message x`;
    expect({ code, out }).toEqual(prints(1, 'Nothing was pushed.'));
    expect(out).toContain(
      'shop/users has a value that no callback can have: 0012345 (rules look it up as 12345)',
    );
  });

  it('is done once the values are taken off', async () => {
    const { run } = await filled('to', [LISTED, `“${LISTED}”`, `${LISTED} ; theirs`]);
    const refused = await run`policy push --message x`;
    expect(refused.out).toContain('vault/sanctioned has 2 values that no callback can have');
    await run('list', 'remove', 'sanctioned', `“${LISTED}”`, `${LISTED} ; theirs`, '--source', 'vault');
    expect((await run`policy push --message x`).code).toBe(0);
  });

  it('is done with --skip-lists, and doctor and a rollback name the values from then on', async () => {
    const { run, write } = await filled('to', [LISTED, `“${LISTED}”`]);
    expect((await run`policy push --message x --skip-lists`).code).toBe(0);
    expect(await run('doctor')).toMatchObject(
      prints(1, 'vault/sanctioned has a value that no callback can have'),
    );
    const first = JSON.parse((await run`policy show --json`).out) as { revision: string };
    write('policies/a.yaml', deny('to', { list: 'others' }));
    expect((await run`policy push --message y`).code).toBe(0);
    expect(await run`policy rollback ${first.revision.slice(0, 8)} --message z`).toMatchObject(
      reports(0, 'vault/sanctioned has a value that no callback can have'),
    );
  });

  it('is done with values that one of several rules can match', async () => {
    const { run } = place({
      policies: {
        'a.yaml': `${deny('to')}---\n${deny('[to, memo]').replace('policy: p', 'policy: q')}`,
        'assets.yaml': ASSETS,
      },
    });
    await run('list', 'add', 'sanctioned', LISTED, `${LISTED} 7`, '--source', 'vault', '--create');
    expect((await run`policy push --message x`).code).toBe(0);
  });
});

describe('list add --asset judges each value by itself, where no policy does', () => {
  it.each([
    [
      'ETH',
      [LISTED, `${LISTED} ETH`, `ETH ${LISTED}`.split(' ').toReversed().join(' '), `${LISTED} ${LISTED}`],
    ],
    ['XRP', [XRP, `${XRP} XRP 7`, `${XRP} 7`]],
  ])('and takes what a list of %s may have', async (asset, values) => {
    const { run, write } = place();
    write('policies/assets.yaml', ASSETS);
    const { code } = await run`list add s ${values} --asset ${asset} --source vault --create`;
    expect(code).toBe(0);
  });
});

describe('list add makes no list that nothing names', () => {
  it('without a policy that looks into it: 2, with the list that is meant', async () => {
    const { run } = place({ policies: { 'a.yaml': deny('to'), 'assets.yaml': ASSETS } });
    expect((await run`policy push --message x`).code).toBe(0);
    const { code, err } = await run`list add sanctoined ${LISTED}`;
    expect(code).toBe(1);
    expect(err).toContain('there is no list sanctoined in shop, vault');
    expect(err).toContain('Did you mean sanctioned?');
    expect(err).toContain('--create');
    expect((await run`list show --json`).json()).toEqual([]);
  });

  it('but one that a policy in force names, for its sources only', async () => {
    const named = deny('to').replace('{ symbol: ETH }', '{ source: vault, symbol: ETH }');
    const { run } = place({ policies: { 'a.yaml': named, 'assets.yaml': ASSETS } });
    await run`policy push --message x`;
    const { code, out } = await run`list add sanctioned ${LISTED}`;
    expect({ code, out }).toEqual({
      code: 0,
      out: 'vault/sanctioned: 1 added, 1 entry now (version 1)\n',
    });
    expect((await run`list add sanctioned ${LISTED} --source shop`).code).toBe(1);
    expect((await run`list add sanctioned ${LISTED} --source shop --create`).code).toBe(0);
  });

  it('and one that exists gets values, even if no policy names it', async () => {
    const { run } = place();
    expect((await run`list add later 7 --source shop`).code).toBe(1);
    expect((await run`list add later 7 --source shop --create`).code).toBe(0);
    expect((await run`list add later 8`).out).toBe('shop/later: 1 added, 2 entries now (version 2)\n');
  });
});
