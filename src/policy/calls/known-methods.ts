import { parseAbi } from 'viem/utils';
import { type Method, type Traits, methodOf } from './method.ts';

const DETAILS = '(address token, uint160 amount, uint48 expiration, uint48 nonce)';
const PERMITTED = '(address token, uint256 amount)';
const REQUESTED = '(address to, uint256 requestedAmount)';
const TARGETED = '(address target, bytes callData)';

const amount: Traits = { amounts: ['amount'] };
const approval = (amounts: string): Traits => ({ amounts: [amounts], approval: true });
const batched: Traits = { holds: { target: 'calls.target', data: 'calls.callData', value: 'none' } };
const onSelf: Traits = { holds: { data: 'data', value: 'same' } };

/**
 * One row a method: its ABI, and what the ABI doesn't say. Where two share a signature, the first is the
 * default.
 */
const ROWS: readonly (readonly [abi: string, traits?: Traits])[] = [
  // ERC-20, and ERC-721 where it has the same signatures with a token's id in the place of an amount.
  ['transfer(address to, uint256 amount)', amount],
  ['transferFrom(address from, address to, uint256 amount)', amount],
  ['transferFrom(address from, address to, uint256 tokenId)'],
  ['approve(address spender, uint256 amount)', approval('amount')],
  ['approve(address to, uint256 tokenId)'],
  ['increaseAllowance(address spender, uint256 addedValue)', approval('addedValue')],
  ['decreaseAllowance(address spender, uint256 subtractedValue)', { amounts: ['subtractedValue'] }],
  [
    'permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
    approval('value'),
  ],
  [
    'permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)',
    { blanket: ['allowed'], approval: true },
  ],
  // ERC-721 and ERC-1155.
  ['safeTransferFrom(address from, address to, uint256 tokenId)'],
  ['safeTransferFrom(address from, address to, uint256 tokenId, bytes data)'],
  ['setApprovalForAll(address operator, bool approved)', { blanket: ['approved'], approval: true }],
  ['safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data)', amount],
  [
    'safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] amounts, bytes data)',
    { amounts: ['amounts'], together: [['ids', 'amounts']] },
  ],
  // Permit2.
  ['approve(address token, address spender, uint160 amount, uint48 expiration)', approval('amount')],
  ['transferFrom(address from, address to, uint160 amount, address token)', amount],
  [
    'transferFrom((address from, address to, uint160 amount, address token)[] transferDetails)',
    { amounts: ['transferDetails.amount'] },
  ],
  [
    `permit(address owner, (${DETAILS} details, address spender, uint256 sigDeadline) permitSingle, bytes signature)`,
    approval('permitSingle.details.amount'),
  ],
  [
    `permit(address owner, (${DETAILS}[] details, address spender, uint256 sigDeadline) permitBatch, bytes signature)`,
    approval('permitBatch.details.amount'),
  ],
  [
    `permitTransferFrom((${PERMITTED} permitted, uint256 nonce, uint256 deadline) permit, ${REQUESTED} transferDetails, address owner, bytes signature)`,
    { amounts: ['permit.permitted.amount', 'transferDetails.requestedAmount'] },
  ],
  [
    `permitTransferFrom((${PERMITTED}[] permitted, uint256 nonce, uint256 deadline) permit, ${REQUESTED}[] transferDetails, address owner, bytes signature)`,
    {
      amounts: ['permit.permitted.amount', 'transferDetails.requestedAmount'],
      together: [['permit.permitted.amount', 'transferDetails.requestedAmount']],
    },
  ],
  ['lockdown((address token, address spender)[] approvals)'],
  // Wrapped native coins.
  ['deposit()'],
  ['withdraw(uint256 wad)', { amounts: ['wad'] }],
  // Wrappers.
  ['multicall(bytes[] data)', onSelf],
  ['multicall(uint256 deadline, bytes[] data)', onSelf],
  ['multicall(bytes32 previousBlockhash, bytes[] data)', onSelf],
  [`aggregate(${TARGETED}[] calls)`, batched],
  [`blockAndAggregate(${TARGETED}[] calls)`, batched],
  [`tryAggregate(bool requireSuccess, ${TARGETED}[] calls)`, batched],
  [`tryBlockAndAggregate(bool requireSuccess, ${TARGETED}[] calls)`, batched],
  ['aggregate3((address target, bool allowFailure, bytes callData)[] calls)', batched],
  [
    'aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls)',
    { holds: { target: 'calls.target', data: 'calls.callData', value: 'calls.value' } },
  ],
  ['execute(address target, bytes data)', { holds: { target: 'target', data: 'data', value: 'same' } }],
  [
    'execute(address target, uint256 value, bytes data)',
    { holds: { target: 'target', data: 'data', value: 'value' } },
  ],
  [
    'executeBatch(address[] targets, bytes[] data)',
    { holds: { target: 'targets', data: 'data', value: 'none' }, together: [['targets', 'data']] },
  ],
  [
    'executeBatch(address[] targets, uint256[] values, bytes[] data)',
    {
      holds: { target: 'targets', data: 'data', value: 'values' },
      together: [['targets', 'values', 'data']],
    },
  ],
  [
    'executeBatch((address target, uint256 value, bytes data)[] calls)',
    { holds: { target: 'calls.target', data: 'calls.data', value: 'calls.value' } },
  ],
  ['multiSend(bytes transactions)', { unreadable: 'it holds calls in a packed form of its own' }],
];

let known: readonly Method[] | undefined;

/** The methods that are known without an ABI file; made when the first policy asks for them. */
export function knownMethods(): readonly Method[] {
  known ??= ROWS.map(([abi, traits]) => {
    const lines: readonly string[] = [`function ${abi}`];
    const [item] = parseAbi(lines);
    if (item?.type !== 'function') throw new RangeError(`${abi} is no method`);
    return methodOf(item.name, item.inputs, traits);
  });
  return known;
}
