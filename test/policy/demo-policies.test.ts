import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { evaluate } from '../../src/policy/evaluate.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { A, B, NOON, payment, transfer, web3 } from './callbacks.ts';

const directory = 'config/policies';
const USDT_CONTRACT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const call = { to: USDT_CONTRACT, interactive_contract: USDT_CONTRACT };

describe('the policies that come along', async () => {
  const release = await readPolicyDirectory(directory);

  it.each([
    ['a payment', payment()],
    ['a payment at the limit', payment({ orderAmount: '10000' })],
    ['a withdrawal', transfer({ to: A })],
    ['a web3 transaction', web3(call)],
  ])('let %s pass', (_, callback) => {
    expect(evaluate(release, callback, NOON)).toMatchObject({ approves: true, refusal: undefined });
  });

  it.each([
    ['a payment above the limit', payment({ orderAmount: '10000.01' })],
    ['a payment of a blocked user', payment({ userId: '99999' })],
    ['a payment in another coin', payment({ payCoinSymbol: 'BTC' })],
    ['a payment of another application', payment({}, 'till')],
    ['a withdrawal above the limit', transfer({ to: B, amount: '10.000000000000000001' })],
    ['a withdrawal to a stranger', transfer({ to: '0xde709f2102306220921060314715629080e2fb77' })],
    ['a withdrawal in another coin', transfer({ symbol: 'BTC' })],
    ['a web3 transaction with a strange contract', web3({ ...call, interactive_contract: A })],
    ['a web3 transaction without a contract', web3({ ...call, interactive_contract: '' })],
    ['a web3 transaction with coins', web3({ ...call, amount: '0.1' })],
    ['a web3 transaction without a limit', web3({ ...call, amount: -1 })],
    ['a web3 transaction on another network', web3({ ...call, main_chain_symbol: 'BSC' })],
  ])('refuse %s', (_, callback) => {
    expect(evaluate(release, callback, NOON).approves).toBe(false);
  });

  it('tell editors where their schema is', () => {
    const files = readdirSync(directory).filter((name) => name.endsWith('.yaml'));
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) {
      const [first] = readFileSync(`${directory}/${file}`, 'utf8').split('\n');
      expect(first).toBe('# yaml-language-server: $schema=../schemas/policies.schema.json');
    }
  });
});
