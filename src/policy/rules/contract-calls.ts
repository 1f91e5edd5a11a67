import { z } from 'zod';
import { toComparableEntry } from '../../values/comparable.ts';
import { type Condition, compileCondition, conditionText, readListedText } from '../calls/condition.ts';
import {
  type Entry,
  compileEntry,
  entryShape,
  readContracts,
  readNative,
  wholeUpTo,
} from '../calls/entry.ts';
import { type MethodTable, methodTable, nameIn } from '../calls/methods.ts';
import type { Reading } from '../calls/read.ts';
import { type AllowedTransactions, type PlainTransfer, evaluateTransaction } from '../calls/transaction.ts';
import { formatInnerCalls } from '../calls/inner-calls.ts';
import { fixFor, formatInput } from '../fault.ts';
import { type Duration, durationMs, textList } from './parameter.ts';
import { refuse } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';
import { type ListedRead, defineRule } from './rule.ts';

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
          '`list`, `not-list`, `is: sender`, `is: caller`, `min`, `max`, `each`, `within`, ' +
          '`atLeast`. An amount needs `decimals` or `asset`. Optional are `unlimited: allowed`, ' +
          '`value: { max }` for native coins sent along, `recipient`, the argument whose address ' +
          '`to` may have instead of the contract, `trailing: { max }` for bytes behind the ' +
          'arguments, `calls` for calls in arguments of your own ABI, and `delegatecall: ' +
          'allowed`. Several entries for one contract and method are alternatives.',
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
    accounts: textList
      .optional()
      .describe(
        'Accounts of your own, beside the sender: contracts such as your Safe. What stays with them, or comes ' +
          'to them, moves to nobody else, and `is: caller` may be one of them. Never name a contract that ' +
          'anybody may call, such as Multicall3.',
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
    'With `trailing: { max: 64 }`, up to 64 bytes may follow the arguments. They are reported, ' +
      'but not judged. Some contracts read such bytes, for instance as the sender (ERC-2771), so ' +
      'allow them only where the contract ignores them.',
    'Each argument needs a condition, or `any`. In lists and tuples each member is judged. ' +
      'Name it with dots, as in `permitSingle.details.amount`. A condition on a list says nothing ' +
      'about the order of its items.',
    'The called contract is `interactive_contract`, and `to` must be the same address. With ' +
      '`recipient`, `to` may instead be the address in that argument. The platform does not ' +
      'specify its value of `to`, so try it with a call of your own.',
    'A `max` on an amount, or on native value, limits the sum over all calls of one ' +
      'transaction that the entry allows, also if an argument is a list or the entry has several ' +
      'contracts or methods.',
    'No sum covers several transactions. In a policy with `movements`, a window-limit counts the tokens as ' +
      'well. An entry there says that the call is known: it moves what its method is known to move, and ' +
      'otherwise only its native value and what its inner calls move. That holds only if the rule judges every ' +
      'transaction: without `when` other than the network, and in `any` only if every alternative has such a rule.',
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
    '`is: sender` is the address in the callback’s `from`. `is: caller` is the address that ' +
      'makes the call: the sender or, for a call in a wrapper, the account that makes it. It must be one of ' +
      '`accounts`: another wrapper, such as Multicall3, keeps what it gets, and anybody may take it.',
    '`within: 1h` is for a time in seconds since 1970, like a deadline: it must not be past, and ' +
      'be at most an hour ahead. Such a refusal is not final.',
    '`atLeast: { share: 99.5 %, of: amountIn }` compares two amounts of a call, each with its ' +
      '`asset` or `decimals`. Without `maxAge`, it counts whole units one for one, which says ' +
      'something only about one token, or two of the same value. With `maxAge: 10m`, it compares ' +
      'their values at the current prices of both assets, which must not be older. An amount of ' +
      'zero has no share, and is refused.',
    'A method that contains calls (multicall, aggregate, execute …) is an entry like any ' +
      'other. In addition, an entry must allow each call in it, for the contract of that call. ' +
      'Leave the arguments that contain the calls out of `where`. The values of an inner call ' +
      'have its path, like `execTransaction > transfer`.',
    'A method of your own ABI contains calls if its entry has `calls`. `data` is the argument ' +
      'with the call data. `to` is the argument with the contracts, an address, or `self`. `value` ' +
      'is the argument with the native coins in wei, or `none`. Without it, each call sees those ' +
      'of the method. Don’t use it for a method that may make a delegatecall to other contracts, ' +
      'unless a condition excludes that.',
    'A Safe’s `execTransaction` contains a call. If its operation is a delegatecall, the entry ' +
      'of the method that it runs must have `delegatecall: allowed`, as for `multiSend` of ' +
      'MultiSendCallOnly, whose packed calls are judged too. Write `gasPrice: { values: 0 }`, ' +
      'because the Safe refunds gas at that price to `refundReceiver`.',
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
      'calls, name them under `calls`, give them by `values`, or leave the method out.',
  ],
  namesCalls: true,
  callbacks: ['web3'],
  parameters,
  bounds: { 'plain.max': 'maximum', 'multicall.depth': 'maximum', 'multicall.calls': 'maximum' },
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
          where: { assets: { max: 5000, decimals: 6 }, receiver: { is: caller } }
        # Swaps of USDT for at least 99 % of its value in ETH, within 20 minutes. A tag may follow them.
        - contract: '0x8617E340B3D01FA5F11F306F4090FD50E238070D'
          method: swap(uint256,uint256,address,uint256)
          where:
            amountIn: { max: 5000, asset: USDT }
            amountOutMin: { asset: ETH, atLeast: { share: 99 %, of: amountIn, maxAge: 10m } }
            to: { is: sender }
            deadline: { within: 20m }
          trailing: { max: 32 }
        # A Safe that we own. Its calls need entries of their own, like the transfer above.
        - contract: '0x2222222222222222222222222222222222222222'
          method: execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)
          where:
            safeTxGas: any
            baseGas: any
            gasPrice: { values: 0 } # No refund, which could go to anybody.
            gasToken: any
            refundReceiver: any
            signatures: any
        # MultiSendCallOnly, which a Safe runs by delegatecall.
        - contract: '0x40A2aCCbd92BCA938b02010E17A5b8929b49130D'
          method: multiSend(bytes)
          delegatecall: allowed
        # An account with a method of its own that makes several calls.
        - contract: '0x3333333333333333333333333333333333333333'
          method: batch((address,uint256,bytes)[])
          calls: { to: calls.target, value: calls.value, data: calls.data }
      multicall: { depth: 2, calls: 8 }
      accounts: ['0x2222222222222222222222222222222222222222', '0x3333333333333333333333333333333333333333']
      plain: { max: 0.5, to: { values: ['0x52908400098527886E0F7030069857D2E4169EE7'] } }
      abis: [router.abi]
