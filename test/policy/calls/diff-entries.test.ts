import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ReleaseDiff, diffReleases } from '../../../src/policy/diff.ts';
import type { Release } from '../../../src/policy/release.ts';
import { NOON, evaluateAt, release } from '../callbacks.ts';
import {
  ASSETS,
  DAI,
  ME,
  MULTICALL3,
  OTHER,
  PARTNER,
  ROUTER,
  USDT,
  call,
  callbackOf,
  transferTo,
} from './transactions.ts';

const ABI = `function stake(uint256 assets, address receiver)
function move(int256 delta)
function swap(uint256 amountIn, uint256 amountOutMin, uint256 deadline)
function batch((address target, uint256 value, bytes data)[] calls)
`;
const TRANSFER = 'transfer(address,uint256)';
const APPROVE = 'approve(address,uint256)';

const releaseOf = (calls: readonly string[], more = ''): Release =>
  release(
    `policy: p\ncallback: web3\nwhen: { main_chain_symbol: ETH }\nrules:\n  - contract-calls:\n      abis: own.abi\n${more}` +
      (calls.length === 0 ? '' : `      calls:\n${calls.map((each) => `        - ${each}\n`).join('')}`),
    { 'own.abi': ABI },
    ASSETS,
  );

/** The changes of the rule's parameters: name and direction. */
const changesOf = ({ policies }: ReleaseDiff): readonly string[] =>
  policies.flatMap((policy) =>
    policy.change === 'changed'
      ? policy.rules.flatMap((rule) =>
          rule.change === 'changed'
            ? rule.parameters.map(({ name, direction }) => `${name} ${direction}`)
            : [],
        )
      : [],
  );

const diff = (
  before: readonly string[],
  after: readonly string[],
  more: readonly [string, string] = ['', ''],
) => changesOf(diffReleases(releaseOf(before, more[0]).document, releaseOf(after, more[1]).document));

const entry = (where: string, more = '', contract = `'${USDT}'`, method = `'${TRANSFER}'`): string =>
  `{ contract: ${contract}, method: ${method}, decimals: 6, where: ${where}${more} }`;
const TO = `to: { values: ['${PARTNER}'] }`;
const PLAIN = entry(`{ ${TO}, amount: { max: 1000 } }`);
const NAME = `calls[${TRANSFER} of ${USDT}]`;
const own = (method: string, where: string): string =>
  `{ contract: '${ROUTER}', method: '${method}', where: ${where} }`;
const stake = (assets: string): string =>
  own('stake(uint256,address)', `{ assets: ${assets}, receiver: any }`);
const move = (delta: string): string => own('move(int256)', `{ delta: ${delta} }`);
const STAKE = `calls[stake(uint256,address) of ${ROUTER}].where.assets`;
const MOVE = `calls[move(int256) of ${ROUTER}].where.delta`;

