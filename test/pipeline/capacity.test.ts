import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/pipeline/admission.ts';
import { nextCapacity } from '../../src/pipeline/event-loop.ts';
import { paymentArrival } from './stub.ts';

const ANSWER_TIMEOUT_MS = 2000;
const after = (turnsMs: readonly number[], capacity = 1): number =>
  turnsMs.reduce((now, turnMs) => nextCapacity(now, turnMs, ANSWER_TIMEOUT_MS), capacity);

describe('the capacity of a service', () => {
  it('falls while turns of the event loop are too long for an answer in time, and comes back', () => {
    expect(after([20, 20])).toBe(1);
    expect(after([600, 600, 600])).toBe(1 / 8);
    expect(after(Array.from({ length: 20 }, () => 900))).toBe(1 / 64);
    expect(
      after(
        Array.from({ length: 20 }, () => 20),
        1 / 64,
      ),
    ).toBe(1);
  });

  it('is always more than nothing and at most everything', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true })), (turnsMs) => {
        const capacity = after(turnsMs);
        expect(capacity).toBeGreaterThanOrEqual(1 / 64);
        expect(capacity).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('is what bounds the callbacks in flight; at least one is decided', () => {
    let capacity = 1 / 64;
    const admission = createAdmission({
      callbacks: 32,
      held: 0,
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      budgets: { excessReason: () => undefined },
      capacity: () => capacity,
    });
    expect(admission.enter(paymentArrival(''))).toBeUndefined();
    expect(admission.enter(paymentArrival(''))).toMatchObject({
      reason: 'loop',
      failure: { code: 'OVERLOADED' },
    });
    capacity = 1 / 16;
    expect(admission.enter(paymentArrival(''))).toBeUndefined();
    expect(admission.turnAway(paymentArrival(''), 0)).toMatchObject({ reason: 'loop' });
    admission.leave();
    expect(admission.turnAway(paymentArrival(''), 0)).toBeUndefined();
  });
});
