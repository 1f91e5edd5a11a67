import { z } from 'zod';
import { type Condition, compileCondition, conditionText } from '../calls/condition.ts';
import { type Entry, compileEntry, entryShape, readNative } from '../calls/entry.ts';
import { type AllowedTransactions, type PlainTransfer, evaluateTransaction } from '../calls/transaction.ts';
import { type MethodTable, methodTable, nameIn } from '../calls/methods.ts';
import { fixFor, formatInput } from '../fault.ts';
import { textList } from './parameter.ts';
import { type RuleContext, defineRule, refuse } from './rule.ts';

const ENTRIES_MAX = 500;
const CALLS = `a list of at most ${ENTRIES_MAX} entries, each with contract and method`;
const AMOUNT = 'a plain decimal, like 10000 or 0.5';
const DEPTH_MAX = 4;
const CALLS_MAX = 256;
const DEPTH = `a whole number from 1 to ${DEPTH_MAX}`;
const INNER = `a whole number from 1 to ${CALLS_MAX}`;

const parameters = z
  .strictObject({
    calls: z
      .array(entryShape, { error: CALLS })
      .min(1, { error: CALLS })
      .max(ENTRIES_MAX, { error: CALLS })
      .optional()
      .describe(
        'The calls that pass. Each entry has `contract` and `method` (its signature; both may ' +
          'be lists). `where` has a condition for every argument: `any`, or `values`, `file`, ' +
          '`list`, `not-list`, `is: sender`, `min`, `max`, `each`. An amount needs `decimals` or ' +
          '`asset`. Optional are `unlimited: allowed`, `value: { max }` for native coins sent ' +
          'along, and `recipient`, the argument whose address `to` may have instead of the ' +
          'contract. Several entries for one contract and method are alternatives.',
      ),
    plain: z
      .looseObject({ max: z.string({ error: AMOUNT }), to: conditionText.optional() })
      .meta({ additionalProperties: false })
      .optional()
      .describe(
        'Transfers of native coins without call data: `max`, and a condition for `to`. Without ' +
          '`plain`, they are refused.',
      ),
    multicall: z
      .looseObject({ depth: z.string({ error: DEPTH }), calls: z.string({ error: INNER }) })
      .meta({ additionalProperties: false })
      .optional()
      .describe(
        'Allows entries for methods that contain calls: nested up to `depth` (at most ' +
          `${DEPTH_MAX}), with up to \`calls\` calls (at most ${CALLS_MAX}). Without ` +
          '`multicall`, they are refused.',
      ),
    abis: textList
      .optional()
      .describe('Files beside the policy with more methods: a signature a line, or a JSON ABI.'),
  })
  .superRefine(({ calls, plain }, context) => {
    if (calls !== undefined || plain !== undefined) return;
    context.addIssue({
      code: 'custom',
      message: 'it has neither calls nor plain, so no transaction could pass',
      params: { fix: 'give at least one of them' },
    });
  });

type Written = z.output<typeof parameters>;

