import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { type StoreName, written, writtenOfBoth } from './both.ts';
import { type Mask, createMask } from './masked.ts';
import { AFTERWARDS, OPS_REQUESTS, PREPARED, READ, REQUESTS, SENT, WRONG } from './story.ts';
import { type Serving, type World, createWorld, journalOf } from './world.ts';

/*
 * What others rely on, as it was written down in expected/: the bytes of answers, what commands print for
 * machines, what is kept, logged and measured. A change here breaks somebody; `npx vitest run test/golden
 * --update` writes a deliberate one down. That the JSON Schemas in config/schemas are what is generated is
 * checked by the tests of settings and of policies: a change of a schema is a change of its file.
 */

const NO_BREAK_SPACE = '\u00a0';

const fileOf = (name: string): string => `expected/${name}.json`;

/** What the story gives, by the name of its file. */
type Found = Readonly<Record<(typeof FOUND)[number], unknown>>;
const FOUND = ['answers', 'ops-answers', 'commands', 'texts', 'journal', 'metrics', 'log', 'store'] as const;

describe('on both stores', () => {
  let found: Readonly<Record<StoreName, Found>>;
  beforeAll(async () => {
    const [embedded, redis] = await Promise.all([play('embedded'), play('redis')]);
    found = { embedded, redis };
  }, 600_000);

  /*
   * The bytes of answers; what commands print for machines and for people, and their exit codes; the names, types and labels of
   * the metrics; the events of the log and their fields; what is in the store.
   */
  test.each(FOUND)('the %s', async (name) => {
    const both = { embedded: found.embedded[name], redis: found.redis[name] };
    await expect(writtenOfBoth(both)).toMatchFileSnapshot(fileOf(name));
  });
});

describe('what people write', () => {
  let world: World;
  beforeAll(() => (world = createWorld()));
  afterAll(() => world.remove());

  test('the names of environment variables', async () => {
    const text = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
    await expect(written([...new Set(text.match(/COUNTERSIGN_[A-Z0-9_]+/g))].toSorted())).toMatchFileSnapshot(
      fileOf('environment'),
    );
  });

  test.each(['../../config/policies', 'all-rules', 'world/candidate'])(
    'the revision of %s',
    async (folder) => {
      const directory = new URL(folder, import.meta.url).pathname;
      const { out } = await world.run(['policy', 'validate', directory, '--json']);
      const { revision, policies, rules }: Record<string, unknown> = JSON.parse(out);
      await expect(written({ revision, policies, rules })).toMatchFileSnapshot(
        fileOf(`revisions/${folder.split('/').at(-1)}`),
      );
    },
  );
});

/** The story on one of the stores. */
async function play(store: StoreName): Promise<Found> {
  const redis = store === 'redis' ? await startRedisServer({ durable: true }) : undefined;
  const world = createWorld(redis?.url);
  try {
    return await playIn(world, redis);
  } finally {
    await world.remove();
    await redis?.stop();
  }
}

