import { z } from 'zod';
import { claimMembers, formatValues, resultMembers } from './kind.ts';

/**
 * An announced order must exist for the subject and agree: every member that the announcement names has the
 * same text in `members`. An approval uses the order up. After that it still holds for repeats and later
 * stages of the same operation, even past its expiry, until the store deletes the record of the operation or
 * of the order (see Orders in src/store/store.ts).
 */
export const orderClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('order'),
  /** The callback's members, including `scheme`, as comparable texts under the names of announcements. */
  members: z.record(z.string(), z.string()).readonly(),
  /** Other texts by which an announcement may name a member: other spellings of an address. */
  also: z.record(z.string(), z.array(z.string()).readonly()).readonly().optional(),
});
export type OrderClaim = Readonly<z.output<typeof orderClaim>>;

/** The state of an announced order for a callback. Only `agrees` holds. */
export const orderFound = z.enum(['agrees', 'missing', 'cancelled', 'expired', 'used', 'differs']);
export type OrderFound = z.output<typeof orderFound>;

export const orderResult = z.strictObject({
  ...resultMembers('order'),
  order: orderFound,
  /** The announced members whose texts differ, sorted. */
  differs: z.array(z.string()).readonly(),
});
export type OrderResult = Readonly<z.output<typeof orderResult>>;

/** The members of an announced order with which a callback does not agree, sorted. */
export const differingMembers = (
  announced: OrderClaim['members'],
  { members, also = {} }: Pick<OrderClaim, 'members' | 'also'>,
): readonly string[] =>
  Object.entries(announced)
    .filter(([name, text]) => !agrees(members, name, text) && !agrees(also, name, text))
    .map(([name]) => name)
    .toSorted();

function agrees(
  members: Readonly<Record<string, string | readonly string[]>>,
  name: string,
  text: string,
): boolean {
  const own = Object.hasOwn(members, name) ? members[name] : undefined;
  return typeof own === 'string' ? own === text : own?.includes(text) === true;
}

const SENTENCES: Readonly<Record<OrderFound, string>> = {
  agrees: 'the announced order agrees',
  missing: 'no such order was announced; announce it with `countersign orders expect`',
  cancelled: 'the announced order was cancelled',
  expired: 'the announced order has expired',
  used: 'the announced order was used before, by an approval that is no longer kept',
  differs: 'the callback differs from the announced order',
};

export function explainOrder({ members }: OrderClaim, { order, differs }: OrderResult): string {
  if (order !== 'differs') return SENTENCES[order];
  const differing = differs.map((name) => `${name} ${members[name] ?? '(none)'}`);
  return `${SENTENCES.differs} in ${formatValues(differing)}`;
}
