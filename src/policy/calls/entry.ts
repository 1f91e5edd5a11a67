import { z } from 'zod';
import { readAddress } from '../../values/address.ts';
import { type Amount, parseAmount } from '../../values/amount.ts';
import { type Path, cureFor, shown } from '../fault.ts';
import { textsText } from '../rules/parameter.ts';
import type { RuleContext } from '../rules/rule.ts';
import { type Argument, argumentsNamed } from './abi.ts';
import { type Condition, conditionText, type WrittenCondition, compileCondition } from './condition.ts';
import { type Method, type MethodTable, methodsNamed, isHeld } from './methods.ts';

const VALUE = 'a mapping like { max: 1.5 }';
const PLAIN = 'a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point';

/** An entry under `calls`. Strange names are found when it is compiled. */
export const entryShape = z
  .looseObject({
    contract: textsText.describe('The contract that is called, or a list of them.'),
    method: textsText.describe(
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
        'What each argument must be, by name, or by place counted from 1; any if it may be anything.',
      ),
    unlimited: z
      .literal('allowed', { error: 'allowed, or leave it out' })
      .optional()
      .describe('Unlimited amounts, and approvals of everything, pass as well.'),
    value: z
      .looseObject({ max: z.string({ error: PLAIN }) }, { error: VALUE })
      .meta({ additionalProperties: false })
      .optional()
      .describe('The native coins that may go along; none without it.'),
    recipient: z
      .string({ error: 'the name of an address argument' })
      .optional()
      .describe('The argument that the callback’s `to` may name in the place of the contract.'),
  })
  .meta({ additionalProperties: false });

type WrittenEntry = z.output<typeof entryShape>;

/** One (contract, method) pair that is allowed, or more of one kind, under conditions. */
export interface Entry {
  /** As it is written: the same for all its methods, whose native coins are added up together. */
  readonly key: object;
  readonly contracts: readonly string[];
  readonly method: Method;
  readonly conditions: readonly Condition[];
  /** Amounts, with their decimals where they are known. */
  readonly amounts: ReadonlyMap<Argument, number | undefined>;
  readonly unlimited: boolean;
  readonly nativeMax: Amount;
  readonly recipient: Argument | undefined;
}

const NAMES = Object.keys(entryShape.shape);
const LISTED_MAX = 200;

/** The entries that one under `calls` stands for, one a method; fewer, with faults, if it is miswritten. */
export function compileEntry(
  written: WrittenEntry,
  table: MethodTable,
  path: Path,
  context: RuleContext,
): readonly Entry[] {
  const strange = Object.keys(written).filter((name) => !NAMES.includes(name));
  for (const name of strange) {
    context.fault([...path, name], `${shown(name)} is not known here`, cureFor(name, NAMES));
  }
  if (strange.length > 0) return [];
  const contracts = readContracts(written.contract, [...path, 'contract'], context);
  const nativeMax = readNative(written.value, [...path, 'value'], context);
  const decimals = readDecimals(written, path, context);
  if (contracts === undefined || nativeMax === undefined || decimals === undefined) return [];
  if (written.method.length > LISTED_MAX) {
    context.fault([...path, 'method'], `it has ${written.method.length} methods`, `keep to ${LISTED_MAX}`);
    return [];
  }
  return written.method.flatMap((signature) => {
    const variants = methodsNamed(table, signature, [...path, 'method'], context);
    const method = bestNamed(variants, Object.keys(written.where ?? {}));
    if (method === undefined) return [];
    const judged = compileArguments(written, method, decimals.decimals, path, context);
    return judged === undefined ? [] : [{ key: written, contracts, method, nativeMax, ...judged }];
  });
}

function readContracts(
  written: readonly string[],
  path: Path,
  context: RuleContext,
): readonly string[] | undefined {
  if (written.length > LISTED_MAX) {
    return context.fault(path, `it has ${written.length} contracts`, `keep to ${LISTED_MAX}`);
  }
  const contracts = new Set<string>();
  for (const each of written) {
    const read = readAddress('evm', each);
    if (!read.ok) {
      return context.fault(path, `${shown(each)} is no contract: ${read.because}`, 'copy it anew');
    }
    contracts.add(read.address);
  }
  return [...contracts];
}

/** The native coins that may go along: none where nothing is said. */
export function readNative(
  written: { readonly max: string } | undefined,
  path: Path,
  context: RuleContext,
  known: readonly string[] = ['max'],
): Amount | undefined {
  if (written === undefined) return 0n;
  const strange = Object.keys(written).find((name) => !known.includes(name));
  if (strange !== undefined) {
    return context.fault([...path, strange], `${shown(strange)} is not known here`, cureFor(strange, known));
  }
  const max = /[eE]/.test(written.max) ? undefined : parseAmount(written.max);
  return max ?? context.fault([...path, 'max'], `${shown(written.max)} will not do`, `write ${PLAIN}`);
}

