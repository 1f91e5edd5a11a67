import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../../service.ts';
import { type Ran, placeIn, prints } from '../terminal.ts';

const ORDER = ['payment', '777', '--source', 'shop', '--user', '1', '--symbol', 'USDT1742', '--amount', '1'];

/** A service whose store has failed: FAILURE, and no entry. */
async function failing(): Promise<string> {
  const server = createServer((_request, response) => response.end('FAILURE')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('says that there is no decision, and not what the journal has about the order or had before', async () => {
  const service = await startTestService();
  onTestFinished(() => service.stop());
  const run = placeIn(service.folder).runWith({ clock: Date.now });
  const send = (to: string): Promise<Ran> => run('send', 'payment', '--order', '777', '--to', to);
  expect(await run('orders', 'expect', ...ORDER, '--scheme', 'rsa')).toMatchObject(prints(0, 'is expected'));
  const to = await failing();
  const failed = await send(to);
  expect(failed.out).toContain('has no decision about it');
  expect(failed.out).not.toContain('announced');
  expect((await send(service.url)).out).toContain('payment:777');
  expect((await send(service.url)).out).toContain('payment:777');
  expect((await send(to)).out).toContain('has no decision about it');
});
