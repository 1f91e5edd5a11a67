import { describe, expect, it, onTestFinished } from 'vitest';
import { groupOfKey, groupedKey } from '../../../src/claims/window.ts';
import type { Claim } from '../../../src/claims/claims.ts';
import type { SettleRequest, Store } from '../../../src/store/store.ts';
import { type Tally, run } from '../../../tools/fuzz/policies/run.ts';
import { sha256Hex } from '../../../src/values/canonical.ts';
import { startBothStores } from '../../../tools/fuzz/policies/stores.ts';

/*
 * A fuzzer that finds nothing may be blind: here the stores are made faulty on purpose, in ways that must be
 * found.
 */

/** At most: it ends with the first round that differs. */
const STEPS = 30_000;
const MINUTE_MS = 60_000;

/** Both stores, each with something changed. */
async function faulty(change: (store: Store) => Partial<Store>): Promise<Tally> {
  const stores = await startBothStores();
  onTestFinished(() => stores.close());
  const options = {
    seed: 2,
    firstRound: 0,
    steps: STEPS,
    untilMs: Infinity,
    onRound({ differences }: Tally) {
      if (differences.length > 0) options.untilMs = 0;
    },
    async open(clock: () => number) {
      const opened = await stores.open(clock);
      return opened.map((each) => ({ ...each, store: { ...each.store, ...change(each.store) } }));
    },
  };
  return run(options);
}

/** Also previews with the fault: that a preview differs is found by itself. */
const settling = (change: (proposal: SettleRequest['proposal']) => SettleRequest['proposal']) =>
  faulty((store) => ({
    preview: (request) => store.preview({ ...request, proposal: change(request.proposal) }),
    settle: (request) => store.settle({ ...request, proposal: change(request.proposal) }),
  }));

/** Whether people's approval is lacking among the claims. */
const isLacking = (claims: readonly (Claim | undefined)[] = []): boolean =>
  claims.some((claim) => claim?.type === 'approval' && claim.version === undefined);

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
      'asks people about what another rule refuses',
      (proposal) => (isLacking(proposal.claims) ? { ...proposal, approves: true } : proposal),
    ],
    [
      'does not ask people where one alternative lacks only their approval',
      ({ choices = [], ...rest }) => ({
        ...rest,
        choices: choices.map((each) => ({
          ...each,
          alternatives: each.alternatives.map(({ requires, ...alternative }) => ({
            ...alternative,
            requires: isLacking(requires?.map((at) => rest.claims[Number(at)])) ? undefined : requires,
          })),
        })),
      }),
    ],
    [
      'approves by a request that nobody has looked up',
      (proposal) => ({ ...proposal, claims: proposal.claims.filter(({ type }) => type !== 'approval') }),
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
    [
      'locks out one refusal late',
      ({ claims, ...rest }) => ({
        ...rest,
        claims: claims.map((claim) =>
          claim.type === 'refusals' ? { ...claim, after: claim.after + 1 } : claim,
        ),
      }),
    ],
    [
      'counts no refusal by alternatives',
      ({ choices = [], ...rest }) => ({
        ...rest,
        choices: choices.map((each) => ({ ...each, failed: true })),
      }),
    ],
  ])('a store is found that %s', async (_name, change) => {
    const { differences } = await settling(change);
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toContain('DIFFERS');
  });

  it('a store is found in which a later question rides on what was reserved before', async () => {
    const { differences } = await faulty((store) => {
      const approved = new Set<string>();
      const nameOf = ({ callback: { source, kind, id } }: SettleRequest): string => `${source} ${kind}:${id}`;
      const riding = (request: SettleRequest): SettleRequest => {
        if (!approved.has(nameOf(request))) return request;
        const claims = request.proposal.claims.map((claim) =>
          claim.type === 'window'
            ? { ...claim, max: 10n ** 60n }
            : claim.type === 'distinct'
              ? { ...claim, max: 1000 }
              : claim,
        );
        return { ...request, proposal: { ...request.proposal, claims } };
      };
      return {
        preview: (request) => store.preview(riding(request)),
        async settle(request) {
          const result = await store.settle(riding(request));
          if ('verdict' in result && result.verdict === 'SUCCESS') approved.add(nameOf(request));
          return result;
        },
      };
    });
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toContain('DIFFERS');
  });

  it('a store is found that counts each source of a group apart', async () => {
    const apart = (request: SettleRequest): SettleRequest => {
      const { callback, proposal } = request;
      const claims = proposal.claims.map((claim) =>
        claim.type === 'window' && groupOfKey(claim.key) !== undefined
          ? {
              ...claim,
              key: groupedKey(
                groupOfKey(claim.key),
                sha256Hex(`${callback.source}${claim.key}`).slice(0, 32),
              ),
            }
          : claim,
      );
      return { ...request, proposal: { ...proposal, claims } };
    };
    const { differences } = await faulty((store) => ({
      preview: (request) => store.preview(apart(request)),
      settle: (request) => store.settle(apart(request)),
    }));
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toContain('DIFFERS');
  });

  it('a store is found that gives nothing back of a released approval', async () => {
    const { differences } = await faulty((store) => ({
      releaseApproval: (release) => store.releaseApproval({ ...release, keys: [] }),
    }));
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toContain('released');
  });

  it('a store is found that lifts no lock-out', async () => {
    const { differences } = await faulty((store) => ({
      async liftLockout({ source, id }) {
        for await (const lockout of store.lockouts(source)) if (lockout.id === id) return lockout;
        throw new Error(`there is no lock-out ${id}`);
      },
    }));
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toContain('lifted');
  });

  it('a store is found that forgets a release', async () => {
    const { differences } = await faulty(() => ({
      releaseApproval: ({ of, by, message }) =>
        Promise.resolve({ outcome: 'released', released: { id: of, atMs: 0, by, message } }),
    }));
    expect(differences.length).toBeGreaterThan(0);
    expect(differences[0]).toContain('released');
  });
});
