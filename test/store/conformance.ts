import { describe } from 'vitest';
import { describeApprovalReleases } from './conformance/approval-releases.ts';
import { describeAccess } from './conformance/access.ts';
import { describeAged } from './conformance/aged.ts';
import { describeApprovalRequests } from './conformance/approval-requests.ts';
import { describeChoices } from './conformance/choices.ts';
import { describeConcurrency } from './conformance/concurrency.ts';
import { describeCounts } from './conformance/counts.ts';
import { describeDistinct } from './conformance/distinct.ts';
import { describeExplanations } from './conformance/explanations.ts';
import { describeFreezes } from './conformance/freezes.ts';
import { describeGroups } from './conformance/groups.ts';
import { describeJournal } from './conformance/journal.ts';
import { describeLaterQuestions } from './conformance/later-questions.ts';
import { describeLists } from './conformance/lists.ts';
import { describeNotifications } from './conformance/notices.ts';
import { describeOrders } from './conformance/orders.ts';
import { describePrices } from './conformance/prices.ts';
import { describeRefusals } from './conformance/refusals.ts';
import { describeReleases } from './conformance/releases.ts';
import { describeReopening } from './conformance/reopening.ts';
import { describeServices } from './conformance/services.ts';
import { describeSettle } from './conformance/settle.ts';
import { describeSpellings } from './conformance/spellings.ts';
import { describeStories } from './conformance/stories.ts';
import type { OpenStore } from './conformance/store-under-test.ts';
import { describeWindows } from './conformance/windows.ts';

/**
 * What every store promises (src/store/store.ts), held down against one adapter. `open` gives an empty store,
 * with its clock at START_MS, for each test. Beyond the contract's words the suite fixes:
 *
 * - `used` is what the counter's window held before this settle, plus what earlier claims of the same request
 *   on the same
 *   counter ask for; `counted` and `further` do the same for different values; `reserved` says that the subject reserved it in an earlier settle.
 * - `present` names those of the claim's values that the list holds, in the claim's order.
 * - A notice that is out of order says so even while frozen.
 * - Journal times are [fromMs, untilMs); a limit outside 1 to 1000 and an `after` that is no id reject with
 *   USAGE.
 * - The detail of a `list` entry is the change as JSON: list, add, remove, by, message; that of a `freeze`
 *   entry is a FreezeDetail,
 *   whose `atMs` is when it was ordered.
 * - A list holds a value if it holds one of its texts (`also`), since the first of them was added.
 * - A refusal depends on the lists of its aged claims as it does on those of its list claims.
 * - An approval that is repeated makes marks, and uses up an order, as it reserves in windows: if that was
 *   never done.
 * - An approval uses its order up also if the claim only observes and found it to differ. An order that is
 *   expired, cancelled, or
 *   in use by another, stays as it is: it must not hold later for having been used too late.
 * - An approval request that is opened again comes after all that are open.
 * - The very same announcement has the same members and the same expiry; who announces is not compared.
 * - A question was approved when the decision that stands was made, not when it was repeated.
 * - A change of prices names 1 to 1000 assets, set or removed, each once, with prices above zero; any other
 *   rejects with USAGE
 *   and changes nothing. Removing an asset without a price makes a version all the same.
 * - A limit of the price history outside 1 to 1000, and an `after` that is no version, reject with USAGE.
 */
export function describeStore(name: string, open: OpenStore): void {
  describe(`the ${name} store`, () => {
    describeSettle(open);
    describeGroups(open);
    describeExplanations(open);
    describeWindows(open);
    describeCounts(open);
    describeLaterQuestions(open);
    describeDistinct(open);
    describeRefusals(open);
    describeChoices(open);
    describeNotifications(open);
    describeConcurrency(open);
    describeReleases(open);
    describeFreezes(open);
    describeLists(open);
    describeJournal(open);
    describeApprovalReleases(open);
    describeAged(open);
    describeOrders(open);
    describeApprovalRequests(open);
    describeSpellings(open);
    describePrices(open);
    describeServices(open);
    describeAccess(open);
    describeReopening(open);
    describeStories(open);
  });
}
