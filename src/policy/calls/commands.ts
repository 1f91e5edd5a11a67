import type { AbiParameter, Value } from './abi.ts';
import type { TokenMove } from './methods.ts';

/** A command of Uniswap's Universal Router, which a policy names like a method. */
export interface Command {
  readonly name: string;
  /** The inputs in the ABI. */
  readonly abi: string;
  readonly amounts?: readonly string[];
  readonly approval?: true;
  readonly moves: readonly TokenMove<string>[];
}

/** It passes on coins that the router holds. */
const passesOn = { moves: [{ type: 'transfer', to: 'recipient', paidByWrapper: true }] } as const;
/** It passes on tokens that the router holds. */
const passesOnTokens = {
  moves: [{ type: 'transfer', token: 'token', to: 'recipient', paidByWrapper: true }],
} as const;

/**
 * The commands that have one meaning in all versions of the router, by their byte. Others, such as those for
 * NFTs, V4 and sub-plans, differ between versions.
 */
const COMMANDS: ReadonlyMap<number, Command> = new Map([
  [0x00, swap('V3_SWAP_EXACT_IN', 'uint256 amountIn, uint256 amountOutMin, bytes path', 'amountIn')],
  [0x01, swap('V3_SWAP_EXACT_OUT', 'uint256 amountOut, uint256 amountInMax, bytes path', 'amountInMax')],
  [
    0x02,
    {
      name: 'PERMIT2_TRANSFER_FROM',
      abi: 'address token, address recipient, uint160 amount',
      amounts: ['amount'],
      moves: [{ type: 'transfer', token: 'token', to: 'recipient', amount: 'amount' }],
    },
  ],
  [0x03, permit('PERMIT2_PERMIT_BATCH', '[] details', 'permitBatch')],
  [0x04, { name: 'SWEEP', abi: 'address token, address recipient, uint256 amountMin', ...passesOnTokens }],
  [
    0x05,
    {
      name: 'TRANSFER',
      abi: 'address token, address recipient, uint256 value',
      amounts: ['value'],
      ...passesOnTokens,
    },
  ],
  [0x06, { name: 'PAY_PORTION', abi: 'address token, address recipient, uint256 bips', ...passesOnTokens }],
  [0x08, swap('V2_SWAP_EXACT_IN', 'uint256 amountIn, uint256 amountOutMin, address[] path', 'amountIn')],
  [0x09, swap('V2_SWAP_EXACT_OUT', 'uint256 amountOut, uint256 amountInMax, address[] path', 'amountInMax')],
  [0x0a, permit('PERMIT2_PERMIT', ' details', 'permitSingle')],
  [0x0b, { name: 'WRAP_ETH', abi: 'address recipient, uint256 amount', amounts: ['amount'], ...passesOn }],
  [0x0c, { name: 'UNWRAP_WETH', abi: 'address recipient, uint256 amountMin', ...passesOn }],
  [
    0x0d,
    {
      name: 'PERMIT2_TRANSFER_FROM_BATCH',
      abi: '(address from, address to, uint160 amount, address token)[] transferDetails',
      amounts: ['transferDetails.amount'],
      moves: [
        {
          type: 'transfer',
          token: 'transferDetails.token',
          to: 'transferDetails.to',
          amount: 'transferDetails.amount',
        },
      ],
    },
  ],
  [0x0e, { name: 'BALANCE_CHECK_ERC20', abi: 'address owner, address token, uint256 minBalance', moves: [] }],
]);

function swap(name: string, middle: string, amount: string): Command {
  return {
    name,
    abi: `address recipient, ${middle}, bool payerIsUser`,
    amounts: [amount],
    moves: [
      { type: 'transfer', token: 'path.tokenIn', to: 'recipient', amount, paidBySender: 'payerIsUser' },
    ],
  };
}

function permit(name: string, details: string, argument: string): Command {
  const abi =
    `((address token, uint160 amount, uint48 expiration, uint48 nonce)${details}, ` +
    `address spender, uint256 sigDeadline) ${argument}, bytes signature`;
  const [token, amount] = [`${argument}.details.token`, `${argument}.details.amount`];
  return {
    name,
    abi,
    amounts: [amount],
    approval: true,
    moves: [{ type: 'approval', token, to: `${argument}.spender`, amount }],
  };
}

