import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { closedPort, onNextPort } from '../ports.ts';
import { type TestService, startTestService } from '../service.ts';
import { place, placeIn } from './terminal.ts';

/** A service whose file of settings names the port for the operator. */
async function serviceOn(host = '127.0.0.1'): Promise<TestService> {
  const service = await onNextPort((port) =>
    startTestService({ settings: { ops: { host, port: `${port}` } } }),
  );
  onTestFinished(() => service.stop());
  return service;
}

it.each(['127.0.0.1', '0.0.0.0'])(
  '0 while the service answers at the port of the settings, on %s',
  async (host) => {
    const service = await serviceOn(host);
    const { code, out } = await placeIn(service.folder).run('health');
    const { port } = new URL(service.ops);
    expect({ code, out }).toEqual({ code: 0, out: `http://127.0.0.1:${port}/healthz answers.\n` });
  },
);

it('1 once it does not, and says what to do', async () => {
  const port = await closedPort();
  const { run } = place({ settings: { ops: { port: `${port}` } } });
  const { code, out } = await run('health');
  expect(code).toBe(1);
  expect(out).toContain(`http://127.0.0.1:${port}/healthz does not answer: connect ECONNREFUSED`);
  expect(out).toContain('Start the service');
  expect((await run`health --json`).json()).toMatchObject({ ok: false, because: expect.any(String) });
});

it('1 where something else answers, or sends it elsewhere', async () => {
  for (const status of [500, 404, 302]) {
    const port = await onNextPort(async (next) => {
      const server = createServer((_request, response) =>
        response.writeHead(status, { location: 'http://127.0.0.1/' }).end(),
      );
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(next, '127.0.0.1', resolve);
      });
      onTestFinished(() => void server.close());
      return next;
    });
    const { run } = place({ settings: { ops: { port: `${port}` } } });
    expect(await run('health')).toMatchObject({ code: 1 });
  }
});

it('reads the settings and makes no store', async () => {
  const { run, folder } = place({ settings: { ops: { port: `${await closedPort()}` } } }, { begun: false });
  await run('health');
  expect(existsSync(join(folder, 'store.db'))).toBe(false);
});