`,
  files: {
    'router.abi': `# The methods that we use.
function stake(uint256 assets, address receiver)
function swap(uint256 amountIn, uint256 amountOutMin, address to, uint256 deadline)
function batch((address target, uint256 value, bytes data)[] calls)
`,
    'assets.yaml': `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6 }
`,
  },
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
  - test: a swap for at least 99 % of its value, until its deadline
    now: 2026-03-02T10:00:00Z
    given:
      prices:
        USDT: { price: 1, asOf: 2026-03-02T09:59:00Z }
        ETH: { price: 3500, asOf: 2026-03-02T09:59:00Z }
    callbacks:
      - source: vault
        web3:
          request_id: w6
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          interactive_contract: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa3cde17d00000000000000000000000000000000000000000000000000000000d09dc3000000000000000000000000000000000000000000000000000dbd2fc137a30000000000000000000000000000de709f2102306220921060314715629080e2fb770000000000000000000000000000000000000000000000000000000069a560cc'
        expect: SUCCESS
      - source: vault
        after: 1s
        web3:
          request_id: w7
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          interactive_contract: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa3cde17d00000000000000000000000000000000000000000000000000000000d09dc3000000000000000000000000000000000000000000000000000dbd2fc137a2ffff000000000000000000000000de709f2102306220921060314715629080e2fb770000000000000000000000000000000000000000000000000000000069a560cc'
        expect: { verdict: FAILURE, rule: contract-calls#1, values: { argument: amountOutMin, found: '0.989999999999999999' } }
      - source: vault
        after: 300s
        web3:
          request_id: w8
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          interactive_contract: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa3cde17d00000000000000000000000000000000000000000000000000000000d09dc3000000000000000000000000000000000000000000000000000dbd2fc137a30000000000000000000000000000de709f2102306220921060314715629080e2fb770000000000000000000000000000000000000000000000000000000069a560cc'
        expect: { verdict: FAILURE, rule: contract-calls#1, values: { argument: deadline }, because: has passed }
  - test: a deadline is too far ahead until its time comes
    now: 2026-03-02T10:00:00Z
    given:
      prices:
        USDT: { price: 1, asOf: 2026-03-02T09:59:00Z }
        ETH: { price: 3500, asOf: 2026-03-02T09:59:00Z }
    callbacks:
      - source: vault
        web3:
          request_id: w9
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          interactive_contract: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa3cde17d00000000000000000000000000000000000000000000000000000000d09dc3000000000000000000000000000000000000000000000000000de0b6b3a7640000000000000000000000000000de709f2102306220921060314715629080e2fb770000000000000000000000000000000000000000000000000000000069a56451'
        expect: { verdict: FAILURE, rule: contract-calls#1, values: { argument: deadline }, because: is more than 20m ahead }
      - source: vault
        after: 1s
        web3:
          request_id: w9
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          interactive_contract: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa3cde17d00000000000000000000000000000000000000000000000000000000d09dc3000000000000000000000000000000000000000000000000000de0b6b3a7640000000000000000000000000000de709f2102306220921060314715629080e2fb770000000000000000000000000000000000000000000000000000000069a56451'
        expect: SUCCESS
  - test: up to 32 bytes may follow the arguments of a swap
    now: 2026-03-02T10:00:00Z
    given:
      prices:
        USDT: { price: 1, asOf: 2026-03-02T09:59:00Z }
        ETH: { price: 3500, asOf: 2026-03-02T09:59:00Z }
    callbacks:
      - source: vault
        web3:
          request_id: w11
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          interactive_contract: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa3cde17d00000000000000000000000000000000000000000000000000000000d09dc3000000000000000000000000000000000000000000000000000de0b6b3a7640000000000000000000000000000de709f2102306220921060314715629080e2fb770000000000000000000000000000000000000000000000000000000069a560ccc0ffee'
        expect: SUCCESS
      - source: vault
        web3:
          request_id: w12
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          interactive_contract: '0x8617e340b3d01fa5f11f306f4090fd50e238070d'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xa3cde17d00000000000000000000000000000000000000000000000000000000d09dc3000000000000000000000000000000000000000000000000000de0b6b3a7640000000000000000000000000000de709f2102306220921060314715629080e2fb770000000000000000000000000000000000000000000000000000000069a560ccababababababababababababababababababababababababababababababababab'
        expect: { verdict: FAILURE, rule: contract-calls#1, because: 33 bytes follow the last argument; at most 32 are allowed }
  - test: the calls of a Safe are judged like others
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        web3:
          request_id: w13
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x2222222222222222222222222222222222222222'
          interactive_contract: '0x2222222222222222222222222222222222222222'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0x6a76120200000000000000000000000040a2accbd92bca938b02010e17a5b8929b49130d00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000140000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000026000000000000000000000000000000000000000000000000000000000000000e48d80ff0a0000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000009900dac17f958d2ee523a2206206994597c13d831ec700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000044a9059cbb00000000000000000000000052908400098527886e0f7030069857d2e4169ee700000000000000000000000000000000000000000000000000000000004c4b4000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'
        expect: SUCCESS
      - source: vault
        web3:
          request_id: w14
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x2222222222222222222222222222222222222222'
          interactive_contract: '0x2222222222222222222222222222222222222222'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0x6a76120200000000000000000000000040a2accbd92bca938b02010e17a5b8929b49130d00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000140000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000030000000000000000000000000000000000000000000000000000000000000001848d80ff0a0000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000013200dac17f958d2ee523a2206206994597c13d831ec700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000044a9059cbb00000000000000000000000052908400098527886e0f7030069857d2e4169ee700000000000000000000000000000000000000000000000000000000004c4b4000dac17f958d2ee523a2206206994597c13d831ec700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000044a9059cbb000000000000000000000000111111111111111111111111111111111111111100000000000000000000000000000000000000000000000000000000004c4b400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'
        expect: { verdict: FAILURE, rule: contract-calls#1, values: { call: '1.2', path: execTransaction > multiSend > transfer, argument: to } }
      - source: vault
        web3:
          request_id: w15
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x2222222222222222222222222222222222222222'
          interactive_contract: '0x2222222222222222222222222222222222222222'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0x6a761202000000000000000000000000dac17f958d2ee523a2206206994597c13d831ec70000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000014000000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001c00000000000000000000000000000000000000000000000000000000000000044a9059cbb00000000000000000000000052908400098527886e0f7030069857d2e4169ee700000000000000000000000000000000000000000000000000000000004c4b40000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000'
        expect: { verdict: FAILURE, rule: contract-calls#1, because: is run by delegatecall }
  - test: the calls of an account’s own method are judged like others
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        web3:
          request_id: w19
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x3333333333333333333333333333333333333333'
          interactive_contract: '0x3333333333333333333333333333333333333333'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xb780c3620000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000200000000000000000000000000000000000000000000000000000000000000400000000000000000000000000000000000000000000000000000000000000120000000000000000000000000dac17f958d2ee523a2206206994597c13d831ec7000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000600000000000000000000000000000000000000000000000000000000000000044a9059cbb00000000000000000000000052908400098527886e0f7030069857d2e4169ee700000000000000000000000000000000000000000000000000000000004c4b400000000000000000000000000000000000000000000000000000000000000000000000000000000052908400098527886e0f7030069857d2e4169ee700000000000000000000000000000000000000000000000006f05b59d3b2000000000000000000000000000000000000000000000000000000000000000000600000000000000000000000000000000000000000000000000000000000000000'
        expect: SUCCESS
      - source: vault
        web3:
          request_id: w20
          from: '0xde709f2102306220921060314715629080e2fb77'
          to: '0x3333333333333333333333333333333333333333'
          interactive_contract: '0x3333333333333333333333333333333333333333'
          main_chain_symbol: ETH
          amount: '0'
          input_data: '0xb780c362000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000020000000000000000000000000dac17f958d2ee523a2206206994597c13d831ec7000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000000600000000000000000000000000000000000000000000000000000000000000044a9059cbb00000000000000000000000052908400098527886e0f7030069857d2e4169ee700000000000000000000000000000000000000000000000000000000004c4b4000000000000000000000000000000000000000000000000000000000'
        expect: { verdict: FAILURE, rule: contract-calls#1, values: { call: '1', native: '0.000000000000000001' } }
`,
  compile: (written, context) => {
    const allowed = compileAllowed(written, context);
    return (
      allowed && {
        allowedCalls: allowed,
        lists: listsOf(written),
        readListed: (list, value) => readListedArgument(allowed, list, value),
        ...maxPriceAgeOf(written),
        evaluate: (callback, facts) =>
          callback.kind === 'web3'
            ? evaluateTransaction(allowed, callback, facts)
            : refuse('it is not a web3 transaction'),
      }
    );
  },
});

