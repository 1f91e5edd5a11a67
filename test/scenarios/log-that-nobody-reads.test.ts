import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, signedPayment } from '../service.ts';
import { journalOf } from './audit.ts';
import { folderOf, serviceProcess, storeOf, untilReady } from './running.ts';

const SENDERS = 32;

async function droppedAt(ops: string): Promise<number> {
  const metrics = await (await fetch(`${ops}/metrics`)).text();
  return Number(/^countersign_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1]);
}

it('a log that nobody reads keeps no callback waiting, is bounded, and goes on with what it has missed', async () => {
  const folder = folderOf({
    settings: {
      public: { port: '0', limits: { failuresPerSecond: '100000' } },
      log: { unauthenticatedPerMinute: '100000' },
    },
  });
  const service = await serviceProcess(folder);
  await untilReady(service.ops);
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
  onTestFinished(() => agent.destroy());
  const send = (body: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      request(`${service.url}${PAYMENT_PATH}`, { method: 'POST', headers, agent }, (response) => {
        text(response).then(resolve, reject);
      })
        .on('error', reject)
        .end(body);
    });

  const readAgain = service.stallLog();
  const unsigned = JSON.stringify({ appKey: 'k'.repeat(128), appOrderId: 'o'.repeat(128) });
  let dropped = 0;
  while (dropped === 0) {
    const answers = await Promise.all(Array.from({ length: SENDERS * 50 }, () => send(unsigned)));
    expect(new Set(answers)).toEqual(new Set(['FAILURE']));
    dropped = await droppedAt(service.ops);
  }
  expect(await send(signedPayment({ appOrderId: 'while-stalled' }))).toBe('SUCCESS');
  const [entry] = await journalOf(await storeOf(folder));
  expect(entry).toMatchObject({ verdict: 'SUCCESS', subject: 'payment:while-stalled' });
  expect(await droppedAt(service.ops)).toBeGreaterThan(dropped);

  readAgain();
  const line = await eventually('the log says what was dropped', () =>
    service.log.find(({ event }) => event === 'log-lines-dropped'),
  );
  expect(line).toMatchObject({ level: 'error', count: await droppedAt(service.ops) });
  expect(await send(signedPayment({ appOrderId: 'afterwards' }))).toBe('SUCCESS');
  await eventually(
    'later lines follow',
    () => service.log.some(({ subject }) => subject === 'payment:afterwards') || undefined,
  );
}, 120_000);
