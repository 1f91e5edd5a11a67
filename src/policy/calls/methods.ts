import { keccak256, parseAbi, stringToHex } from 'viem/utils';
import { messageOf } from '../../errors.ts';
import { closestMatch } from '../../values/closest-match.ts';
import type { FilePlace, Path } from '../fault.ts';
import { type RuleContext, faultOfRuleFile } from '../rule-context.ts';
import {
  type AbiParameter,
  type Argument,
  type Parameter,
  argumentsOf,
  formatTypes,
  readParameters,
} from './abi.ts';
import { type AbiMethod, type UnreadableMethod, readAbiFile } from './abi-file.ts';
import { type InnerCalls, innerArguments, mapInnerCalls } from './inner-calls.ts';

/** A method, and what is known about its arguments. */
export interface Method {
  /** `transfer(address,uint256)`. */
  readonly signature: string;
  /** `0x` and eight digits, with which its call data begins. */
  readonly selector: string;
  readonly parameters: readonly Parameter[];
  /** The parameters in the ABI. */
  readonly inputs: readonly AbiParameter[];
  /** Two methods with one form read the same data alike, whichever policy has them. */
  readonly form: string;
  readonly arguments: readonly Argument[];
  /** Amounts of a token, in its units. They are summed over a transaction, and can be unlimited. */
  readonly amounts: ReadonlySet<Argument>;
  /** Flags that approve everything if they are true. */
  readonly blanketFlags: ReadonlySet<Argument>;
  /** Whether the method only approves a spender, and moves nothing. */
  readonly approval: boolean;
  /** Groups of lists that must have the same length. */
  readonly sameLength: readonly (readonly Argument[])[];
  /** Where a wrapper has its inner calls. */
  readonly innerCalls: InnerCalls | undefined;
  readonly failing: FailingCalls;
  /** Whether it is a wrapper that anybody may call, who can take what its contract holds. */
  readonly isForAnybody: boolean;
  /** The tokens that it moves. Undefined for a method of which nothing is known but its native value. */
  readonly moves: readonly TokenMove[] | undefined;
  /** Arguments that must be zero: otherwise the method moves an amount that the call data does not have. */
  readonly zero: readonly Argument[];
  /** Whether it is a method of an ERC-20 token, whose amounts are in the units of the called contract. */
  readonly isErc20: boolean;
  /** Whether only an ABI file defines it. It is then unknown which of its arguments are amounts. */
  readonly fromAbiFile: boolean;
}

/**
 * Whether a wrapper may go on if one of its calls fails. A flag says it if it hasn't the value with which the
 * wrapper reverts.
 */
type FailingCalls<A = Argument> = boolean | { readonly argument: A; readonly reverts: boolean };

/** Tokens that a call moves, or allows somebody to move. `A` is an argument, or its path. */
export interface TokenMove<A = Argument> {
  readonly type: 'transfer' | 'approval';
  /** The recipient or the spender. */
  readonly to: A;
  /** The contract of the token. Without it, the called contract is the token. */
  readonly token?: A;
  /** The amount, or a flag for all. Without it, the call data has no amount. */
  readonly amount?: A;
  /** Whether it takes an approval back, so that nobody gets an amount. */
  readonly revokes?: true;
}

function mapFailing<A, B>(failing: FailingCalls<A>, map: (argument: A) => B): FailingCalls<B> {
  return typeof failing === 'boolean' ? failing : { ...failing, argument: map(failing.argument) };
}

function mapMove<A, B>(
  { to, token, amount, ...others }: TokenMove<A>,
  map: (argument: A) => B,
): TokenMove<B> {
  return {
    ...others,
    to: map(to),
    ...(token === undefined ? {} : { token: map(token) }),
    ...(amount === undefined ? {} : { amount: map(amount) }),
  };
}

/** What an ABI does not say about a method. Arguments are given by their paths. */
interface Traits {
  readonly amounts?: readonly string[];
  readonly blanketFlags?: readonly string[];
  readonly approval?: true;
  readonly sameLength?: readonly (readonly string[])[];
  readonly innerCalls?: InnerCalls<string>;
  /** Without it, a wrapper may go on. */
  readonly failing?: FailingCalls<string>;
  readonly isForAnybody?: true;
  readonly moves?: readonly TokenMove<string>[];
  readonly zero?: readonly string[];
  readonly isErc20?: true;
  readonly fromAbiFile?: true;
}

