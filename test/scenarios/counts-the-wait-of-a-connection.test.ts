import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { CERTIFICATE, CERTIFICATE_KEY } from '../cli/certificate.ts';
import { PAYMENT_PATH, type TestService, signedPayment } from '../service.ts';
import { journalOf } from './audit.ts';
import { describeOnBothStores } from './on-both-stores.ts';
import type { QueuedSenders } from './queued-senders.ts';

const ANSWER_TIMEOUT_MS = 3000;
const CONNECTIONS = 40;
/** Node accepts one connection a turn of its event loop. So the last one waits for two answer times. */
const TURN_MS = 150;

const tlsOf = (folder: string): object => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  return { certificate: file('tls.pem', CERTIFICATE), key: { file: file('tls.key', CERTIFICATE_KEY) } };
};

function request(index: number): string {
  const body = signedPayment({ appOrderId: `queued-${index}`, orderAmount: '1' });
  return (
    `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

/** Blocks this thread, and with it the event loop of the service. */
const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TURN_MS);

/** The answers to new connections that all wait in the kernel when the first long turn begins. */
async function answersAfterLongTurns(service: TestService): Promise<readonly string[]> {
  const queued = new Int32Array(new SharedArrayBuffer(4));
  const workerData: QueuedSenders = {
    port: Number(new URL(service.url).port),
    tls: service.url.startsWith('https:'),
    requests: Array.from({ length: CONNECTIONS }, (_, index) => request(index)),
    queued,
  };
  const senders = new Worker(new URL('queued-senders.ts', import.meta.url), { workerData });
  await once(senders, 'online');
  Atomics.wait(queued, 0, 0);
  let turns: NodeJS.Immediate | undefined;
  const turn = (): void => {
    pause();
    turns = setImmediate(turn);
  };
  turn();
  const [answers] = (await once(senders, 'message')) as [readonly string[]];
  clearImmediate(turns);
  return answers;
}

describeOnBothStores(
  'a connection that waited until it was accepted',
  (host) => {
    it.each([false, true])('has spent that time of its first callback (TLS: %s)', async (secured) => {
      const settings = { answerTimeoutMs: ANSWER_TIMEOUT_MS };
      const plain = await host.start({ settings });
      const service = secured
        ? await plain
            .stop({ keep: true })
            .then(() =>
              host.start(
                { settings: { ...settings, public: { port: '0', tls: tlsOf(plain.folder) } } },
                plain,
              ),
            )
        : plain;
      const answers = await answersAfterLongTurns(service);
      expect(new Set(answers)).toEqual(new Set(['SUCCESS', 'FAILURE']));
      expect(answers[0]).toBe('SUCCESS');
      expect(answers.slice(-CONNECTIONS / 4)).toEqual(
        Array.from({ length: CONNECTIONS / 4 }, () => 'FAILURE'),
      );
      const last = `queued-${CONNECTIONS - 1}`;
      expect((await journalOf(service.store)).filter(({ subject }) => subject.includes(last))).toEqual([]);
      expect(service.log).toContainEqual(
        expect.objectContaining({
          event: 'turned-away',
          code: 'OVERLOADED',
          because: expect.stringMatching(
            /^the service read this callback up to \d+ ms after it arrived/,
          ) as string,
        }),
      );
      expect(
        (
          await service
            .post(PAYMENT_PATH, signedPayment({ appOrderId: 'afterwards' }))
            .catch(() => ({ body: 'self-signed' }))
        ).body,
      ).toBe(secured ? 'self-signed' : 'SUCCESS');
    });
  },
  { timeoutMs: 60_000 },
);
