import { type Path, cureFor, shown } from '../fault.ts';
import type { RuleContext } from '../rules/rule.ts';
import { type Argument, argumentsNamed } from './argument.ts';
import { type Condition, type WrittenCondition, compileCondition } from './condition.ts';
import { readDecimals } from './decimals.ts';
import type { Entry } from './entry.ts';
import { type Method, isHeld } from './method.ts';

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
