import { describe, expect, it } from 'vitest';
import { type HealthCheck, type HealthState, readinessOf } from '../../src/observe/health.ts';

const good: HealthCheck = {
  name: 'policies',
  check: () => ({ ok: true, because: 'revision a1 is in force' }),
};

describe('readiness', () => {
  it('is that of all checks, each with its reason', async () => {
    const store: HealthCheck = {
      name: 'store',
      check: () => Promise.resolve({ ok: true, because: 'answers' }),
    };
    expect(await readinessOf([good, store])).toEqual({
      ready: true,
      checks: [
        { name: 'policies', ok: true, because: 'revision a1 is in force' },
        { name: 'store', ok: true, because: 'answers' },
      ],
    });
  });

  it.each<[string, HealthCheck['check'], string]>([
    ['says no', () => ({ ok: false, because: 'nothing in force' }), 'nothing in force'],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      'broken',
    ],
    ['rejects', () => Promise.reject(new Error('no store')), 'no store'],
    ['never answers', () => new Promise<HealthState>(() => undefined), 'no answer within 5 ms'],
  ])('is lost if one check %s', async (_, check, because) => {
    expect(await readinessOf([good, { name: 'bad', check }], 5)).toEqual({
      ready: false,
      checks: [
        { name: 'policies', ok: true, because: 'revision a1 is in force' },
        { name: 'bad', ok: false, because },
      ],
    });
  });

  it('is not given without any check', async () => {
    expect(await readinessOf([])).toEqual({ ready: false, checks: [] });
  });

  it('runs the checks each time', async () => {
    let ok = false;
    const checks: readonly HealthCheck[] = [{ name: 'store', check: () => ({ ok, because: '' }) }];
    expect((await readinessOf(checks)).ready).toBe(false);
    ok = true;
    expect((await readinessOf(checks)).ready).toBe(true);
  });
});

describe('a check that is not decisive', () => {
  const load: HealthCheck = {
    name: 'load',
    check: () => ({ ok: false, because: 'turned away' }),
    decisive: false,
  };

  it('is shown, and leaves the service ready', async () => {
    expect(await readinessOf([good, load])).toEqual({
      ready: true,
      checks: [
        { name: 'policies', ok: true, because: 'revision a1 is in force' },
        { name: 'load', ok: false, because: 'turned away', decisive: false },
      ],
    });
  });

  it('makes no service ready by itself', async () => {
    const { ready } = await readinessOf([{ ...load, check: () => ({ ok: true, because: '' }) }]);
    expect(ready).toBe(false);
  });

  it('does not replace a decisive one', async () => {
    const bad: HealthCheck = { name: 'store', check: () => ({ ok: false, because: 'gone' }) };
    expect((await readinessOf([load, bad])).ready).toBe(false);
  });
});
