import { expect, it, onTestFinished } from 'vitest';
import { measureEventLoop } from '../../src/pipeline/event-loop.ts';
import type { Arrival } from '../../src/pipeline/arrival.ts';
import { type Authenticator, compileAuthenticator } from '../../src/signature/authenticate.ts';
import type { DecryptionThreads } from '../../src/signature/blocks.ts';
import { createDecryptionThreads } from '../../src/signature/decryption.ts';
import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { sealEnvelope } from '../../src/signature/rsa-envelope.ts';
import { eventually } from '../eventually.ts';
import { makePair } from '../signature/pairs.ts';
import { envelopeBy, partsOf, shop } from '../signature/sources.ts';
import { paymentArrival, stubPipeline } from './stub.ts';

it('lower the capacity, as a slow event loop does, until they keep up', async () => {
  let waitMs = 0;
  const loop = measureEventLoop(
    () => performance.now(),
    2000,
    () => waitMs,
  );
  onTestFinished(() => loop.stop());
  expect(loop.capacity()).toBe(1);
  waitMs = 501;
  await eventually('the capacity is at its lowest', () => loop.capacity() === 1 / 64 || undefined);
  waitMs = 499;
  await eventually('the capacity is as before', () => loop.capacity() === 1 || undefined);
});

const [platform, merchant, next] = [makePair(), makePair(), makePair()];
const secrets = {
  PLATFORM: platform.publicText,
  MERCHANT: merchant.privateText,
  NEXT: next.privateText,
};

const authenticatorIn = (threads: DecryptionThreads, merchantKey: string): Authenticator =>
  compileAuthenticator([shop(envelopeBy('PLATFORM', merchantKey))], { ...partsOf(secrets), threads });

/** An envelope for the merchant. */
function envelope(): Arrival {
  const keys = {
    senderKey: readPrivateKey(platform.privateText),
    receiverKey: readPublicKey(merchant.publicText),
  };
  return paymentArrival(JSON.stringify({ app_id: 'demoKey', ...sealEnvelope('{"userId":"1"}', keys) }));
}

it('do not delay the answer, and the callback leaves the pipeline when its thread is ended', async () => {
  // A thread that does nothing but live.
  const entry = new URL('data:text/javascript,setInterval(() => undefined, 60_000)');
  const threads = createDecryptionThreads({ entry, answerMs: 2000 });
  onTestFinished(() => threads.close());
  const authenticator = authenticatorIn(threads, 'MERCHANT');
  const codes: string[] = [];
  const pipeline = stubPipeline({
    authenticator: () => authenticator,
    answerTimeoutMs: 200,
    report: ({ code }) => void codes.push(code),
  });
  const { answer, delivered } = await pipeline.receive(envelope());
  delivered(true);
  expect(answer.body).toBe('FAILURE');
  expect(codes).toEqual(['TIMED_OUT']);
  await pipeline.idle();
  expect(threads.waitMs()).toBe(0);
});

it('do not keep a key in force that was replaced while they decrypted with it', async () => {
  const threads = createDecryptionThreads();
  onTestFinished(() => threads.close());
  const before = authenticatorIn(threads, 'MERCHANT');
  const after = authenticatorIn(threads, 'NEXT');
  let opened = 0;
  let current: Authenticator = {
    ...before,
    async payment(decoded) {
      const pending = before.payment(decoded);
      current = after;
      const outcome = await pending;
      if (outcome.ok) opened += 1;
      return outcome;
    },
  };
  const codes: string[] = [];
  const pipeline = stubPipeline({
    authenticator: () => current,
    report: ({ code }) => void codes.push(code),
  });
  const { answer, delivered } = await pipeline.receive(envelope());
  delivered(true);
  expect(opened).toBe(1);
  expect(answer.body).toBe('FAILURE');
  expect(codes).toEqual(['ENVELOPE_UNDECIPHERABLE']);
});
