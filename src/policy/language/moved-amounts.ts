import type { Callback, MemberProblem, Movement, Payout } from '../../callback/callback.ts';
import { type Amount, AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import { UnreadableMember, amountTextOf, checkMember } from './members.ts';

/** How much of one asset a callback moves. */
export interface MovedAmount {
  /** The asset in the asset table; for a callback without movements, the text in its `symbol`. */
  readonly symbol: string;
  readonly amount: Amount | 'unlimited';
  /** The amount as a text. */
  readonly text: string;
  /** The amount for each recipient or spender, each once. Empty if the amount is unlimited. */
  readonly payouts: readonly Payout[];
}

/** An amount of more digits before the point is above every limit. */
export const TOO_GREAT = 10n ** BigInt(36 + AMOUNT_SCALE);

/**
 * The amounts that rules judge, one for each asset. In a policy with `movements`, they are the sums of the
 * movements, or of the approvals among them: there may be none. Otherwise it is the callback's own amount.
 * Throws {@link UnreadableMember} if an amount or its asset is not known.
 */
export function amountsOf(callback: Callback, approvals?: 'only'): readonly MovedAmount[] {
  const { movements } = callback;
  if (movements === undefined) {
    const { symbol, amount, payouts } = callback;
    return [{ symbol, amount, text: amountTextOf(callback), payouts }];
  }
  checkMember(callback, 'to');
  const bySymbol = new Map<string, Movement[]>();
  for (const movement of movements.list) {
    if (approvals === 'only' && movement.type !== 'approval') continue;
    // A call that sends no coins.
    if (movement.type === 'native' && movement.amount === 0n) continue;
    const symbol = symbolOf(movement);
    if (movement.amount === 'unknown') {
      throw new UnreadableMember(unknownAmount(movement, symbol));
    }
    bySymbol.set(symbol, [...(bySymbol.get(symbol) ?? []), movement]);
  }
  return [...bySymbol].map(([symbol, moved]) => sumOf(symbol, moved));
}

function sumOf(symbol: string, moved: readonly Movement[]): MovedAmount {
  const paid = new Map<string, Amount>();
  let total = 0n;
  for (const { to, amount } of moved) {
    if (typeof amount === 'string') return { symbol, amount: 'unlimited', text: 'unlimited', payouts: [] };
    total += amount;
    paid.set(to, (paid.get(to) ?? 0n) + amount);
  }
  if (total >= TOO_GREAT) return { symbol, amount: 'unlimited', text: 'unlimited', payouts: [] };
  const payouts = [...paid].sort(([a], [b]) => (a < b ? -1 : 1)).map(([to, amount]) => ({ to, amount }));
  return { symbol, amount: total, text: formatAmount(total), payouts };
}

function unknownAmount({ type, to }: Movement, symbol: string): MemberProblem {
  // Coins have a written amount, but for those that a call brings to its caller.
  const because =
    type === 'native'
      ? `what its calls bring to ${to}, which makes them, is not known; if ${to} is yours, add it to accounts ` +
        'of contract-calls'
      : `it ${VERBS[type]} ${symbol} to ${to}, of an amount that the call data does not have`;
  return { because, values: { symbol, to } };
}

const VERBS = { native: 'sends', transfer: 'transfers', approval: 'approves' } as const;

/** The asset of a movement. Throws {@link UnreadableMember} if the asset table does not have its contract. */
function symbolOf({ type, symbol, contract = '', to }: Movement): string {
  if (symbol !== undefined) return symbol;
  const because = `it ${VERBS[type]} the token ${contract}, which no asset of the asset table has under contracts`;
  throw new UnreadableMember({ because, values: { contract, to } });
}

/** Whom the movements are for, with their assets, approvals included. Throws {@link UnreadableMember}. */
export function movedTo(callback: Callback): readonly { readonly symbol: string; readonly to: string }[] {
  checkMember(callback, 'to');
  const { list = [] } = callback.movements ?? {};
  return list.map((movement) => ({ symbol: symbolOf(movement), to: movement.to }));
}
