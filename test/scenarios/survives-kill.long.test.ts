import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import type { TestServiceOptions } from '../service.ts';
import { approvedIn, audit, journalOf } from './audit.ts';
import { type Sent, send, startLoad, successesOf } from './load.ts';
import { upTo } from './policies.ts';
import { durableRedis, folderOf, serviceProcess, storeOf, untilReady } from './running.ts';

const LIMIT = 300;
const BEFORE_THE_KILL = 80;

const redis = async (): Promise<TestServiceOptions> => ({ redis: (await durableRedis()).url });
const embedded = (): Promise<TestServiceOptions> => Promise.resolve({});

/** Each payment once. */
function distinct(sent: readonly Sent[]): readonly Sent[] {
  return [...new Map(sent.map((each) => [each.body, each])).values()];
}

describe.each([
  ['the embedded store', embedded],
  ['Redis', redis],
] as const)('killed under load and started again, on %s', (_name, where) => {
  it('forgets no SUCCESS, approves nothing twice, and counts the limit to the last unit', async () => {
    const folder = folderOf({ ...(await where()), policies: upTo(LIMIT) });
    const first = await serviceProcess(folder);
    await untilReady(first.ops);
    const load = startLoad(first.url, { workers: 16 });
    await eventually('enough is approved', () => load.successes() >= BEFORE_THE_KILL || undefined);
    await first.kill();
    const before = [...(await load.stop())];
    const unanswered = before.filter(({ answer }) => answer === undefined);
    expect(unanswered.length).toBeGreaterThan(0);

    const second = await serviceProcess(folder);
    await untilReady(second.ops);
    const store = await storeOf(folder);
    const acknowledged = distinct(successesOf(before));
    const repeats = await Promise.all(acknowledged.map(({ payment }) => send(second.url, payment)));
    expect(repeats.filter(({ answer }) => answer !== 'SUCCESS')).toEqual([]);
    const changed = acknowledged.map(({ payment }) => ({ ...payment, orderAmount: '3' }));
    const refused = await Promise.all(changed.map((payment) => send(second.url, payment)));
    expect(refused.filter(({ answer }) => answer !== 'FAILURE')).toEqual([]);

    const rest: Sent[] = [];
    const approvedBefore = approvedIn(await journalOf(store));
    expect(approvedBefore).toBeGreaterThanOrEqual(acknowledged.length);
    for (let from = 0; from < LIMIT; from += 50) {
      const orders = Array.from({ length: 50 }, (_, index) => `rest-${from + index}`);
      const sent = orders.map((appOrderId) => send(second.url, { appOrderId, orderAmount: '1' }));
      rest.push(...(await Promise.all(sent)));
    }
    expect(successesOf(rest)).toHaveLength(LIMIT - approvedBefore);
    expect((await send(second.url, { appOrderId: 'one-more', orderAmount: '1' })).answer).toBe('FAILURE');
    await audit(store, [...before, ...repeats, ...refused, ...rest], LIMIT);
  });
});
