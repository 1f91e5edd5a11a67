import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Failure } from '../../src/errors.ts';
import { type Authenticator, compileAuthenticator } from '../../src/signature/authenticate.ts';
import type { Authenticated } from '../../src/signature/scheme.ts';
import type { DecryptionThreads } from '../../src/signature/blocks.ts';
import { type DecryptionOptions, createDecryptionThreads } from '../../src/signature/decryption.ts';
import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { sealEnvelope } from '../../src/signature/rsa-envelope.ts';
import { eventually } from '../eventually.ts';
import { makePair } from './pairs.ts';
import { authenticate, authenticatorOf, codeOf, envelopeBy, md5By, partsOf, shop } from './sources.ts';

const platform = makePair();
const merchants = [makePair(), makePair(3072), makePair()] as const;
const secrets = {
  PLATFORM: platform.publicText,
  MERCHANT_0: merchants[0].privateText,
  MERCHANT_1: merchants[1].privateText,
  MERCHANT_2: merchants[2].privateText,
  SECRET: 'demoSecret',
};
const senderKey = readPrivateKey(platform.privateText);
const receiverKeys = merchants.map(({ publicText }) => readPublicKey(publicText));
const sources = merchants.map((_, index) => ({
  ...shop(envelopeBy('PLATFORM', `MERCHANT_${index}`)),
  name: `shop-${index}`,
  appKey: `key-${index}`,
}));
const synchronous = authenticatorOf(sources, secrets);

function threadsHere(options: DecryptionOptions = {}): DecryptionThreads {
  const threads = createDecryptionThreads(options);
  onTestFinished(() => threads.close());
  return threads;
}

/** Node drops the query of a worker's own URL, but not that of an import. */
function failing(way: string, options: DecryptionOptions = {}): DecryptionThreads {
  const program = new URL('./failing-decryption-thread.ts', import.meta.url);
  program.searchParams.set('way', way);
  const entry = new URL(`data:text/javascript,import ${JSON.stringify(program)}`);
  return threadsHere({ threads: 1, entry, ...options });
}

const inThreads = (threads: DecryptionThreads): Authenticator =>
  compileAuthenticator(sources, { ...partsOf(secrets), threads });

type Envelope = Readonly<Record<'app_id' | 'data' | 'sign', string>>;

function envelope(source: number, plaintext: string): Envelope {
  const receiverKey = receiverKeys[source];
  if (receiverKey === undefined) throw new Error(`there is no source ${source}`);
  return { app_id: `key-${source}`, ...sealEnvelope(plaintext, { senderKey, receiverKey }) };
}

const content = (userId: number): string => JSON.stringify({ userId: `${userId}` });
/** Two blocks, which a failing thread decrypts. */
const long = (userId: number): string => content(userId).padEnd(300);

/** Sealed in advance, because to seal takes longer than to decrypt. */
const many = Array.from({ length: 300 }, (_, at) => envelope(0, content(at)));

/** The plaintext or the code, or `rejected` and the message. */
const outcomeOf = (authenticator: Authenticator, body: object): Promise<string> =>
  authenticate(authenticator, body).then(
    (outcome) => (outcome.ok ? (outcome.plaintext ?? '') : outcome.code),
    (thrown: unknown) => `rejected: ${thrown instanceof Error ? thrown.message : ''}`,
  );

/** The threads that this process starts from now on. */
function startedWorkers(): readonly Worker[] {
  const workers: Worker[] = [];
  const add = (worker: Worker): void => void workers.push(worker);
  process.on('worker', add);
  onTestFinished(() => void process.off('worker', add));
  return workers;
}

const isRunning = ({ threadId }: Worker): boolean => threadId !== -1;

