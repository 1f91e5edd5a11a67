import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Bill } from '../../src/reconcile/bill.ts';
import { CLASSES, type Item } from '../../src/reconcile/classes.ts';
import { csvLine, readCsvLine } from '../../src/values/csv.ts';
import { readDay } from '../../src/reconcile/day.ts';
import type { Entries } from '../../src/reconcile/entries.ts';
import { reconcileDay } from '../../src/reconcile/reconcile-day.ts';
import { createSummarizer } from '../../src/reconcile/summary.ts';
import { entryOf } from '../journal/entries.ts';
import { DAY, NOON_MS, type Paid, type Row, billed, paymentBody } from './world.ts';

const day = readDay(DAY, 'Asia/Shanghai');

function entriesOf(payments: readonly Paid[]): Entries {
  const entries = payments.map((paid, index) =>
    entryOf({
      id: String(index + 1),
      atMs: paid.atMs ?? NOON_MS,
      subject: `payment:${paid.id}`,
      detail: JSON.stringify({ body: paymentBody(paid) }),
    }),
  );
  return {
    sources: ['shop'],
    async *between(fromMs, untilMs) {
      yield* entries.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
    },
    async *about(subjects) {
      yield* entries.filter(({ subject }) => subjects.get('shop')?.has(subject));
    },
  };
}

function billOf(rows: readonly Row[]): Bill {
  return {
    name: 'bill',
    async *records() {
      for (const [index, row] of rows.entries())
        yield { ...row, merchantUserId: '9', openId: '', line: index + 1 };
    },
    digest: () => '0'.repeat(64),
  };
}

async function reconciled(payments: readonly Paid[], rows: readonly Row[]): Promise<readonly Item[]> {
  const { items } = await reconcileDay({
    day,
    settleMs: 3_600_000,
    entries: entriesOf(payments),
    bills: new Map([['shop', billOf(rows)]]),
    earlier: () => ({
      knowsDayBefore: false,
      settling: new Map(),
      ahead: new Set(),
      unsettled: () => undefined,
      runAt: () => undefined,
    }),
    progress: () => undefined,
  });
  return [...items()];
}

/** Up to 36 digits on each side of the point, as an integer of 10^-36 and as text. */
const amount = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 36n - 1n }), fc.stringMatching(/^\d{1,36}$/))
  .map(([whole, fraction]) => `${whole}.${fraction}`)
  .filter((text) => units(text) > 0n);
/** A second, plain way to the number. */
function units(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole) * 10n ** 36n + BigInt(fraction.padEnd(36, '0'));
}
const payments = fc
  .array(fc.record({ amount, coin: fc.constantFrom('A', 'B'), user: fc.stringMatching(/^[1-9]\d{0,5}$/) }), {
    minLength: 1,
    maxLength: 20,
  })
  .map((list) => list.map((each, index): Paid & { amount: string } => ({ ...each, id: `o-${index}` })));

describe('a reconciliation', () => {
  it('matches a bill in any order, and sums exactly with 36 decimals', async () => {
    const cases = payments.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    await fc.assert(
      fc.asyncProperty(cases, async ([paid, shuffled]) => {
        const items = await reconciled(
          paid,
          shuffled.map((each) => billed(each)),
        );
        expect(items.every((item) => item.class === 'matched')).toBe(true);
        const summarizer = createSummarizer();
        items.forEach((item) => summarizer.add(item));
        for (const { coin, approved, settled, difference } of summarizer.summary().coins) {
          const sum = paid
            .filter((each) => each.coin === coin)
            .reduce((all, each) => all + units(each.amount), 0n);
          expect(units(`${approved.amount}${approved.amount.includes('.') ? '' : '.'}`)).toBe(sum);
          expect([settled.amount, difference]).toEqual([approved.amount, '0']);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('finds one changed record, and nothing else', async () => {
    const changes = fc.constantFrom<Partial<Row>>(
      { orderAmount: '0.000000000000000000000000000000000001' },
      { payCoinSymbol: 'C' },
      { userId: '0' },
      { appOrderId: 'another' },
      { orderType: '11' },
    );
    await fc.assert(
      fc.asyncProperty(payments, fc.nat(), changes, async (paid, at, over) => {
        const index = at % paid.length;
        const rows = paid.map((each, row) => billed(each, row === index ? over : {}));
        const changed = rows[index];
        const same =
          changed !== undefined &&
          JSON.stringify(changed) === JSON.stringify(billed(paid[index] ?? { id: '' }));
        fc.pre(!same);
        const others = (await reconciled(paid, rows)).filter(
          (item) => CLASSES[item.class].level !== 'explained',
        );
        const expected =
          'appOrderId' in over ? ['approved-not-billed', 'billed-never-approved'] : ['billed-different'];
        expect(others.map((item) => item.class)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

describe('CSV', () => {
  it('is read back as it was written', () => {
    const field = fc.string().filter((text) => !/[\r\n]/.test(text));
    fc.assert(
      fc.property(fc.array(field, { minLength: 1 }), (fields) => {
        const read = readCsvLine(csvLine(fields));
        if (typeof read === 'string') throw new Error(read);
        expect(read).toEqual(fields);
      }),
    );
  });

  it.each(['"a', 'a"b', '"a"b,c', '"a""', 'a,"'])('%s is refused', (text) => {
    expect(typeof readCsvLine(text)).toBe('string');
  });
});
