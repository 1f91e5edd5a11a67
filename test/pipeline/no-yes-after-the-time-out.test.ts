import { expect, it } from 'vitest';
import { decodeMembers } from '../../src/values/members.ts';
import type { Authenticator } from '../../src/signature/authenticate.ts';
import type { Store } from '../../src/store/store.ts';
import { never, paymentArrival, stubPipeline } from './stub.ts';

const ANSWER_TIMEOUT_MS = 2000;
const HASH = '0'.repeat(64);
const BODY = JSON.stringify({
  app_id: 'a',
  client_system_pubkey_hash: HASH,
  verify_sign_pub_hash: HASH,
  type: 'verify_public_hash',
});

/** A co-signer that is always authentic, and whose keys are right. */
const authenticator: Authenticator = {
  payment: never,
  claimedSource: never,
  checkAddress: () => undefined,
  cosigner(source) {
    const decoded = decodeMembers(Buffer.from(BODY));
    if (!decoded.ok) throw new Error(decoded.because);
    const { members } = decoded;
    return { ok: true, source, scheme: undefined, by: 'test', members, plaintext: undefined };
  },
  selfCheck: () => ({ client: true, verify: true }),
  describe: () => [],
};

/** How a callback is answered whose entry the store has written after the event loop was busy for so long. */
async function answerAfter(
  busyMs: number,
): Promise<{ readonly body: string; readonly codes: readonly string[] }> {
  const codes: string[] = [];
  const record = (): Promise<string> => {
    const untilMs = performance.now() + busyMs;
    // No timer runs meanwhile, so the time-out can't have fired when the store answers.
    while (performance.now() < untilMs);
    return Promise.resolve('1-0');
  };
  const pipeline = stubPipeline({
    authenticator: () => authenticator,
    store: { record } as Partial<Store> as Store,
    notReady: () => undefined,
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
    report: ({ code }) => void codes.push(code),
  });
  const route = { callback: 'cosigner', source: 'vault', expected: ['transfer'] } as const;
  const { answer, delivered } = await pipeline.receive(paymentArrival(BODY, { route }));
  delivered(true);
  await pipeline.idle();
  return { body: answer.body, codes };
}

it('a yes in time is answered', async () => {
  expect((await answerAfter(0)).body).toContain('SUCCESS');
});

it('a yes of the store that comes after the time-out is no answer, also if the loop was busy until then', async () => {
  const { body, codes } = await answerAfter(ANSWER_TIMEOUT_MS + 500);
  expect(body).not.toContain('SUCCESS');
  expect(codes).toContain('TIMED_OUT');
});
