import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_RETENTION } from '../../src/store/retention.ts';
import type { Claim } from '../../src/claims/claims.ts';
import type { RefusalsClaim } from '../../src/claims/refusals.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import {
  HOUR_MS,
  OTHER_TERMS,
  START_MS,
  announcement,
  approvalClaim,
  claimsOf,
  distinctClaim,
  idOf,
  keyOf,
  markClaim,
  markedAtOf,
  orderClaim,
  priceChange,
  refusalsClaim,
  request,
  requestChange,
  windowClaim,
} from './requests.ts';

const DAY_MS = 24 * HOUR_MS;
/** Expired rows are deleted once a second, with a write. */
const CLEANED_EVERY_MS = 1000;

describe('what the embedded store keeps', () => {
  const opened = async () => {
    const path = temporaryPath();
    const clock = { nowMs: START_MS };
    const retention = { subjectsMs: 20 * DAY_MS, journalMs: 10 * DAY_MS };
    const store = await readied(await openEmbeddedStore({ path, clock: () => clock.nowMs, retention }));
    const reader = new DatabaseSync(path);
    onTestFinished(() => reader.close());
    const rows = (table: string): number =>
      Number(reader.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count']);
    return { store, clock, rows };
  };

  it('is 400 days of subjects and of the journal by default', () => {
    expect(DEFAULT_RETENTION).toEqual({ subjectsMs: 400 * DAY_MS, journalMs: 400 * DAY_MS });
  });

  it('loses journal entries and subjects only past their retention', async () => {
    const { store, clock, rows } = await opened();
    const first = idOf(await store.settle(request()));
    clock.nowMs += 10 * DAY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    expect(await store.journalSize('shop')).toBe(2);
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:3' }));
    expect(await store.entry('shop', first)).toBeUndefined();
    expect(await store.journalSize('shop')).toBe(2);
    clock.nowMs = START_MS + 20 * DAY_MS;
    expect(await store.settle(request({ terms: OTHER_TERMS }))).toMatchObject({ code: 'TERMS_CHANGED' });
    expect(rows('subject')).toBe(3);
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:4' }));
    expect(rows('subject')).toBe(3);
    expect(await store.settle(request({ terms: OTHER_TERMS }))).toMatchObject({ code: 'APPROVED' });
  });

  it('never gives an id of the journal twice', async () => {
    const { store, clock } = await opened();
    const first = Number(idOf(await store.settle(request())));
    clock.nowMs += 11 * DAY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    clock.nowMs += 11 * DAY_MS;
    const last = Number(idOf(await store.settle(request({ subject: 'payment:3' }))));
    expect(last).toBe(first + 2);
  });

  it('loses marks only past the retention of subjects, counted from the last approval that claimed them', async () => {
    const { store, clock, rows } = await opened();
    const exempt = markClaim({ exempt: true });
    await store.settle(request({ claims: [exempt, markClaim({ key: keyOf('other'), exempt: true })] }));
    clock.nowMs += 10 * DAY_MS;
    await store.settle(request({ subject: 'payment:2', claims: [exempt] }));
    clock.nowMs = START_MS + 20 * DAY_MS;
    expect(await markedAtOf(store, { key: keyOf('other') })).toBe(START_MS);
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:3' }));
    expect(await markedAtOf(store, { key: keyOf('other') })).toBe(0);
    // A refusal that claims it does not count: probing did not let it live longer.
    clock.nowMs = START_MS + 30 * DAY_MS;
    expect(await markedAtOf(store)).toBe(START_MS);
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:4' }));
    expect(await markedAtOf(store)).toBe(0);
    expect(rows('mark')).toBe(0);
  });

  it('loses orders only past the retention of subjects, counted from their expiry', async () => {
    const { store, clock, rows } = await opened();
    await store.expectOrder(announcement());
    await store.expectOrder(announcement({ subject: 'payment:2', expiresAtMs: START_MS + DAY_MS }));
    await store.cancelOrder({ source: 'shop', subject: 'payment:2', by: 'ada' });
    clock.nowMs = START_MS + HOUR_MS + 20 * DAY_MS;
    await store.settle(request({ subject: 'payment:3' }));
    expect(await store.order('shop', 'payment:1')).toMatchObject({ state: 'expired' });
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:3' }));
    expect(await store.order('shop', 'payment:1')).toBeUndefined();
    expect(await store.order('shop', 'payment:2')).toMatchObject({ state: 'cancelled' });
    expect(rows('expected_order')).toBe(1);
  });

  it('refuses an order that was used by a subject which is forgotten by now', async () => {
    const { store, clock, rows } = await opened();
    const expiresAtMs = START_MS + 100 * DAY_MS;
    await store.expectOrder(announcement({ expiresAtMs }));
    const asked = request({ claims: [orderClaim()] });
    expect(await store.settle(asked)).toMatchObject({ verdict: 'SUCCESS' });
    clock.nowMs += 20 * DAY_MS;
    expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    expect(rows('subject')).toBe(1);
    for (const attempt of [asked, asked, request({ terms: OTHER_TERMS, claims: [orderClaim()] })]) {
      expect(await store.settle(attempt)).toMatchObject({ verdict: 'FAILURE' });
    }
    const [entry] = await store.entries({
      source: 'shop',
      subject: 'payment:1',
      limit: 1,
      newestFirst: true,
    });
    expect(entry?.code).toBe('TERMS_CHANGED');
    expect(claimsOf(await store.settle(asked))).toEqual([
      { type: 'order', holds: false, order: 'used', differs: [] },
    ]);
    expect(await store.expectOrder(announcement({ expiresAtMs }))).toMatchObject({ outcome: 'conflict' });
  });

  it('gives an order that is announced anew after all was forgotten to its subject again', async () => {
    const { store, clock } = await opened();
    const asked = request({ claims: [orderClaim()] });
    for (let round = 0; round < 2; round++) {
      const expiresAtMs = clock.nowMs + HOUR_MS;
      expect(await store.expectOrder(announcement({ expiresAtMs }))).toMatchObject({ outcome: 'expected' });
      expect(await store.settle(asked)).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await store.order('shop', 'payment:1')).toMatchObject({ state: 'used', endedAtMs: clock.nowMs });
      clock.nowMs += 21 * DAY_MS;
      await store.settle(request({ subject: 'payment:2' }));
    }
  });

  it('loses an approval request once it is no longer kept', async () => {
    const { store, clock, rows } = await opened();
    await store.changeApprovalRequest(requestChange({ keepMs: DAY_MS }));
    await store.changeApprovalRequest(requestChange({ id: 'payment:2', keepMs: DAY_MS + 1, isOpen: false }));
    clock.nowMs += DAY_MS;
    await store.settle(request());
    expect(rows('approval_request')).toBe(1);
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request());
    expect(rows('approval_request')).toBe(0);
  });

  it('loses a used approval request only past the retention of subjects, counted from the latest approval', async () => {
    const { store, clock, rows } = await opened();
    const asked = request({ claims: [approvalClaim('payment:1', 1)] });
    await store.changeApprovalRequest(requestChange());
    await store.settle(asked);
    clock.nowMs += 15 * DAY_MS;
    expect(await store.settle(asked)).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
    clock.nowMs += 20 * DAY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    expect(await store.approvalRequest('shop', 'payment:1')).toMatchObject({ isOpen: false });
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    expect(rows('approval_request')).toBe(0);
  });

  it('refuses an approval request that was used by a subject which is forgotten by now', async () => {
    const { store, clock, rows } = await opened();
    await store.changeApprovalRequest(requestChange({ keepMs: 100 * DAY_MS }));
    const asked = request({ claims: [approvalClaim('payment:1', 1, { retryable: true })] });
    expect(await store.settle(asked)).toMatchObject({ verdict: 'SUCCESS' });
    clock.nowMs += 20 * DAY_MS + 2 * CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:2' }));
    expect(rows('subject')).toBe(1);
    for (const attempt of [
      asked,
      asked,
      request({ terms: OTHER_TERMS, claims: [approvalClaim('payment:1', 1)] }),
    ]) {
      expect(await store.settle(attempt)).toMatchObject({ verdict: 'FAILURE' });
    }
    expect(claimsOf(await store.settle(asked))).toEqual([
      { type: 'approval', holds: false, approval: 'used' },
    ]);
  });

  it('refuses an approval request that another subject used, to one that used an earlier one with its id', async () => {
    const { store, clock, rows } = await opened();
    const ask = (subject: string, ...claims: readonly Claim[]) => store.settle(request({ subject, claims }));
    await store.changeApprovalRequest(requestChange({ id: 'r1' }));
    expect(await ask('payment:1', approvalClaim('r1', 1))).toMatchObject({ verdict: 'SUCCESS' });
    clock.nowMs += 15 * DAY_MS;
    await ask('payment:1', windowClaim('1', '1'));
    clock.nowMs += 15 * DAY_MS;
    await ask('payment:2');
    expect([rows('approval_request'), rows('subject')]).toEqual([0, 2]);
    await store.changeApprovalRequest(requestChange({ id: 'r1' }));
    expect(await ask('payment:2', approvalClaim('r1', 1))).toMatchObject({ verdict: 'SUCCESS' });
    expect(await ask('payment:1', approvalClaim('r1', 1))).toMatchObject({
      verdict: 'FAILURE',
      claims: [{ approval: 'used' }],
    });
  });

  it('loses the history of prices only past the retention of the journal, and no price', async () => {
    const { store, clock } = await opened();
    await store.changePrices(priceChange({ BTC: '1' }));
    clock.nowMs += 10 * DAY_MS;
    await store.changePrices(priceChange({ ETH: '2' }));
    expect(await store.priceHistory({ after: 0, limit: 10 })).toHaveLength(2);
    clock.nowMs += CLEANED_EVERY_MS;
    await store.changePrices(priceChange({ SOL: '3' }));
    const history = await store.priceHistory({ after: 0, limit: 10 });
    expect(history.map(({ version }) => version)).toEqual([2, 3]);
    expect([...(await store.prices()).prices.keys()].sort()).toEqual(['BTC', 'ETH', 'SOL']);
  });

  it('loses counters and their buckets once they have expired', async () => {
    const { store, clock, rows } = await opened();
    for (let index = 0; index < 100; index++) {
      const claims = [windowClaim('1', '10', { key: keyOf(String(index)) })];
      await store.settle(request({ subject: `payment:${index}`, claims }));
      clock.nowMs += HOUR_MS / 100;
    }
    expect(rows('counter')).toBe(100);
    expect(rows('bucket')).toBe(100);
    clock.nowMs += 2 * HOUR_MS;
    for (let work = 0; work < 2; work++) {
      await store.settle(request());
      clock.nowMs += CLEANED_EVERY_MS;
    }
    expect(rows('counter')).toBe(0);
    expect(rows('bucket')).toBe(0);
  });

  it('loses counted refusals, values and lock-outs once they have ended, and keeps those that stand', async () => {
    const { store, clock, rows } = await opened();
    const refuse = (subject: string, claim: RefusalsClaim) =>
      store.settle(request({ subject, approves: false, claims: [claim] }));
    const ending = refusalsClaim(2, { key: keyOf('ending'), forMs: 2 * HOUR_MS });
    await refuse('payment:1', ending);
    expect(rows('refusal')).toBe(1);
    await refuse('payment:2', ending);
    await refuse('payment:3', refusalsClaim(1, { key: keyOf('lasting'), forMs: 0 }));
    await refuse('payment:4', refusalsClaim(3, { key: keyOf('counting') }));
    const window = { type: 'rolling', lengthMs: HOUR_MS, bucketMs: HOUR_MS / 60 } as const;
    await store.settle(request({ subject: 'payment:5', claims: [distinctClaim(['a', 'b'], 2, { window })] }));
    const counts = () => ['refusal', 'lockout', 'distinct_value'].map(rows);
    expect(counts()).toEqual([1, 2, 2]);
    clock.nowMs += HOUR_MS - 1;
    await store.settle(request({ subject: 'payment:6' }));
    expect(counts()).toEqual([1, 2, 2]);
    clock.nowMs += CLEANED_EVERY_MS;
    await store.settle(request({ subject: 'payment:7' }));
    expect(counts()).toEqual([0, 2, 0]);
    clock.nowMs += 400 * DAY_MS;
    await store.settle(request({ subject: 'payment:8' }));
    expect(counts()).toEqual([0, 1, 0]);
    for await (const each of store.lockouts('shop')) {
      expect(each).toMatchObject({ id: keyOf('lasting'), untilMs: 0 });
    }
  });
});
