import type { OrderClaim, OrderFound } from '../../policy/proposal.ts';
import type { ClaimResult, Order } from '../store.ts';

/** How an announced order stands to a claim (see Orders). `usesOrder`: the subject has used it up itself. */
export function checkOrder(
  order: Order | undefined,
  { members }: OrderClaim,
  usesOrder: boolean,
): Extract<ClaimResult, { readonly order: unknown }> {
  const state = stateOf(order, usesOrder);
  if (order === undefined || state !== 'agrees') return { holds: false, order: state, differs: [] };
  const differs = Object.entries(order.members)
    .filter(([name, text]) => !Object.hasOwn(members, name) || members[name] !== text)
    .map(([name]) => name)
    .sort();
  return { holds: differs.length === 0, order: differs.length === 0 ? 'agrees' : 'differs', differs };
}

/** `agrees` until the members have been compared. */
function stateOf(order: Order | undefined, usesOrder: boolean): OrderFound {
  if (order === undefined) return 'missing';
  if (order.state === 'used') return usesOrder ? 'agrees' : 'used';
  return order.state === 'expected' ? 'agrees' : order.state;
}
