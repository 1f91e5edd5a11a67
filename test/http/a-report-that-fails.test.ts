import { expect, it } from 'vitest';
import { plainAnswer } from '../../src/callback/answer.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import type { Store } from '../../src/store/store.ts';
import { authenticatorOf, md5By, shop } from '../signature/sources.ts';

const never = (): never => {
  throw new Error('nobody may come this far');
};

it('is nobody’s end: the answer has gone, and neither it nor the process hears of it', async () => {
  let told = 0;
  const pipeline = createPipeline({
    store: new Proxy({} as Store, { get: never }),
    authenticator: () => authenticatorOf([shop(md5By('A'))], { A: 'A' }),
    following: { current: never, prices: never, refresh: never },
    ask: never,
    admit: never,
    answerFormat: () => plainAnswer,
    report() {
      told += 1;
      throw new Error('the log is gone');
    },
    clock: never,
    answerTimeoutMs: 5000,
  });
  const { answer, delivered } = await pipeline.receive({
    requestId: 'r-1',
    route: { callback: 'payment' },
    address: '192.0.2.1',
    header: never,
    fromProxy: false,
    pathSecret: undefined,
    certificate: undefined,
    body: () => Promise.resolve(Buffer.from('{')),
  });
  expect(answer.body).toBe('FAILURE');
  expect(() => delivered(true)).not.toThrow();
  expect(() => delivered(false)).not.toThrow();
  await pipeline.idle();
  expect(told).toBe(2);
});