async function playIn(world: World, redis: RedisServerProcess | undefined): Promise<Found> {
  const serving = await world.serve();
  const mask = createMask({
    [serving.url]: '<public>',
    [serving.ops]: '<ops>',
    [new URL(serving.ops).host]: '<ops host>',
    [world.folder]: '<folder>',
    ...(redis && { [redis.url]: '<redis>', [`127.0.0.1:${redis.port}`]: '<redis host>' }),
  });
  const commands: unknown[] = [];
  const run = async (line: string): Promise<void> => {
    const argv = line
      .split(' ')
      .map((word) => word.replaceAll(NO_BREAK_SPACE, ' ').replace(/^URL$/, serving.url));
    const { exitCode, out, err } = await world.run([...argv, '--json']);
    const [json, text] = [parsed(out), parsed(err)];
    commands.push({
      command: line.replaceAll(NO_BREAK_SPACE, ' '),
      exitCode,
      ...(json !== undefined && { json: mask.value(json) }),
      ...(text !== undefined && { error: mask.value(text) }),
    });
  };

  for (const line of [...PREPARED, ...SENT]) await run(line);
  const answers: Record<string, string> = {};
  for (const [what, request] of Object.entries(REQUESTS)) {
    const bytes = await serving.request(serving.url, request);
    answers[what] = bytes.replace(/^Date: .*\r\n/m, 'Date: <date>\r\n');
  }
  const opsAnswers: Record<string, unknown> = {};
  for (const [what, request] of Object.entries(OPS_REQUESTS)) {
    const bytes = await serving.request(serving.ops, request);
    const [head = '', body = ''] = bytes.split('\r\n\r\n');
    opsAnswers[what] = { status: head.split('\r\n')[0], body: mask.value(parsed(body) ?? body) };
  }
  for (const line of [...AFTERWARDS, ...WRONG]) await run(line);
  const texts: unknown[] = [];
  for (const command of READ) {
    const { exitCode, out, err } = await world.run(command.split(' '));
    const lines = (text: string): readonly string[] =>
      text === '' ? [] : mask.text(text).trimEnd().split('\n');
    texts.push({ command, exitCode, out: lines(out), ...(err !== '' && { err: lines(err) }) });
  }
  const metrics = metricsIn(await serving.request(serving.ops, { method: 'GET', path: '/metrics' }));
  const journal = await journalOf(world, mask);
  await serving.stop();
  const log = eventsIn(serving.log);
  const kept = redis === undefined ? schemaOf(join(world.folder, 'store.db')) : await keysOf(redis.url, mask);
  return { answers, 'ops-answers': opsAnswers, commands, texts, journal, metrics, log, store: kept };
}

/** The JSON of an output, or of its last line. */
function parsed(text: string): unknown {
  for (const each of [text, text.trim().split('\n').at(-1) ?? '']) {
    try {
      return JSON.parse(each);
    } catch {
      // It was text for people.
    }
  }
  return undefined;
}

/** Each event, with the names of the fields of its lines. */
function eventsIn(log: Serving['log']): Readonly<Record<string, readonly string[]>> {
  const fields = Map.groupBy(log, ({ event }) => String(event));
  const events = [...fields].map(([event, lines]): [string, readonly string[]] => [
    event,
    [...new Set(lines.flatMap((line) => Object.keys(line)))].toSorted(),
  ]);
  return Object.fromEntries(events.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Each metric's type, and the names of the labels of its series, with the values of those that have few. */
function metricsIn(answer: string): unknown {
  const types = [...answer.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(
    ([, name = '', type = '']) => [name, type] as const,
  );
  return Object.fromEntries(
    types
      .filter(([name]) => name.startsWith('countersign_'))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, type]) => {
        const series = [
          ...answer.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?(?:\\{(.*)\\})? `, 'gm')),
        ];
        const labels = series.flatMap(([, all = '']) =>
          [...all.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
        );
        return [name, { type, labels: [...new Set(labels)].toSorted() }];
      }),
  );
}

function schemaOf(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = database
      .prepare('SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name')
      .all();
    return rows.map(({ type, name, sql }) => ({ type, name, sql: String(sql).replaceAll(/\s+/g, ' ') }));
  } finally {
    database.close();
  }
}

/**
 * Each key with what it holds: values of hashes and sets by their names, of the rest by their type. The numbered
 * buckets of a counter are left out, because a slow run takes longer than one of them.
 */
async function keysOf(url: string, mask: Mask): Promise<unknown> {
  const client = new Redis(url);
  try {
    const keys = (await client.keys('*')).toSorted();
    const found: Record<string, unknown> = {};
    for (const key of keys) {
      const type = await client.type(key);
      const fields =
        type === 'hash'
          ? await client.hkeys(key)
          : type === 'zset'
            ? await client.zrange(key, '0', '-1')
            : [];
      const kept = key.includes(':window:') ? fields.filter((field) => !/^\d+$/.test(field)) : fields;
      const names = [
        ...new Set(kept.map((field) => mask.text(field).replace(/^w:\d+$/, 'w:<run of Redis>'))),
      ].toSorted();
      found[mask.text(key)] = { type, ...(names.length > 0 && { names }) };
    }
    return found;
  } finally {
    client.disconnect();
  }
}
