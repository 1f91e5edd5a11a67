import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../../src/reconcile/records.ts';
import { sha256Hex } from '../../src/values/canonical.ts';

/** Writes runs of consecutive days from a day on, each with exceptions. Returns the bytes of all. */
export function writeRuns(
  directory: string,
  days: number,
  exceptions: number,
  firstDayMs = Date.UTC(2024, 0, 1),
): number {
  let [previous, bytes] = ['0'.repeat(64), 0];
  for (let number = 1; number <= days; number++) {
    const day = new Date(firstDayMs + (number - 1) * 86_400_000).toISOString().slice(0, 10);
    const items = Array.from({ length: exceptions }, (_, at) => ({
      item: at + 1,
      class: 'approved-not-billed' as const,
      flow: 'payment' as const,
      source: 'shop',
      id: `order-${number}-${at}`,
      ours: { coin: 'USDT', amount: '1', user: '12345', time: `${day}T00:00:00.000Z`, place: `shop/${at}` },
      note: 'not in the bill',
    }));
    const run: Run = {
      record: 'run',
      number,
      at: `${day}T12:00:00.000Z`,
      by: 'test',
      previous,
      replaces: 0,
      day,
      zone: 'UTC',
      fromMs: 0,
      untilMs: 1,
      settleMs: 0,
      sources: ['shop'],
      inputs: {
        bills: [],
        journal: { entries: 0, sha256: '0'.repeat(64) },
        before: { run: number - 1, sha256: '' },
      },
      coins: [],
      classes: { 'approved-not-billed': exceptions },
      exceptions: items,
      settling: items,
      ahead: [],
      csv: { file: 'x.csv', items: exceptions, sha256: '0'.repeat(64) },
    };
    const text = `${JSON.stringify(run, undefined, 1)}\n`;
    writeFileSync(join(directory, `${String(number).padStart(8, '0')}-run-${day}.json`), text);
    previous = sha256Hex(Buffer.from(text));
    bytes += text.length;
  }
  return bytes;
}