/** The methods that a rule knows: the built-in ones, then those of its ABI files. */
export interface MethodTable {
  /** A signature has several methods if ABIs name its arguments differently. */
  readonly bySignature: ReadonlyMap<string, readonly Method[]>;
  /** The signature for each selector, for messages. */
  readonly bySelector: ReadonlyMap<string, string>;
  /** The methods of the ABI files that can't be read or judged. No call of them passes. */
  readonly unreadable: readonly (FilePlace & { readonly name: string; readonly because: string })[];
}

const FILES_MAX = 20;

/**
 * The table of methods for a rule with these ABI files. Undefined, with a fault, if a file is invalid or if
 * two methods have the same selector.
 */
export function methodTable(files: readonly string[], context: RuleContext): MethodTable | undefined {
  const table: WritableTable = { bySignature: new Map(), bySelector: new Map(), unreadable: [] };
  for (const method of knownMethods()) addMethod(table, method);
  if (files.length > FILES_MAX) {
    return context.fault(
      ['abis'],
      `there are ${files.length} ABI files`,
      `remove some: at most ${FILES_MAX} are allowed`,
    );
  }
  let valid = true;
  for (const [index, file] of files.entries()) {
    valid = addFile(table, file, ['abis', index], context) && valid;
  }
  return valid ? table : undefined;
}

interface WritableTable {
  readonly bySignature: Map<string, Method[]>;
  readonly bySelector: Map<string, string>;
  readonly unreadable: MethodTable['unreadable'][number][];
}

function addMethod({ bySignature, bySelector }: WritableTable, method: Method): void {
  bySignature.set(method.signature, [...(bySignature.get(method.signature) ?? []), method]);
  bySelector.set(method.selector, method.signature);
}

function addFile(table: WritableTable, file: string, path: Path, context: RuleContext): boolean {
  const fix =
    'put the file beside the policy: a JSON ABI, or one signature on each line, ' +
    'like swap(uint256 amountIn, address to)';
  let text: string;
  try {
    text = context.textFile(file);
  } catch (thrown) {
    faultOfRuleFile(file, thrown, { path, fix }, context);
    return false;
  }
  try {
    for (const written of readAbiFile(text)) {
      const method = readMethod(written);
      if ('because' in method) {
        table.unreadable.push({ file, at: method.at(), name: method.name, because: method.because });
        continue;
      }
      const { signature, selector, inputs } = method;
      const other = table.bySelector.get(selector);
      if (other !== undefined && other !== signature) {
        const message =
          `${signature} of ${file} has the same selector ${selector} as ${other}, so ` +
          'call data would be ambiguous';
        context.fault(path, message, 'remove the one that you don’t need from the file');
        return false;
      }
      const [known] = table.bySignature.get(signature) ?? [];
      addMethod(table, known === undefined ? method : withNamesOf(known, inputs));
    }
    return true;
  } catch (thrown) {
    context.fault(path, `${file}: ${messageOf(thrown)}`, fix);
    return false;
  }
}

function readMethod(written: AbiMethod | UnreadableMethod): Method | UnreadableMethod {
  if ('because' in written) return written;
  const { name, inputs, at } = written;
  try {
    return methodOf(name, inputs, { fromAbiFile: true });
  } catch (thrown) {
    return { name, at, because: messageOf(thrown) };
  }
}

/**
 * The methods with a signature that a policy gives, with any blanks, and with `uint` for `uint256`. Empty,
 * with a fault, if the signature is unknown.
 */
export function methodsNamed(
  { bySignature, unreadable }: MethodTable,
  written: string,
  path: Path,
  context: RuleContext,
): readonly Method[] {
  const signature = toSignature(written);
  const found = bySignature.get(signature) ?? [];
  const [method] = found;
  const broken = unreadable.find(({ name }) => name !== '' && name === nameIn(signature));
  if (method === undefined && broken !== undefined) {
    const { file, at, name, because } = broken;
    const message = `the method ${name} in ${file}:${at.line}:${at.column} can't be read: ${because}`;
    context.fault(path, message, 'correct it there, or leave it out here');
    return [];
  }
  if (method === undefined) {
    const message = `no method ${JSON.stringify(written.slice(0, 100))} is known`;
    context.fault(path, message, fixForMethod(signature, bySignature));
    return [];
  }
  return found;
}

