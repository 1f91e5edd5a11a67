import { z } from 'zod';
import { type Amount, AMOUNT_SCALE, parseAmount } from '../../values/amount.ts';
import { cureFor } from '../fault.ts';
import { SOURCE, memberNamed, memberNames, readMemberText } from '../members.ts';
import type { RuleContext } from './rule.ts';

/*
 * The texts that parameters are made of. Each schema's message is the phrase for what it expects: a fault reads
 * "… will not do; write <message>".
 */

const AMOUNT = 'a plain decimal, like 10000 or 0.5, with at most 36 digits before and after the point';

/** An exact amount, in units of 10^-36. */
export const amountText = z
  .string({ error: AMOUNT })
  .regex(/^(?:0|[1-9]\d{0,35})(?:\.\d{1,36})?$/, { error: AMOUNT })
  .transform(exactly);

const COUNT = 'a whole number above zero, like 10';

/** A whole number, in the same units: one is 10^36 of them. */
export const countText = z
  .string({ error: COUNT })
  .regex(/^[1-9]\d{0,11}$/, { error: COUNT })
  .transform((text) => BigInt(text) * 10n ** BigInt(AMOUNT_SCALE));

const MEMBER = 'the name of a member, like userId';

export const memberText = z.string({ error: MEMBER }).min(1, { error: MEMBER });

const TEXTS = 'a text, or a list of texts';
const text = z.string({ error: TEXTS });

/** One text or several, always read as several. */
export const textsText = z
  .union([text, z.array(text).min(1, { error: TEXTS })], { error: TEXTS })
  .transform((written) => (typeof written === 'string' ? [written] : written));

/** The one name of a member of this policy's callbacks; a fault if there is none. */
export function memberOf(
  name: string,
  path: readonly (string | number)[],
  context: RuleContext,
): string | undefined {
  const member = memberNamed(context.callback, name);
  if (member !== undefined) return member;
  return context.fault(
    path,
    `a ${context.callback} callback has no member ${JSON.stringify(name)}`,
    cureFor(name, memberNames(context.callback)),
  );
}

/** The texts in the form that callbacks have them; a fault for the first that no callback could ever have. */
export function memberTexts(
  member: string,
  texts: readonly string[],
  path: readonly (string | number)[],
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const read = new Set<string>();
  for (const each of texts) {
    const result = readMemberText(member, each);
    if (!result.ok) {
      return context.fault(path, `no ${member} is ever ${JSON.stringify(each)}`, `write ${result.expected}`);
    }
    read.add(result.text);
  }
  return read;
}

/** The symbol that the policy is about, if it is about one alone. */
export function pinnedSymbol(context: RuleContext): string | undefined {
  const symbols = context.when.get('symbol');
  return symbols?.size === 1 ? [...symbols][0] : undefined;
}

/** For messages: `userId 12345`, `to 0xab… and 3 more`, `source shop`. */
export function told(member: string, values: readonly string[]): string {
  const [first = '', ...others] = values;
  return others.length === 0 ? `${member} ${first}` : `${member} ${first} and ${others.length} more`;
}

export const isSource = (member: string): boolean => member === SOURCE;

function exactly(written: string): Amount {
  const amount = parseAmount(written);
  if (amount === undefined) throw new RangeError(`${written} is no amount`);
  return amount;
}
