import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createReadingProcess } from '../../src/compose/console-reading.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { startTestService } from '../service.ts';

const ENDS = new URL('reading-process-that-ends.ts', import.meta.url);

async function ofService() {
  const service = await startTestService();
  onTestFinished(() => service.stop());
  const { store } = loadSettings({ file: join(service.folder, 'settings.yaml'), env: {} });
  return { service, store };
}

it('reads what the service has written, with exact amounts', async () => {
  const { service, store } = await ofService();
  const reader = createReadingProcess({ store, groups: new Map() }, {});
  onTestFinished(() => reader.close());
  const least = '0.000000000000000000000000000000000001';
  await service.pay({ appOrderId: '1', orderAmount: least });
  const [entry] = await reader.reading.entries({ source: 'shop', limit: 1 });
  expect(entry).toEqual((await service.store.entries({ source: 'shop', limit: 1 }))[0]);
  const { limits } = await reader.reading.limits(
    { sources: ['shop'], most: 5 },
    { most: 10, least: 10, ms: 1000 },
  );
  expect(limits).toMatchObject([{ rule: 'window-limit#2', used: 1n }]);
});

it('errors keep their code', async () => {
  const { store } = await ofService();
  const reader = createReadingProcess({ store, groups: new Map() }, {});
  onTestFinished(() => reader.close());
  const lists = { source: 'shop', list: 'none' };
  const bounds = { most: 10, least: 10, ms: 1000 };
  await expect(reader.reading.listValues(lists, '', 1, bounds)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const nowhere = createReadingProcess(
    { store: { ...store, url: 'embedded:/nowhere/none.db' }, groups: new Map() },
    {},
  );
  onTestFinished(() => nowhere.close());
  for (const _ of [1, 2]) {
    await expect(nowhere.reading.control()).rejects.toMatchObject({
      name: 'CountersignError',
      code: expect.stringMatching(/^STORE_/) as string,
    });
  }
});

it('a process that ends rejects what it was asked, and the next question starts another', async () => {
  const { store } = await ofService();
  const reader = createReadingProcess({ store, groups: new Map() }, {}, ENDS);
  onTestFinished(() => reader.close());
  const asked = reader.reading.control();
  await expect(reader.reading.history(1)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
  await expect(asked).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
  expect(await reader.reading.lists('shop')).toBe('lists');
});

it('what it was asked is rejected when it is closed', async () => {
  const { store } = await ofService();
  const reader = createReadingProcess({ store, groups: new Map() }, {}, ENDS);
  expect(await reader.reading.lists('shop')).toBe('lists');
  const asked = reader.reading.control();
  const [outcome] = await Promise.allSettled([asked, reader.close()]);
  expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNREACHABLE' } });
  await reader.close();
});
