import type { PricesParts } from '../act/prices.ts';
import type { Pages } from './page.ts';
import { type ApprovalsParts, approvalsPages } from './pages/approvals.ts';
import { decisionPages } from './pages/decision.ts';
import { type DecisionsParts, decisionsPages } from './pages/decisions.ts';
import { type JournalParts, journalPages } from './pages/journal.ts';
import { type LimitsPageParts, limitsPages } from './pages/limits.ts';
import { type ListsParts, listsPages } from './pages/lists.ts';
import { type NowParts, nowPages } from './pages/now.ts';
import { type OrdersParts, ordersPages } from './pages/orders.ts';
import { type PoliciesParts, policiesPages } from './pages/policies.ts';
import { pricesPages } from './pages/prices.ts';
import { type TryParts, tryPages } from './pages/try.ts';

/** What the pages use. */
export type PageParts = NowParts &
  ApprovalsParts &
  DecisionsParts &
  LimitsPageParts &
  TryParts &
  PoliciesParts &
  ListsParts &
  OrdersParts &
  PricesParts &
  JournalParts;

/** All pages, in the order of the navigation. */
export function createPages(parts: PageParts): Required<Pages> {
  const all: readonly Pages[] = [
    nowPages(parts),
    approvalsPages(parts),
    decisionsPages(parts),
    decisionPages(parts),
    limitsPages(parts),
    tryPages(parts),
    policiesPages(parts),
    listsPages(parts),
    ordersPages(parts),
    pricesPages(parts),
    journalPages(parts),
  ];
  return {
    pages: all.flatMap(({ pages }) => pages),
    forms: all.flatMap(({ forms = [] }) => forms),
  };
}