/** The signature as it is hashed: without blanks, and each type in full. */
function toSignature(written: string): string {
  return written.replaceAll(/\s/g, '').replaceAll(/\b(u?int)(?!\d)\b/g, '$1256');
}

function fixForMethod(signature: string, bySignature: MethodTable['bySignature']): string {
  const name = nameIn(signature);
  const all = [...bySignature.keys()];
  const named = all.filter((each) => each.startsWith(`${name}(`));
  const suggestion =
    named.length > 0 ? named : all.filter((each) => closestMatch(name, [nameIn(each)]) !== undefined);
  const other = 'add an ABI file with this method under abis';
  return suggestion.length > 0
    ? `did you mean ${suggestion.slice(0, 5).join(' or ')}? If not, ${other}`
    : other;
}

/** `transfer`, of `transfer(address,uint256)`. */
export const nameIn = (signature: string): string => signature.split('(')[0]?.trim() ?? '';

const METHOD_NAME = /^[A-Za-z_$][\w$]{0,127}$/;

/** A method with this ABI. Throws a RangeError that names an invalid name or an unsupported type. */
export function methodOf(name: string, inputs: readonly AbiParameter[], traits: Traits = {}): Method {
  if (!METHOD_NAME.test(name)) {
    throw new RangeError(`${JSON.stringify(name.slice(0, 40))} is not a method name`);
  }
  const parameters = readParameters(inputs);
  const signature = `${name}${formatTypes(parameters)}`;
  const selector = keccak256(stringToHex(signature)).slice(0, 10);
  return {
    signature,
    selector,
    parameters,
    inputs,
    form: formOf(signature, inputs),
    fromAbiFile: traits.fromAbiFile ?? false,
    ...withTraits(signature, argumentsOf(parameters), traits),
  };
}

/** What can't be read is said with the names of the arguments. */
const formOf = (signature: string, inputs: readonly AbiParameter[]): string =>
  `${signature} ${JSON.stringify(inputs)}`;

type WithTraits = Pick<
  Method,
  | 'arguments'
  | 'amounts'
  | 'blanketFlags'
  | 'approval'
  | 'sameLength'
  | 'innerCalls'
  | 'failing'
  | 'isForAnybody'
  | 'moves'
  | 'zero'
  | 'isErc20'
>;

function withTraits(signature: string, all: readonly Argument[], traits: Traits): WithTraits {
  const at = (path: string): Argument => {
    const found = all.find((each) => each.path === path);
    if (found === undefined) throw new RangeError(`${signature} has no argument ${path}`);
    return found;
  };
  return {
    arguments: all,
    amounts: new Set((traits.amounts ?? []).map(at)),
    blanketFlags: new Set((traits.blanketFlags ?? []).map(at)),
    approval: traits.approval ?? false,
    sameLength: (traits.sameLength ?? []).map((paths) => paths.map(at)),
    innerCalls: traits.innerCalls && mapInnerCalls(traits.innerCalls, at),
    failing: mapFailing(traits.failing ?? true, at),
    isForAnybody: traits.isForAnybody ?? false,
    moves: traits.moves?.map((move) => mapMove(move, at)),
    zero: (traits.zero ?? []).map(at),
    isErc20: traits.isErc20 ?? false,
  };
}

/** A known method with the argument names of another ABI. It keeps its traits by position. */
function withNamesOf(known: Method, inputs: readonly AbiParameter[]): Method {
  const parameters = readParameters(inputs);
  const all = argumentsOf(parameters);
  const counterpart = (argument: Argument): Argument => all[known.arguments.indexOf(argument)] ?? argument;
  const { innerCalls, moves } = known;
  return {
    ...known,
    parameters,
    inputs,
    form: formOf(known.signature, inputs),
    arguments: all,
    amounts: new Set([...known.amounts].map(counterpart)),
    blanketFlags: new Set([...known.blanketFlags].map(counterpart)),
    sameLength: known.sameLength.map((group) => group.map(counterpart)),
    innerCalls: innerCalls && mapInnerCalls(innerCalls, counterpart),
    failing: mapFailing(known.failing, counterpart),
    moves: moves?.map((move) => mapMove(move, counterpart)),
    zero: known.zero.map(counterpart),
  };
}

