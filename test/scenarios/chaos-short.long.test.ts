import { describe, expect, it, onTestFinished } from 'vitest';
import { noneListed } from '../../tools/chaos/invariants/in-force.ts';
import { journalledBefore } from '../../tools/chaos/invariants/journal.ts';
import { recovers } from '../../tools/chaos/invariants/recovery.ts';
import { reportOf } from '../../tools/chaos/report.ts';
import { run } from '../../tools/chaos/run.ts';
import { startSingle } from '../../tools/chaos/topologies/single.ts';

/**
 * One of each sort; `npm run chaos` knows more, also two at once, Sentinels, a Cluster and the embedded
 * store.
 */
const FAULTS = [
  'a receiver killed',
  'a receiver stopped by a signal',
  'clocks of receivers moved by an hour',
  'Redis killed and back at once',
  'Redis stopped by a signal',
  'Redis filled up',
  'Redis read-only',
  'SCRIPT FLUSH again and again',
  'network of all receivers: replies lost',
  'network of one receiver: requests cut in the middle',
];

/**
 * A busy machine may stand still for some seconds. An answer that waited for the store instead of its own
 * time-out would still be later than the margin allows.
 */
const TIMEOUTS = { answerTimeoutMs: 3000, commandTimeoutMs: 12_000 };

const OPTIONS = {
  seed: 1,
  rounds: 1,
  load: { workers: 6, restMs: 10 },
  holdMs: [300, 900],
  calmMs: [200, 400],
  marginMs: 5000,
  recoveryMs: 60_000,
  report: () => undefined,
} as const;

describe('chaos, for a short while', { timeout: 300_000 }, () => {
  it('breaks no promise, whatever fails under load', async () => {
    const topology = await startSingle(2, TIMEOUTS);
    onTestFinished(() => topology.stop());
    const made = await run(
      { ...topology, faults: topology.faults.filter(({ name }) => FAULTS.includes(name)) },
      OPTIONS,
    );
    const report = reportOf(made);
    expect(report.invariants.flatMap(({ name, broken }) => broken.map((said) => `${name}: ${said}`))).toEqual(
      [],
    );
    // Too short to be sure that who is on a list asks just then.
    const unseen = report.invariants.filter(({ checked }) => checked === 0).map(({ name }) => name);
    expect(unseen.filter((name) => name !== noneListed.name)).toEqual([]);
    expect(report.faults.map(({ faults }) => faults).sort()).toEqual(FAULTS.toSorted());
    expect(report.approvals).toBeGreaterThan(100);
    expect(report.failures).toBeGreaterThan(0);
  });

  it("finds shipped users with whom Redis can't load its append-only file", async () => {
    // The service may not ask what the user `default` may do, so that it starts all the same.
    const users = (shipped: string): string =>
      shipped.replace(/^user default .*$/m, 'user default reset off').replaceAll(' +acl|dryrun', '');
    const topology = await startSingle(1, { ...TIMEOUTS, users });
    onTestFinished(() => topology.stop());
    const killed = topology.faults.filter(({ name }) => name === 'Redis killed and back at once');
    const made = await run({ ...topology, faults: killed }, { ...OPTIONS, recoveryMs: 5000 });
    const broken = reportOf(made).invariants.filter((each) => each.broken.length > 0);
    const found = [journalledBefore.name, recovers.name];
    expect(broken.map(({ name }) => name)).toEqual(expect.arrayContaining(found));
  });
});
