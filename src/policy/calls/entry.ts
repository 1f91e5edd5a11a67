import { z } from 'zod';
import { readAddress } from '../../values/address.ts';
import type { Amount } from '../../values/amount.ts';
import { type Path, fixFor, formatInput } from '../fault.ts';
import { amountText, textList, wholeUpTo } from '../language/parameter.ts';
import { type RuleContext, checkNames } from '../rule-context.ts';
import { type Argument, type Type, argumentsNamed } from './abi.ts';
import {
  type Condition,
  type WrittenCondition,
  compileCondition,
  conditionText,
  decimalsText,
} from './condition.ts';
import { callsShape, withInnerCalls } from './declared-calls.ts';
import { type MethodTable, methodsNamed } from './method-table.ts';
import { type Method, describesInnerCalls } from './methods.ts';
import { type Relation, type TokenAmount, compileAtLeast, compileWithin } from './relation.ts';

const VALUE = 'a mapping like { max: 1.5 }';
const TRAILING = 'a mapping like { max: 64 }';
const TRAILING_MAX_BYTES = 1024;

/** An entry under `calls`. The compiler reports unknown names. */
export const entryShape = z
  .looseObject({
    contract: textList.describe('The contract that is called, or a list of them.'),
    method: textList.describe(
      'The method by its signature, like transfer(address,uint256), or a list of them.',
    ),
    decimals: decimalsText.optional().describe('Of the token, for amounts.'),
    asset: z
      .string({ error: 'a symbol' })
      .optional()
      .describe('The token in the asset table, for its decimals.'),
    where: z
      .record(z.string(), conditionText, { error: 'a mapping of arguments' })
      .optional()
      .describe(
        'The condition of each argument, by its name or its position from 1. `any` allows every value.',
      ),
    unlimited: z
      .literal('allowed', { error: 'allowed, or leave it out' })
      .optional()
      .describe('Unlimited amounts, and approvals of everything, pass as well.'),
    value: z
      .looseObject({ max: amountText }, { error: VALUE })
      .meta({ additionalProperties: false })
      .optional()
      .describe('The most native coins that the call may send. Without `value`, the call may send none.'),
    recipient: z
      .string({ error: 'the name of an address argument' })
      .optional()
      .describe('The argument whose value the callback’s `to` may have instead of the contract.'),
    trailing: z
      .looseObject({ max: wholeUpTo(TRAILING_MAX_BYTES) }, { error: TRAILING })
      .meta({ additionalProperties: false })
      .optional()
      .describe('The most bytes that may follow the arguments. Without `trailing`, none may.'),
    calls: callsShape.optional(),
    delegatecall: z
      .literal('allowed', { error: 'allowed, or leave it out' })
      .optional()
      .describe('An account may also run the method by delegatecall, as its own code.'),
  })
  .meta({ additionalProperties: false });

type WrittenEntry = z.output<typeof entryShape>;

/** A method that is allowed on some contracts, under conditions. */
export interface Entry {
  /**
   * The parsed entry of the policy itself, compared by reference. Charges with the same one are added to one
   * sum, so all methods of the entry share a sum of native coins.
   */
  readonly sumIdentity: object;
  readonly contracts: readonly string[];
  readonly method: Method;
  readonly conditions: readonly Condition[];
  /** The amounts, with their decimals if these are known. */
  readonly amounts: ReadonlyMap<Argument, number | undefined>;
  readonly unlimited: boolean;
  readonly nativeMax: Amount;
  readonly recipient: Argument | undefined;
  /** The most bytes that may follow the arguments. */
  readonly trailingMax: number;
  /** Whether an account may run the method by delegatecall. */
  readonly delegatecall: boolean;
  readonly relations: readonly Relation[];
}

const NAMES = Object.keys(entryShape.shape);
const LISTED_MAX = 200;

