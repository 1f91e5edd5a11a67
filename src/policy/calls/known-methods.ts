import { parseAbi } from 'viem/utils';
import { type Method, type TokenMove, type Traits, methodOf } from './methods.ts';

const DETAILS = '(address token, uint160 amount, uint48 expiration, uint48 nonce)';
const PERMITTED = '(address token, uint256 amount)';
const REQUESTED = '(address to, uint256 requestedAmount)';
const TARGETED = '(address target, bytes callData)';
const V_R_S = 'uint8 v, bytes32 r, bytes32 s';

/** The move of a method, with where its token and its amount are. */
const move =
  (type: TokenMove['type']) =>
  (to: string, more: Omit<TokenMove<string>, 'type' | 'to'> = {}): Traits => ({
    moves: [{ type, to, ...more }],
  });
const transfer = move('transfer');
const allows = move('approval');
const erc20 = (traits: Traits): Traits => ({ ...traits, isErc20: true });
const permitOf = (permit: string): Traits =>
  allows(`${permit}.spender`, { token: `${permit}.details.token`, amount: `${permit}.details.amount` });
const requested: Traits = {
  amounts: ['permit.permitted.amount'],
  ...transfer('transferDetails.to', {
    token: 'permit.permitted.token',
    amount: 'transferDetails.requestedAmount',
  }),
};

/** A wrapper that makes each call with its own data and, from arguments, target and value. */
const listed = (
  data: string,
  target: string,
  value: 'same' | 'none' | { readonly argument: string },
): Traits => ({
  innerCalls: { form: 'listed', data, target: { argument: target }, value },
});
const valueIn = (argument: string): { readonly argument: string } => ({ argument });
const forAnybody: Traits = { isForAnybody: true };
const batched: Traits = { ...listed('calls.callData', 'calls.target', 'none'), ...forAnybody };
const reverting: Traits = { failing: false };
const unlessRequired: Traits = { failing: { argument: 'requireSuccess', reverts: true } };
const ifAllowed: Traits = { failing: { argument: 'calls.allowFailure', reverts: false } };
const onSelf: Traits = {
  innerCalls: { form: 'listed', data: 'data', target: 'self', value: 'same' },
  ...reverting,
};
const ofSafe: Traits = {
  innerCalls: {
    form: 'listed',
    data: 'data',
    target: valueIn('to'),
    value: valueIn('value'),
    operation: 'operation',
  },
};

