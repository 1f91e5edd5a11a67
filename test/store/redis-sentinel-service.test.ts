import { expect, it, onTestFinished } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { eventually } from '../eventually.ts';
import type { RedisProcess } from '../redis-process.ts';
import { startTestService } from '../service.ts';
import { sentinelsOfItsOwn } from './redis-rig.ts';
import { untilAnswered } from './redis-under-test.ts';

const ANSWER_MS = 2000;
const LANES = 12;

/** Subjects that the server itself has a SUCCESS about. */
async function approvedOn(server: RedisProcess): Promise<ReadonlySet<string>> {
  const entries = await server.ask('XRANGE', createKeys('countersign').of('shop').journal, '-', '+');
  const found = new Set<string>();
  for (const [, fields] of Array.isArray(entries) ? entries : []) {
    const field = (name: string): string => String(fields[fields.indexOf(name) + 1]);
    if (field('verdict') === 'SUCCESS') found.add(field('subject'));
  }
  return found;
}

it('waits for a replica: loses no approval if the primary is killed under load, and recovers', async () => {
  const rig = await sentinelsOfItsOwn();
  const service = await startTestService({
    settings: {
      store: { url: rig.url, durability: { replicas: '1', timeoutMs: '100' }, commandTimeoutMs: '500' },
      answerTimeoutMs: String(ANSWER_MS),
    },
  });
  onTestFinished(() => service.stop());
  const approved: string[] = [];
  let [sent, failures, longestMs] = [0, 0, 0];
  const under = { way: true };
  async function lane(): Promise<void> {
    while (under.way) {
      const number = (sent += 1);
      const order = `o-${number}`;
      const sinceMs = performance.now();
      const answer = await service.pay({ appOrderId: order, userId: `${number}`, orderAmount: '1' });
      longestMs = Math.max(longestMs, performance.now() - sinceMs);
      expect(answer).toMatch(/^(SUCCESS|FAILURE)$/);
      if (answer === 'SUCCESS') approved.push(order);
      else failures += 1;
    }
  }
  const approvals = (more: number): Promise<true> => {
    const before = approved.length;
    return eventually('approvals', () => (approved.length >= before + more ? true : undefined));
  };

  const running = Promise.all(Array.from({ length: LANES }, lane));
  onTestFinished(async () => {
    under.way = false;
    await running;
  });
  await approvals(100);
  const old = await rig.killPrimary();
  const port = await rig.reconfigured();
  await approvals(100);
  under.way = false;
  await running;

  expect(port).not.toBe(old);
  expect(failures).toBeGreaterThan(0);
  expect(longestMs).toBeLessThan(ANSWER_MS + 5000);
  const kept = await approvedOn(rig.node(port));
  expect(approved.filter((order) => !kept.has(`payment:${order}`))).toEqual([]);
  // An approval that was answered before the failover is repeated after it, with the same decision.
  expect(await untilAnswered(() => service.store.control())).toMatchObject({ frozen: [] });
  const [first = ''] = approved;
  await eventually('the first approval is repeated', async () =>
    (await service.pay({ appOrderId: first, userId: first.slice(2), orderAmount: '1' })) === 'SUCCESS'
      ? true
      : undefined,
  );
});
