import { cpSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { readinessAt, serviceHere, untilReady } from './running.ts';

describe('a service whose data folder is moved or restored under it', () => {
  it.each([
    ['moved away', 'gone', (data: string) => renameSync(data, `${data}.old`)],
    [
      'restored from a copy',
      'another file',
      (data: string) => {
        cpSync(data, `${data}.copy`, { recursive: true });
        renameSync(data, `${data}.old`);
        renameSync(`${data}.copy`, data);
      },
    ],
  ] as const)(
    '%s approves nothing, and /readyz, log and metrics say so, also once it is back',
    async (_how, what, move) => {
      const service = await serviceHere({ settings: { store: 'embedded:data/store.db' } });
      const data = join(service.folder, 'data');
      await untilReady(service.ops);
      expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');
      const metrics = async (): Promise<string> => (await fetch(`${service.ops}/metrics`)).text();
      expect(await metrics()).toContain('countersign_store_moved 0');

      move(data);
      expect(await service.pay({ appOrderId: 'during' })).toBe('FAILURE');
      const { status, because } = await readinessAt(service.ops);
      expect(status).toBe(503);
      expect(because).toMatch(new RegExp(`store: ${join(data, 'store.db')} is (?:${what}|gone)`));
      expect(because).toContain('then restart the service');
      expect(await metrics()).toMatch(/^countersign_store_moved 1$/m);
      await eventually('the log says so', () =>
        service.log.find(({ event, level }) => event === 'store-moved' && level === 'error'),
      );

      if (existsSync(data)) renameSync(data, `${data}.other`);
      renameSync(`${data}.old`, data);
      expect(await service.pay({ appOrderId: 'after' })).toBe('FAILURE');
      expect((await readinessAt(service.ops)).status).toBe(503);
    },
  );

  it('a freeze on the restored store says that the service does not run on it', async () => {
    const service = await serviceHere({ settings: { store: 'embedded:data/store.db' } });
    const data = join(service.folder, 'data');
    await untilReady(service.ops);
    await eventually('the service shows itself', async () =>
      (await service.store.services()).services.length > 0 ? true : undefined,
    );
    cpSync(data, `${data}.copy`, { recursive: true });
    renameSync(data, `${data}.old`);
    renameSync(`${data}.copy`, data);
    const { code, json } = await placeIn(service.folder).run('freeze', 'x', '--json');
    expect(code).toBe(0);
    expect(json()).toMatchObject({ services: { noted: [] } });
    expect(await service.pay({ appOrderId: 'during' })).toBe('FAILURE');
  });
});
