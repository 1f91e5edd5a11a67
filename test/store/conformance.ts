import { describe } from 'vitest';
import { describeConcurrency } from './conformance/concurrency.ts';
import { describeJournal } from './conformance/journal.ts';
import { describeLists } from './conformance/lists.ts';
import { describeNotices } from './conformance/notices.ts';
import { describeReleases } from './conformance/releases.ts';
import { describeReopening } from './conformance/reopening.ts';
import { describeRepeats } from './conformance/repeats.ts';
import { describeSettle } from './conformance/settle.ts';
import type { OpenStore } from './conformance/store-under-test.ts';
import { describeWindows } from './conformance/windows.ts';

/**
 * What every store promises (src/store/store.ts), held down against one adapter. `open` gives an empty store, with its
 * clock at START_MS, for each test. Beyond the contract's words the suite fixes:
 *
 * - `used` is what the counter's window held before this settle, plus what earlier claims of the same request on the same
 *   counter ask for; `reserved` says that the subject reserved it in an earlier settle.
 * - `present` names those of the claim's values that the list holds, in the claim's order.
 * - A refusal is final if the proposal refuses with `final`, or if any deciding claim with `final` does not hold.
 * - A notice that is out of order says so even while frozen.
 * - Journal times are [fromMs, untilMs); a limit outside 1 to 1000 and an `after` that is no id reject with USAGE.
 * - The detail of a `list` entry is the change as JSON: list, add, remove, by, message.
 */
export function describeStore(name: string, open: OpenStore): void {
  describe(`the ${name} store`, () => {
    describeSettle(open);
    describeRepeats(open);
    describeWindows(open);
    describeNotices(open);
    describeConcurrency(open);
    describeReleases(open);
    describeLists(open);
    describeJournal(open);
    describeReopening(open);
  });
}
