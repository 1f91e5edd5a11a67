import { z } from 'zod';
import { readAddress } from '../../values/address.ts';
import { type Amount, parseAmount } from '../../values/amount.ts';
import { type Path, fixFor, formatInput } from '../fault.ts';
import { textList } from '../rules/parameter.ts';
import type { RuleContext } from '../rules/rule.ts';
import { type Argument, type Type, argumentsNamed } from './abi.ts';
import { type Condition, type WrittenCondition, compileCondition, conditionText } from './condition.ts';
import { type Method, type MethodTable, describesInnerCalls, methodsNamed } from './methods.ts';

const VALUE = 'a mapping like { max: 1.5 }';
const PLAIN = 'a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point';

/** An entry under `calls`. The compiler reports unknown names. */
export const entryShape = z
  .looseObject({
    contract: textList.describe('The contract that is called, or a list of them.'),
    method: textList.describe(
      'The method by its signature, like transfer(address,uint256), or a list of them.',
    ),
    decimals: z
      .string({ error: 'a whole number from 0 to 36' })
      .optional()
      .describe('Of the token, for amounts.'),
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
      .looseObject({ max: z.string({ error: PLAIN }) }, { error: VALUE })
      .meta({ additionalProperties: false })
      .optional()
      .describe('The most native coins that the call may send. Without `value`, the call may send none.'),
    recipient: z
      .string({ error: 'the name of an address argument' })
      .optional()
      .describe('The argument whose value the callback’s `to` may have instead of the contract.'),
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
  const unknown = Object.keys(written).filter((name) => !NAMES.includes(name));
  for (const name of unknown) {
    context.fault([...path, name], `${formatInput(name)} is not known here`, fixFor(name, NAMES));
  }
  if (unknown.length > 0) return [];
  const contracts = readContracts(written.contract, [...path, 'contract'], context);
  const nativeMax = readNative(written.value, [...path, 'value'], context);
  const decimals = readDecimals(written, path, context);
  if (contracts === undefined || nativeMax === undefined || decimals === undefined) return [];
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
    const method = bestNamed(variants, Object.keys(written.where ?? {}));
    if (method === undefined) return [];
    const compiled = compileArguments(written, method, decimals.decimals, path, context);
    return compiled === undefined
      ? []
      : [{ sumIdentity: written, contracts, method, nativeMax, ...compiled }];
  });
}

function readContracts(
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

/** The maximum of native coins in a call: zero if the policy names none. */
export function readNative(
  written: { readonly max: string } | undefined,
  path: Path,
  context: RuleContext,
  known: readonly string[] = ['max'],
): Amount | undefined {
  if (written === undefined) return 0n;
  const unknown = Object.keys(written).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const message = `${formatInput(unknown)} is not known here`;
    return context.fault([...path, unknown], message, fixFor(unknown, known));
  }
  const max = /[eE]/.test(written.max) ? undefined : parseAmount(written.max);
  return max ?? context.fault([...path, 'max'], `${formatInput(written.max)} is not valid`, `write ${PLAIN}`);
}

/**
 * The first of several ABIs of one method that has all the names. So the name `tokenId` chooses the method of
 * a token with ids.
 */
function bestNamed(variants: readonly Method[], names: readonly string[]): Method | undefined {
  return (
    variants.find((method) => names.every((name) => argumentsNamed(method.arguments, name).length > 0)) ??
    variants[0]
  );
}

const DECIMALS = /^(?:[0-9]|[12][0-9]|3[0-6])$/;

/** The decimals that a condition or an entry gives, if any. Undefined, with a fault, if they are invalid. */
function readDecimals(
  { decimals, asset }: { readonly decimals?: string | undefined; readonly asset?: string | undefined },
  path: Path,
  context: RuleContext,
): { readonly decimals: number | undefined } | undefined {
  if (decimals !== undefined && asset !== undefined) {
    return context.fault(path, 'it has both decimals and asset', 'keep one of the two');
  }
  if (decimals !== undefined) {
    if (DECIMALS.test(decimals)) return { decimals: Number(decimals) };
    const fix = 'write a whole number from 0 to 36';
    return context.fault([...path, 'decimals'], `${formatInput(decimals)} is not valid`, fix);
  }
  if (asset === undefined) return { decimals: undefined };
  const found = context.assets.get(asset);
  if (found?.chain === 'evm') return { decimals: found.decimals };
  const at = [...path, 'asset'];
  if (found === undefined) {
    const fix = fixFor(asset, [...context.assets.keys()].slice(0, 20));
    return context.fault(at, `the asset table has no ${formatInput(asset)}`, fix);
  }
  const message = `${asset} is on the chain ${found.chain}, which has no EVM contracts`;
  return context.fault(at, message, 'write decimals instead');
}

type ArgumentConditions = Pick<Entry, 'conditions' | 'amounts' | 'unlimited' | 'recipient'>;

/**
 * Compiles the conditions on a method's arguments. Undefined, with faults, if an argument has no condition.
 */
function compileArguments(
  written: WrittenEntry,
  method: Method,
  decimals: number | undefined,
  path: Path,
  context: RuleContext,
): ArgumentConditions | undefined {
  const amounts = new Map<Argument, number | undefined>([...method.amounts].map((each) => [each, decimals]));
  const conditions: Condition[] = [];
  const checked = new Set<Argument>();
  let valid = true;
  for (const [name, condition] of Object.entries(written.where ?? {})) {
    const at = [...path, 'where', name];
    const named = argumentsFor(method, name, condition, checked, at, context);
    for (const argument of named) checked.add(argument);
    const [argument] = named;
    if (argument === undefined) valid = false;
    if (argument === undefined || condition === 'any') continue;
    const compiled = compileArgument(condition, argument, { method, amounts }, at, context);
    if (compiled === undefined) valid = false;
    else conditions.push(compiled);
  }
  const recipient = recipientOf(written.recipient, method, [...path, 'recipient'], context);
  if (!valid || recipient === undefined) return undefined;
  if (!isComplete(written, method, { amounts, checked }, path, context)) return undefined;
  return { conditions, amounts, unlimited: written.unlimited === 'allowed', recipient: recipient.argument };
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
  { method, amounts }: { readonly method: Method; readonly amounts: Map<Argument, number | undefined> },
  path: Path,
  context: RuleContext,
): Condition | undefined {
  const own = readDecimals(condition, path, context);
  if (own === undefined) return undefined;
  if (own.decimals !== undefined) amounts.set(argument, own.decimals);
  const isAmount = amounts.has(argument);
  const decimals = amounts.get(argument);
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
    if (condition.each !== 'true') {
      return context.fault(at, `${formatInput(condition.each)} is not valid`, 'write true, or leave it out');
    }
    if (isAmount) {
      const fix = 'leave each out; if the argument is not an amount, leave decimals and asset out';
      return context.fault(at, 'the limit of an amount is for the whole transaction', fix);
    }
    if (limit !== undefined) return false;
    return context.fault(at, 'each has no effect without max or a min below zero', 'leave it out');
  }
  if (isAmount || !method.fromAbiFile || limit === undefined) return isAmount;
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
    amounts,
    checked,
  }: { readonly amounts: ReadonlyMap<Argument, unknown>; readonly checked: ReadonlySet<Argument> },
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
  if (unlimited !== undefined && amounts.size === 0 && method.blanketFlags.size === 0) {
    context.fault(
      [...path, 'unlimited'],
      `${method.signature} has no amount and no approval flag, so unlimited has no effect`,
      'leave it out',
    );
    return false;
  }
  return true;
}
