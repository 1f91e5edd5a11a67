import { openBillFile } from '../../src/reconcile/bill-file.ts';
import { readDay } from '../../src/reconcile/day.ts';
import { type Entries, fileEntries } from '../../src/reconcile/entries.ts';
import { runDay } from '../../src/reconcile/run.ts';

/** Reconciles a day of `shop`, and kills itself with SIGKILL at the point of the number given. */
const [decisions = '', bill = '', directory = '', killAt = '0', date = '', clockMs = ''] =
  process.argv.slice(2);
let points = 0;

function point(): void {
  if (++points === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

async function* pointed<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const item of items) {
    point();
    yield item;
  }
  point();
}

const entries = fileEntries(decisions, ['shop'], ['shop', 'vault']);
const pointedEntries: Entries = {
  sources: entries.sources,
  between: (fromMs, untilMs) => pointed(entries.between(fromMs, untilMs)),
  about: (subjects) => pointed(entries.about(subjects)),
};
const file = openBillFile(bill);
await runDay({
  day: readDay(date, 'Asia/Shanghai'),
  settleMs: 3_600_000,
  entries: pointedEntries,
  bills: new Map([['shop', { ...file, records: () => pointed(file.records()) }]]),
  progress: () => undefined,
  directory,
  by: 'ada',
  clock: () => {
    point();
    return Number(clockMs);
  },
});
process.stdout.write(String(points));
