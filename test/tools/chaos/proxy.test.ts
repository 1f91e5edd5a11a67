import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../eventually.ts';
import { type Network, type Proxy, startProxy } from '../../../tools/chaos/proxy.ts';
import { createRandom } from '../../../tools/chaos/random.ts';

/** A server that sends back what it gets, behind a proxy; and a connection to it, with all that came back. */
async function echoed(): Promise<{
  proxy: Proxy;
  client: Socket;
  back: () => string;
  isClosed: () => boolean;
}> {
  const server = createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const proxy = await startProxy((server.address() as AddressInfo).port);
  onTestFinished(() => proxy.close());
  const client = connect(Number(new URL(proxy.url).port), '127.0.0.1');
  onTestFinished(() => void client.destroy());
  let text = '';
  let closed = false;
  client.on('data', (part) => (text += part.toString()));
  client.on('error', () => undefined).on('close', () => (closed = true));
  await once(client, 'connect');
  return { proxy, client, back: () => text, isClosed: () => closed };
}

describe('the proxy', () => {
  it('keeps the order of bytes, however the network changes meanwhile', async () => {
    const { proxy, client, back } = await echoed();
    const random = createRandom(1);
    let sent = '';
    for (let turn = 0; turn < 200; turn++) {
      proxy.set(
        random.oneOf<Network>([
          { kind: 'pass' },
          { kind: 'delay', delayMs: random.whole(1, 20) },
          { kind: 'trickle', bytes: random.whole(1, 9) },
        ]),
      );
      const text = `${turn}:${'x'.repeat(random.whole(1, 60))};`;
      sent += text;
      client.write(text);
      if (random.percent(50)) await pause(1);
    }
    expect(
      await eventually('all has come back', () => (back().length >= sent.length ? back() : undefined)),
    ).toBe(sent);
  });

  it.each<[string, Network, number]>([
    ['replies that are lost', { kind: 'drop', what: 'replies' }, 0],
    ['requests that are lost', { kind: 'drop', what: 'requests' }, 0],
  ])('lets nothing through after %s, and keeps the connection', async (_name, network, bytes) => {
    const { proxy, client, back, isClosed } = await echoed();
    proxy.set(network);
    client.write('lost;');
    await eventually('the first part is lost', () => proxy.lostParts() === 1 || undefined);
    proxy.set({ kind: 'pass' });
    client.write('found;');
    await eventually('the second part is lost', () => proxy.lostParts() === 2 || undefined);
    expect(back()).toHaveLength(bytes);
    expect(isClosed()).toBe(false);
  });

  it.each(['replies', 'requests'] as const)('cuts %s after just so many bytes', async (what) => {
    const { proxy, client, back, isClosed } = await echoed();
    proxy.set({ kind: 'cut', what, bytes: 7 });
    client.write('0123456789');
    await eventually('it is cut', () => isClosed() || undefined);
    expect('0123456').toContain(back());
  });

  it('refuses: cuts what is open, and takes nothing new', async () => {
    const { proxy, isClosed } = await echoed();
    proxy.set({ kind: 'refuse' });
    await eventually('it is cut', () => isClosed() || undefined);
    const another = connect(Number(new URL(proxy.url).port), '127.0.0.1').on('error', () => undefined);
    await once(another, 'close');
    expect(another.bytesRead).toBe(0);
  });
});
