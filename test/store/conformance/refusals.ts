import { describe, expect } from 'vitest';
import type { Claim } from '../../../src/claims/claims.ts';
import type { RefusalsClaim } from '../../../src/claims/refusals.ts';
import type { Choice } from '../../../src/policy/proposal.ts';
import type { Lockout, SettleResult, Store } from '../../../src/store/store.ts';
import {
  type Asked,
  HOUR_MS,
  START_MS,
  claimsOf,
  keyOf,
  listClaim,
  refusalsClaim,
  request,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, ready, testsOn } from './store-under-test.ts';

const DAY_MS = 24 * HOUR_MS;
const codeOf = (result: SettleResult): string => ('code' in result ? result.code : result.outcome);

async function lockoutsIn(store: Store, source = 'shop'): Promise<readonly Lockout[]> {
  const found: Lockout[] = [];
  for await (const lockout of store.lockouts(source)) found.push(lockout);
  return found;
}

/** A choice whose alternatives require the claims with these indexes. */
const choiceOf = (...alternatives: readonly (readonly number[])[]): Choice => ({
  result: 0,
  decides: true,
  retryable: false,
  alternatives: alternatives.map((requires) => ({ from: 0, to: 0, requires })),
});

export function describeRefusals(open: OpenStore): void {
  const it = testsOn(open);

  /** Asks for one order after the other, under a claim that locks out after two refusals. */
  const asking = async (over: Partial<RefusalsClaim> = {}) => {
    const { store, clock, another, reopen } = await ready(open);
    let asked = 0;
    const claims = [refusalsClaim(2, over)];
    const ask = (more: Partial<Asked> = {}) =>
      store.settle(request({ subject: `payment:any-${++asked}`, claims, ...more }));
    const refused = (more: Partial<Asked> = {}) => ask({ approves: false, retryable: true, ...more });
    return { store, clock, another, reopen, claims, ask, refused };
  };

  describe('a claim that nobody is locked out', () => {
    it('never holds again by itself if somebody must lift it', async () => {
      const { ask, refused, clock, store } = await asking({ forMs: 0 });
      await refused();
      await refused();
      clock.advance(300 * DAY_MS);
      const locked = await ask();
      expect(claimsOf(locked)).toMatchObject([{ holds: false, lockedAtMs: START_MS, lockedUntilMs: 0 }]);
      expect(await lockoutsIn(store)).toMatchObject([{ untilMs: 0 }]);
    });

    it('counts a refusal by another claim, and by a choice', async () => {
      const choice: Choice = {
        result: 1,
        decides: true,
        retryable: false,
        alternatives: [{ from: 0, to: 0, requires: [1] }],
      };
      const { ask } = await asking();
      const claims = [refusalsClaim(2), windowClaim('2', '1')];
      expect(claimsOf(await ask({ claims }))).toMatchObject([{ refusals: 1 }, { holds: false }]);
      const optional = [refusalsClaim(2), windowClaim('2', '1', { result: 2, decides: false })];
      const second = await ask({ claims: optional, choices: [choice] });
      expect(claimsOf(second)).toMatchObject([{ refusals: 2, lockedAtMs: START_MS }, { holds: false }]);
    });

    it('does not count a choice of which an alternative failed, but a refusal beside it', async () => {
      const choice: Choice = {
        result: 1,
        decides: true,
        retryable: false,
        failed: true,
        alternatives: [{ from: 0, to: 0, requires: [1] }],
      };
      const { ask } = await asking();
      const claims = [refusalsClaim(2), windowClaim('2', '1', { result: 2, decides: false })];
      expect(claimsOf(await ask({ claims, choices: [choice] }))).toMatchObject([{ refusals: 0 }, {}]);
      const both = { claims, choices: [choice], approves: false };
      expect(claimsOf(await ask(both))).toMatchObject([{ refusals: 1 }, {}]);
    });

    it.each<readonly [string, Claim]>([
      ['a list does not exist', listClaim('none', 'hold-all', ['a'])],
      ['somebody is locked out', refusalsClaim(1, { key: keyOf('locked') })],
      ['something failed before', windowClaim('2', '1', { failed: true })],
    ])('does not count a choice if, in one of its alternatives, %s', async (_name, claim) => {
      const { ask, refused } = await asking();
      await refused({ claims: [refusalsClaim(1, { key: keyOf('locked') })] });
      const claims = [
        refusalsClaim(2),
        { ...claim, result: 2, decides: false },
        windowClaim('2', '1', { result: 3, decides: false, key: keyOf('other') }),
      ];
      const choices = [choiceOf([1], [2])];
      const result = await ask({ claims, choices });
      expect(codeOf(result)).toBe('RULE_REFUSED');
      expect(claimsOf(result)).toMatchObject([{ refusals: 0 }, { holds: false }, { holds: false }]);
      expect(claimsOf(await ask({ claims, choices: [choiceOf([2])] }))).toMatchObject([
        { refusals: 1 },
        {},
        {},
      ]);
    });

    it.each([
      ['the longer one first', [DAY_MS, HOUR_MS]],
      ['the shorter one first', [HOUR_MS, DAY_MS]],
      ['one until somebody lifts it first', [0, HOUR_MS]],
      ['one until somebody lifts it last', [HOUR_MS, 0]],
    ])('locks out for the longest of alternatives with one key: %s', async (_name, lengths) => {
      const { ask, clock } = await asking();
      const claims = [
        ...lengths.map((forMs, at) => refusalsClaim(1, { forMs, result: at + 1, decides: false })),
        windowClaim('2', '1', { result: 3, decides: false }),
      ];
      expect(codeOf(await ask({ claims, choices: [choiceOf([0, 2], [1, 2])] }))).toBe('RULE_REFUSED');
      clock.advance(DAY_MS - 1);
      expect(claimsOf(await ask())).toMatchObject([{ holds: false, lockedAtMs: START_MS }]);
    });

    it.each([
      ['first', [1, 5]],
      ['last', [5, 1]],
    ])(
      'is locked out, and counts from zero, if the alternative that locks out is the %s',
      async (_name, afters) => {
        const { ask, refused, clock } = await asking();
        const claims = [
          ...afters.map((after, at) =>
            refusalsClaim(after, { forMs: HOUR_MS, withinMs: 10 * DAY_MS, result: at + 1, decides: false }),
          ),
          windowClaim('2', '1', { result: 3, decides: false }),
        ];
        await ask({ claims, choices: [choiceOf([0, 2], [1, 2])] });
        expect(claimsOf(await ask())).toMatchObject([{ type: 'refusals', holds: false, refusals: 1 }]);
        clock.advance(HOUR_MS);
        expect(claimsOf(await ask())).toMatchObject([{ type: 'refusals', holds: true, refusals: 0 }]);
        expect(claimsOf(await refused())).toMatchObject([{ refusals: 1, lockedAtMs: 0 }]);
      },
    );

    it.each([
      ['first', [DAY_MS, HOUR_MS]],
      ['last', [HOUR_MS, DAY_MS]],
    ])('counts for the longer of two times, whose alternative is the %s', async (_name, withins) => {
      const { ask, refused, clock } = await asking();
      const claims = [
        ...withins.map((withinMs, at) => refusalsClaim(2, { withinMs, result: at + 1, decides: false })),
        windowClaim('2', '1', { result: 3, decides: false }),
      ];
      await ask({ claims, choices: [choiceOf([0, 2], [1, 2])] });
      clock.advance(DAY_MS - 1);
      expect(claimsOf(await refused())).toMatchObject([{ refusals: 2, lockedAtMs: clock.nowMs }]);
    });

    it('counts only where it was checked, if it is an alternative', async () => {
      const { store, ask } = await asking();
      await store.changeList({ source: 'shop', list: 'vips', add: ['ada'], remove: [], by: '', message: '' });
      const asVip = (value: string): Partial<Asked> => ({
        approves: false,
        retryable: true,
        claims: [
          listClaim('vips', 'hold-all', [value], { result: 1, decides: false }),
          refusalsClaim(2, { result: 2, decides: false }),
        ],
        choices: [
          {
            result: 0,
            decides: true,
            retryable: false,
            alternatives: [
              { from: 0, to: 0, requires: [0] },
              { from: 0, to: 0, requires: [1] },
            ],
          },
        ],
      });
      expect(claimsOf(await ask(asVip('ada')))).toMatchObject([{ holds: true }, { notChecked: true }]);
      expect(claimsOf(await ask(asVip('bob')))).toMatchObject([{ holds: false }, { refusals: 1 }]);
    });

    it('is made once, by the refusal that reaches the number, whoever comes at once', async () => {
      const { store, another } = await asking();
      const stores = [store, await another()];
      const results = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          stores[index % 2]!.settle(
            request({ subject: `payment:${index}`, approves: false, claims: [refusalsClaim(10)] }),
          ),
        ),
      );
      const found = results.flatMap(claimsOf);
      const began = found.filter((each) => each.holds && 'lockedAtMs' in each && each.lockedAtMs > 0);
      expect(began).toMatchObject([{ refusals: 10 }]);
      expect(found.filter((each) => !each.holds)).toHaveLength(30);
      expect(await lockoutsIn(store)).toMatchObject([{ refusals: 10 }]);
    });
  });

  describe('a lock-out', () => {
    const LOCKOUT: Lockout = {
      source: 'shop',
      id: keyOf('refusals'),
      policy: 'payments',
      whose: 'userId 7',
      refusals: 2,
      sinceMs: START_MS,
      untilMs: START_MS + DAY_MS,
    };
    const lift = { source: 'shop', id: keyOf('refusals'), by: 'ada', message: 'called the user' };

    it('is listed while it stands', async () => {
      const { store, refused, clock } = await asking();
      await refused();
      expect(await lockoutsIn(store)).toEqual([]);
      await refused();
      expect(await lockoutsIn(store)).toEqual([LOCKOUT]);
      expect(await lockoutsIn(store, 'vault')).toEqual([]);
      clock.advance(DAY_MS);
      expect(await lockoutsIn(store)).toEqual([]);
    });

    it('is listed with all others, however many', async () => {
      const { store, refused } = await asking();
      const keys = Array.from({ length: 1050 }, (_, index) => keyOf(`key ${index}`));
      for (const from of [0, 350, 700]) {
        const claims = keys
          .slice(from, from + 350)
          .map((key, at) => refusalsClaim(1, { key, forMs: at % 2 === 0 ? 0 : DAY_MS }));
        await refused({ claims });
      }
      const ids = (await lockoutsIn(store)).map(({ id }) => id);
      expect(ids.toSorted()).toEqual(keys.toSorted());
    });

    it('is over when somebody lifts it, with an entry of the journal, and counts from zero', async () => {
      const { store, ask, refused } = await asking();
      await refused();
      await refused();
      expect(await store.liftLockout(lift)).toEqual(LOCKOUT);
      expect(claimsOf(await ask())).toMatchObject([{ type: 'refusals', holds: true, refusals: 0 }]);
      expect(await lockoutsIn(store)).toEqual([]);
      const entries = await store.entries({ source: 'shop', limit: 1000 });
      const entry = entries.find(({ type }) => type === 'lockout');
      expect(entry).toMatchObject({ verdict: '', code: '', subject: '' });
      const { source: _source, ...lockout } = LOCKOUT;
      expect(JSON.parse(entry?.detail ?? '')).toEqual({
        change: 'lift',
        by: 'ada',
        message: 'called the user',
        lockout,
      });
    });

    it.each([
      ['was never made', 0, 0],
      ['has not enough refusals yet', 1, 0],
      ['is over', 2, DAY_MS],
    ])('that %s can not be lifted', async (_name, refusals, afterMs) => {
      const { store, refused, clock } = await asking();
      for (let each = 0; each < refusals; each++) await refused();
      clock.advance(afterMs);
      await expect(store.liftLockout(lift)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      const entries = await store.entries({ source: 'shop', limit: 1000 });
      expect(entries.filter(({ type }) => type === 'lockout')).toEqual([]);
    });

    it('is lifted once', async () => {
      const { store, refused } = await asking({ forMs: 0 });
      await refused();
      await refused();
      const lifted = await Promise.allSettled([store.liftLockout(lift), store.liftLockout(lift)]);
      expect(lifted.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    });
  });
}
