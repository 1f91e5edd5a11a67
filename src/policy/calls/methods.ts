import { messageOf } from '../../errors.ts';
import { closestMatch } from '../../values/closest-match.ts';
import type { Path } from '../fault.ts';
import type { RuleContext } from '../rules/rule.ts';
import { readAbiFile } from './abi-file.ts';
import { keccak256, stringToHex, parseAbi } from 'viem/utils';
import {
  type Argument,
  argumentsOf,
  type AbiParameter,
  type Parameter,
  formatTypes,
  readParameters,
} from './abi.ts';

/** The methods that a rule knows: those known to all, then those of its ABI files. */
export interface MethodTable {
  /** By signature; several where ABIs name the arguments differently. */
  readonly bySignature: ReadonlyMap<string, readonly Method[]>;
  /** A signature a selector, for messages. */
  readonly bySelector: ReadonlyMap<string, string>;
}

const FILES_MAX = 20;

/**
 * Methods from ABI files on top of those known; a fault for a file that can't be read, and for two methods
 * with one selector.
 */
export function methodTable(files: readonly string[], context: RuleContext): MethodTable | undefined {
  const bySignature = new Map<string, Method[]>();
  const bySelector = new Map<string, string>();
  for (const method of knownMethods()) add(method, bySignature, bySelector);
  if (files.length > FILES_MAX) {
    return context.fault(['abis'], `there are ${files.length} ABI files`, `keep to ${FILES_MAX}`);
  }
  let sound = true;
  for (const [index, file] of files.entries()) {
    sound = addFile(file, ['abis', index], { bySignature, bySelector }, context) && sound;
  }
  return sound ? { bySignature, bySelector } : undefined;
}

type Filling = { readonly bySignature: Map<string, Method[]>; readonly bySelector: Map<string, string> };

function addFile(
  file: string,
  path: Path,
  { bySignature, bySelector }: Filling,
  context: RuleContext,
): boolean {
  try {
    for (const { name, inputs } of readAbiFile(context.textFile(file))) {
      const own = methodOf(name, inputs, { own: true });
      const twin = bySelector.get(own.selector);
      if (twin !== undefined && twin !== own.signature) {
        context.fault(
          path,
          `${own.signature} of ${file} has the selector ${own.selector} of ${twin}: call data could be read either way`,
          'leave the one that you don’t need out of the file',
        );
        return false;
      }
      const [known] = bySignature.get(own.signature) ?? [];
      add(known === undefined ? own : renamed(known, inputs), bySignature, bySelector);
    }
    return true;
  } catch (thrown) {
    const cure =
      'put the file beside the policy: a JSON ABI, or a signature a line, like swap(uint256 amountIn, address to)';
    context.fault(path, `${file}: ${messageOf(thrown)}`, cure);
    return false;
  }
}

function add(method: Method, bySignature: Map<string, Method[]>, bySelector: Map<string, string>): void {
  bySignature.set(method.signature, [...(bySignature.get(method.signature) ?? []), method]);
  bySelector.set(method.selector, method.signature);
}

/**
 * All methods of a signature as a policy writes it, blanks aside and `uint` for `uint256`; a fault if there
 * is none.
 */
export function methodsNamed(
  { bySignature }: MethodTable,
  written: string,
  path: Path,
  context: RuleContext,
): readonly Method[] {
  const signature = written.replaceAll(/\s/g, '').replaceAll(/\b(u?int)(?!\d)\b/g, '$1256');
  const found = bySignature.get(signature) ?? [];
  const [method] = found;
  if (method === undefined) {
    context.fault(
      path,
      `no method ${JSON.stringify(written.slice(0, 100))} is known`,
      cureForMethod(signature, bySignature),
    );
    return [];
  }
  if (method.unreadable !== undefined) {
    context.fault(path, `${signature} can't be judged: ${method.unreadable}`, 'leave it out');
    return [];
  }
  return found;
}

function cureForMethod(signature: string, bySignature: MethodTable['bySignature']): string {
  const [name = ''] = signature.split('(');
  const all = [...bySignature.keys()];
  const named = all.filter((each) => each.startsWith(`${name}(`));
  const meant =
    named.length > 0
      ? named
      : all.filter((each) => closestMatch(name, [each.split('(')[0] ?? '']) !== undefined);
  const other = 'name an ABI file that has it under abis';
  return meant.length > 0 ? `did you mean ${meant.slice(0, 5).join(' or ')}? Else ${other}` : other;
}

