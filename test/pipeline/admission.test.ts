import { expect, it } from 'vitest';
import type { TurnedAwayCallback } from '../../src/pipeline/admission.ts';
import { authenticatorOf, md5By, shop } from '../signature/sources.ts';
import { never, paymentArrival, stubPipeline } from './stub.ts';

const authenticator = authenticatorOf([shop(md5By('A'))], { A: 'A' });

it('a callback that waited unread for longer than its time is turned away before its body is read', async () => {
  const turned: TurnedAwayCallback[] = [];
  const pipeline = stubPipeline({
    onTurnedAway: (each) => turned.push(each),
    report: never,
  });
  const { answer, delivered } = await pipeline.receive(
    paymentArrival('', { arrivedMs: performance.now() - 5000, body: never }),
  );
  delivered(true);
  expect(answer.body).toBe('FAILURE');
  expect(turned).toMatchObject([{ reason: 'loop', address: '192.0.2.1', failure: { code: 'OVERLOADED' } }]);
});

it('the time that a callback waited unread counts as time spent', async () => {
  const codes: string[] = [];
  const pipeline = stubPipeline({
    authenticator: () => authenticator,
    report: ({ code, totalMs }) => codes.push(`${code} ${totalMs >= 4500}`),
  });
  const { answer, delivered } = await pipeline.receive(
    paymentArrival('', {
      arrivedMs: performance.now() - 4500,
      body: () => new Promise(() => undefined),
    }),
  );
  delivered(true);
  expect(answer.body).toBe('FAILURE');
  expect(codes).toEqual(['TIMED_OUT true']);
});

it('a callback beyond the bound is turned away, also if the bound was reached while its body was read', async () => {
  const turned: TurnedAwayCallback[] = [];
  const reports: string[] = [];
  const bodies: (() => void)[] = [];
  const pipeline = stubPipeline({
    callbacks: 0,
    authenticator: () => authenticator,
    onTurnedAway: (each) => turned.push(each),
    report: ({ code }) => reports.push(code),
  });
  const before = await pipeline.receive(paymentArrival('{', { body: never }));
  expect(before.answer.body).toBe('FAILURE');
  expect(turned).toMatchObject([{ reason: 'callbacks', failure: { code: 'OVERLOADED' } }]);

  const small = stubPipeline({
    callbacks: 1,
    authenticator: () => authenticator,
    notReady: never,
    onTurnedAway: (each) => turned.push(each),
    report: ({ code }) => reports.push(code),
  });
  const slow = Array.from({ length: 2 }, () =>
    small.receive(
      paymentArrival('', {
        body: () => new Promise((resolve) => bodies.push(() => resolve(Buffer.from('{')))),
      }),
    ),
  );
  await new Promise((resolve) => setImmediate(resolve));
  for (const come of bodies) come();
  for (const each of await Promise.all(slow)) {
    expect(each.answer.body).toBe('FAILURE');
    each.delivered(true);
  }
  await small.idle();
  expect(reports).toContain('NOT_JSON');
  expect(reports).not.toContain('OVERLOADED');
});