/**
 * Of several ABIs of one method the first that has all the names; so `tokenId` says that it is a token with
 * ids.
 */
function bestNamed(variants: readonly Method[], names: readonly string[]): Method | undefined {
  return (
    variants.find((method) => names.every((name) => argumentsNamed(method.arguments, name).length > 0)) ??
    variants[0]
  );
}

/** The part of an entry that speaks of arguments. */
interface WrittenArguments {
  readonly where?: Readonly<Record<string, 'any' | WrittenCondition>> | undefined;
  readonly decimals?: string | undefined;
  readonly asset?: string | undefined;
  readonly unlimited?: 'allowed' | undefined;
  readonly recipient?: string | undefined;
}

type Judged = Pick<Entry, 'conditions' | 'amounts' | 'unlimited' | 'recipient'>;

/**
 * What an entry says of a method's arguments; undefined, with faults, if it is miswritten or leaves one out.
 */
export function compileArguments(
  written: WrittenArguments,
  method: Method,
  decimals: number | undefined,
  path: Path,
  context: RuleContext,
): Judged | undefined {
  const amounts = new Map<Argument, number | undefined>([...method.amounts].map((each) => [each, decimals]));
  const conditions: Condition[] = [];
  const spoken = new Set<Argument>();
  let sound = true;
  for (const [name, condition] of Object.entries(written.where ?? {})) {
    const at = [...path, 'where', name];
    const named = argumentsFor(method, name, condition, spoken, at, context);
    for (const argument of named) spoken.add(argument);
    const [argument] = named;
    if (argument === undefined) sound = false;
    if (argument === undefined || condition === 'any') continue;
    const compiled = compileOne(condition, argument, { method, amounts }, at, context);
    if (compiled === undefined) sound = false;
    else conditions.push(compiled);
  }
  const recipient = recipientOf(written.recipient, method, [...path, 'recipient'], context);
  if (!sound || recipient === undefined || !isSound(written, method, { amounts, spoken }, path, context))
    return undefined;
  return { conditions, amounts, unlimited: written.unlimited === 'allowed', recipient: recipient.argument };
}

/**
 * The arguments that a name under `where` stands for; none, with a fault, if it stands for none that may be
 * spoken of.
 */
function argumentsFor(
  method: Method,
  name: string,
  condition: 'any' | WrittenCondition,
  spoken: ReadonlySet<Argument>,
  path: Path,
  context: RuleContext,
): readonly Argument[] {
  const named = argumentsNamed(method.arguments, name);
  const fault = (message: string, cure: string): readonly Argument[] => {
    context.fault(path, message, cure);
    return [];
  };
  if (named.length === 0) {
    const known = method.arguments.map((each) => each.path);
    return fault(`${method.signature} has no argument ${shown(name)}`, cureFor(name, known));
  }
  if (named.some((each) => isHeld(method, each))) {
    return fault(`${name} holds what is called, which entries of its own judge`, 'leave it out here');
  }
  if (named.some((each) => spoken.has(each)))
    return fault(`${name} is spoken of twice`, 'keep one of the two');
  if (condition !== 'any' && named.length > 1) {
    return fault(
      `${name} has several members`,
      `write a condition for each: ${named.map((each) => each.path).join(', ')}`,
    );
  }
  return named;
}

function compileOne(
  condition: WrittenCondition,
  argument: Argument,
  { method, amounts }: { readonly method: Method; readonly amounts: Map<Argument, number | undefined> },
  path: Path,
  context: RuleContext,
): Condition | undefined {
  const own = readDecimals(condition, path, context);
  if (own === undefined) return undefined;
  if (own.decimals !== undefined) amounts.set(argument, own.decimals);
  const amount = amounts.has(argument);
  const decimals = amounts.get(argument);
  if (amount && decimals === undefined) {
    const cure = 'write decimals (or asset) in the entry; decimals: 0 counts the smallest units';
    return context.fault(path, `${argument.path} is an amount, and its decimals are not given`, cure);
  }
  const summed = summedBy(condition, argument, { amount, own: method.own }, path, context);
  if (summed === undefined) return undefined;
  return compileCondition(condition, { argument, amount, decimals, summed }, path, context);
}

/**
 * Whether the limits of a condition are for the sum over a transaction: those of amounts are. Of an integer
 * of an own ABI only the policy can say whether it is one; a fault if it doesn't, for a limit on each value
 * lets through any number of them.
 */