/** The built-in methods, with their traits. If two share a signature, the first is the default. */
const KNOWN: readonly (readonly [abi: string, traits?: Traits])[] = [
  // ERC-20, and the methods of ERC-721 with the same signatures, which have a token id instead of an amount.
  ['transfer(address to, uint256 amount)', erc20(transfer('to', { amount: 'amount' }))],
  ['transferFrom(address from, address to, uint256 amount)', erc20(transfer('to', { amount: 'amount' }))],
  ['transferFrom(address from, address to, uint256 tokenId)', transfer('to')],
  ['approve(address spender, uint256 amount)', erc20(allows('spender', { amount: 'amount' }))],
  ['approve(address to, uint256 tokenId)', allows('to')],
  [
    'increaseAllowance(address spender, uint256 addedValue)',
    erc20(allows('spender', { amount: 'addedValue' })),
  ],
  [
    'decreaseAllowance(address spender, uint256 subtractedValue)',
    erc20({ amounts: ['subtractedValue'], ...allows('spender', { revokes: true }) }),
  ],
  [
    `permit(address owner, address spender, uint256 value, uint256 deadline, ${V_R_S})`,
    erc20(allows('spender', { amount: 'value' })),
  ],
  [
    `permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, ${V_R_S})`,
    erc20(allows('spender', { amount: 'allowed' })),
  ],
  // ERC-721 and ERC-1155.
  ['safeTransferFrom(address from, address to, uint256 tokenId)', transfer('to')],
  ['safeTransferFrom(address from, address to, uint256 tokenId, bytes data)', transfer('to')],
  ['setApprovalForAll(address operator, bool approved)', allows('operator', { amount: 'approved' })],
  [
    'safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)',
    { amounts: ['amount'], ...transfer('to') },
  ],
  [
    'safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)',
    { amounts: ['amounts'], sameLength: [['ids', 'amounts']], ...transfer('to') },
  ],
  // Permit2.
  [
    'approve(address token, address spender, uint160 amount, uint48 expiration)',
    allows('spender', { token: 'token', amount: 'amount' }),
  ],
  [
    'transferFrom(address from, address to, uint160 amount, address token)',
    transfer('to', { token: 'token', amount: 'amount' }),
  ],
  [
    'transferFrom((address from, address to, uint160 amount, address token)[] transferDetails)',
    transfer('transferDetails.to', { token: 'transferDetails.token', amount: 'transferDetails.amount' }),
  ],
  [
    'permit(address owner, ' +
      `(${DETAILS} details, address spender, uint256 sigDeadline) permitSingle, bytes signature)`,
    permitOf('permitSingle'),
  ],
  [
    'permit(address owner, ' +
      `(${DETAILS}[] details, address spender, uint256 sigDeadline) permitBatch, bytes signature)`,
    permitOf('permitBatch'),
  ],
  [
    `permitTransferFrom((${PERMITTED} permitted, uint256 nonce, uint256 deadline) permit, ` +
      `${REQUESTED} transferDetails, address owner, bytes signature)`,
    requested,
  ],
  [
    `permitTransferFrom((${PERMITTED}[] permitted, uint256 nonce, uint256 deadline) permit, ` +
      `${REQUESTED}[] transferDetails, address owner, bytes signature)`,
    { ...requested, sameLength: [['permit.permitted.amount', 'transferDetails.requestedAmount']] },
  ],
  [
    'lockdown((address token, address spender)[] approvals)',
    allows('approvals.spender', { token: 'approvals.token', revokes: true }),
  ],
  // Wrapped native coins.
  ['deposit()'],
  ['withdraw(uint256 wad)', { amounts: ['wad'] }],
  // Wrappers.
  ['multicall(bytes[] data)', onSelf],
  ['multicall(uint256 deadline, bytes[] data)', onSelf],
  ['multicall(bytes32 previousBlockhash, bytes[] data)', onSelf],
  [`aggregate(${TARGETED}[] calls)`, { ...batched, ...reverting }],
  [`blockAndAggregate(${TARGETED}[] calls)`, { ...batched, ...reverting }],
  [`tryAggregate(bool requireSuccess, ${TARGETED}[] calls)`, { ...batched, ...unlessRequired }],
  [`tryBlockAndAggregate(bool requireSuccess, ${TARGETED}[] calls)`, { ...batched, ...unlessRequired }],
  ['aggregate3((address target, bool allowFailure, bytes callData)[] calls)', { ...batched, ...ifAllowed }],
  [
    'aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls)',
    { ...listed('calls.callData', 'calls.target', valueIn('calls.value')), ...forAnybody, ...ifAllowed },
  ],
  ['execute(address target, bytes data)', listed('data', 'target', 'same')],
  ['execute(address target, uint256 value, bytes data)', listed('data', 'target', valueIn('value'))],
  [
    'executeBatch(address[] targets, bytes[] data)',
    { ...listed('data', 'targets', 'none'), sameLength: [['targets', 'data']] },
  ],
  [
    'executeBatch(address[] targets, uint256[] values, bytes[] data)',
    { ...listed('data', 'targets', valueIn('values')), sameLength: [['targets', 'values', 'data']] },
  ],
  [
    'executeBatch((address target, uint256 value, bytes data)[] calls)',
    listed('calls.data', 'calls.target', valueIn('calls.value')),
  ],
  // Safe accounts, and the contracts that they run by delegatecall to make several calls.
  [
    'execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, ' +
      'uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
    { ...ofSafe, zero: ['gasPrice'] },
  ],
  ['execTransactionFromModule(address to, uint256 value, bytes data, uint8 operation)', ofSafe],
  [
    'multiSend(bytes transactions)',
    { innerCalls: { form: 'packed', data: 'transactions' }, ...forAnybody, ...reverting },
  ],
];

let known: readonly Method[] | undefined;

/** The built-in methods. The first policy that needs them creates them. */
export function knownMethods(): readonly Method[] {
  known ??= KNOWN.map(([abi, traits]) => {
    const lines: readonly string[] = [`function ${abi}`];
    const [item] = parseAbi(lines);
    if (item?.type !== 'function') throw new RangeError(`${abi} is not a method`);
    return methodOf(item.name, item.inputs, traits);
  });
  return known;
}

let bySelector: ReadonlyMap<string, Method> | undefined;

/** The built-in methods by selector. Of several with one selector, the first. */
export function methodsBySelector(): ReadonlyMap<string, Method> {
  bySelector ??= new Map(
    knownMethods()
      .toReversed()
      .map((method) => [method.selector, method]),
  );
  return bySelector;
}