describe('the changes of an entry', () => {
  it.each<[string, string, string, string | readonly string[]]>([
    [
      'a higher maximum',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 1000.5 } }`),
      `${NAME}.where.amount.max looser`,
    ],
    ['a lower maximum', PLAIN, entry(`{ ${TO}, amount: { max: 999 } }`), `${NAME}.where.amount.max stricter`],
    [
      'a maximum that says the same',
      PLAIN,
      entry(`{ ${TO}, amount: { max: '1000.0' } }`),
      `${NAME}.where.amount.max undefined`,
    ],
    ['no condition any more', PLAIN, entry(`{ ${TO}, amount: any }`), `${NAME}.where.amount looser`],
    [
      'a first condition',
      entry('{ to: any, amount: any }'),
      PLAIN,
      [`${NAME}.where.amount stricter`, `${NAME}.where.to stricter`],
    ],
    [
      'a minimum more',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 1000, min: 1 } }`),
      `${NAME}.where.amount.min stricter`,
    ],
    [
      'one recipient more',
      PLAIN,
      entry(`{ to: { values: ['${PARTNER}', '${OTHER}'] }, amount: { max: 1000 } }`),
      `${NAME}.where.to.values looser`,
    ],
    [
      'one recipient less',
      entry(`{ to: { values: ['${PARTNER}', '${OTHER}'] }, amount: { max: 1000 } }`),
      PLAIN,
      `${NAME}.where.to.values stricter`,
    ],
    [
      'another recipient',
      PLAIN,
      entry(`{ to: { values: ['${OTHER}'] }, amount: { max: 1000 } }`),
      `${NAME}.where.to.values unclear`,
    ],
    [
      'a list beside the values',
      PLAIN,
      entry(`{ to: { values: ['${PARTNER}'], list: partners }, amount: { max: 1000 } }`),
      `${NAME}.where.to.list stricter`,
    ],
    [
      'another list',
      entry('{ to: { list: a }, amount: any }'),
      entry('{ to: { list: b }, amount: any }'),
      `${NAME}.where.to.list unclear`,
    ],
    [
      'the sender in place of the caller',
      entry('{ to: { is: caller }, amount: any }'),
      entry('{ to: { is: sender }, amount: any }'),
      `${NAME}.where.to.is unclear`,
    ],
    ['other decimals', PLAIN, PLAIN.replace('decimals: 6', 'decimals: 18'), `${NAME}.decimals unclear`],
    [
      'other decimals, and another maximum',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 5 } }`).replace('decimals: 6', 'decimals: 18'),
      [`${NAME}.decimals unclear`, `${NAME}.where.amount unclear`],
    ],
    [
      'bytes behind the arguments',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 1000 } }`, ', trailing: { max: 32 }'),
      `${NAME}.trailing.max looser`,
    ],
    [
      'fewer of them',
      entry(`{ ${TO}, amount: any }`, ', trailing: { max: 32 }'),
      entry(`{ ${TO}, amount: any }`, ', trailing: { max: 8 }'),
      `${NAME}.trailing.max stricter`,
    ],
    [
      'native coins',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 1000 } }`, ', value: { max: 1 }'),
      `${NAME}.value.max looser`,
    ],
    [
      'no native coins',
      entry(`{ ${TO}, amount: { max: 1000 } }`, ', value: { max: 1 }'),
      PLAIN,
      `${NAME}.value.max stricter`,
    ],
    [
      'unlimited amounts',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 1000 } }`, ', unlimited: allowed'),
      `${NAME}.unlimited looser`,
    ],
    [
      'a delegatecall',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 1000 } }`, ', delegatecall: allowed'),
      `${NAME}.delegatecall looser`,
    ],
    [
      'a recipient',
      entry(`{ ${TO}, amount: any }`, ', recipient: to'),
      entry(`{ ${TO}, amount: any }`),
      `${NAME}.recipient stricter`,
    ],
    [
      'a further contract',
      PLAIN,
      entry(`{ ${TO}, amount: { max: 1000 } }`, '', `['${USDT}', '${DAI}']`),
      `${NAME}.contract looser`,
    ],
    [
      'another contract beside one that stays',
      entry('{ to: any, amount: any }', '', `['${USDT}', '${DAI}']`),
      entry('{ to: any, amount: any }', '', `['${USDT}', '${ROUTER}']`),
      `${NAME}.contract both`,
    ],
    [
      'one method less',
      entry('{ 1: any, 2: any }', '', `'${USDT}'`, `['${TRANSFER}', '${APPROVE}']`),
      entry('{ 1: any, 2: any }'),
      `${NAME}.method stricter`,
    ],
    [
      'each value in place of the sum',
      stake('{ max: 5, decimals: 0 }'),
      stake('{ max: 5, each: true }'),
      `${STAKE} unclear`,
    ],
    [
      'a minimum below zero, where it was zero',
      move('{ max: 5, decimals: 0 }'),
      move('{ max: 5, min: -5, decimals: 0 }'),
      `${MOVE}.min looser`,
    ],
    [
      'zero, where the minimum was below',
      move('{ max: 5, min: -5, decimals: 0 }'),
      move('{ max: 5, decimals: 0 }'),
      `${MOVE}.min stricter`,
    ],
    [
      'a lower minimum',
      move('{ min: -5, decimals: 0 }'),
      move('{ min: -6, decimals: 0 }'),
      `${MOVE}.min looser`,
    ],
    [
      'a maximum in place of a minimum',
      move('{ min: -5, decimals: 0 }'),
      move('{ max: 5, decimals: 0 }'),
      [`${MOVE}.max stricter`, `${MOVE}.min unclear`],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(diff([before], [after])).toEqual([expected].flat());
  });

  const swap = (out: string, deadline = '{ within: 20m }'): string =>
    own(
      'swap(uint256,uint256,uint256)',
      `{ amountIn: { max: 5, asset: USDT }, amountOutMin: ${out}, deadline: ${deadline} }`,
    );
  const share = (text: string): string => swap(`{ asset: USDT, atLeast: { ${text} } }`);
  const SWAP = `calls[swap(uint256,uint256,uint256) of ${ROUTER}].where`;
  it.each([
    [
      'a later deadline',
      share('share: 99 %, of: amountIn'),
      share('share: 99 %, of: amountIn').replace('20m', '1h'),
      `${SWAP}.deadline.within looser`,
    ],
    [
      'a greater share',
      share('share: 99 %, of: amountIn'),
      share('share: 99.5%, of: amountIn'),
      `${SWAP}.amountOutMin.atLeast stricter`,
    ],
    [
      'older prices',
      share('share: 99 %, of: amountIn, maxAge: 10m'),
      share('share: 99 %, of: amountIn, maxAge: 1h'),
      `${SWAP}.amountOutMin.atLeast looser`,
    ],
    [
      'older prices and a greater share',
      share('share: 99 %, of: amountIn, maxAge: 10m'),
      share('share: 99.5 %, of: amountIn, maxAge: 1h'),
      `${SWAP}.amountOutMin.atLeast both`,
    ],
    [
      'prices',
      share('share: 99 %, of: amountIn'),
      share('share: 99 %, of: amountIn, maxAge: 1h'),
      `${SWAP}.amountOutMin.atLeast unclear`,
    ],
  ])('of a relation: %s', (_, before, after, expected) => {
    expect(diff([before], [after])).toEqual([expected]);
  });

  it('that says which arguments contain calls are unclear, because other calls are then counted', () => {
    const multicall = '      multicall: { depth: 1, calls: 4 }\n';
    const plain = own('batch((address,uint256,bytes)[])', '{ calls: any }');
    const wrapper = `{ contract: '${ROUTER}', method: 'batch((address,uint256,bytes)[])', calls: { to: calls.target, value: calls.value, data: calls.data } }`;
    const changes = diff([plain], [wrapper], [multicall, multicall]);
    expect(changes.map((change) => change.split(' ').at(-1))).toEqual(['unclear', 'unclear']);
  });
});

describe('entries', () => {
  const approve = entry('{ spender: any, amount: { max: 5 } }', '', `'${USDT}'`, `'${APPROVE}'`);

  it('that are added allow more, and those that are removed less', () => {
    expect(diff([PLAIN], [approve, PLAIN])).toEqual(['calls looser']);
    expect(diff([approve, PLAIN], [PLAIN])).toEqual(['calls stricter']);
    expect(diff([approve], [PLAIN])).toEqual(['calls looser', 'calls stricter']);
    expect(diff([], [PLAIN], ['      plain: { max: 1 }\n', '      plain: { max: 1 }\n'])).toEqual([
      'calls looser',
    ]);
  });

  it('for one method of one contract are unclear, since the first that fits is charged', () => {
    const small = entry(`{ ${TO}, amount: { max: 1 } }`);
    expect(diff([PLAIN], [small, PLAIN])).toEqual(['calls unclear']);
    expect(diff([small, PLAIN], [PLAIN])).toEqual(['calls unclear']);
    expect(diff([small, PLAIN], [PLAIN, small])).toEqual(['calls unclear']);
    expect(diff([small, PLAIN], [small, PLAIN.replace('1000', '1001')])).toEqual([
      `${NAME}.where.amount.max unclear`,
    ]);
    const spelt = PLAIN.replace('uint256', 'uint').replace('transfer(', 'transfer( ');
    expect(diff([small], [small, spelt])).toEqual(['calls unclear']);
  });

  it('in another order, or with another spelling of the contract, change nothing', () => {
    expect(diff([approve, PLAIN], [PLAIN, approve])).toEqual(['calls undefined']);
    expect(diff([PLAIN], [PLAIN.replace(USDT, `0x${USDT.slice(2).toUpperCase()}`)])).toEqual([
      'calls undefined',
    ]);
  });

  it.each([
    ['plain', '', '      plain: { max: 1 }\n', 'plain looser'],
    ['plain', '      plain: { max: 1 }\n', '', 'plain stricter'],
    ['plain', '      plain: { max: 1 }\n', '      plain: { max: 2 }\n', 'plain.max looser'],
    [
      'plain',
      '      plain: { max: 1 }\n',
      `      plain: { max: 1, to: { values: '${PARTNER}' } }\n`,
      'plain.to stricter',
    ],
    ['multicall', '', '      multicall: { depth: 1, calls: 4 }\n', 'multicall looser'],
    [
      'multicall',
      '      multicall: { depth: 1, calls: 4 }\n',
      '      multicall: { depth: 1, calls: 3 }\n',
      'multicall.calls stricter',
    ],
  ])('beside them, %s changes: %s to %s', (_, before, after, expected) => {
    expect(diff([PLAIN], [PLAIN], [before, after])).toEqual([expected]);
  });
});

/** About fifty of these pairs of policies prove something. */
const RUNS = 1500;

describe('whatever changes', () => {
  const contracts = fc.subarray([USDT, DAI], { minLength: 1 });
  const methods = fc.subarray([TRANSFER, APPROVE], { minLength: 1 });
  const quoted = (texts: readonly string[]): string => `[${texts.map((text) => `'${text}'`).join(', ')}]`;
  const amount = fc.oneof(
    fc.constant('any'),
    fc
      .tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 1, max: 4 }))
      .map(([min, max]) => `{ min: ${min}, max: ${max} }`),
    fc.integer({ min: 1, max: 4 }).map((max) => `{ max: ${max} }`),
  );
  const who = fc.oneof(
    fc.constant('any'),
    fc.constant('{ is: sender }'),
    fc.subarray([PARTNER, OTHER], { minLength: 1 }).map((texts) => `{ values: ${quoted(texts)} }`),
  );
  const more = fc.constantFrom(
    '',
    '',
    ', trailing: { max: 2 }',
    ', trailing: { max: 4 }',
    ', value: { max: 1 }',
    ', unlimited: allowed',
  );
  const written = fc
    .tuple(contracts, methods, who, amount, more)
    .map(([on, names, to, sum, others]) =>
      entry(`{ 1: ${to}, 2: ${sum} }`, others, quoted(on), quoted(names)),
    );
  const list = fc.array(written, { minLength: 1, maxLength: 3 });
  // A change of one entry is what people make, and what a random pair hardly ever is.
  const pairs = fc.oneof(
    fc.tuple(list, list),
    fc.tuple(list, written).map(([all, one]) => [all, [...all, one]] as const),
    fc.tuple(list, written).map(([all, one]) => [[one, ...all], all] as const),
    fc.tuple(list, written).map(([all, one]) => [all, [one, ...all.slice(1)]] as const),
    fc
      .tuple(list, amount, amount)
      .map(
        ([all, from, to]) =>
          [
            all.map((each) => each.replace(/2: .*? }/, `2: ${from} }`)),
            all.map((each) => each.replace(/2: .*? }/, `2: ${to} }`)),
          ] as const,
      ),
  );
  const aggregate = `{ contract: '${MULTICALL3}', method: 'aggregate((address,bytes)[])', value: { max: 9 } }`;
  const compiled = (calls: readonly string[]): Release | undefined => {
    try {
      return releaseOf([...calls, aggregate], '      multicall: { depth: 1, calls: 4 }\n');
    } catch {
      return undefined;
    }
  };
  const singles = [USDT, DAI].flatMap((contract) =>
    [TRANSFER, APPROVE].flatMap((method) =>
      [PARTNER, OTHER, ME].flatMap((to) =>
        [0n, 1_000_000n, 2_000_000n, 3_000_000n, 2n ** 256n - 1n].flatMap((sum) =>
          ['', 'ffff', 'ffffff'].map((tail) => ({ contract, data: `${call(method, to, sum)}${tail}` })),
        ),
      ),
    ),
  );
  const two = [USDT, DAI].flatMap((one) =>
    [USDT, DAI].flatMap((other) =>
      [PARTNER, OTHER].map((to) => {
        const inner = [one, other].map((target, at) => [target, transferTo(to, BigInt(at + 1) * 1_000_000n)]);
        return { contract: MULTICALL3, data: call('aggregate((address,bytes)[])', inner) };
      }),
    ),
  );
  const callbacks = [...singles, ...two].map((each) => callbackOf(each));

  it('approves no call that was refused, unless a change is said to loosen', () => {
    let proven = 0;
    fc.assert(
      fc.property(pairs, ([before, after]) => {
        const [old, current] = [compiled(before), compiled(after)];
        if (old === undefined || current === undefined) return;
        if (diffReleases(old.document, current.document).loosens.length > 0) return;
        if (old.revision !== current.revision) proven++;
        for (const callback of callbacks) {
          const approves = evaluateAt(current, callback, NOON).approves;
          expect(approves && !evaluateAt(old, callback, NOON).approves).toBe(false);
        }
      }),
      { numRuns: RUNS },
    );
    expect(proven).toBeGreaterThan(10);
  });

  it('refuses no call that was approved, if each change is looser', () => {
    let proven = 0;
    fc.assert(
      fc.property(pairs, ([before, after]) => {
        const [old, current] = [compiled(before), compiled(after)];
        if (old === undefined || current === undefined) return;
        const changes = changesOf(diffReleases(old.document, current.document));
        if (changes.length === 0 || !changes.every((change) => /(looser|undefined)$/.test(change))) return;
        proven++;
        for (const callback of callbacks) {
          const approved = evaluateAt(old, callback, NOON).approves;
          expect(approved && !evaluateAt(current, callback, NOON).approves).toBe(false);
        }
      }),
      { numRuns: RUNS },
    );
    expect(proven).toBeGreaterThan(10);
  });
});
