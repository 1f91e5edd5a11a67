import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, type TestService, signedPayment } from '../service.ts';
import { makePair } from '../signature/pairs.ts';
import { approvalsIn, journalOf } from './audit.ts';
import { upTo } from './policies.ts';
import { durableRedis, folderOf, serviceHere, serviceProcess, untilReady } from './running.ts';

/*
 * Envelopes are decrypted in threads, while other callbacks are decided. Whatever happens to the threads, each
 * envelope is decided by its own content, or not approved.
 */

/** Room for many envelopes that are forged, or that no thread decrypts. */
const SETTINGS = {
  answerTimeoutMs: '10000',
  public: { port: '0', limits: { failuresPerSecond: '100000' } },
};

const orderOf = (at: number): { appOrderId: string; orderAmount: string } => ({
  appOrderId: `order-${at}`,
  orderAmount: '1',
});

const envelopes = (count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, at) => signedPayment(orderOf(from + at), 'rsa-envelope'));

const answersOf = (service: TestService, bodies: readonly string[]): Promise<readonly string[]> =>
  Promise.all(bodies.map(async (body) => (await service.post(PAYMENT_PATH, body)).body));

/** The threads that this process starts from now on. */
function startedWorkers(): readonly Worker[] {
  const workers: Worker[] = [];
  const add = (worker: Worker): void => void workers.push(worker);
  process.on('worker', add);
  onTestFinished(() => void process.off('worker', add));
  return workers;
}

/** The bodies that the journal has approved, each with the order in the content that was decrypted for it. */
async function approvedBodies(service: TestService): Promise<ReadonlyMap<string, string>> {
  const approvals = approvalsIn(await journalOf(service.store));
  return new Map(
    approvals.map(({ detail }) => {
      const { body, plaintext = body } = JSON.parse(detail) as {
        readonly body: string;
        readonly plaintext?: string;
      };
      const { appOrderId } = JSON.parse(plaintext) as { readonly appOrderId: string };
      return [body, appOrderId];
    }),
  );
}

const isAnswer = (answer: string): boolean => answer === 'SUCCESS' || answer === 'FAILURE';

it('hundreds at once, mixed with forged ones, are each decided by their own content', async () => {
  const service = await serviceHere({ policies: upTo(100_000), settings: SETTINGS });
  const good = envelopes(200);
  const parsed = good.map((body) => JSON.parse(body) as { readonly data: string; readonly sign: string });
  const forged = parsed.map((envelope, at) =>
    JSON.stringify({
      ...envelope,
      ...(at % 2 === 0 ? { data: parsed[at + 1]?.data } : { sign: parsed[at - 1]?.sign }),
    }),
  );
  const flat = Array.from({ length: 50 }, (_, at) =>
    signedPayment({ appOrderId: `flat-${at}`, orderAmount: '1' }),
  );
  const sent = good.flatMap((body, at) => [body, forged[at] ?? '']);
  const [answers, flatAnswers] = await Promise.all([answersOf(service, sent), answersOf(service, flat)]);
  expect(answers.filter((_, at) => at % 2 === 0)).toEqual(good.map(() => 'SUCCESS'));
  expect(answers.filter((_, at) => at % 2 === 1)).toEqual(good.map(() => 'FAILURE'));
  expect(flatAnswers).toEqual(flat.map(() => 'SUCCESS'));
  const approved = await approvedBodies(service);
  expect(good.map((body) => approved.get(body))).toEqual(good.map((_, at) => orderOf(at).appOrderId));
});

it('threads that end while envelopes wait for them approve nothing, and later envelopes are decided', async () => {
  const workers = startedWorkers();
  // On Redis, the only threads are those that decrypt.
  const { url } = await durableRedis();
  const service = await serviceHere({ redis: url, policies: upTo(100_000), settings: SETTINGS });
  await untilReady(service.ops);
  let sent = 0;
  let failed = 0;
  await eventually('a thread ended while an envelope waited', async () => {
    const bodies = envelopes(100, sent);
    const pending = bodies.map((body) => answersOf(service, [body]));
    await Promise.any(pending);
    await Promise.all(workers.map((worker) => worker.terminate()));
    const answers = (await Promise.all(pending)).flat();
    expect(answers.filter((answer) => !isAnswer(answer))).toEqual([]);
    const approved = await approvedBodies(service);
    for (const [at, answer] of answers.entries()) {
      const { appOrderId } = orderOf(sent + at);
      expect(approved.get(bodies[at] ?? '')).toBe(answer === 'SUCCESS' ? appOrderId : undefined);
      if (answer === 'FAILURE') failed += 1;
    }
    sent += bodies.length;
    return failed > 0 || undefined;
  });
  const logged = service.log.filter(({ verdict }) => verdict === 'FAILURE');
  expect(new Set(logged.map(({ code, because }) => [code, because].join(': ')))).toEqual(
    new Set(['INTERNAL: a decryption thread ended with 1']),
  );
  const repeats = await answersOf(service, envelopes(sent));
  expect(new Set(repeats)).toEqual(new Set(['SUCCESS']));
});

it('a merchant key that is replaced while envelopes arrive: none hangs, and the old key soon opens nothing', async () => {
  const service = await serviceHere({ policies: upTo(100_000), settings: SETTINGS });
  const file = join(service.folder, 'merchant.pem');
  const next = join(service.folder, 'next.pem');
  const old = readFileSync(file, 'utf8');
  const replaceBy = (text: string): void => {
    writeFileSync(next, text, { mode: 0o600 });
    renameSync(next, file);
  };
  let at = 0;
  const round = async (): Promise<ReadonlySet<string>> => {
    at += 50;
    const answers = new Set(await answersOf(service, envelopes(50, at)));
    expect([...answers].filter((answer) => !isAnswer(answer))).toEqual([]);
    return answers;
  };
  expect(await round()).toEqual(new Set(['SUCCESS']));
  replaceBy(makePair().privateText);
  await eventually('the old key opens nothing', async () => !(await round()).has('SUCCESS') || undefined);
  expect(await round()).toEqual(new Set(['FAILURE']));
  replaceBy(old);
  await eventually('the old key opens all again', async () => !(await round()).has('FAILURE') || undefined);
});

it('a service that stops ends its threads', async () => {
  const workers = startedWorkers();
  const service = await serviceHere({ policies: upTo(100_000), settings: SETTINGS });
  const pending = answersOf(service, envelopes(30));
  expect(new Set(await pending)).toEqual(new Set(['SUCCESS']));
  expect(workers.some(({ threadId }) => threadId !== -1)).toBe(true);
  await service.stop();
  expect(workers.filter(({ threadId }) => threadId !== -1)).toEqual([]);
});

it('a process that is told to stop answers the envelopes in flight, and ends', async () => {
  const folder = folderOf({ policies: upTo(100_000), settings: SETTINGS });
  const service = await serviceProcess(folder);
  await untilReady(service.ops);
  const headers = { 'content-type': 'application/json' };
  const post = async (body: string): Promise<string> =>
    (await fetch(`${service.url}${PAYMENT_PATH}`, { method: 'POST', headers, body })).text();
  expect(await post(envelopes(1)[0] ?? '')).toBe('SUCCESS');
  const pending = envelopes(100, 1).map(post);
  const settled = Promise.allSettled(pending);
  await Promise.any(pending);
  service.terminate();
  expect(await service.ended).toBe(0);
  const answers = (await settled).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(answers.filter((answer) => !isAnswer(answer))).toEqual([]);
});
