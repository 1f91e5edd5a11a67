import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../service.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { callsOfTheStore } from './calls-of-the-store.ts';
import { place, placeIn, runCall } from './terminal.ts';

const console = { passkeys: { host: 'localhost', origin: 'http://localhost:9090' } };

describe('where there is no store', () => {
  it.each([...callsOfTheStore, 'policy push --dry-run', 'policy backtest --since 1h'])(
    '`%s` ends with its absolute path and the cure: 2, and makes none',
    async (line) => {
      const { run, folder } = place({ settings: { console } }, { begun: false });
      const { code, err } = await run(...line.replace('FOLDER', folder).split(' '));
      const file = join(folder, 'store.db');
      expect([code, err]).toEqual([
        2,
        `STORE_MISSING: the store ${file} does not exist; pass the service's settings with --config, or start the service, which creates it\n`,
      ]);
      expect(existsSync(file)).toBe(false);
    },
  );

  it('`serve` makes it, and its log says where', async () => {
    const service = await startTestService();
    onTestFinished(() => service.stop());
    const made = service.log.find(({ event }) => event === 'store-created');
    expect(made?.['because']).toContain(`there was no store at ${join(service.folder, 'store.db')}`);
    expect((await placeIn(service.folder).run`freeze x`).code).toBe(0);
  });
});

describe('a command that is called in another folder', () => {
  it('finds the store of the service all the same, and freezes that', async () => {
    const service = await startTestService({ settings: { store: 'embedded:store.db' } });
    onTestFinished(() => service.stop());
    const elsewhere = temporaryFolder();
    const before = process.cwd();
    process.chdir(elsewhere);
    onTestFinished(() => process.chdir(before));
    expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');
    const { code } = await runCall(['freeze', 'x', '--config', join(service.folder, 'settings.yaml')]);
    expect(code).toBe(0);
    expect(await service.pay({ appOrderId: 'after' })).toBe('FAILURE');
    expect(existsSync(join(elsewhere, 'store.db'))).toBe(false);
  });
});
