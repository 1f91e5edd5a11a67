import { copyFileSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { startServiceProcess } from '../service-process.ts';
import { type TestService, startTestService, writeServiceFolder } from '../service.ts';
import { place, placeIn, reports } from './terminal.ts';

/* The policies of the tests allow a user 10000 in 24 hours. */

const printed = z.object({
  file: z.string(),
  bytes: z.int(),
  entries: z.int(),
  newest: z.string().nullable(),
});

async function service(options: Parameters<typeof startTestService>[0] = {}): Promise<TestService> {
  const started = await startTestService(options);
  await eventually('policies are in force', async () =>
    (await started.store.control()).revision === '' ? undefined : true,
  );
  return started;
}

/** Moves the store and its log away, as `store restore` asks for. Returns where the file is now. */
function movedAway(folder: string): string {
  for (const suffix of ['', '-wal', '-shm']) {
    const file = join(folder, `store.db${suffix}`);
    if (existsSync(file)) renameSync(file, join(folder, `moved.db${suffix}`));
  }
  return join(folder, 'moved.db');
}

describe('countersign store backup and restore', () => {
  it('copy a store under load, and nothing that the copy knows is approved twice', async () => {
    const first = await service();
    const { folder } = first;
    const { run, runWith } = placeIn(folder);
    const backup = join(folder, 'backup.db');
    // Payments until the copy is made; then a few more, which it can't have.
    let paid = 0;
    const copied = new AbortController();
    const pay = async (): Promise<void> => {
      const number = paid++;
      expect(await first.pay({ appOrderId: `o-${number}` })).toBe('SUCCESS');
    };
    const load = async (): Promise<void> => {
      do await Promise.all([pay(), pay(), pay()]);
      while (!copied.signal.aborted);
    };
    const copying = run`store backup --to ${backup} --json`.finally(() => copied.abort());
    const [done] = await Promise.all([copying, load()]);
    expect({ code: done.code, err: done.err }).toEqual({ code: 0, err: '' });
    expect(printed.parse(done.json())).toMatchObject({ file: backup, bytes: statSync(backup).size });
    for (let more = 0; more < 3; more++) await pay();
    await first.stop({ keep: true });
    expect(existsSync(`${backup}-wal`)).toBe(false);
    expect(statSync(backup).mode).toBe(statSync(join(folder, 'store.db')).mode);

    movedAway(folder);
    const restored = await runWith({ clock: Date.now })('store', 'restore', backup, '--json');
    expect({ code: restored.code, err: restored.err }).toEqual({ code: 0, err: '' });
    const second = await startTestService({ folder });
    onTestFinished(() => second.stop());
    const known = (await second.store.entries({ source: 'shop', limit: 1000 })).filter(
      ({ code }) => code === 'APPROVED',
    );
    expect(known.length).toBeLessThanOrEqual(paid - 3);
    const { frozen } = await second.store.control();
    expect(frozen).toMatchObject([
      {
        kind: 'loss',
        by: 'ada',
        reason: expect.stringMatching(/^data was lost: restored from backup\.db, with /),
      },
    ]);
    expect(await second.pay({ appOrderId: 'new' })).toBe('FAILURE');
    expect((await fetch(`${second.ops}/readyz`)).status).toBe(503);
    expect((await run('unfreeze')).code).toBe(1);
    expect((await run`unfreeze --acknowledge-loss`).code).toBe(0);

    // Each of them once, with its terms; and the rest of the limit.
    await eventually('it approves again', async () =>
      (await second.pay({ appOrderId: `new-0` })) === 'SUCCESS' ? true : undefined,
    );
    for (const { subject } of known) {
      const appOrderId = subject.replace('payment:', '');
      expect(await second.pay({ appOrderId })).toBe('SUCCESS');
      expect(await second.pay({ appOrderId, orderAmount: '101' })).toBe('FAILURE');
    }
    const left = 100 - known.length - 1;
    for (let number = 1; number <= left; number++) {
      expect(await second.pay({ appOrderId: `new-${number}` })).toBe('SUCCESS');
    }
    expect(await second.pay({ appOrderId: 'beyond' })).toBe('FAILURE');
  });

  it('a service does not start on a killed store without its log; restore takes what is left, frozen', async () => {
    const folder = writeServiceFolder();
    const { run, runWith } = placeIn(folder);
    const killed = await startServiceProcess(folder);
    await killed.kill();
    const file = join(folder, 'store.db');
    const moved = movedAway(folder);
    copyFileSync(moved, file);
    await expect(startServiceProcess(folder)).rejects.toThrow(
      /exit code 2: STORE_UNSAFE: .*store\.db-wal.* is missing/,
    );
    expect(await run`freeze x`).toMatchObject(reports(2, 'STORE_UNSAFE'));
    expect(readFileSync(file)).toEqual(readFileSync(moved));

    renameSync(file, join(folder, 'bare.db'));
    const restored = await runWith({ clock: Date.now })('store', 'restore', join(folder, 'bare.db'));
    expect(restored.code).toBe(0);
    const again = await startTestService({ folder });
    onTestFinished(() => again.stop());
    expect((await again.store.control()).frozen).toMatchObject([{ kind: 'loss' }]);
    expect(await again.pay({})).toBe('FAILURE');
  });

  it('restore takes the log of a store that was not closed', async () => {
    const first = await service();
    onTestFinished(() => first.stop());
    expect(await first.pay({})).toBe('SUCCESS');
    const { folder } = place({}, { begun: false });
    for (const suffix of ['', '-wal']) {
      copyFileSync(join(first.folder, `store.db${suffix}`), join(folder, `copy.db${suffix}`));
    }
    const { json } = await placeIn(folder).runWith({ clock: Date.now })(
      'store',
      'restore',
      join(folder, 'copy.db'),
      '--json',
    );
    expect(printed.parse(json()).entries).toBe((await first.store.journalSize('shop')) + 2);
  });
});

describe('countersign store backup', () => {
  it('replaces no file, makes no folder, and needs a store', async () => {
    const { folder, run, write } = place();
    const taken = write('taken.db', 'x');
    expect(await run`store backup --to ${taken}`).toMatchObject(
      reports(2, `the file ${taken} exists; name a new file`),
    );
    expect(readFileSync(taken, 'utf8')).toBe('x');
    expect(await run`store backup --to ${join(folder, 'no/backup.db')}`).toMatchObject(
      reports(2, `there is no folder ${join(folder, 'no')}`),
    );
    const none = place({}, { begun: false });
    expect(await none.run`store backup --to ${join(folder, 'new.db')}`).toMatchObject(
      reports(2, 'STORE_MISSING'),
    );
  });

  it('and restore leave a store on Redis to its own tools', async () => {
    const { run, folder } = place({ redis: 'redis://127.0.0.1:1/0' });
    for (const call of [
      ['backup', '--to', join(folder, 'x.db')],
      ['restore', join(folder, 'x.db')],
    ]) {
      expect(await run`store ${call}`).toMatchObject({
        code: 2,
        err: expect.stringMatching(/the store is on Redis; .*docs\/redis\.md says under Backup and restore/),
      });
    }
  });
});

describe('countersign store restore', () => {
  it('replaces no store, nor a log without one', async () => {
    const { folder, run, write } = place();
    const backup = join(folder, 'backup.db');
    expect((await run`store backup --to ${backup}`).code).toBe(0);
    const file = join(folder, 'store.db');
    const before = readFileSync(file);
    expect(await run`store restore ${backup}`).toMatchObject(
      reports(2, `${file} exists, and a restore replaces nothing`),
    );
    expect(readFileSync(file)).toEqual(before);
    movedAway(folder);
    write('store.db-wal', 'x');
    expect(await run`store restore ${backup}`).toMatchObject(reports(2, `${file}-wal exists`));
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    ['is not there', undefined, /there is no file \S+; name a backup/],
    ['is empty', '', /is empty/],
    ['is no database', 'accounts of 2019, '.repeat(1000), /is not a database/],
  ])('refuses a file that %s, and makes no store', async (_what, content, said) => {
    const { folder, run, write } = place({}, { begun: false });
    if (content !== undefined) write('backup.db', content);
    const { code, err } = await run`store restore ${join(folder, 'backup.db')}`;
    expect(code).toBe(2);
    expect(err).toMatch(said);
    expect(existsSync(join(folder, 'store.db'))).toBe(false);
  });

  it('refuses a damaged backup', async () => {
    const { folder, run } = place();
    const backup = join(folder, 'backup.db');
    expect((await run`store backup --to ${backup}`).code).toBe(0);
    const bytes = readFileSync(backup);
    bytes.fill(0xff, 4096 * 3, 4096 * 5);
    writeFileSync(backup, bytes);
    movedAway(folder);
    const { code, err } = await run`store restore ${backup}`;
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/STORE_CORRUPT/) });
    expect(existsSync(join(folder, 'store.db'))).toBe(false);
  });
});
