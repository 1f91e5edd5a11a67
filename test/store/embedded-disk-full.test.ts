import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../src/store/embedded/database.ts';
import { type Write, createEngine } from '../../src/store/embedded/engine.ts';
import { DEFAULT_RETENTION } from '../../src/store/retention.ts';
import { temporaryPath } from './embedded-folder.ts';
import { notificationStepOf, settleStepOf } from '../../src/store/settle-step.ts';
import { REVISION, START_MS, announcement, change, notice, priceChange, push, request } from './requests.ts';

const CHILD = fileURLToPath(new URL('./embedded-full.ts', import.meta.url));
/** Of util-linux: it takes and gives room to a running process. */
const canLimit = spawnSync('prlimit', ['--version']).status === 0;
const VERBS = [
  'settle',
  'notice',
  'push',
  'freeze',
  'changeList',
  'expectOrder',
  'changePrices',
  'record',
] as const;

const all = (fate: string): Readonly<Record<string, string>> =>
  Object.fromEntries(VERBS.map((verb) => [verb, fate]));

describe('a full disk under the embedded store', () => {
  it.skipIf(!canLimit).each(['caller', 'thread'])(
    'rejects every verb that writes, writing in the %s, leaves nothing of it behind, and is over when there is room',
    async (writer) => {
      const child = spawn(process.execPath, [CHILD, temporaryPath(), writer], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      expect(code).toBe(0);
      const said: unknown = JSON.parse(printed);
      expect(said).toMatchObject({
        before: { entries: 20, order: 'none', prices: 0, documents: 'none', lists: [] },
        full: all('STORE_UNREACHABLE'),
        after: { outcome: 'decided', verdict: 'SUCCESS', claims: [{ used: `20${'0'.repeat(36)}` }] },
        repeated: { outcome: 'repeated', verdict: 'SUCCESS' },
        roomy: all('done'),
      });
      const { before, during } = said as { readonly before: unknown; readonly during: unknown };
      expect(during).toEqual(before);
    },
  );

  it('says so and how to mend it, one write after the other and all at once', () => {
    const database = openDatabase(temporaryPath());
    const { connection } = database;
    onTestFinished(() => connection.close());
    const engine = createEngine(database, DEFAULT_RETENTION);
    const commit = (writes: readonly Write[]) => engine({ clockMs: START_MS, writes });
    commit([{ verb: 'push', argument: push('first', '') }]);
    const pages = Number(connection.prepare('PRAGMA page_count').get()?.['page_count']);
    connection.exec(`PRAGMA max_page_count = ${pages}`);
    const detail = 'x'.repeat(100_000);
    const writes: readonly Write[] = [
      { verb: 'settle', argument: settleStepOf(request({ detail })) },
      { verb: 'recordNotification', argument: notificationStepOf(notice({ detail })) },
      { verb: 'push', argument: push('second', REVISION, { document: detail }) },
      { verb: 'changeList', argument: change('blocked', [detail]) },
      { verb: 'expectOrder', argument: announcement({ members: { memo: detail } }) },
      { verb: 'changePrices', argument: priceChange({ BTC: '1' }, { by: detail }) },
    ];
    const fullDisk = {
      ok: false,
      error: {
        code: 'STORE_UNREACHABLE',
        message: expect.stringMatching(/the disk is full .*; free space/),
      },
    };
    for (const each of writes) {
      expect(commit([each]).outcomes).toMatchObject([fullDisk]);
    }
    for (const outcome of commit(writes).outcomes) expect(outcome).toMatchObject(fullDisk);
    const rows = (table: string): unknown =>
      connection.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'];
    for (const table of ['journal', 'subject', 'list', 'expected_order', 'price', 'price_history']) {
      expect([table, rows(table)]).toEqual([table, 0]);
    }
    connection.exec('PRAGMA max_page_count = 1000000');
    for (const outcome of commit(writes).outcomes) expect(outcome).toMatchObject({ ok: true });
  });
});
