import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { payment, PAYMENT_PATH } from '../golden/story.ts';
import { type World, createWorld } from '../golden/world.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';

const VERSIONS = ['0.1.0'] as const;
const cases = VERSIONS.flatMap((version) => [
  { version, store: 'embedded' as const },
  { version, store: 'redis' as const },
]);

/** Warnings are sentences for people, and may be worded better. Their number is held. */
function withoutSentences(json: string): unknown {
  return JSON.parse(json, (name: string, value: unknown) =>
    name === 'warnings' && Array.isArray(value) ? value.map(() => '<sentence>') : value,
  ) as unknown;
}

interface Exported {
  readonly code: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

describe.each(cases)(
  'a $store store that version $version wrote',
  { timeout: 240_000 },
  ({ version, store }) => {
    const written = (name: string): Buffer =>
      readFileSync(new URL(`${version}/${store}/${name}`, import.meta.url));
    let redis: RedisServerProcess | undefined;
    let world: World;
    let folder: string;

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'countersign-written-before-'));
      if (store === 'redis') {
        writeFileSync(join(folder, 'dump.rdb'), gunzipSync(written('dump.rdb.gz')));
        redis = await startRedisServer({ args: ['--dir', folder] });
      }
      world = createWorld(redis?.url);
      if (store === 'embedded')
        writeFileSync(join(world.folder, 'store.db'), gunzipSync(written('store.db.gz')));
    });
    afterEach(async () => {
      await world.remove();
      await redis?.stop();
      redis = undefined;
      rmSync(folder, { recursive: true, force: true });
    });

    it('has the same journal, byte by byte', async () => {
      const { out } = await world.run(['decisions', 'export']);
      expect(out).toBe(gunzipSync(written('decisions.jsonl.gz')).toString());
    });

    it('answers commands, and decides a backtest, as it did then', async () => {
      const answers: Record<string, unknown> = JSON.parse(written('answers.json').toString());
      for (const [command, answer] of Object.entries(answers)) {
        const { out } = await world.run([...command.split(' '), '--json']);
        expect({ command, answer: withoutSentences(out) }).toEqual({
          command,
          answer: withoutSentences(JSON.stringify(answer)),
        });
      }
    });

    it('goes on with the journal: exports, backtests, archives and verifies what both versions wrote', async () => {
      await world.run(['prices', 'set', 'USDT1742=1.0001', 'BTC=97000']);
      const before = (await world.run(['decisions', 'export'])).out;
      const serving = await world.serve();
      for (const orderAmount of ['1', '2', '20000']) {
        const body = payment({ appOrderId: `N-${orderAmount}`, orderAmount });
        await serving.request(serving.url, { path: PAYMENT_PATH, body });
      }
      await serving.stop();
      const both = (await world.run(['decisions', 'export'])).out;
      const added = linesOf(both).filter((line) => !linesOf(before).includes(line));
      expect(linesOf(both).length - linesOf(before).length).toBe(3);
      expect(added.map((line) => JSON.parse(line) as Exported)).toMatchObject(
        ['APPROVED', 'APPROVED', 'RULE_REFUSED'].map((code) => ({ code, detail: { proposal: {} } })),
      );
      expect(both).not.toContain('"note":');

      const file = join(world.folder, 'both.jsonl');
      writeFileSync(file, both);
      const backtest = async (record: readonly string[]): Promise<Record<string, unknown>> =>
        JSON.parse((await world.run(['policy', 'backtest', 'policies', ...record, '--json'])).out) as never;
      const [ofStore, ofFile] = [await backtest([]), await backtest(['--from-file', file])];
      expect(ofFile['callbacks']).toBe(ofStore['callbacks']);
      expect([ofFile['toFailure'], ofFile['toSuccess']]).toEqual([
        ofStore['toFailure'],
        ofStore['toSuccess'],
      ]);

      const archive = join(world.folder, 'archived');
      mkdirSync(archive);
      await world.run(['journal', 'archive', '--to', archive, '--older-than', '1h']);
      expect((await world.run(['journal', 'verify', archive])).exitCode).toBe(0);
      const archived = linesOf((await world.run(['journal', 'export', archive])).out);
      const left = linesOf((await world.run(['decisions', 'export'])).out);
      expect([...archived, ...left].toSorted()).toEqual(linesOf(both).toSorted());
      expect(archived.length).toBeGreaterThan(20);
    });

    it('still knows what was approved: a repeat is approved again, and other terms are refused', async () => {
      // The prices of then are too old to judge by.
      await world.run(['prices', 'set', 'USDT1742=1.0001', 'BTC=97000']);
      const serving = await world.serve();
      const sent = async (orderAmount: string): Promise<string> => {
        const body = payment({ orderAmount });
        const answer = await serving.request(serving.url, { path: PAYMENT_PATH, body });
        return answer.split('\r\n\r\n')[1] ?? '';
      };
      expect(await sent('1')).toBe('SUCCESS');
      expect(await sent('2')).toBe('FAILURE');
      await serving.stop();
      const { out } = await world.run([
        'decisions',
        'search',
        '--source',
        'shop',
        '--subject',
        'payment:P-1',
        '--json',
      ]);
      const found: readonly Record<string, unknown>[] = JSON.parse(out);
      expect(found.map(({ type, code }) => [type, code])).toEqual([
        ['decision', 'APPROVED'],
        ['repeat', 'APPROVED'],
        ['repeat', 'APPROVED'],
        ['decision', 'TERMS_CHANGED'],
      ]);
    });
  },
);

describe.each(VERSIONS)('an archive that version %s wrote', { timeout: 240_000 }, (version) => {
  const archive = (name: string): URL => new URL(`${version}/archive/${name}`, import.meta.url);

  it('verifies, and has the same entries, byte by byte', async () => {
    const world = createWorld();
    onTestFinished(() => world.remove());
    const files = join(world.folder, 'archive');
    cpSync(archive('files'), files, { recursive: true });
    const verified = await world.run(['journal', 'verify', files, '--json']);
    expect(JSON.parse(verified.out)).toEqual(JSON.parse(readFileSync(archive('verify.json'), 'utf8')));
    const { out } = await world.run(['journal', 'export', files]);
    expect(out).toBe(gunzipSync(readFileSync(archive('decisions.jsonl.gz'))).toString());
  });
});
