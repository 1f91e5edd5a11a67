import { describe, expect, it, vi } from 'vitest';
import { createAdmission } from '../../src/pipeline/admission.ts';
import { createTrace } from '../../src/pipeline/outcome.ts';
import { paymentArrival } from './stub.ts';

const callback = paymentArrival('');

describe('a callback that is held open', () => {
  const admissionOf = (held: number) =>
    createAdmission({
      callbacks: 1,
      held,
      answerTimeoutMs: 2000,
      budgets: { excessReason: () => undefined },
      capacity: () => 1,
    });

  it('is in flight again once its wait is over, also after a failure', async () => {
    const admission = admissionOf(1);
    expect(admission.enter(callback)).toBeUndefined();
    expect(admission.enter(callback)).toMatchObject({ reason: 'callbacks' });
    const during: unknown[] = [];
    const waiting = () => {
      during.push(admission.enter(callback), admission.enter(callback));
      admission.leave();
      return Promise.resolve(true);
    };
    expect(await admission.hold(waiting)).toBe(true);
    expect(during).toEqual([undefined, expect.objectContaining({ reason: 'callbacks' })]);
    expect(admission.enter(callback)).toMatchObject({ reason: 'callbacks' });
    await expect(admission.hold(() => Promise.reject(new Error('the store is gone')))).rejects.toThrow(
      'is gone',
    );
    expect(admission.enter(callback)).toMatchObject({ reason: 'callbacks' });
    admission.leave();
    expect(admission.enter(callback)).toBeUndefined();
  });

  it('is one of so many', async () => {
    const admission = admissionOf(2);
    const ends: ((changed: boolean) => void)[] = [];
    const waiting = () => new Promise<boolean>((resolve) => ends.push(resolve));
    const never = () => Promise.reject(new Error('it was held'));
    const held = [admission.hold(waiting), admission.hold(waiting)];
    expect(await admission.hold(never)).toBe(false);
    ends[0]?.(false);
    expect(await held[0]).toBe(false);
    expect(await admission.hold(() => Promise.resolve(true))).toBe(true);
    held.push(admission.hold(waiting));
    expect(await admission.hold(never)).toBe(false);
    for (const end of ends) end(true);
    expect(await Promise.all(held)).toEqual([false, true, true]);
    expect(await admissionOf(0).hold(never)).toBe(false);
  });

  it('does not make the service look slow', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
    try {
      const trace = createTrace({ ...callback, arrivedMs: 1000 });
      now.mockReturnValue(1100);
      await trace.measureAsync('hold', () => Promise.resolve(now.mockReturnValue(9100)));
      now.mockReturnValue(9150);
      const ending = { verdict: 'SUCCESS', outcome: 'decided', code: 'APPROVED', because: '' } as const;
      expect(trace.end(ending).report).toMatchObject({ totalMs: 150, stepsMs: { hold: 8000 } });
      const failure = { ok: false, code: 'STORE_FAILED', because: '', data: {} } as const;
      expect(trace.failed(failure).report).toMatchObject({ totalMs: 150 });
      // What bounds the answer is all the time since the arrival.
      expect(trace.elapsedMs()).toBe(8150);
    } finally {
      now.mockRestore();
    }
  });
});
