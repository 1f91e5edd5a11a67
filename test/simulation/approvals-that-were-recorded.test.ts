import { expect, it, onTestFinished } from 'vitest';
import { openSimulationStore } from '../../src/store/embedded/simulation.ts';
import { REVISION, START_MS, approvalClaim, request } from '../store/requests.ts';

it('a recorded approval holds at its version, however high an entry says that it is', () => {
  const store = openSimulationStore('memory');
  onTestFinished(() => store.close());
  store.push(REVISION, 0);
  const has = (version: number) => store.haveRequest('shop', { id: 'payment:1', version }, START_MS);
  const decided = (version: number | undefined) =>
    store.settle(request({ claims: [approvalClaim('payment:1', version, { retryable: true })] }), START_MS);
  const refused = { verdict: 'FAILURE', code: 'AWAITING_APPROVAL' };
  expect(decided(1)).toMatchObject({ ...refused, claims: [{ approval: 'missing' }] });
  has(3);
  expect(decided(2)).toMatchObject({ ...refused, claims: [{ approval: 'changed' }] });
  has(Number.MAX_SAFE_INTEGER);
  // It never goes back.
  has(2);
  for (const version of [2, 3, Number.MAX_SAFE_INTEGER - 1, undefined]) {
    expect(decided(version)).toMatchObject({ ...refused, claims: [{ approval: 'changed' }] });
  }
  expect(decided(Number.MAX_SAFE_INTEGER)).toMatchObject({ verdict: 'SUCCESS' });
});