/** Compiles an entry under `calls` to one entry for each of its methods. Methods with faults are left out. */
export function compileEntry(
  written: WrittenEntry,
  table: MethodTable,
  path: Path,
  context: RuleContext,
): readonly Entry[] {
  const { value, trailing } = written;
  if (!checkNames(written, NAMES, path, context)) return [];
  if (value !== undefined && !checkNames(value, ['max'], [...path, 'value'], context)) return [];
  if (trailing !== undefined && !checkNames(trailing, ['max'], [...path, 'trailing'], context)) return [];
  const contracts = readContracts(written.contract, [...path, 'contract'], context);
  const units = unitsOf(written, path, context);
  if (contracts === undefined || units === undefined) return [];
  if (written.method.length > LISTED_MAX) {
    context.fault(
      [...path, 'method'],
      `it has ${written.method.length} methods`,
      `remove some: at most ${LISTED_MAX} are allowed`,
    );
    return [];
  }
  return written.method.flatMap((signature) => {
    const variants = methodsNamed(table, signature, [...path, 'method'], context);
    const known = bestNamed(variants, Object.keys(written.where ?? {}));
    const method = known && withInnerCalls(known, written.calls, [...path, 'calls'], context);
    if (method === undefined) return [];
    const compiled = compileArguments(written, method, units, path, context);
    const entry = {
      sumIdentity: written,
      contracts,
      method,
      nativeMax: value?.max ?? 0n,
      trailingMax: trailing?.max ?? 0,
      delegatecall: written.delegatecall === 'allowed',
    };
    return compiled === undefined ? [] : [{ ...entry, ...compiled }];
  });
}

/** Addresses of contracts in lower case. Undefined, with a fault, if one is invalid. */
export function readContracts(
  written: readonly string[],
  path: Path,
  context: RuleContext,
): readonly string[] | undefined {
  if (written.length > LISTED_MAX) {
    return context.fault(
      path,
      `it has ${written.length} contracts`,
      `remove some: at most ${LISTED_MAX} are allowed`,
    );
  }
  const contracts = new Set<string>();
  for (const each of written) {
    const read = readAddress('evm', each);
    if (!read.ok) {
      return context.fault(
        path,
        `${formatInput(each)} is not a contract address: ${read.because}`,
        'copy it again',
      );
    }
    contracts.add(read.address);
  }
  return [...contracts];
}

/**
 * The first of several ABIs of one method that has all the names, and judges what they name. So the name
 * `tokenId` chooses the method of a token with ids.
 */
function bestNamed(variants: readonly Method[], names: readonly string[]): Method | undefined {
  const fits = (method: Method, name: string): boolean => {
    const named = argumentsNamed(method.arguments, name);
    return named.length > 0 && !named.some((each) => describesInnerCalls(method, each));
  };
  return variants.find((method) => names.every((name) => fits(method, name))) ?? variants[0];
}

/** How a token's amounts are written. */
interface Units {
  readonly decimals: number | undefined;
  readonly asset: string | undefined;
}

/** The units that a condition or an entry gives, if any. Undefined, with a fault, if they are invalid. */
function unitsOf(
  { decimals, asset }: { readonly decimals?: number | undefined; readonly asset?: string | undefined },
  path: Path,
  context: RuleContext,
): Units | undefined {
  if (decimals !== undefined && asset !== undefined) {
    return context.fault(path, 'it has both decimals and asset', 'keep one of the two');
  }
  if (asset === undefined) return { decimals, asset };
  const found = context.assets.get(asset);
  if (found?.chain === 'evm') return { decimals: found.decimals, asset };
  const at = [...path, 'asset'];
  if (found === undefined) {
    const fix = fixFor(asset, [...context.assets.keys()].slice(0, 20));
    return context.fault(at, `the asset table has no ${formatInput(asset)}`, fix);
  }
  const message = `${asset} is on the chain ${found.chain}, which has no EVM contracts`;
  return context.fault(at, message, 'write decimals instead');
}

type ArgumentConditions = Pick<Entry, 'conditions' | 'amounts' | 'unlimited' | 'recipient' | 'relations'>;

/** A method, what is known of its arguments so far, and where the policy has its entry. */
interface Compiling {
  readonly method: Method;
  /** Of the arguments that are amounts. */
  readonly units: Map<Argument, Units>;
  readonly context: RuleContext;
}

/**
 * Compiles the conditions on a method's arguments. Undefined, with faults, if an argument has no condition.
 */
