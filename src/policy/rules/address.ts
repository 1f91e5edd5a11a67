import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { type AssetTable, assetFix, unknownSymbols } from '../assets.ts';
import { fixFor, formatInput } from '../fault.ts';
import { problemOf, valuesOf } from '../members.ts';
import { textList } from './parameter.ts';
import { type RuleOutcome, pass, refuse } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';
import { defineRule } from './rule.ts';

const MEMBERS = {
  payment: [],
  transfer: ['from', 'to'],
  web3: ['from', 'to', 'interactive_contract'],
} as const;
const DEFAULT = ['from', 'to'] as const;

type AddressMember = (typeof MEMBERS.web3)[number];

export const address = defineRule({
  name: 'address',
  summary: 'Addresses must be written as the asset’s chain writes them, with the right checksum.',
  notes: [
    'The asset table has the chain of an asset. If an asset is not in the table, the callback ' +
      'is refused. The asset of a web3 transaction is the coin of its network ' +
      '(`main_chain_symbol`).',
    'For a withdrawal to several addresses, each address is checked, in every spelling that ' +
      'the callback has.',
    'On `evm` chains, an address in mixed case must have the checksum of EIP-55. An address in ' +
      'one case has no checksum, nor has an address on `solana`, `sui`, `aptos` or `starknet`.',
    'Rules that use an address refuse a text that is not one of the asset’s chain. This rule checks addresses that ' +
      'no other rule uses, and refuses assets that are not in the table.',
    'The rule knows that an address can exist, not who owns it. Use an allow-list for that.',
  ],
  callbacks: ['transfer', 'web3'],
  parameters: z.strictObject({
    of: textList
      .optional()
      .describe(
        'The members to check: from, to, and for web3 interactive_contract. The default is from and to.',
      ),
  }),
  example: `policy: sound-addresses
callback: transfer
when: { source: vault, symbol: [ETH, BTC] }
rules:
  - address: { of: to }
`,
  files: {
    'assets.yaml': `assets:
  BTC: { chain: bitcoin, decimals: 8 }
  ETH: { chain: evm, decimals: 18 }
`,
  },
  cases: `tests:
  - test: addresses with the right checksum pass, and so do those without one if the chain allows them
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: ours, to: bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4, amount: '0.1',
            symbol: BTC }
        expect: SUCCESS
      - source: vault
        transfer:
          { request_id: r2, from: ours, to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', amount: '1',
            symbol: ETH }
        expect: SUCCESS
      - source: vault
        transfer:
          { request_id: r3, from: ours, to: '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed', amount: '1',
            symbol: ETH }
        expect: SUCCESS
  - test: a misspelt address, one of another chain, and an asset that no policy names are refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { request_id: r1, from: ours, to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD', amount: '1',
            symbol: ETH }
        expect: { verdict: FAILURE, rule: address#1, because: its checksum is wrong, values: { chain: evm } }
      - source: vault
        transfer:
          { request_id: r2, from: ours, to: ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9, amount: '0.1',
            symbol: BTC }
        expect: { verdict: FAILURE, rule: address#1, values: { symbol: BTC, chain: bitcoin } }
      - source: vault
        transfer:
          { request_id: r3, from: ours, to: bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4, amount: '0.1',
            symbol: BCH }
        expect: { verdict: FAILURE, code: NO_POLICY }
`,
  compile: ({ of = DEFAULT }, context) => {
    const members = membersOf(of, context);
    const unknown = unknownSymbols(context.when.get('symbol') ?? [], context.assets);
    for (const symbol of unknown) {
      context.fault([], `the asset table does not have ${symbol}`, assetFix(symbol, context.assets));
    }
    if (members === undefined || unknown.length > 0) return undefined;
    return {
      evaluate: (callback) => judge(callback, members, context.assets),
    };
  },
});

function membersOf(of: readonly string[], context: RuleContext): readonly AddressMember[] | undefined {
  const known: readonly AddressMember[] = MEMBERS[context.callback];
  const members: AddressMember[] = [];
  for (const name of of) {
    const member = known.find((each) => each === name);
    if (member === undefined) {
      return context.fault(
        ['of'],
        `${formatInput(name)} is not an address of a ${context.callback}`,
        fixFor(name, known),
      );
    }
    members.push(member);
  }
  return members;
}

function judge(callback: Callback, members: readonly AddressMember[], assets: AssetTable): RuleOutcome {
  const { symbol } = callback;
  const asset = assets.get(symbol);
  if (asset === undefined) {
    return refuse(`the asset table does not have ${symbol}`, { symbol });
  }
  const values = { of: members.join(' '), symbol, chain: asset.chain };
  let count = 0;
  for (const member of members) {
    const problem = problemOf(callback, member);
    if (problem !== undefined) return refuse(problem.because, { ...values, ...problem.values });
    const addresses = valuesOf(callback, member).length;
    if (addresses === 0) return refuse(`${member} is missing`, { ...values, member });
    count += addresses;
  }
  if (count === 0) return refuse('it names no address', values);
  const checked =
    count > members.length ? `all addresses in ${members.join(' and ')}` : members.join(' and ');
  return pass(
    `${checked} ${count === 1 ? 'is a valid address' : 'are valid addresses'} of ${symbol}`,
    values,
  );
}
