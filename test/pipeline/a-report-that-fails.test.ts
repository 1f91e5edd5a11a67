import { expect, it } from 'vitest';
import { authenticatorOf, md5By, shop } from '../signature/sources.ts';
import { paymentArrival, stubPipeline } from './stub.ts';

it('changes neither the answer nor the process: the answer was sent before', async () => {
  let reports = 0;
  const pipeline = stubPipeline({
    authenticator: () => authenticatorOf([shop(md5By('A'))], { A: 'A' }),
    report() {
      reports += 1;
      throw new Error('the log is gone');
    },
  });
  const { answer, delivered } = await pipeline.receive(paymentArrival('{'));
  expect(answer.body).toBe('FAILURE');
  expect(() => delivered(true)).not.toThrow();
  expect(() => delivered(false)).not.toThrow();
  await pipeline.idle();
  expect(reports).toBe(2);
});
