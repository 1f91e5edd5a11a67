import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { payment, PAYMENT_PATH } from '../golden/story.ts';
import { type World, createWorld } from '../golden/world.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';

/** What a version left behind, in the folder of its name. */
interface WrittenBefore {
  readonly version: string;
  /** Where the settings and policies of its story are. */
  readonly story: 'world' | 'limits';
  /** A payment to the shop that was approved, repeated once, and not released. */
  readonly approved: Readonly<Record<'appOrderId' | 'userId' | 'orderAmount', string>>;
  /** Whether its details have the explanations themselves, so that they are exported byte by byte. */
  readonly hasExplanations: boolean;
  /** More tests of a store that it wrote. */
  readonly more?: (world: () => World) => void;
}

/**
 * Sentences for people may be worded better. The number of warnings is held. `detail` is in the journal, which is
 * compared as a whole.
 */
function withoutSentences(json: string): unknown {
  return JSON.parse(json, (name: string, value: unknown) => {
    if (name === 'warnings' && Array.isArray(value)) return value.map(() => '<sentence>');
    if (name === 'because') return '<sentence>';
    return name === 'detail' ? undefined : value;
  }) as unknown;
}

/** The place of the sentence in a row of `results` in the journal: policy, rule, verdict, why, values. */
const SENTENCE_AT = 3;

/**
 * An exported journal without what its sentences say. Details of 0.1.0 have them. Later ones are explained again
 * when they are read: a sentence that is worded better differs, and the entry has a note and the detail as kept.
 */
function entriesOf(exported: string): readonly unknown[] {
  const withoutSentence = (row: unknown): unknown =>
    Array.isArray(row) ? row.with(SENTENCE_AT, '<sentence>') : row;
  return linesOf(exported).map(
    (line) =>
      JSON.parse(line, (name: string, value: unknown) => {
        if (name === 'note' || (name === 'kept' && typeof value === 'string')) return undefined;
        return name === 'results' && Array.isArray(value) ? value.map(withoutSentence) : value;
      }) as unknown,
  );
}

interface Exported {
  readonly type: string;
  readonly code: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

export function describeWrittenBefore(written: WrittenBefore): void {
  const { version } = written;
  describe.each(['embedded', 'redis'] as const)(
    `a %s store that version ${version} wrote`,
    { timeout: 240_000 },
    (store) => {
      testStore(written, store);
    },
  );
  describe(`an archive that version ${version} wrote`, { timeout: 240_000 }, () => {
    testArchive(written);
  });
}

function testStore(
  { version, story, approved, hasExplanations, more }: WrittenBefore,
  store: 'embedded' | 'redis',
): void {
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
    world = createWorld(redis?.url, story);
    if (store === 'embedded')
      writeFileSync(join(world.folder, 'store.db'), gunzipSync(written('store.db.gz')));
  });
  afterEach(async () => {
    await world.remove();
    await redis?.stop();
    redis = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  it('has the same journal, but for the words of explanations', async () => {
    const { out } = await world.run(['decisions', 'export']);
    const before = gunzipSync(written('decisions.jsonl.gz')).toString();
    const read = hasExplanations ? (text: string): unknown => text : entriesOf;
    expect(read(out)).toEqual(read(before));
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
      const body = payment({ ...approved, appOrderId: `N-${orderAmount}`, orderAmount });
      await serving.request(serving.url, { path: PAYMENT_PATH, body });
    }
    await serving.stop();
    const both = (await world.run(['decisions', 'export'])).out;
    const added = linesOf(both).filter((line) => !linesOf(before).includes(line));
    expect(linesOf(both).length - linesOf(before).length).toBe(3);
    expect(added.map((line) => JSON.parse(line) as Exported)).toMatchObject(
      ['APPROVED', 'APPROVED', 'RULE_REFUSED'].map((code) => ({ code, detail: { proposal: {} } })),
    );
    expect(added.join('\n')).not.toContain('"note":');

    const file = join(world.folder, 'both.jsonl');
    writeFileSync(file, both);
    const backtest = async (record: readonly string[]): Promise<Record<string, unknown>> =>
      JSON.parse((await world.run(['policy', 'backtest', 'policies', ...record, '--json'])).out) as never;
    const [ofStore, ofFile] = [await backtest([]), await backtest(['--from-file', file])];
    expect(ofFile['callbacks']).toBe(ofStore['callbacks']);
    expect([ofFile['toFailure'], ofFile['toSuccess']]).toEqual([ofStore['toFailure'], ofStore['toSuccess']]);

    const archive = join(world.folder, 'archived');
    mkdirSync(archive);
    await world.run(['journal', 'archive', '--to', archive, '--older-than', '1h']);
    expect((await world.run(['journal', 'verify', archive])).exitCode).toBe(0);
    const archived = linesOf((await world.run(['journal', 'export', archive])).out);
    const moved = (line: string): boolean => (JSON.parse(line) as Exported).type === 'archive';
    const left = linesOf((await world.run(['decisions', 'export'])).out).filter((line) => !moved(line));
    expect([...archived, ...left].toSorted()).toEqual(linesOf(both).toSorted());
    expect(archived.length).toBeGreaterThan(20);
  });

  it('still knows what was approved: a repeat is approved again, and other terms are refused', async () => {
    // The prices of then are too old to judge by.
    await world.run(['prices', 'set', 'USDT1742=1.0001', 'BTC=97000']);
    const serving = await world.serve();
    const sent = async (orderAmount: string): Promise<string> => {
      const body = payment({ ...approved, orderAmount });
      const answer = await serving.request(serving.url, { path: PAYMENT_PATH, body });
      return answer.split('\r\n\r\n')[1] ?? '';
    };
    expect(await sent(approved.orderAmount)).toBe('SUCCESS');
    expect(await sent('2')).toBe('FAILURE');
    await serving.stop();
    const { out } = await world.run([
      'decisions',
      'search',
      '--source',
      'shop',
      '--subject',
      `payment:${approved.appOrderId}`,
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

  more?.(() => world);
}

function testArchive({ version, story }: WrittenBefore): void {
  const archive = (name: string): URL => new URL(`${version}/archive/${name}`, import.meta.url);

  it('verifies, and has the same entries, byte by byte', async () => {
    const world = createWorld(undefined, story);
    onTestFinished(() => world.remove());
    const files = join(world.folder, 'archive');
    cpSync(archive('files'), files, { recursive: true });
    const verified = await world.run(['journal', 'verify', files, '--json']);
    expect(JSON.parse(verified.out)).toEqual(JSON.parse(readFileSync(archive('verify.json'), 'utf8')));
    const { out } = await world.run(['journal', 'export', files]);
    expect(out).toBe(gunzipSync(readFileSync(archive('decisions.jsonl.gz'))).toString());
    const file = join(world.folder, 'archived.jsonl');
    writeFileSync(file, out);
    const found = await world.run(['policy', 'backtest', 'policies', '--from-file', file, '--json']);
    expect(JSON.parse(found.out)).toMatchObject({ toSuccess: 0, notKnown: 0 });
  });
}