describe('hundreds of envelopes at once', () => {
  it('get their own plaintexts, and the forged ones the failures of a synchronous decryption', async () => {
    const authenticator = inThreads(threadsHere({ threads: 3 }));
    const good = Array.from({ length: 300 }, (_, at) => envelope(at % 3, content(at)));
    const forged = good.flatMap((each, at): readonly Envelope[] => {
      const next = good[(at + 3) % good.length] ?? each;
      const flipped = Buffer.from(each.data, 'base64url');
      flipped[5] = (flipped[5] ?? 0) ^ 1;
      return [
        { ...each, data: next.data },
        { ...each, data: flipped.toString('base64url') },
        { ...each, sign: each.sign.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) },
        { ...each, app_id: `key-${(at + 1) % 3}` },
      ];
    });
    const sent = [...good, ...forged].toSorted((one, other) =>
      one.sign + one.data < other.sign + other.data ? -1 : 1,
    );
    const outcomes = await Promise.all(sent.map((each) => authenticate(authenticator, each)));
    let accepted = 0;
    for (const [at, body] of sent.entries()) {
      const outcome = outcomes[at];
      if (outcome?.ok) accepted += 1;
      // Reading a failure's reason and data: they are the same, byte for byte.
      expect(JSON.stringify(readable(outcome))).toBe(
        JSON.stringify(readable(await authenticate(synchronous, body))),
      );
    }
    expect(accepted).toBe(good.length);
    const own = await Promise.all(good.map((each) => outcomeOf(authenticator, each)));
    expect(own).toEqual(good.map((_, at) => content(at)));
  });

  it('start no more threads than allowed, and none without an envelope', async () => {
    const workers = startedWorkers();
    const threads = threadsHere({ threads: 2 });
    const flat = { ...shop(md5By('SECRET')), name: 'flat', appKey: 'flat' };
    const authenticator = compileAuthenticator([...sources, flat], { ...partsOf(secrets), threads });
    const unsigned = { ...envelope(0, content(1)), sign: Buffer.alloc(256, 3).toString('base64') };
    expect(codeOf(await authenticate(authenticator, unsigned))).toBe('SIGN_WRONG');
    const flatPayment = { appKey: 'flat', sign: '0'.repeat(32) };
    expect(codeOf(await authenticate(authenticator, flatPayment))).toBe('SIGN_WRONG');
    expect(workers).toHaveLength(0);
    expect(threads.waitMs()).toBe(0);

    const pending = Array.from({ length: 50 }, (_, at) =>
      outcomeOf(authenticator, envelope(at % 3, content(at))),
    );
    expect(threads.waitMs()).toBeGreaterThan(0);
    expect(await Promise.all(pending)).toEqual(Array.from({ length: 50 }, (_, at) => content(at)));
    expect(workers).toHaveLength(2);
    expect(threads.waitMs()).toBe(0);
  });
});

describe('a thread that fails', () => {
  it.each([
    ['exit', /ended with 7/],
    ['throw', /failed: this thread fails/],
    ['silence', /did not answer within 5000 ms/],
    ['text', /not an answer/],
    ['nothing', /not an answer/],
    ['another id', /not an answer/],
  ])('by %s rejects what waits for it, and the next envelope gets another thread', async (way, because) => {
    const authenticator = inThreads(failing(way, { answerMs: way === 'silence' ? 5000 : 60_000 }));
    const workers = startedWorkers();
    expect(await outcomeOf(authenticator, envelope(0, long(1)))).toBe(long(1));
    const outcomes = await Promise.all(
      [content(2), content(3)].map((text) => outcomeOf(authenticator, envelope(0, text))),
    );
    for (const outcome of outcomes) expect(outcome).toMatch(because);
    expect(await outcomeOf(authenticator, envelope(0, long(5)))).toBe(long(5));
    expect(workers).toHaveLength(2);
    await eventually(
      'the failed thread has ended',
      () => workers.filter(isRunning).length === 1 || undefined,
    );
  });

  it('at its start, each time, rejects each time and never hangs', async () => {
    const authenticator = inThreads(failing('start'));
    for (let at = 0; at < 3; at++) {
      expect(await outcomeOf(authenticator, envelope(0, long(at)))).toMatch(/^rejected: .* does not start/);
    }
    const nowhere = inThreads(threadsHere({ entry: new URL('./no-such-thread.ts', import.meta.url) }));
    expect(await outcomeOf(nowhere, envelope(0, long(1)))).toMatch(/^rejected: a decryption thread /);
  });

  it('by an answer too many is ended before it can answer another request', async () => {
    const authenticator = inThreads(failing('twice'));
    expect(await outcomeOf(authenticator, envelope(0, content(1)))).toBe(content(1));
    const next = await outcomeOf(authenticator, envelope(0, content(2)));
    expect([content(2), 'rejected: a decryption thread sent a message that is not an answer']).toContain(
      next,
    );
  });

  it('by the plaintext of another envelope gets neither approved: the main thread verifies them', async () => {
    const authenticator = inThreads(failing('the plaintext before'));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, at) => outcomeOf(authenticator, envelope(0, content(at)))),
    );
    const [first, ...others] = outcomes;
    expect(first).toBe(content(0));
    expect(new Set(others)).toEqual(new Set(['ENVELOPE_UNDECIPHERABLE']));
  });

  it('by being terminated from outside rejects what waits, and later envelopes are decrypted', async () => {
    const workers = startedWorkers();
    const authenticator = inThreads(threadsHere({ threads: 2 }));
    const pending = many.map((each) => outcomeOf(authenticator, each));
    await pending[0];
    await Promise.all(workers.map((worker) => worker.terminate()));
    const outcomes = await Promise.all(pending);
    const rejected = outcomes.filter((outcome, at) => outcome !== content(at));
    expect(rejected.length).toBeGreaterThan(0);
    for (const outcome of rejected) expect(outcome).toBe('rejected: a decryption thread ended with 1');
    expect(await outcomeOf(authenticator, envelope(1, content(7)))).toBe(content(7));
  });
});

