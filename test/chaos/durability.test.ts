import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { audit } from './auditor.ts';
import type { History } from './history.ts';
import { journalledBefore } from './invariants/journal.ts';
import { createOperator } from './operator.ts';
import { createPlan } from './plan.ts';
import { createRandom } from './random.ts';
import { journalsOf } from './run.ts';
import { createSender } from './sender.ts';
import { startSentinel } from './topologies/sentinel.ts';

/*
 * A service that answers before a replica has the approval, as `durability.replicas: 0` lets it, must be found by the auditor; one that
 * waits for a replica must pass.
 */

/** Load, with the replicas cut off for its second half; then the primary dies, and one of them is promoted. */
async function historyWith(replicas: number): Promise<History> {
  const topology = await startSentinel(2, replicas);
  onTestFinished(() => topology.stop());
  const { receivers, store, promotesWhoMissed, answerTimeoutMs, journalLagMs } = topology;
  const operator = createOperator(store, createRandom(1));
  await operator.begin();
  const sender = createSender(receivers);
  onTestFinished(() => sender.close());
  const load = sender.load(createPlan(createRandom(2), 's'), { workers: 4, restMs: 10 });
  await pause(800);
  const mend = await promotesWhoMissed.begin(createRandom(3));
  await pause(800);
  await load.stop();
  await mend();
  const journal = await eventually('the journal can be read again', () =>
    journalsOf(store).catch(() => undefined),
  );
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

describe('a replica is promoted that missed the last of it', { timeout: 120_000 }, () => {
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
