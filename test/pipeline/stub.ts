import { plainAnswer } from '../../src/callback/answer.ts';
import type { Arrival } from '../../src/pipeline/arrival.ts';
import { type Pipeline, type PipelineParts, createPipeline } from '../../src/pipeline/pipeline.ts';
import type { Store } from '../../src/store/store.ts';

/** For a part that the test must not reach. */
export const never = (): never => {
  throw new Error('nobody may come this far');
};

/** A pipeline without load. A part that the test doesn't give fails when it is used. */
export function stubPipeline(parts: Partial<PipelineParts>): Pipeline {
  return createPipeline({
    store: new Proxy({} as Store, { get: never }),
    authenticator: never,
    policies: { current: never, prices: never, onlyApproved: never, refresh: never },
    ask: never,
    notReady: never,
    answerFormat: () => plainAnswer,
    report: () => undefined,
    onTurnedAway: never,
    budgets: { report: () => undefined, excessReason: () => undefined },
    capacity: () => 1,
    callbacks: 1000,
    held: 100,
    isStopping: () => false,
    outputs: 200,
    clock: never,
    answerTimeoutMs: 5000,
    ...parts,
  });
}

/** A payment from 192.0.2.1, without a header, a secret or a certificate. */
export function paymentArrival(body: string, more: Partial<Arrival> = {}): Arrival {
  return {
    requestId: 'r-1',
    arrivedMs: performance.now(),
    route: { callback: 'payment' },
    path: '/callback',
    address: '192.0.2.1',
    header: () => undefined,
    fromProxy: false,
    pathSecret: undefined,
    certificate: undefined,
    body: () => Promise.resolve(Buffer.from(body)),
    isConnected: () => true,
    ...more,
  };
}