export const commands: readonly Command[] = [...COMMANDS.values()];

/** The name of the command with a byte, without the flag that it may revert. */
export function commandOf(byte: number): string | undefined {
  return COMMANDS.get(byte)?.name;
}

/** What a router does with the inputs of a command depends on who calls it. */
export interface CallRun {
  readonly caller: string;
  readonly runsAs: string;
  /** Whether the other commands take effect even if this one fails. */
  readonly mayRevert: boolean;
}

/** The first and the last token of a path, all of its tokens in the order in which they are exchanged. */
const TOKENS: readonly AbiParameter[] = [
  { name: 'tokenIn', type: 'address' },
  { name: 'tokenOut', type: 'address' },
  { name: 'tokens', type: 'address[]' },
];
/** A packed path also has the fee of the pool between each two tokens. */
const PATHS: Readonly<Record<string, readonly AbiParameter[]>> = {
  'address[]': TOKENS,
  bytes: [...TOKENS, { name: 'fees', type: 'uint24[]' }],
};

/** The inputs as a policy judges them: a path has members, and the flag of the command is the last input. */
export function judgedInputs(inputs: readonly AbiParameter[]): readonly AbiParameter[] {
  const judged = inputs.map((each) =>
    each.name === 'path' ? { name: each.name, type: 'tuple', components: PATHS[each.type] } : each,
  );
  return [...judged, { name: 'allowRevert', type: 'bool' }];
}

/** The values for {@link judgedInputs}, or a sentence that says why a path can't be read. */
export function judgedValues(
  { name, inputs }: { readonly name: string; readonly inputs: readonly AbiParameter[] },
  values: readonly Value[],
  run: CallRun,
): readonly Value[] | string {
  const judged: Value[] = [];
  for (const [index, input] of inputs.entries()) {
    const value = values[index] ?? '';
    const path = input.name === 'path' ? pathOf(value, BACKWARDS.has(name)) : [];
    if (path === undefined)
      return 'path is not a list of tokens, with a fee between each two if it is packed';
    judged.push(input.name === 'path' ? path : input.name === 'recipient' ? resolved(value, run) : value);
  }
  return [...judged, run.mayRevert];
}

/** A router takes these addresses for its caller and for itself. */
function resolved(recipient: Value, { caller, runsAs }: CallRun): Value {
  if (recipient === `0x${'1'.padStart(40, '0')}`) return caller;
  return recipient === `0x${'2'.padStart(40, '0')}` ? runsAs : recipient;
}

/** The commands whose path begins with the token that they buy. */
const BACKWARDS: ReadonlySet<string> = new Set(['V3_SWAP_EXACT_OUT']);

/** The members of a path of at least two tokens. */
function pathOf(value: Value, isBackwards: boolean): readonly Value[] | undefined {
  const split = typeof value === 'string' ? splitPath(value.slice(2)) : { tokens: value, fees: undefined };
  if (split === undefined || typeof split.tokens !== 'object') return undefined;
  const inOrder = (list: readonly Value[]): readonly Value[] => (isBackwards ? list.toReversed() : list);
  const tokens = inOrder(split.tokens);
  const [tokenIn, tokenOut] = [tokens[0], tokens.at(-1)];
  if (tokenIn === undefined || tokenOut === undefined || tokens.length < 2) return undefined;
  return [tokenIn, tokenOut, tokens, ...(split.fees === undefined ? [] : [inOrder(split.fees)])];
}

const TOKEN_DIGITS = 40;
const HOP_DIGITS = 46;

function splitPath(
  digits: string,
): { readonly tokens: readonly Value[]; readonly fees: readonly Value[] } | undefined {
  const hops = (digits.length - TOKEN_DIGITS) / HOP_DIGITS;
  if (!Number.isInteger(hops) || hops < 1) return undefined;
  const starts = Array.from({ length: hops + 1 }, (_, index) => index * HOP_DIGITS);
  return {
    tokens: starts.map((at) => `0x${digits.slice(at, at + TOKEN_DIGITS)}`),
    fees: starts.slice(0, -1).map((at) => BigInt(`0x${digits.slice(at + TOKEN_DIGITS, at + HOP_DIGITS)}`)),
  };
}