export const contractCalls = defineRule({
  name: 'contract-calls',
  summary:
    'The transaction must be a call of a listed contract and method, with arguments that meet ' +
    'its conditions.',
  notes: [
    'Call data is decoded strictly. An unknown selector, missing or surplus bytes, an unusual ' +
      'offset or a wrong padding byte refuses it. The decoded arguments, encoded again, must ' +
      'give the same bytes. Types may be nested up to 16 deep.',
    'Each argument needs a condition, or `any`. In lists and tuples each member is judged. ' +
      'Name it with dots, as in `permitSingle.details.amount`.',
    'The called contract is `interactive_contract`, and `to` must be the same address. With ' +
      '`recipient`, `to` may instead be the address in that argument. The platform does not ' +
      'specify its value of `to`, so try it with a call of your own.',
    'A `max` on an amount, or on native value, limits the sum over all calls of one ' +
      'transaction that the entry allows, also if an argument is a list or the entry has several ' +
      'contracts or methods.',
    'No sum covers several transactions: a window-limit counts only the coin of the network. ' +
      'Limit their number with a velocity-limit.',
    'An integer of your own ABI has a `max` only with `decimals` or `asset`. It is then an ' +
      'amount, and `max` is for the whole transaction. For an id, a time or a rate, write `each: ' +
      'true`: `max` is then for each value. `values`, lists and a `min` of zero or more always ' +
      'judge each value.',
    'A `min` below zero limits the sum of negative amounts over the transaction, as `max` ' +
      'limits the sum of positive ones. For an integer of your own ABI, it needs `decimals`, ' +
      '`asset` or `each: true` in the same way.',
    'An amount of at least half the range of its type (2^255, for Permit2 2^159) counts as ' +
      'unlimited, and so do setApprovalForAll(true) and a permit for everything. It is refused ' +
      'unless its entry has `unlimited: allowed`, and it then passes a `max` too.',
    'A callback with an unlimited amount (`-1`) passes only if its call is an unlimited ' +
      'approval of a known method, and its entry allows that. For any other call, `-1` would not ' +
      'say how many coins it sends.',
    'A method that contains calls (multicall, aggregate, execute …) is an entry like any ' +
      'other. In addition, an entry must allow each call in it, for the contract of that call. ' +
      'Leave the arguments that contain the calls out of `where`.',
    'ERC-20 and ERC-721 share signatures. Name the argument `amount` for a token with units, ' +
      '`tokenId` for one with ids.',
    'A text (`string`) is compared like an entry of a list, word by word: `0x…` and bech32 ' +
      'without regard to case, the rest exactly. Under `values`, `file`, `list` and `not-list`, ' +
      'a text is refused if it begins or ends with white space, has an invisible character or is ' +
      'not in Unicode normal form C.',
    'Of several entries for one method, an entry without a list comes first. At most one entry ' +
      'asks the store.',
    'The policy must name the networks (`main_chain_symbol`) under `when`, since an address is ' +
      'another contract on another network. Only EVM networks can be judged.',
    'A method of an ABI file that can’t be read is a fault of each entry that names it. The other methods ' +
      'of the file can be used.',
    'The rule does not decode bytes in arguments of methods from an ABI file. If they contain ' +
      'calls, give them by `values`, or leave the method out.',
  ],
  callbacks: ['web3'],
  parameters,
  bounds: { 'plain.max': 'maximum' },
  example: `policy: eth-calls
callback: web3
when: { source: vault, main_chain_symbol: ETH }
rules:
  - contract-calls:
      calls:
        # USDT to partners, at most 1000 in a transaction.
        - contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7'
          method: transfer(address,uint256)
          decimals: 6
          where:
            to: { values: ['0x52908400098527886E0F7030069857D2E4169EE7'] }
            amount: { max: 1000 }
        # The router may take USDT from us, never without a limit.
        - contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7'
          method: approve(address,uint256)
          decimals: 6
          where:
            spender: { values: ['0x8617E340B3D01FA5F11F306F4090FD50E238070D'] }
            amount: { max: 5000 }
        - contract: '0x8617E340B3D01FA5F11F306F4090FD50E238070D'
          method: stake(uint256,address)
          where: { assets: { max: 5000, decimals: 6 }, receiver: { is: sender } }
      plain: { max: 0.5, to: { values: ['0x52908400098527886E0F7030069857D2E4169EE7'] } }
      abis: [router.abi]
`,
  files: { 'router.abi': '# The methods that we use.\nfunction stake(uint256 assets, address receiver)\n' },
  cases: `tests:
  - test: a transfer to a partner, up to the limit
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        web3:
          request_id: w1
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0xdac17f958d2ee523a2206206994597c13d831ec7'
          interactive_contract: '0xdac17f958d2ee523a2206206994597c13d831ec7'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa9059cbb00000000000000000000000052908400098527886e0f7030069857d2e4169ee7000000000000000000000000000000000000000000000000000000003b9aca00'
        expect: SUCCESS
  - test: a transfer of a millionth more is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        web3:
          request_id: w2
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0xdac17f958d2ee523a2206206994597c13d831ec7'
          interactive_contract: '0xdac17f958d2ee523a2206206994597c13d831ec7'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa9059cbb00000000000000000000000052908400098527886e0f7030069857d2e4169ee7000000000000000000000000000000000000000000000000000000003b9aca01'
        expect:
          verdict: FAILURE
          rule: contract-calls#1
          values: { argument: amount, found: '1000.000001' }
          because: amount 1000.000001 is above the maximum 1000
  - test: an approval without a limit is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        web3:
          request_id: w3
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0xdac17f958d2ee523a2206206994597c13d831ec7'
          interactive_contract: '0xdac17f958d2ee523a2206206994597c13d831ec7'
          main_chain_symbol: ETH
          amount: '-1'
          input_data: '0x095ea7b30000000000000000000000008617e340b3d01fa5f11f306f4090fd50e238070dffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'
        expect: { verdict: FAILURE, rule: contract-calls#1, values: { argument: amount } }
  - test: a plain transfer of coins passes up to its limit, and no further
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        web3:
          request_id: w4
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x52908400098527886e0f7030069857d2e4169ee7'
          interactive_contract: ''
          main_chain_symbol: ETH
          amount: '0.5'
          input_data: 0x
        expect: SUCCESS
      - source: vault
        web3:
          request_id: w5
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x52908400098527886e0f7030069857d2e4169ee7'
          interactive_contract: ''
          main_chain_symbol: ETH
          amount: '0.500000000000000001'
          input_data: 0x
        expect: { verdict: FAILURE, rule: contract-calls#1, values: { max: '0.5' } }
`,
  compile: (written, context) => {
    const allowed = compileAllowed(written, context);
    return (
      allowed && {
        lists: listsOf(written),
        evaluate: (callback) =>
          callback.kind === 'web3'
            ? evaluateTransaction(allowed, callback)
            : refuse('it is not a web3 transaction'),
      }
    );
  },
});

