import { encodeAbiParameters } from 'viem/utils';
import { messageOf } from '../../errors.ts';
import type { Amount } from '../../values/amount.ts';
import { valuesAt } from './argument.ts';
import { type Value, decodeArguments } from './decode.ts';
import type { HeldCalls, Method } from './method.ts';

/** `0x` and the eight digits of a selector. */
export const SELECTOR_CHARACTERS = 10;
/** Wei in units of 10^-36: an EVM's native coin has 18 decimals. */
const WEI: Amount = 10n ** 18n;

/** A call or a transfer: the transaction's own, or one within a wrapper. */
export interface Call {
  /** Where it goes, lower-case. */
  readonly target: string;
  /** `0x` and lower-case digits. */
  readonly data: string;
  readonly native: Amount | 'unlimited';
  /** Its place in each wrapper around it, counted from 1; none for the transaction's own. */
  readonly place: readonly number[];
}

/** The arguments of a call; refused unless they are, written again by another encoder, the same bytes. */
export function readCall(
  { parameters, inputs, together, signature }: Method,
  data: string,
):
  | { readonly ok: true; readonly values: readonly Value[] }
  | { readonly ok: false; readonly because: string; readonly argument: string } {
  const body = data.slice(SELECTOR_CHARACTERS);
  const decoded = decodeArguments(parameters, body);
  if (!decoded.ok)
    return { ok: false, because: `${signature}: ${decoded.because}`, argument: decoded.argument };
  const { values } = decoded;
  const no = (because: string): ReturnType<typeof readCall> => ({
    ok: false,
    because: `${signature}: ${because}`,
    argument: '',
  });
  try {
    if (encodeAbiParameters(inputs, values) !== `0x${body}`)
      return no('the arguments, written again, are other data');
  } catch (thrown) {
    return no(`the arguments can't be written again: ${messageOf(thrown).split('\n')[0]}`);
  }
  const uneven = together.find(
    (group) => new Set(group.map((each) => valuesAt(values, each).length)).size > 1,
  );
  if (uneven !== undefined)
    return no(`${uneven.map((each) => each.path).join(' and ')} are not of one length`);
  return { ok: true, values };
}

/** The calls of a wrapper; undefined for one that can't be told. */
export function heldCalls(
  holds: HeldCalls,
  { target, native, place }: Call,
  values: readonly Value[],
): readonly (Call | undefined)[] {
  const targets = holds.target && valuesAt(values, holds.target);
  const natives = typeof holds.value === 'string' ? undefined : valuesAt(values, holds.value);
  return valuesAt(values, holds.data).map((data, index): Call | undefined => {
    const to = targets === undefined ? target : targets[index];
    const wei = natives?.[index];
    const own =
      holds.value === 'same'
        ? native
        : holds.value === 'none'
          ? 0n
          : typeof wei === 'bigint'
            ? wei * WEI
            : undefined;
    if (typeof data !== 'string' || typeof to !== 'string' || own === undefined) return undefined;
    // A wrapper of its own methods does not send coins: a call without a selector is nothing that anybody
    // meant.
    if (targets === undefined && data.length < SELECTOR_CHARACTERS) return undefined;
    return { target: to, data, native: own, place: [...place, index + 1] };
  });
}
