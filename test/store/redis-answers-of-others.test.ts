import { type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { readyOn, redisOfItsOwn, untilAnswered } from './redis-under-test.ts';
import { notice, request, signing } from './requests.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/**
 * Between service and Redis; once told to, it gives an answer that was given before another time, and so
 * shifts what follows.
 */
async function startRepeater(port: number) {
  let last: Uint8Array = Buffer.alloc(0);
  let again = false;
  const server = createServer((client: Socket) => {
    const target = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
    }
    client.on('data', (chunk: Buffer) => {
      if (again && chunk.includes('evalsha')) {
        again = false;
        client.write(last);
      }
      target.write(chunk);
    });
    target.on('data', (chunk: Buffer) => {
      if (chunk.includes('SUCCESS')) last = chunk;
      client.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `redis://127.0.0.1:${address.port}/0`, repeatLast: () => void (again = true) };
}

describe('an answer that is about something else', () => {
  it.each([
    ['another subject', { subject: 'payment:2' }],
    ['other terms', { terms: 'f'.repeat(64) }],
    ['another question', { question: 'sign_start' as const }],
    ['a speed-up', { speedUp: true }],
  ])('is never taken for an approval of %s', async (_, other) => {
    const server = await redisOfItsOwn();
    const repeater = await startRepeater(server.port);
    const store = await readyOn(repeater);
    expect(await store.settle(request())).toMatchObject({ verdict: 'SUCCESS' });
    repeater.repeatLast();
    await expect(store.settle(request({ ...other, approves: false }))).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
      message: expect.stringMatching(/another command/) as string,
    });
    // The shifted replies are dropped with their connection.
    const after = await untilAnswered(() => store.settle(request({ subject: 'payment:3', approves: false })));
    expect(after).toMatchObject({ verdict: 'FAILURE' });
  });

  it('is never taken for a notice', async () => {
    const server = await redisOfItsOwn();
    const repeater = await startRepeater(server.port);
    const store = await readyOn(repeater);
    await store.settle(signing());
    expect(await store.recordNotification(notice())).toMatchObject({ verdict: 'SUCCESS' });
    repeater.repeatLast();
    await expect(store.recordNotification(notice({ subject: 'transfer:9' }))).rejects.toMatchObject({
      code: 'STORE_UNREACHABLE',
    });
  });
});
