import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOON, evaluateAt } from '../callbacks.ts';
import {
  DAI,
  EXEC,
  ME,
  MULTICALL3,
  MULTISEND,
  NFT,
  OTHER,
  PARTNER,
  PERMIT2,
  ROUTER,
  SAFE,
  USDT,
  WETH,
  ZERO,
  approveFor,
  call,
  callbackOf,
  inForce,
  multicall,
  transferTo,
} from './transactions.ts';

const policies = inForce();
const judge = (contract: string, data: string) => {
  const [result] = evaluateAt(policies, callbackOf({ contract, data }), NOON).results;
  if (result === undefined) throw new Error('the policy did not apply');
  return result;
};

const swap = call('swap(uint256,uint256,address[],address)', 5_000_000n, 1n, [USDT, WETH], ME);
/** A transaction of a Safe, and one of its packed calls. */
const safe = (to: string, value: bigint, data: string, operation: number): string =>
  call(EXEC, to, value, data, operation, 0n, 0n, 0n, ZERO, ZERO, '0x12');
const packed = (to: string): string => {
  const data = transferTo(OTHER, 2n).slice(2);
  const word = (value: number): string => value.toString(16).padStart(64, '0');
  return `00${to.slice(2)}${word(0)}${word(data.length / 2)}${data}`;
};
const ALLOWED: readonly (readonly [contract: string, data: string])[] = [
  [USDT, transferTo(PARTNER, 100_000_000n)],
  [USDT, approveFor(ROUTER, 5_000_000_000n)],
  [NFT, approveFor(PARTNER, 2n)],
  [DAI, approveFor(ROUTER, 1n)],
  [ROUTER, multicall(swap, multicall(swap))],
  [ROUTER, call('fill((address,int256,string,bytes4),uint8[2])', [ME, 5n, 'hello', '0x00000001'], [1, 2])],
  [
    MULTICALL3,
    call('aggregate3((address,bool,bytes)[])', [
      [USDT, false, transferTo(OTHER, 1n)],
      [ROUTER, false, swap],
    ]),
  ],
  [SAFE, safe(USDT, 0n, transferTo(PARTNER, 1n), 0)],
  [SAFE, safe(MULTISEND, 0n, call('multiSend(bytes)', `0x${packed(USDT)}${packed(USDT)}`), 1)],
  [
    ROUTER,
    call('batch(uint256,(address,uint256,bytes)[])', BigInt(NOON / 1000 + 60), [
      [USDT, 0n, transferTo(PARTNER, 1n)],
    ]),
  ],
  [
    PERMIT2,
    call('transferFrom((address,address,uint160,address)[])', [
      [ME, PARTNER, 1_000_000n, USDT],
      [ME, OTHER, 999_000_000n, USDT],
    ]),
  ],
];

const among =
  (...texts: readonly string[]) =>
  (each: string) =>
    texts.includes(each);
const bounded = (each: string): boolean => BigInt(each) <= 10n ** 19n || BigInt(each) >= 2n ** 255n;

/** What the policy allows, by argument, said once more. */
const ALLOWS: Readonly<Record<string, (each: string) => boolean>> = {
  to: among(PARTNER, OTHER, ME),
  'transferDetails.to': among(PARTNER, OTHER),
  'transferDetails.from': among(ME),
  'order.maker': among(ME),
  spender: among(ROUTER),
  tokenId: among('1', '2'),
  path: among(USDT, DAI, WETH),
  gasPrice: among('0'),
  deadline: (each) => BigInt(each) >= NOON / 1000 && BigInt(each) <= NOON / 1000 + 3600,
  'transferDetails.token': among(USDT),
  'calls.allowFailure': among('false'),
  'amount.raw': bounded,
  'amountIn.raw': bounded,
};

function isWithinPolicy(values: Readonly<Record<string, string>>): boolean {
  return Object.entries(values).every(([name, text]) => {
    const allows = ALLOWS[/args\.(.+)$/.exec(name)?.[1] ?? ''];
    return allows === undefined || text.split(' ').every(allows);
  });
}

describe('a byte that is changed in allowed call data', () => {
  it.each(ALLOWED.map(([contract, data], index) => [index + 1, contract, data] as const))(
    'never makes it pass with what the policy does not allow (%i)',
    (_, contract, data) => {
      const before = judge(contract, data);
      expect(before.verdict).toBe('pass');
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: data.length / 2 - 1 }),
          fc.integer({ min: 1, max: 255 }),
          (at, flip) => {
            const byte = Number.parseInt(data.slice(at * 2, at * 2 + 2), 16) ^ flip;
            const changed =
              data.slice(0, at * 2) + byte.toString(16).padStart(2, '0') + data.slice(at * 2 + 2);
            const after = judge(contract, changed);
            // Other data that passes says something else, and something that the policy allows.
            const same = JSON.stringify(after.values) === JSON.stringify(before.values);
            expect(after.verdict === 'refuse' || (!same && isWithinPolicy(after.values))).toBe(true);
          },
        ),
        { numRuns: 300 },
      );
    },
  );

  it.each(ALLOWED)('of %s cut short, or with more behind it, never passes', (contract, data) => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: data.length / 2 - 1 }),
        fc.uint8Array({ minLength: 1, maxLength: 70 }),
        (at, more) => {
          expect(judge(contract, data.slice(0, at * 2)).verdict).toBe('refuse');
          expect(judge(contract, data + Buffer.from(more).toString('hex')).verdict).toBe('refuse');
        },
      ),
    );
  });
});

describe('bytes at random', () => {
  it('never pass behind a selector that is allowed, and never throw', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ALLOWED),
        fc.uint8Array({ maxLength: 600 }),
        ([contract, data], bytes) => {
          const { verdict, because } = judge(
            contract,
            data.slice(0, 10) + Buffer.from(bytes).toString('hex'),
          );
          expect(verdict).toBe('refuse');
          expect(because).not.toContain('the rule failed');
        },
      ),
    );
  });
});