/** A method that call data can be judged by. */
export interface Method {
  /** `transfer(address,uint256)`. */
  readonly signature: string;
  /** `0x` and the eight digits that its call data begins with. */
  readonly selector: string;
  readonly parameters: readonly Parameter[];
  /** The parameters as the ABI has them. */
  readonly inputs: readonly AbiParameter[];
  readonly arguments: readonly Argument[];
  /** Amounts of a token: in its units, added up over a transaction, and perhaps unlimited. */
  readonly amounts: ReadonlySet<Argument>;
  /** Flags that, if true, allow somebody everything. */
  readonly blanket: ReadonlySet<Argument>;
  /** Whether it does nothing but allow somebody to take what it names. */
  readonly approval: boolean;
  /** Lists that must be of one length. */
  readonly together: readonly (readonly Argument[])[];
  /** The calls that it holds, if it is a wrapper. */
  readonly holds: HeldCalls | undefined;
  /** Whether it comes from an ABI file alone, so that nobody knows which of its arguments are amounts. */
  readonly own: boolean;
  /** Why no policy may allow it; undefined if one may. */
  readonly unreadable: string | undefined;
}

/** Where a wrapper has the calls that it makes. */
export interface HeldCalls {
  readonly data: Argument;
  /** The contract called; without it, the wrapper's own. */
  readonly target: Argument | undefined;
  /** The native value of each in wei; or the wrapper's own value, which every call then sees; or nothing. */
  readonly value: Argument | 'same' | 'none';
}

/** What is known of a method beyond its ABI; arguments by their paths. */
export interface Traits {
  readonly amounts?: readonly string[];
  readonly blanket?: readonly string[];
  readonly approval?: true;
  readonly together?: readonly (readonly string[])[];
  readonly holds?: { readonly data: string; readonly target?: string; readonly value: string };
  readonly own?: true;
  readonly unreadable?: string;
}

const METHOD_NAME = /^[A-Za-z_$][\w$]{0,127}$/;

/** A method from its ABI. Throws, with what is wrong, if call data can't be judged by it. */
export function methodOf(name: string, inputs: readonly AbiParameter[], traits: Traits = {}): Method {
  if (!METHOD_NAME.test(name))
    throw new RangeError(`${JSON.stringify(name.slice(0, 40))} is no name of a method`);
  const parameters = readParameters(inputs);
  const signature = `${name}${formatTypes(parameters)}`;
  const all = argumentsOf(parameters);
  const at = (path: string): Argument => {
    const found = all.find((each) => each.path === path);
    if (found === undefined) throw new RangeError(`${signature} has no argument ${path}`);
    return found;
  };
  const { holds } = traits;
  return {
    signature,
    selector: keccak256(stringToHex(signature)).slice(0, 10),
    parameters,
    inputs,
    arguments: all,
    amounts: new Set((traits.amounts ?? []).map(at)),
    blanket: new Set((traits.blanket ?? []).map(at)),
    approval: traits.approval ?? false,
    together: (traits.together ?? []).map((paths) => paths.map(at)),
    holds: holds && {
      data: at(holds.data),
      target: holds.target === undefined ? undefined : at(holds.target),
      value: holds.value === 'same' || holds.value === 'none' ? holds.value : at(holds.value),
    },
    own: traits.own ?? false,
    unreadable: traits.unreadable,
  };
}

/** The same method with the names of another ABI. What is known of it stays known, by place. */
export function renamed(known: Method, inputs: readonly AbiParameter[]): Method {
  const parameters = readParameters(inputs);
  const all = argumentsOf(parameters);
  const twin = (argument: Argument): Argument => all[known.arguments.indexOf(argument)] ?? argument;
  const { holds } = known;
  return {
    ...known,
    parameters,
    inputs,
    arguments: all,
    amounts: new Set([...known.amounts].map(twin)),
    blanket: new Set([...known.blanket].map(twin)),
    together: known.together.map((group) => group.map(twin)),
    holds: holds && {
      data: twin(holds.data),
      target: holds.target && twin(holds.target),
      value: typeof holds.value === 'string' ? holds.value : twin(holds.value),
    },
  };
}

/** Whether the argument says what a wrapper calls; entries for the calls inside judge it then. */
export function isHeld({ holds }: Method, argument: Argument): boolean {
  return holds !== undefined && [holds.data, holds.target, holds.value].includes(argument);
}

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
