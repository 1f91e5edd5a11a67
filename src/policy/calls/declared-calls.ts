import { z } from 'zod';
import { readAddress } from '../../values/address.ts';
import { type Path, fixFor, formatInput } from '../fault.ts';
import { type RuleContext, checkNames } from '../rule-context.ts';
import { type Argument, type Type, argumentsNamed, isBeside } from './abi.ts';
import type { InnerCalls } from './inner-calls.ts';
import type { Method } from './methods.ts';

const CALLS = 'a mapping like { data: calls.data, to: calls.target, value: calls.value }';
const ARGUMENT = 'the name of an argument';

/** The arguments of a method that contain calls. The compiler reports unknown names. */
export const callsShape = z
  .looseObject(
    {
      data: z.string({ error: ARGUMENT }),
      to: z.string({ error: ARGUMENT }),
      value: z.string({ error: ARGUMENT }).optional(),
    },
    { error: CALLS },
  )
  .meta({ additionalProperties: false })
  .describe(
    'The arguments of a method of your own ABI that contain calls. `to` may also be `self` or an ' +
      'address. `value` may also be `none`; without it, each call sees the value of the method.',
  );

/**
 * The method with the inner calls that the entry says it has. Undefined, with a fault, if it can't have them.
 */
export function withInnerCalls(
  method: Method,
  written: z.output<typeof callsShape> | undefined,
  path: Path,
  context: RuleContext,
): Method | undefined {
  if (written === undefined) return method;
  if (!checkNames(written, Object.keys(callsShape.shape), path, context)) return undefined;
  if (method.traits.fromAbiFile !== true || method.innerCalls !== undefined) {
    return context.fault(path, `the arguments of ${method.signature} are known`, 'leave calls out');
  }
  for (const [member, word] of [
    ['to', 'self'],
    ['value', 'none'],
  ] as const) {
    if (written[member] !== word || argumentsNamed(method.arguments, word).length === 0) continue;
    const message = `${method.signature} has an argument with the name ${word}`;
    return context.fault([...path, member], message, 'name it by its position');
  }
  const find = (name: string, kind: Type['kind'], member: string): Argument | undefined => {
    const found = argumentsNamed(method.arguments, name).filter(({ type }) => type.kind === kind);
    const [argument, another] = found;
    if (argument !== undefined && another === undefined) return argument;
    const known = method.arguments.filter(({ type }) => type.kind === kind).map((each) => each.path);
    const message = `${method.signature} has no single argument ${formatInput(name)} of the type ${kind}`;
    return context.fault([...path, member], message, fixFor(name, known));
  };
  const data = find(written.data, 'bytes', 'data');
  const target = targetOf(written.to, (name) => find(name, 'address', 'to'));
  const value = valueOf(written.value, (name) => find(name, 'uint', 'value'));
  if (data === undefined || target === undefined || value === undefined) return undefined;
  for (const [member, source] of Object.entries({ to: target, value })) {
    if (typeof source !== 'object' || !('argument' in source) || belongs(source.argument, data)) continue;
    const message =
      `${source.argument.path} is in other lists than ${data.path}, so it is not clear ` +
      'which belong together';
    return context.fault([...path, member], message, 'leave the method out');
  }
  return { ...method, innerCalls: { form: 'listed', data, target, value } };
}

type Listed = Extract<InnerCalls, { form: 'listed' }>;

function targetOf(
  written: string,
  find: (name: string) => Argument | undefined,
): Listed['target'] | undefined {
  if (written === 'self') return 'self';
  const read = readAddress('evm', written);
  if (read.ok) return { address: read.address };
  const argument = find(written);
  return argument && { argument };
}

function valueOf(
  written: string | undefined,
  find: (name: string) => Argument | undefined,
): Listed['value'] | undefined {
  if (written === undefined) return 'same';
  if (written === 'none') return 'none';
  const argument = find(written);
  return argument && { argument };
}

/** Whether it is clear which value of an argument belongs to which call. */
function belongs(argument: Argument, data: Argument): boolean {
  const lists = ({ steps }: Argument): number => steps.filter((step) => step === 'each').length;
  return lists(argument) === 0 || isBeside(argument, data) || (lists(argument) === 1 && lists(data) === 1);
}
