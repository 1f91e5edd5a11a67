import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { NOON, evaluateAt, pricesOf, release } from '../callbacks.ts';
import {
  EXEC,
  ME,
  MULTISEND,
  PARTNER,
  THIEF,
  USDT,
  ZERO,
  call,
  callbackOf,
  transferTo,
} from './transactions.ts';

const page = readFileSync(new URL('../../../docs/policies.md', import.meta.url), 'utf8');
const [, section = ''] = /^## Call data of web3 transactions\n(.*?)^## /ms.exec(page) ?? [];
/** The rule below each heading of the section. */
const rules = new Map(
  [...section.matchAll(/^### (.+?)\n.*?^```yaml\n(.*?)^```$/gms)].map(([, title = '', rule = '']) => [
    title,
    rule,
  ]),
);

const FILES = {
  'router.abi': 'swap(uint256 amountIn, uint256 amountOutMin, address to, uint256 deadline)\n',
  'account.abi': 'batch((address target, uint256 value, bytes data)[] calls)\n',
};
const ASSETS = 'assets:\n  USDT: { chain: evm, decimals: 6 }\n  ETH: { chain: evm, decimals: 18 }\n';
const SAFE = '0x2222222222222222222222222222222222222222';
const ACCOUNT = '0x3333333333333333333333333333333333333333';
const ROUTER = '0x8617e340b3d01fa5f11f306f4090fd50e238070d';
const ETHER = 10n ** 18n;

const verdict = (title: string, contract: string, data: string): string => {
  const rule = (rules.get(title) ?? '').replaceAll(/^(?=.)/gm, '  ');
  const policy = `policy: one\ncallback: web3\nwhen: { main_chain_symbol: ETH }\nrules:\n${rule}`;
  const facts = { prices: pricesOf({ USDT: '1', ETH: '3500' }) };
  const { results } = evaluateAt(release(policy, FILES, ASSETS), callbackOf({ contract, data }), NOON, facts);
  return results[0]?.verdict ?? 'none';
};

const pay = transferTo(PARTNER, 5n);
const steal = transferTo(THIEF, 5n);
const soon = (seconds: number): bigint => BigInt(NOON / 1000 + seconds);
const swap = (out: bigint, to: string, deadline: bigint): string =>
  call('swap(uint256,uint256,address,uint256)', 3_500_000_000n, out, to, deadline);
const exec = (to: string, data: string, operation: number): string =>
  call(EXEC, to, 0n, data, operation, 0n, 0n, 0n, ZERO, ZERO, '0x');
const multiSend = (data: string): string =>
  call(
    'multiSend(bytes)',
    `0x00${USDT.slice(2)}${'0'.repeat(64)}${(data.length / 2 - 1).toString(16).padStart(64, '0')}${data.slice(2)}`,
  );
const batch = (...calls: readonly (readonly [string, bigint, string])[]): string =>
  call('batch((address,uint256,bytes)[])', calls);

const TIME = 'Conditions on the time and on other arguments';
const BYTES = 'Bytes behind the arguments';
const OWN = 'A multicall of your own ABI';

describe('docs/policies.md', () => {
  it('has an example of call data below each heading', () => {
    expect([...rules.keys()]).toEqual([TIME, BYTES, 'A Safe', OWN]);
    expect([...section.matchAll(/^```yaml$/gm)]).toHaveLength(rules.size);
  });

  it.each<[string, string, string, string]>([
    [TIME, ROUTER, swap(ETHER, ME, soon(1200)), 'pass'],
    [TIME, ROUTER, swap(ETHER, ME, soon(1201)), 'refuse'],
    [TIME, ROUTER, swap(ETHER, ME, soon(-1)), 'refuse'],
    [TIME, ROUTER, swap(ETHER, PARTNER, soon(60)), 'refuse'],
    [TIME, ROUTER, swap((ETHER * 99n) / 100n, ME, soon(60)), 'pass'],
    [TIME, ROUTER, swap((ETHER * 99n) / 100n - 1n, ME, soon(60)), 'refuse'],
    [BYTES, USDT, `${pay}${'ab'.repeat(32)}`, 'pass'],
    [BYTES, USDT, `${pay}${'ab'.repeat(33)}`, 'refuse'],
    ['A Safe', SAFE, exec(USDT, pay, 0), 'pass'],
    ['A Safe', SAFE, exec(USDT, steal, 0), 'refuse'],
    ['A Safe', SAFE, exec(USDT, pay, 1), 'refuse'],
    ['A Safe', SAFE, exec(MULTISEND, multiSend(pay), 1), 'pass'],
    ['A Safe', SAFE, exec(MULTISEND, multiSend(steal), 1), 'refuse'],
    [OWN, ACCOUNT, batch([USDT, 0n, pay], [PARTNER, ETHER / 2n, '0x']), 'pass'],
    [OWN, ACCOUNT, batch([USDT, 0n, steal]), 'refuse'],
    [OWN, ACCOUNT, batch([USDT, 1n, pay]), 'refuse'],
    [OWN, ACCOUNT, batch([THIEF, 1n, '0x']), 'refuse'],
  ])('%s: transaction %# to %s is decided as it says', (title, contract, data, expected) => {
    expect(verdict(title, contract, data)).toBe(expected);
  });
});