function compileAllowed(
  { calls = [], plain, multicall, abis }: Written,
  context: RuleContext,
): AllowedTransactions | undefined {
  if ((context.when.get('symbol')?.size ?? 0) === 0) {
    const fix = 'write main_chain_symbol under when, like when: { main_chain_symbol: ETH }';
    context.fault(
      [],
      'the policy names no network, and an address is another contract on another network',
      fix,
    );
    return undefined;
  }
  const table = methodTable(abis ?? [], context);
  const nesting = compileNesting(multicall, context);
  const plainTransfer = compilePlain(plain, context);
  if (table === undefined) return undefined;
  const entries = calls.map((entry, index) => compileEntry(entry, table, ['calls', index], context));
  warnOfUnreadable(table, calls, context);
  const wrapperIndex = entries.findIndex((methods) =>
    methods.some(({ method }) => method.innerCalls !== undefined),
  );
  if (wrapperIndex >= 0 && multicall === undefined) {
    const message = 'a method that holds other calls is allowed, and multicall is not given';
    context.fault(
      ['calls', wrapperIndex, 'method'],
      message,
      'write multicall: { depth: 1, calls: 16 } beside calls',
    );
  }
  if (entries.some((methods) => methods.length === 0) || nesting === 'faulty' || plainTransfer === 'faulty')
    return undefined;
  if (wrapperIndex >= 0 && nesting === undefined) return undefined;
  return { entries: indexed(entries.flat()), signatures: table.bySelector, plain: plainTransfer, nesting };
}

/** Warns of methods of ABI files that can't be read and that no entry names. An entry has a fault instead. */
function warnOfUnreadable(
  { unreadable }: MethodTable,
  calls: NonNullable<Written['calls']>,
  context: RuleContext,
): void {
  const named = new Set(calls.flatMap(({ method }) => method.map(nameIn)));
  for (const { name, because, ...place } of unreadable.filter((each) => !named.has(each.name))) {
    const what = name === '' ? 'a method' : `the method ${name}`;
    const message = `${what} can't be read: ${because}`;
    context.warn(place, message, 'correct it, or remove it; no call of it passes');
  }
}

/** The lists of the store that conditions look up. */
function listsOf({ calls = [], plain }: Written): readonly string[] {
  const conditions = [...calls.flatMap(({ where }) => Object.values(where ?? {})), plain?.to];
  return conditions.flatMap((condition) => {
    if (typeof condition !== 'object') return [];
    return [condition.list, condition['not-list']].filter((list) => list !== undefined);
  });
}

function indexed(entries: readonly Entry[]): AllowedTransactions['entries'] {
  const byContract = new Map<string, Map<string, Entry[]>>();
  for (const entry of entries) {
    for (const contract of entry.contracts) {
      const bySelector = byContract.get(contract) ?? new Map<string, Entry[]>();
      const { selector } = entry.method;
      bySelector.set(selector, [...(bySelector.get(selector) ?? []), entry]);
      byContract.set(contract, bySelector);
    }
  }
  return byContract;
}

function compileNesting(
  written: Written['multicall'],
  context: RuleContext,
): AllowedTransactions['nesting'] | 'faulty' {
  if (written === undefined) return undefined;
  const known = ['depth', 'calls'];
  for (const name of Object.keys(written).filter((each) => !known.includes(each))) {
    context.fault(['multicall', name], `${formatInput(name)} is not known here`, fixFor(name, known));
    return 'faulty';
  }
  const depth = wholeUpTo(written.depth, DEPTH_MAX);
  const calls = wholeUpTo(written.calls, CALLS_MAX);
  if (depth === undefined) {
    context.fault(['multicall', 'depth'], `${formatInput(written.depth)} is not valid`, `write ${DEPTH}`);
  }
  if (calls === undefined) {
    context.fault(['multicall', 'calls'], `${formatInput(written.calls)} is not valid`, `write ${INNER}`);
  }
  return depth === undefined || calls === undefined ? 'faulty' : { depth, calls };
}

function wholeUpTo(text: string, max: number): number | undefined {
  const value = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Infinity;
  return value <= max ? value : undefined;
}

function compilePlain(written: Written['plain'], context: RuleContext): PlainTransfer | undefined | 'faulty' {
  if (written === undefined) return undefined;
  const max = readNative(written, ['plain'], context, ['max', 'to']);
  if (max === undefined) return 'faulty';
  const { to = 'any' } = written;
  if (to === 'any') return { max, to: undefined };
  const argument: Condition['argument'] = { path: 'to', steps: [], type: { kind: 'address' } };
  const condition = compileCondition(
    to,
    { argument, decimals: undefined, isAmount: false, isSummed: false },
    ['plain', 'to'],
    context,
  );
  return condition === undefined ? 'faulty' : { max, to: condition };
}
