import { describe, expect } from 'vitest';
import {
  type Asked,
  HOUR_MS,
  OTHER_TERMS,
  REVISION,
  claimsOf,
  idOf,
  keyOf,
  listClaim,
  markClaim,
  push,
  request,
  revisionOf,
  units,
  usedOf,
  windowClaim,
} from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

/** A claim that fails, and asks to be decided again. */
const changing = windowClaim('11', '10', { key: keyOf('changing'), retryable: true });
/** A claim that fails, and does not. */
const lasting = windowClaim('11', '10', { key: keyOf('lasting') });

export function describeRetryable(open: OpenStore): void {
  const it = testsOn(open);

  describe('a refusal for what changes without a push', () => {
    const changeable: readonly (readonly [string, Partial<Asked>])[] = [
      ['by the proposal', { approves: false, retryable: true }],
      ['by a claim', { claims: [changing] }],
      [
        'by a list that does not exist',
        { claims: [listClaim('none', 'hold-all', ['a'], { retryable: true })] },
      ],
      ['by a mark', { claims: [markClaim({ retryable: true })] }],
      ['by several claims', { claims: [changing, markClaim({ retryable: true })] }],
      ['by the proposal and a claim', { approves: false, retryable: true, claims: [changing] }],
      ['beside a claim that holds', { claims: [changing, windowClaim('1', '10')] }],
      ['beside a claim that fails and only observes', { claims: [changing, { ...lasting, decides: false }] }],
      [
        'by the proposal, beside a claim that holds',
        { approves: false, retryable: true, claims: [windowClaim('1', '10')] },
      ],
    ];
    it.for(changeable)('is decided again each time: %s', async ([, over], { store, settle }) => {
      const ids = new Set<string>();
      for (let attempt = 0; attempt < 3; attempt++) {
        const result = await settle(over);
        expect(result).toMatchObject({ outcome: 'decided', verdict: 'FAILURE', code: 'RULE_REFUSED' });
        expect(await store.entry('shop', idOf(result))).toMatchObject({ type: 'decision', of: '' });
        ids.add(idOf(result));
      }
      expect(ids.size).toBe(3);
      const approved = await settle();
      expect(approved).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS', code: 'APPROVED' });
      expect(await settle()).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS', of: idOf(approved) });
    });

    const lastingOnes: readonly (readonly [string, Partial<Asked>])[] = [
      ['the proposal does not ask for it', { approves: false }],
      ['a failing claim does not ask for it', { claims: [lasting] }],
      ['one of the failing claims does not', { claims: [changing, lasting] }],
      ['one of the failing claims does not, though it comes first', { claims: [lasting, changing] }],
      [
        'a failing claim does not, and the proposal does',
        { approves: false, retryable: true, claims: [lasting] },
      ],
      ['the proposal does not, and a failing claim does', { approves: false, claims: [changing] }],
      ['only an approving proposal asks for it', { retryable: true, claims: [lasting] }],
      [
        'only a claim that holds asks for it',
        { approves: false, claims: [windowClaim('1', '10', { retryable: true })] },
      ],
      [
        'only a claim that observes asks for it',
        { approves: false, claims: [{ ...changing, decides: false }] },
      ],
    ];
    it.for(lastingOnes)('stands if %s', async ([, over], { store, clock, settle }) => {
      const refused = await settle(over);
      expect(refused).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      clock.advance(HOUR_MS);
      for (const asked of [request(over), request(), request({ approves: false, retryable: true })]) {
        expect(await store.settle(asked)).toMatchObject({
          outcome: 'repeated',
          verdict: 'FAILURE',
          of: idOf(refused),
        });
      }
    });

    const uncovered = { approves: false, refusal: 'NO_POLICY', retryable: true } as const;
    const codes: readonly (readonly [string, string, Partial<Asked>])[] = [
      ['of the claim, if it stands and the proposal may approve', 'RULE_REFUSED', { claims: [lasting] }],
      ['of the proposal, if it stands', 'NO_POLICY', { retryable: false, claims: [lasting] }],
      ['of the proposal, if neither stands', 'NO_POLICY', { claims: [changing] }],
      [
        'of the proposal, if the claim only observes',
        'NO_POLICY',
        { claims: [{ ...lasting, decides: false }] },
      ],
    ];
    it.for(codes)('has the code %s', async ([, code, over], { settle }) => {
      for (let attempt = 0; attempt < 2; attempt++) {
        expect(await settle({ ...uncovered, ...over })).toMatchObject({ verdict: 'FAILURE', code });
      }
    });

    it('is told by what refused last', async ({ store, settle }) => {
      await settle({ claims: [changing] });
      const lastingly = await settle({ claims: [lasting] });
      expect(lastingly).toMatchObject({ outcome: 'decided', verdict: 'FAILURE' });
      expect(await settle()).toMatchObject({ outcome: 'repeated', of: idOf(lastingly) });
      await store.push(push('second', REVISION));
      const revision = revisionOf('second');
      await settle({ revision, claims: [changing] });
      expect(await settle({ revision })).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
    });

    it('may take back an approval for a while, and nothing is reserved twice', async ({ store, settle }) => {
      const claims = [windowClaim('10', '10')];
      const first = await settle({ claims });
      expect(await settle({ approves: false, retryable: true, claims })).toMatchObject({
        outcome: 'decided',
        verdict: 'FAILURE',
      });
      const again = await settle({ claims });
      expect(again).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(idOf(again)).not.toBe(idOf(first));
      expect(claimsOf(again)).toEqual([{ type: 'window', holds: true, reserved: units('10'), used: 0n }]);
      expect(await usedOf(store)).toBe(units('10'));
    });

    it('reserves nothing, however often it is decided', async ({ store }) => {
      const asked = request({ claims: [changing, windowClaim('1', '10')] });
      for (let attempt = 0; attempt < 3; attempt++) await store.settle(asked);
      expect(await usedOf(store)).toBe(0n);
    });

    it('concerns one question alone', async ({ settle }) => {
      await settle({ question: 'sign_prepare', approves: false, retryable: true });
      const started = await settle({ question: 'sign_start', approves: false });
      expect(await settle({ question: 'sign_prepare' })).toMatchObject({ outcome: 'decided' });
      expect(await settle({ question: 'sign_start' })).toMatchObject({
        outcome: 'repeated',
        of: idOf(started),
      });
    });

    it('gives way to frozen, stale and changed terms', async ({ store, settle }) => {
      await settle({ approves: false, retryable: true });
      expect(await settle({ terms: OTHER_TERMS })).toMatchObject({ code: 'TERMS_CHANGED' });
      expect(await settle({ revision: revisionOf('older') })).toMatchObject({ outcome: 'stale' });
      await store.freeze({ reason: 'drill', by: 'ada' });
      expect(await settle()).toMatchObject({ code: 'FROZEN' });
    });

    it('is still decided again after the store was opened again', async ({ reopen, settle }) => {
      await settle({ approves: false, retryable: true });
      await settle({ subject: 'payment:2', approves: false });
      const again = await reopen();
      expect(await again.settle(request())).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      expect(await again.settle(request({ subject: 'payment:2' }))).toMatchObject({ outcome: 'repeated' });
    });
  });
}