function compileArguments(
  written: WrittenEntry,
  method: Method,
  entryUnits: Units,
  path: Path,
  context: RuleContext,
): ArgumentConditions | undefined {
  const units = new Map([...method.amounts].map((each) => [each, entryUnits]));
  const compiling = { method, units, context };
  const checked = new Set<Argument>();
  const conditions = Object.entries(written.where ?? {}).map(([name, condition]) => {
    const at = [...path, 'where', name];
    const named = argumentsFor(method, name, condition, checked, at, context);
    for (const each of named) checked.add(each);
    const [argument] = named;
    if (argument === undefined) return undefined;
    if (condition === 'any') return [];
    const compiled = compileArgument(condition, argument, at, compiling);
    return compiled && [{ compiled, relate: () => compileRelations(condition, argument, at, compiling) }];
  });
  const recipient = recipientOf(written.recipient, method, [...path, 'recipient'], context);
  if (!conditions.every((each) => each !== undefined) || recipient === undefined) return undefined;
  // A condition may refer to other arguments, whose decimals are known now.
  const relations = conditions.flat().map(({ relate }) => relate());
  if (!relations.every((each) => each !== undefined)) return undefined;
  if (!isComplete(written, method, { units, checked }, path, context)) return undefined;
  return {
    conditions: conditions.flat().map(({ compiled }) => compiled),
    amounts: new Map([...units].map(([argument, { decimals }]) => [argument, decimals])),
    unlimited: written.unlimited === 'allowed',
    recipient: recipient.argument,
    relations: relations.flat(),
  };
}

/** The conditions that refer to the time, to prices or to another argument. Undefined, with faults, if one is invalid. */
function compileRelations(
  { within, atLeast }: WrittenCondition,
  argument: Argument,
  path: Path,
  { method, units, context }: Compiling,
): readonly Relation[] | undefined {
  if (within !== undefined && units.has(argument)) {
    const message = `${argument.path} is an amount, and within is for a time in seconds`;
    return context.fault([...path, 'within'], message, 'leave decimals and asset out');
  }
  const ofTime = within === undefined ? [] : [compileWithin(within, argument)];
  if (atLeast === undefined) return ofTime;
  const tokenOf = (each: Argument): TokenAmount | undefined => {
    const { decimals, asset } = units.get(each) ?? { decimals: undefined, asset: undefined };
    return decimals === undefined ? undefined : { argument: each, decimals, asset };
  };
  const ofShare = compileAtLeast(
    atLeast,
    argument,
    { all: method.arguments, tokenOf },
    [...path, 'atLeast'],
    context,
  );
  return ofShare && [...ofTime, ofShare];
}

/**
 * The arguments that a name under `where` selects. Empty, with a fault, if it selects no argument, or one
 * that it must not.
 */
function argumentsFor(
  method: Method,
  name: string,
  condition: 'any' | WrittenCondition,
  checked: ReadonlySet<Argument>,
  path: Path,
  context: RuleContext,
): readonly Argument[] {
  const named = argumentsNamed(method.arguments, name);
  const fault = (message: string, fix: string): readonly Argument[] => {
    context.fault(path, message, fix);
    return [];
  };
  if (named.length === 0) {
    const known = method.arguments.map((each) => each.path);
    return fault(`${method.signature} has no argument ${formatInput(name)}`, fixFor(name, known));
  }
  if (named.some((each) => describesInnerCalls(method, each))) {
    return fault(`${name} describes the inner calls, which have entries of their own`, 'leave it out here');
  }
  if (named.some((each) => checked.has(each))) return fault(`${name} is named twice`, 'keep one of the two');
  if (condition !== 'any' && named.length > 1) {
    const members = named.map((each) => each.path).join(', ');
    return fault(`${name} has several members`, `write a condition for each: ${members}`);
  }
  return named;
}

function compileArgument(
  condition: WrittenCondition,
  argument: Argument,
  path: Path,
  { method, units, context }: Compiling,
): Condition | undefined {
  const own = unitsOf(condition, path, context);
  if (own === undefined) return undefined;
  if (own.decimals !== undefined) units.set(argument, own);
  const isAmount = units.has(argument);
  const decimals = units.get(argument)?.decimals;
  if (isAmount && decimals === undefined) {
    const fix = 'write decimals (or asset) in the entry; decimals: 0 counts the smallest units';
    return context.fault(path, `${argument.path} is an amount, and its decimals are not given`, fix);
  }
  const isSummed = isLimitOnSum(condition, argument, { isAmount, method }, path, context);
  if (isSummed === undefined) return undefined;
  return compileCondition(condition, { argument, isAmount, decimals, isSummed }, path, context);
}

