import type { Asked } from './model-callbacks.ts';

/** What happens beside callbacks. */
export type Change =
  | { readonly type: 'push'; readonly revision: number }
  | { readonly type: 'freeze'; readonly kind: 'operator' | 'except-approved' }
  | { readonly type: 'unfreeze' }
  | {
      readonly type: 'toggle';
      readonly source: Asked['source'];
      readonly list: string;
      readonly value: string;
    }
  /** As of so long ago; without a price it is removed. */
  | { readonly type: 'price'; readonly asset: string; readonly price?: string; readonly ageMs: number }
  /** Of an approval, if there is one that can be released. */
  | { readonly type: 'release'; readonly source: Asked['source']; readonly subject: string }
  /** Of different subjects, one after the other. */
  | { readonly type: 'orders'; readonly changes: readonly OrderPlan[] };

export interface OrderPlan {
  readonly source: Asked['source'];
  readonly subject: string;
  /** What is announced; without it the order is cancelled. */
  readonly announce?: { readonly members: Asked['orderMembers']; readonly expiresInMs: number };
}

export type Command =
  /** All at once, over two replicas, and a change meanwhile. */
  | { readonly type: 'burst'; readonly callbacks: readonly Asked[]; readonly meanwhile: Change | undefined }
  | { readonly type: 'change'; readonly change: Change }
  | { readonly type: 'advance'; readonly ms: number }
  /** Everything is closed and opened again. */
  | { readonly type: 'reopen' };

export const changed = (change: Change): Command => ({ type: 'change', change });
export const pushed = (revision: number): Command => changed({ type: 'push', revision });
