import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../eventually.ts';
import { audit } from '../../../tools/chaos/auditor.ts';
import type { History } from '../../../tools/chaos/history.ts';
import { journalledBefore } from '../../../tools/chaos/invariants/journal.ts';
import { createOperator } from '../../../tools/chaos/operator.ts';
import { createPlan } from '../../../tools/chaos/plan.ts';
import { createRandom } from '../../../tools/chaos/random.ts';
import { journalsOf } from '../../../tools/chaos/run.ts';
import { createSender } from '../../../tools/chaos/sender.ts';
import { startSentinel, startSpare } from '../../../tools/chaos/topologies/sentinel.ts';

/*
 * A service that answers before a replica has the approval, as `durability.replicas: 0` lets it, must be
 * found by the auditor; one that waits for a replica must pass.
 */

/** A primary is replaced only if it is killed, however slow the machine is. */
const PATIENCE = { downAfterMs: 8000 };

/**
 * Load, with the replicas cut off for its second half; then the primary dies, and one of them is promoted.
 */
async function historyWith(replicas: number): Promise<History> {
  // The primary takes writes also without its replicas: what is tested is that an approval waits for them.
  const topology = await startSentinel(2, replicas, { ...PATIENCE, minReplicas: 0 });
  onTestFinished(() => topology.stop());
  const { receivers, store, promotesWhoMissed, answerTimeoutMs, journalLagMs } = topology;
  const operator = createOperator(store, createRandom(1));
  await operator.begin();
  const sender = createSender(receivers);
  onTestFinished(() => sender.close());
  const load = sender.load(createPlan(createRandom(2), 's'), { workers: 4, restMs: 10 });
  const answered = (answer: 'SUCCESS' | 'FAILURE', sinceMs: number): number =>
    sender.exchanges.filter((each) => each.answer === answer && each.sentAtMs >= sinceMs).length;
  await eventually('some are approved', () => answered('SUCCESS', 0) > 20 || undefined);
  const mend = await promotesWhoMissed.begin(createRandom(3));
  const cutOffAtMs = Date.now();
  // Without a replica that must have it, callbacks are approved all the same; otherwise they fail.
  const then = replicas === 0 ? 'SUCCESS' : 'FAILURE';
  await eventually(`then ${then}`, () => answered(then, cutOffAtMs) > 20 || undefined);
  await load.stop();
  await mend();
  const journal = await journalsOf(store);
  const outages = receivers.flatMap((receiver) => receiver.outages());
  const { exchanges } = sender;
  const nothing = { recoveries: [], calm: [] };
  return {
    ...nothing,
    exchanges,
    acts: operator.acts,
    outages,
    journal,
    answerTimeoutMs,
    journalLagMs,
    marginMs: 5000,
  };
}

describe('a replica is promoted that missed the last of it', () => {
  it.each<[replicas: number, objections: readonly string[]]>([
    [0, [journalledBefore.name]],
    [1, []],
  ])('with %i replicas waited for, the auditor objects to %j', async (replicas, objections) => {
    const history = await historyWith(replicas);
    const audited = audit(history);
    expect(audited.filter(({ broken }) => broken.length > 0).map(({ name }) => name)).toEqual(objections);
    expect(audited.find(({ name }) => name === journalledBefore.name)?.checked).toBeGreaterThan(5);
  });
});

describe('a primary with three replicas, of which an approval waits for two', () => {
  it('goes on approving while its primary is gone for good, and has forgotten nothing', async () => {
    const topology = await startSpare(2, PATIENCE);
    onTestFinished(() => topology.stop());
    const { receivers, store, sentinels, answerTimeoutMs, journalLagMs } = topology;
    const operator = createOperator(store, createRandom(1));
    await operator.begin();
    const sender = createSender(receivers);
    onTestFinished(() => sender.close());
    const load = sender.load(createPlan(createRandom(2), 's'), { workers: 4, restMs: 10 });
    const approved = (): number => sender.exchanges.filter(({ answer }) => answer === 'SUCCESS').length;
    const approvesMore = async (when: string): Promise<void> => {
      const before = approved();
      await eventually(`approvals go on ${when}`, () => approved() > before + 20 || undefined);
    };
    await approvesMore('with all nodes');
    await sentinels.killPrimary();
    await sentinels.reconfigured();
    await approvesMore('without the first primary');
    // Its replicas follow the new one: two, as many as an approval waits for.
    await sentinels.replicated(2);
    await approvesMore('for as long as it is gone');
    await load.stop();
    const journal = await journalsOf(store);
    const audited = audit({
      recoveries: [],
      calm: [],
      exchanges: sender.exchanges,
      acts: operator.acts,
      outages: receivers.flatMap((receiver) => receiver.outages()),
      journal,
      answerTimeoutMs,
      journalLagMs,
      marginMs: 5000,
    });
    expect(audited.filter(({ broken }) => broken.length > 0).map(({ name }) => name)).toEqual([]);
    expect(audited.find(({ name }) => name === journalledBefore.name)?.checked).toBeGreaterThan(50);
  });
});