/** Whether the argument describes the inner calls of a wrapper. The entries for those calls judge it. */
export function describesInnerCalls({ innerCalls }: Method, argument: Argument): boolean {
  return innerArguments(innerCalls).includes(argument);
}

const DETAILS = '(address token, uint160 amount, uint48 expiration, uint48 nonce)';
const PERMITTED = '(address token, uint256 amount)';
const REQUESTED = '(address to, uint256 requestedAmount)';
const TARGETED = '(address target, bytes callData)';
const V_R_S = 'uint8 v, bytes32 r, bytes32 s';

type Move = TokenMove<string>;

const transfer = (to: string, more: Omit<Move, 'type' | 'to'> = {}): Pick<Traits, 'moves'> => ({
  moves: [{ type: 'transfer', to, ...more }],
});
const allows = (to: string, more: Omit<Move, 'type' | 'to'> = {}): Pick<Traits, 'moves'> => ({
  moves: [{ type: 'approval', to, ...more }],
});
const transferred: Traits = { amounts: ['amount'], ...transfer('to', { amount: 'amount' }) };
/** An approval of an amount of the called contract's token. */
const approved = (amount: string): Traits => ({
  amounts: [amount],
  approval: true,
  ...allows('spender', { amount }),
});
const ofToken: Pick<Traits, 'isErc20'> = { isErc20: true };

function permitOf(permit: string): Traits {
  const amount = `${permit}.details.amount`;
  return {
    amounts: [amount],
    approval: true,
    ...allows(`${permit}.spender`, { token: `${permit}.details.token`, amount }),
  };
}

const requested: Traits = {
  amounts: ['permit.permitted.amount', 'transferDetails.requestedAmount'],
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
  ['transfer(address to, uint256 amount)', { ...transferred, ...ofToken }],
  ['transferFrom(address from, address to, uint256 amount)', { ...transferred, ...ofToken }],
  ['transferFrom(address from, address to, uint256 tokenId)', transfer('to')],
  ['approve(address spender, uint256 amount)', { ...approved('amount'), ...ofToken }],
  ['approve(address to, uint256 tokenId)', allows('to')],
  ['increaseAllowance(address spender, uint256 addedValue)', { ...approved('addedValue'), ...ofToken }],
  [
    'decreaseAllowance(address spender, uint256 subtractedValue)',
    { amounts: ['subtractedValue'], ...allows('spender', { revokes: true }), ...ofToken },
  ],
  [
    `permit(address owner, address spender, uint256 value, uint256 deadline, ${V_R_S})`,
    { ...approved('value'), ...ofToken },
  ],
  [
    `permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, ${V_R_S})`,
    {
      blanketFlags: ['allowed'],
      approval: true,
      ...allows('spender', { amount: 'allowed' }),
      ...ofToken,
    },
  ],
  // ERC-721 and ERC-1155.
  ['safeTransferFrom(address from, address to, uint256 tokenId)', transfer('to')],
  ['safeTransferFrom(address from, address to, uint256 tokenId, bytes data)', transfer('to')],
  [
    'setApprovalForAll(address operator, bool approved)',
    { blanketFlags: ['approved'], approval: true, ...allows('operator', { amount: 'approved' }) },
  ],
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
    { amounts: ['amount'], approval: true, ...allows('spender', { token: 'token', amount: 'amount' }) },
  ],
  [
    'transferFrom(address from, address to, uint160 amount, address token)',
    { amounts: ['amount'], ...transfer('to', { token: 'token', amount: 'amount' }) },
  ],
  [
    'transferFrom((address from, address to, uint160 amount, address token)[] transferDetails)',
    {
      amounts: ['transferDetails.amount'],
      ...transfer('transferDetails.to', { token: 'transferDetails.token', amount: 'transferDetails.amount' }),
    },
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

let known: readonly Method[] | undefined;

/** The built-in methods. The first policy that needs them creates them. */
function knownMethods(): readonly Method[] {
  known ??= KNOWN.map(([abi, traits]) => {
    const lines: readonly string[] = [`function ${abi}`];
    const [item] = parseAbi(lines);
    if (item?.type !== 'function') throw new RangeError(`${abi} is not a method`);
    return methodOf(item.name, item.inputs, traits);
  });
  return known;
}