describe('the end of the threads', () => {
  it('rejects what waits and all that comes later, and leaves no thread', async () => {
    const workers = startedWorkers();
    const threads = createDecryptionThreads({ threads: 2 });
    const authenticator = inThreads(threads);
    const pending = many.map((each) => outcomeOf(authenticator, each));
    await pending[0];
    await threads.close();
    expect(workers.filter(isRunning)).toEqual([]);
    const outcomes = await Promise.all(pending);
    const rejected = outcomes.filter((outcome, at) => outcome !== content(at));
    expect(rejected.length).toBeGreaterThan(0);
    expect(new Set(rejected)).toEqual(new Set(['rejected: a decryption thread was stopped']));
    expect(await outcomeOf(authenticator, envelope(0, content(1)))).toMatch(/^rejected: .*is shutting down/);
    await threads.close();
    expect(workers).toHaveLength(2);
  });

  it('is not needed for the end of a process', () => {
    const program = fileURLToPath(new URL('./leave-threads-open.ts', import.meta.url));
    const { status, stdout } = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 60_000 });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'decrypted\n' });
  });
});

it('envelopes that wait while keys are replaced are opened with the keys that were in force', async () => {
  const threads = threadsHere({ threads: 2 });
  const withKey = (merchant: string): Authenticator =>
    compileAuthenticator([shop(envelopeBy('PLATFORM', merchant))], { ...partsOf(secrets), threads });
  const to = (source: number, at: number): object => ({
    ...envelope(source, content(at)),
    app_id: 'demoKey',
  });
  const [before, after] = [withKey('MERCHANT_0'), withKey('MERCHANT_2')];
  const numbers = Array.from({ length: 100 }, (_, at) => at);
  const pending = [before, after].flatMap((authenticator) =>
    [0, 2].map((source) => Promise.all(numbers.map((at) => outcomeOf(authenticator, to(source, at))))),
  );
  const [oldToOld, newToOld, oldToNew, newToNew] = await Promise.all(pending);
  expect(oldToOld).toEqual(numbers.map(content));
  expect(newToNew).toEqual(numbers.map(content));
  expect(new Set([...(newToOld ?? []), ...(oldToNew ?? [])])).toEqual(new Set(['ENVELOPE_UNDECIPHERABLE']));
});

function readable(outcome: Authenticated | Failure | undefined): unknown {
  return outcome?.ok
    ? { ...outcome, members: [...outcome.members] }
    : { code: outcome?.code, because: outcome?.because, data: outcome?.data };
}
