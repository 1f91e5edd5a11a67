import { describe, expect, it, onTestFinished } from 'vitest';
import type { SettleRequest, Store } from '../../../src/store/store.ts';
import { type Tally, run } from '../../../tools/fuzz/policies/run.ts';
import { startBothStores } from '../../../tools/fuzz/policies/stores.ts';

/*
 * A fuzzer that finds nothing may be blind: here the stores are made faulty on purpose, in ways that must be
 * found.
 */

const STEPS = 6000;
const MINUTE_MS = 60_000;

/** Both stores, each with something changed. */
async function faulty(change: (store: Store) => Partial<Store>): Promise<Tally> {
  const stores = await startBothStores();
  onTestFinished(() => stores.close());
  return run({
    seed: 1,
    firstRound: 0,
    steps: STEPS,
    untilMs: Infinity,
    async open(clock) {
      const opened = await stores.open(clock);
      return opened.map((each) => ({ ...each, store: { ...each.store, ...change(each.store) } }));
    },
  });
}

const settling = (change: (proposal: SettleRequest['proposal']) => SettleRequest['proposal']) =>
  faulty((store) => ({
    settle: (request) => store.settle({ ...request, proposal: change(request.proposal) }),
  }));

describe('of random policies', { timeout: 4 * MINUTE_MS }, () => {
  it.each<[string, (proposal: SettleRequest['proposal']) => SettleRequest['proposal']]>([
    [
      'takes alternatives in another order',
      ({ choices = [], ...rest }) => ({
        ...rest,
        choices: choices.map((each) => ({ ...each, alternatives: each.alternatives.toReversed() })),
      }),
    ],
    [
      'lets through what no policy covers',
      (proposal) => (proposal.refusal === 'NO_POLICY' ? { ...proposal, approves: true } : proposal),
    ],
    [
      'reserves nothing in one alternative',
      (proposal) => ({
        ...proposal,
        claims: proposal.claims.map((claim) =>
          claim.type === 'window' && !claim.decides ? { ...claim, amount: 0n } : claim,
        ),
      }),
    ],
    [
      'leaves no room for the last unit',
      (proposal) => ({
        ...proposal,
        claims: proposal.claims.map((claim) =>
          claim.type === 'window' ? { ...claim, max: claim.max - 1n } : claim,
        ),
      }),
    ],
  ])('a store is found that %s', async (_name, change) => {
    const { differences } = await settling(change);
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toContain('DIFFERS');
  });
});
