import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { type AssetTable, assetFix, unknownSymbols } from '../language/assets.ts';
import { fixFor, formatInput } from '../fault.ts';
import { problemOf, valuesOf } from '../language/members.ts';
import { textList } from '../language/parameter.ts';
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
  callbacks: ['transfer', 'web3'],
  parameters: z.strictObject({
    of: textList
      .optional()
      .describe(
        'The members to check: from, to, and for web3 interactive_contract. The default is from and to.',
      ),
  }),
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