function summedBy(
  condition: WrittenCondition,
  { type }: Argument,
  { amount, own }: { readonly amount: boolean; readonly own: boolean },
  path: Path,
  context: RuleContext,
): boolean | undefined {
  const isInteger = type.kind === 'uint' || type.kind === 'int';
  if (!isInteger) return false;
  if (condition.each !== undefined) {
    if (condition.each !== 'true') {
      return context.fault(
        [...path, 'each'],
        `${shown(condition.each)} will not do`,
        'write true, or leave it out',
      );
    }
    if (amount) {
      const cure = 'leave each out; where it is no amount, leave decimals and asset out';
      return context.fault([...path, 'each'], 'an amount is limited over the whole transaction', cure);
    }
    if (condition.max !== undefined) return false;
    return context.fault([...path, 'each'], 'each says what max limits, and there is no max', 'leave it out');
  }
  if (amount || !own || condition.max === undefined) return amount;
  // A revision in force from before this was a fault is held to the stricter reading, and goes on.
  if (context.again) return true;
  return context.fault(
    [...path, 'max'],
    'max of an argument of an own ABI does not say what it limits',
    'write decimals (or asset) beside it, and max is for the whole transaction (decimals: 0 counts the smallest units); where it is no amount but an id, a time or a rate, write each: true, and max is for each value',
  );
}

function recipientOf(
  name: string | undefined,
  method: Method,
  path: Path,
  context: RuleContext,
): { readonly argument: Argument | undefined } | undefined {
  if (name === undefined) return { argument: undefined };
  const addresses = method.arguments.filter((each) => each.type.kind === 'address' && !isHeld(method, each));
  const [argument, another] = argumentsNamed(addresses, name);
  if (argument !== undefined && another === undefined && !argument.steps.includes('each'))
    return { argument };
  const known = addresses.map((each) => each.path);
  return context.fault(path, `${method.signature} has no one address ${shown(name)}`, cureFor(name, known));
}

/** Faults of an entry as a whole: an argument left out, and what would have no effect. */
function isSound(
  { decimals, asset, unlimited, where = {} }: WrittenArguments,
  method: Method,
  {
    amounts,
    spoken,
  }: { readonly amounts: ReadonlyMap<Argument, unknown>; readonly spoken: ReadonlySet<Argument> },
  path: Path,
  context: RuleContext,
): boolean {
  const left = method.arguments.filter((each) => !spoken.has(each) && !isHeld(method, each));
  if (left.length > 0) {
    const names = left.map((each) => each.path).join(', ');
    const at = Object.keys(where).length === 0 ? path : [...path, 'where'];
    context.fault(
      at,
      `${method.signature}: nothing is said of ${names}`,
      `under where, write a condition for each, or any`,
    );
    return false;
  }
  if ((decimals !== undefined || asset !== undefined) && method.amounts.size === 0) {
    const cure = 'write them in the condition of the argument that is an amount';
    context.fault(path, `which argument of ${method.signature} has decimals is not known`, cure);
    return false;
  }
  if (unlimited !== undefined && amounts.size === 0 && method.blanket.size === 0) {
    context.fault([...path, 'unlimited'], `${method.signature} allows nothing unlimited`, 'leave it out');
    return false;
  }
  return true;
}

const DECIMALS = /^(?:[0-9]|[12][0-9]|3[0-6])$/;

/**
 * The decimals that a condition or an entry gives, by themselves or by an asset, if it gives any; undefined,
 * with a fault, if it gives wrong ones.
 */
export function readDecimals(
  { decimals, asset }: { readonly decimals?: string | undefined; readonly asset?: string | undefined },
  path: Path,
  context: RuleContext,
): { readonly decimals: number | undefined } | undefined {
  if (decimals !== undefined && asset !== undefined) {
    return context.fault(path, 'it has both decimals and asset', 'keep one of the two');
  }
  if (decimals !== undefined) {
    if (DECIMALS.test(decimals)) return { decimals: Number(decimals) };
    return context.fault(
      [...path, 'decimals'],
      `${shown(decimals)} will not do`,
      'write a whole number from 0 to 36',
    );
  }
  if (asset === undefined) return { decimals: undefined };
  const found = context.assets.get(asset);
  if (found?.chain === 'evm') return { decimals: found.decimals };
  const at = [...path, 'asset'];
  return found === undefined
    ? context.fault(
        at,
        `the asset table has no ${shown(asset)}`,
        cureFor(asset, [...context.assets.keys()].slice(0, 20)),
      )
    : context.fault(
        at,
        `${asset} is on the chain ${found.chain}, where no EVM contract is`,
        'write decimals instead',
      );
}