/**
 * Whether the limits of a condition are for the sum over a transaction, as those of amounts are. For an
 * integer of an ABI file the policy must choose, because a limit on each value would allow any number of such
 * values.
 */
function isLimitOnSum(
  condition: WrittenCondition,
  { type }: Argument,
  { isAmount, method }: { readonly isAmount: boolean; readonly method: Method },
  path: Path,
  context: RuleContext,
): boolean | undefined {
  if (type.kind !== 'uint' && type.kind !== 'int') return false;
  const limit = summableLimit(condition, type);
  if (condition.each !== undefined) {
    const at = [...path, 'each'];
    if (isAmount) {
      const fix = 'leave each out; if the argument is not an amount, leave decimals and asset out';
      return context.fault(at, 'the limit of an amount is for the whole transaction', fix);
    }
    if (limit !== undefined) return false;
    return context.fault(at, 'each has no effect without max or a min below zero', 'leave it out');
  }
  if (isAmount || method.traits.fromAbiFile !== true || limit === undefined) return isAmount;
  // A revision from before this check stays valid, with the stricter meaning.
  if (context.isStored) return true;
  return context.fault(
    [...path, limit],
    `${limit} could limit each value or the sum of the transaction, since the method is from an ABI file`,
    `for an amount, write decimals (or asset) beside it: ${limit} then limits the whole transaction ` +
      '(decimals: 0 counts the smallest units); for an id, a time or a rate, write each: true: ' +
      `${limit} then limits each value`,
  );
}

/**
 * The name of a limit that values of one sign could exceed together: `max`, or a `min` below zero. A `min`
 * of zero or more only limits each value.
 */
function summableLimit({ min, max }: WrittenCondition, type: Type): 'max' | 'min' | undefined {
  if (max !== undefined) return 'max';
  return type.kind === 'int' && min?.startsWith('-') === true ? 'min' : undefined;
}

function recipientOf(
  name: string | undefined,
  method: Method,
  path: Path,
  context: RuleContext,
): { readonly argument: Argument | undefined } | undefined {
  if (name === undefined) return { argument: undefined };
  const addresses = method.arguments.filter(
    (each) => each.type.kind === 'address' && !describesInnerCalls(method, each),
  );
  const [argument, another] = argumentsNamed(addresses, name);
  if (argument !== undefined && another === undefined && !argument.steps.includes('each')) {
    return { argument };
  }
  const message = `${method.signature} has no single address ${formatInput(name)}`;
  const known = addresses.map((each) => each.path);
  return context.fault(path, message, fixFor(name, known));
}

/** Checks that every argument has a condition, and that every member of the entry has an effect. */
function isComplete(
  { decimals, asset, unlimited, where = {} }: WrittenEntry,
  method: Method,
  {
    units,
    checked,
  }: { readonly units: ReadonlyMap<Argument, unknown>; readonly checked: ReadonlySet<Argument> },
  path: Path,
  context: RuleContext,
): boolean {
  const missing = method.arguments.filter((each) => !checked.has(each) && !describesInnerCalls(method, each));
  if (missing.length > 0) {
    const names = missing.map((each) => each.path).join(', ');
    const at = Object.keys(where).length === 0 ? path : [...path, 'where'];
    const message = `${method.signature}: there is no condition on ${names}`;
    context.fault(at, message, 'under where, write a condition for each, or any');
    return false;
  }
  if ((decimals !== undefined || asset !== undefined) && method.amounts.size === 0) {
    const message = `no argument of ${method.signature} is known to be an amount with decimals`;
    context.fault(path, message, 'write them in the condition of the argument that is an amount');
    return false;
  }
  if (unlimited !== undefined && units.size === 0 && method.blanketFlags.size === 0) {
    context.fault(
      [...path, 'unlimited'],
      `${method.signature} has no amount and no approval flag, so unlimited has no effect`,
      'leave it out',
    );
    return false;
  }
  return true;
}
