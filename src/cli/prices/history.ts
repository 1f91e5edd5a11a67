import { afterText, beforeText, priceChanges } from '../../orders/price-changes.ts';
import { formatAmount } from '../../values/amount.ts';
import type { CommandRow } from '../command.ts';
import { columns, isoTime, printable } from '../print.ts';

const SHOWN = 50;
/** Changes of the table that are looked at, each of up to a thousand prices. */
const LOOKED_MAX = 10_000;

export const pricesHistory: CommandRow = {
  path: 'prices history',
  summary: 'Show who changed which price, when, and from what to what, newest first.',
  example: 'prices history\nprices history --limit 1000 --json',
  define: (command) => command.option('--limit <number>', `at most this many prices (default: ${SHOWN})`),
  async run(session, call) {
    const most = call.count('limit', { least: 1, most: 1000 }) ?? SHOWN;
    const isOver = (looked: number): boolean => looked >= LOOKED_MAX;
    const { changes, more } = await priceChanges(await session.store(), { most, isOver });
    await session.drained();
    const rows = changes.map((change) => [
      isoTime(change.atMs),
      printable(change.asset),
      `${beforeText(change)} -> ${afterText(change)}`,
      `version ${change.version} by ${printable(change.by)}`,
    ]);
    const text =
      rows.length === 0 ? 'No price was changed, or the history is no longer kept.' : columns(rows);
    session.print(
      more && rows.length === most ? `${text}\nThere are more. Use --limit to see them.` : text,
      changes.map(({ asset, before, isBeforeKnown, after, asOfMs, version, atMs, by }) => ({
        version,
        at: isoTime(atMs),
        by,
        asset,
        ...(isBeforeKnown && { before: before === undefined ? null : formatAmount(before) }),
        after: after === undefined ? null : formatAmount(after),
        ...(asOfMs !== undefined && { asOf: isoTime(asOfMs) }),
      })),
    );
    return 0;
  },
};
