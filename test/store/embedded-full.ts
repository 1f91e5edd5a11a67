import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { SettleResult, Store } from '../../src/store/store.ts';
import {
  REVISION,
  announcement,
  change,
  notice,
  priceChange,
  push,
  request,
  revisionOf,
  signing,
  windowClaim,
} from './requests.ts';

/**
 * Settles, lets no file of this process grow any more, tries every verb that writes, lets them grow again,
 * and prints what came of it as JSON: for each verb the code it rejected with, or `done`.
 */
const [path = '', writer = ''] = process.argv.slice(2);
const store = await openEmbeddedStore({ path, threadAfterWrites: writer === 'thread' ? 0 : Infinity });

const claims = [windowClaim('1', '1000')];
const settled = (subject: string): Promise<SettleResult> => store.settle(request({ subject, claims }));
/** Large, so that it fits into no room that is left over in the log. */
const large = 'x'.repeat(400_000);

function limitFiles(bytes: number | 'unlimited'): void {
  const { status, stderr } = spawnSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:`]);
  if (status !== 0) throw new Error(String(stderr));
}

const writes: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  settle: () => store.settle(request({ subject: 'payment:full', claims, detail: large })),
  notice: () => store.recordNotification(notice({ detail: large })),
  push: () => store.push(push('second', REVISION, { document: large })),
  freeze: () => store.freeze({ reason: 'x'.repeat(1000), by: 'x'.repeat(200) }),
  changeList: () => store.changeList(change('blocked', [large])),
  expectOrder: () => store.expectOrder(announcement({ members: { memo: large } })),
  changePrices: () => store.changePrices(priceChange({ BTC: '2' }, { by: large })),
  record: () =>
    store.record({
      source: 'shop',
      type: 'late',
      subject: '',
      verdict: '',
      code: '',
      of: '',
      detail: large,
    }),
};

async function fates(): Promise<Readonly<Record<string, string>>> {
  const found = Object.entries(writes).map(async ([verb, write]) => {
    const fate = await write(store).then(
      () => 'done',
      (thrown: unknown) => (thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'odd'),
    );
    return [verb, fate] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

const state = async (): Promise<unknown> => ({
  control: await store.control(),
  entries: await store.journalSize('shop'),
  lists: await store.lists('shop'),
  order: (await store.order('shop', 'payment:1')) ?? 'none',
  prices: (await store.prices()).version,
  documents: (await store.document(revisionOf('second'))) ?? 'none',
});

await store.register(['shop', 'vault']);
await store.push(push('first', ''));
await store.settle(signing());
for (let index = 0; index < 20; index++) await settled(`payment:before-${index}`);
const before = await state();
limitFiles(statSync(`${path}-wal`).size);
const full = await fates();
const during = await state();
limitFiles('unlimited');
const after = await settled('payment:after');
const repeated = await settled('payment:before-7');
const roomy = await fates();
await store.close();
process.stdout.write(
  JSON.stringify({ before, full, during, after, repeated, roomy }, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  ),
);
