import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createReadingThread } from '../../src/compose/console-reading.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { startTestService } from '../service.ts';

const ENDS = new URL('reading-thread-that-ends.ts', import.meta.url);

async function ofService() {
  const service = await startTestService();
  onTestFinished(() => service.stop());
  const { store } = loadSettings({ file: join(service.folder, 'settings.yaml'), env: {} });
  return { service, store };
}

it('reads what the service has written, with exact amounts', async () => {
  const { service, store } = await ofService();
  const thread = createReadingThread({ store, groups: new Map() }, {});
  onTestFinished(() => thread.close());
  const least = '0.000000000000000000000000000000000001';
  await service.pay({ appOrderId: '1', orderAmount: least });
  const [entry] = await thread.reading.entries({ source: 'shop', limit: 1 });
  expect(entry).toEqual((await service.store.entries({ source: 'shop', limit: 1 }))[0]);
  const { limits } = await thread.reading.limits(['shop'], { most: 10, least: 10, ms: 1000 });
  expect(limits).toMatchObject([{ rule: 'window-limit#2', used: 1n }]);
});

it('errors keep their code', async () => {
  const { store } = await ofService();
  const thread = createReadingThread({ store, groups: new Map() }, {});
  onTestFinished(() => thread.close());
  const lists = { source: 'shop', list: 'none' };
  const bounds = { most: 10, least: 10, ms: 1000 };
  await expect(thread.reading.listValues(lists, '', 1, bounds)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  const nowhere = createReadingThread(
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

it('a thread that ends rejects what it was asked, and the next question starts another', async () => {
  const { store } = await ofService();
  const thread = createReadingThread({ store, groups: new Map() }, {}, ENDS);
  onTestFinished(() => thread.close());
  const asked = thread.reading.control();
  await expect(thread.reading.history(1)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
  await expect(asked).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
  expect(await thread.reading.lists('shop')).toBe('lists');
});

it('what it was asked is rejected when it is closed', async () => {
  const { store } = await ofService();
  const thread = createReadingThread({ store, groups: new Map() }, {}, ENDS);
  expect(await thread.reading.lists('shop')).toBe('lists');
  const asked = thread.reading.control();
  const [outcome] = await Promise.allSettled([asked, thread.close()]);
  expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNREACHABLE' } });
  await thread.close();
});
