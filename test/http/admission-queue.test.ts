import { EventEmitter, once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { type Socket, connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { followAcceptQueue } from '../../src/http/admission-queue.ts';

const busyFor = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

it('a connection that is accepted at once has not waited', async () => {
  const queue = followAcceptQueue(() => performance.now(), 64);
  const server = new EventEmitter();
  queue.follow(server);
  server.emit('connection', server);
  await turn();
  expect(queue.waitedMs(server)).toBe(0);
});

it('one that is accepted after others, turn after turn, may have waited since the first, and is asked once', async () => {
  let now = 1000;
  const queue = followAcceptQueue(() => now, 64);
  const server = new EventEmitter();
  queue.follow(server);
  const connections = Array.from({ length: 4 }, () => ({}));
  for (const connection of connections) {
    server.emit('connection', connection);
    await turn();
    now += 60;
  }
  expect(connections.map((each) => queue.waitedMs(each))).toEqual([0, 0, 240, 240]);
  expect(queue.waitedMs(connections[3] ?? {})).toBe(0);

  // A turn in which none came: whatever comes now has come since.
  await turn();
  await turn();
  const after = {};
  server.emit('connection', after);
  expect(queue.waitedMs(after)).toBe(0);
});

it('one that is accepted in a crowd has waited no longer than as many could wait as the kernel lets', async () => {
  let now = 1000;
  const queue = followAcceptQueue(() => now, 2);
  const server = new EventEmitter();
  queue.follow(server);
  const connections = Array.from({ length: 20 }, () => ({}));
  for (const connection of connections) {
    server.emit('connection', connection);
    await turn();
    now += 60;
  }
  const last = {};
  server.emit('connection', last);
  // Three may wait, so it came after the fourth before it was accepted.
  expect(queue.waitedMs(last)).toBe(240);
});

it('one that comes after others which were closed at once may have waited as long as they', async () => {
  let now = 1000;
  const queue = followAcceptQueue(() => now, 64);
  const server = new EventEmitter();
  queue.follow(server);
  for (let time = 0; time < 4; time++) {
    server.emit('drop');
    await turn();
    now += 60;
  }
  const last = {};
  server.emit('connection', last);
  expect(queue.waitedMs(last)).toBe(240);
});

it('holds for real connections that wait in the kernel', async () => {
  const queue = followAcceptQueue(() => performance.now(), 64);
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket);
    busyFor(40);
  });
  queue.follow(server);
  server.listen({ port: 0, host: '127.0.0.1', backlog: 64 });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const clients = Array.from({ length: 12 }, () => connect(address.port, '127.0.0.1'));
  onTestFinished(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy();
    server.close();
  });
  while (accepted.length < clients.length) await turn();
  const [first, last] = [accepted[0], accepted.at(-1)];
  expect(queue.waitedMs(last ?? {})).toBeGreaterThanOrEqual(40 * 10);
  expect(queue.waitedMs(first ?? {})).toBe(0);
});
