import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTestService } from '../service.ts';
import { place, placeIn, runCall } from './terminal.ts';

/** One call of each command that works with the store. */
const CALLS: readonly (readonly string[])[] = [
  ['freeze', 'something is wrong'],
  ['unfreeze'],
  ['policy', 'push', '--message', 'first'],
  ['policy', 'push', '--dry-run'],
  ['policy', 'diff'],
  ['policy', 'show'],
  ['policy', 'history'],
  ['policy', 'rollback', 'abcdef', '--message', 'back'],
  ['policy', 'backtest', '--since', '1h'],
  ['list', 'show'],
  ['list', 'add', 'blocked', '1', '--create'],
  ['list', 'remove', 'blocked', '1'],
  ['orders', 'expect', 'payment', '1', '--user', '2', '--scheme', 'md5'],
  ['orders', 'show', 'payment', '1'],
  ['orders', 'cancel', 'payment', '1'],
  ['prices', 'set', 'BTC=1'],
  ['prices', 'show'],
  ['prices', 'history'],
  ['prices', 'remove', 'BTC'],
  ['decisions', 'show', 'shop/1'],
  ['decisions', 'explain', 'shop/1'],
  ['decisions', 'search'],
  ['decisions', 'export', '--since', '1h'],
];

describe('where there is no store', () => {
  it.each(CALLS)('`%s %s` ends with its absolute path and the cure: 2, and makes none', async (...argv) => {
    const { run, folder } = place({}, { begun: false });
    const { code, err } = await run(...argv);
    const file = join(folder, 'store.db');
    expect([code, err]).toEqual([
      2,
      `STORE_MISSING: the store ${file} does not exist; pass the service's settings with --config, or start the service, which creates it\n`,
    ]);
    expect(existsSync(file)).toBe(false);
  });

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
    const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-elsewhere-')));
    const before = process.cwd();
    process.chdir(elsewhere);
    onTestFinished(() => {
      process.chdir(before);
      rmSync(elsewhere, { recursive: true });
    });
    expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');
    const { code } = await runCall(['freeze', 'x', '--config', join(service.folder, 'settings.yaml')]);
    expect(code).toBe(0);
    expect(await service.pay({ appOrderId: 'after' })).toBe('FAILURE');
    expect(existsSync(join(elsewhere, 'store.db'))).toBe(false);
  });
});