function compileAllowed(
  { calls = [], plain, multicall, accounts = [], abis }: Written,
  context: RuleContext,
): AllowedTransactions | undefined {
  const networks = context.when.get('symbol') ?? new Set();
  if (networks.size === 0) {
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
  const ours = readContracts(accounts, ['accounts'], context);
  if (table === undefined || ours === undefined) return undefined;
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
  if (!agreeOnCalls(entries, context) || !areOurs(ours, entries.flat(), context)) return undefined;
  const byContract = indexed(entries.flat());
  const reading = { methodOf: methodLookup(byContract, table), nesting };
  return { networks, entries: byContract, plain: plainTransfer, accounts: new Set(ours), reading };
}

/**
 * Checks that a method of a contract contains calls by all of its entries, in the same arguments, or by none.
 */
function agreeOnCalls(entries: readonly (readonly Entry[])[], context: RuleContext): boolean {
  const known = new Map<string, string>();
  for (const [index, methods] of entries.entries()) {
    for (const { contracts, method } of methods) {
      const text = formatInnerCalls(method.innerCalls);
      for (const key of contracts.map((contract) => `${contract} ${method.selector}`)) {
        if ((known.get(key) ?? text) !== text) {
          const message = `another entry for ${method.signature} of the same contract has other calls`;
          context.fault(['calls', index], message, 'write the same calls in all of its entries');
          return false;
        }
        known.set(key, text);
      }
    }
  }
  return true;
}

/** Checks that no account of ours is a contract that anybody may call. */
function areOurs(accounts: readonly string[], entries: readonly Entry[], context: RuleContext): boolean {
  const open = entries.find(
    ({ contracts, method }) =>
      method.isForAnybody && contracts.some((contract) => accounts.includes(contract)),
  );
  if (open === undefined) return true;
  const account = open.contracts.find((contract) => accounts.includes(contract)) ?? '';
  const message = `anybody may call ${nameIn(open.method.signature)} of ${account}, and take what it holds`;
  context.fault(['accounts'], message, 'leave it out');
  return false;
}

/** The strictest age of prices among the conditions. */
function maxPriceAgeOf({ calls = [] }: Written): { readonly maxPriceAge?: Duration } {
  const ages = calls
    .flatMap(({ where }) => Object.values(where ?? {}))
    .flatMap((condition) => (typeof condition === 'object' ? (condition.atLeast?.maxAge ?? []) : []))
    .map((text) => ({ text, ms: durationMs(text) ?? 0 }))
    .sort((one, other) => one.ms - other.ms);
  return ages[0] === undefined ? {} : { maxPriceAge: ages[0] };
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

/** Reads a value of a list as one of the arguments that are looked up in it. */
function readListedArgument(
  { entries, plain }: AllowedTransactions,
  list: string,
  written: string,
): ListedRead {
  const methods = [...entries.values()].flatMap((bySelector) => [...bySelector.values()].flat());
  const conditions = [...methods.flatMap((method) => method.conditions), plain?.to];
  const reads = conditions.flatMap((condition) =>
    condition?.lists.some((each) => each.list === list) === true
      ? [readListedText(written, condition.argument)]
      : [],
  );
  const texts = [...new Set(reads.flatMap((read) => (read.ok ? [read.text] : [])))];
  const [first = toComparableEntry(written), ...others] = texts;
  const wrong = reads.find((read) => !read.ok);
  if (wrong?.ok === false && texts.length === 0) return { ok: false, because: wrong.message };
  return { ok: true, texts: [first, ...others] };
}

/** The lists of the store that conditions look up. */
function listsOf({ calls = [], plain }: Written): readonly string[] {
  const conditions = [...calls.flatMap(({ where }) => Object.values(where ?? {})), plain?.to];
  return conditions.flatMap((condition) => {
    if (typeof condition !== 'object') return [];
    return [condition.list, condition['not-list']].filter((list) => list !== undefined);
  });
}

/** Finds the method of the entries for a contract and selector, or says why there is none. */
function methodLookup(
  entries: AllowedTransactions['entries'],
  { bySelector }: MethodTable,
): Reading['methodOf'] {
  return (contract, selector) => {
    const found = entries.get(contract)?.get(selector) ?? [];
    const [entry] = found;
    if (entry !== undefined) {
      return { method: entry.method, trailingMax: Math.max(...found.map(({ trailingMax }) => trailingMax)) };
    }
    const signature = bySelector.get(selector);
    const values = { contract, selector, ...(signature === undefined ? {} : { method: signature }) };
    if (!entries.has(contract)) return { because: `no call of the contract ${contract} is allowed`, values };
    const named = signature === selector ? signature : `${signature ?? 'an unknown method'} (${selector})`;
    return { because: `${named} of ${contract} is not allowed`, values };
  };
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

function compileNesting(written: Written['multicall'], context: RuleContext): Reading['nesting'] | 'faulty' {
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
