import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { type Mask, createMask } from './masked.ts';
import { AFTERWARDS, OPS_REQUESTS, PREPARED, REQUESTS, SENT, WRONG } from './story.ts';
import { type Serving, type World, createWorld } from './world.ts';

/*
 * What others rely on, as it was written down in expected/: the bytes of answers, what commands print for
 * machines, what is kept, logged and measured. A change here breaks somebody; `npx vitest run test/golden
 * --update` writes a deliberate one down.
 */

const NO_BREAK_SPACE = '\u00a0';

const written = (found: unknown): string => `${JSON.stringify(found, undefined, 1)}
`;
const fileOf = (name: string): string => `expected/${name}.json`;

describe.each(['embedded', 'redis'] as const)('on the %s store', (store) => {
  let redis: RedisServerProcess | undefined;
  let world: World;
  let serving: Serving;
  let mask: Mask;
  const commands: unknown[] = [];
  const answers: Record<string, string> = {};
  const opsAnswers: Record<string, unknown> = {};
  let metrics = '';

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

  beforeAll(async () => {
    redis = store === 'redis' ? await startRedisServer({ durable: true }) : undefined;
    world = createWorld(redis?.url);
    serving = await world.serve();
    mask = createMask({
      [serving.url]: '<public>',
      [serving.ops]: '<ops>',
      [new URL(serving.ops).host]: '<ops host>',
      [world.folder]: '<folder>',
      ...(redis && { [redis.url]: '<redis>', [`127.0.0.1:${redis.port}`]: '<redis host>' }),
    });
    for (const line of [...PREPARED, ...SENT]) await run(line);
    for (const [what, request] of Object.entries(REQUESTS)) {
      const bytes = await serving.request(serving.url, request);
      answers[what] = bytes.replace(/^Date: .*\r\n/m, 'Date: <date>\r\n');
    }
    for (const [what, request] of Object.entries(OPS_REQUESTS)) {
      const bytes = await serving.request(serving.ops, request);
      const [head = '', body = ''] = bytes.split('\r\n\r\n');
      opsAnswers[what] = { status: head.split('\r\n')[0], body: mask.value(parsed(body) ?? body) };
    }
    for (const line of [...AFTERWARDS, ...WRONG]) await run(line);
    metrics = await serving.request(serving.ops, { method: 'GET', path: '/metrics' });
  }, 600_000);

  afterAll(async () => {
    await world.remove();
    await redis?.stop();
  });

  test('the bytes of the answers', () =>
    expect(written(answers)).toMatchFileSnapshot(fileOf(`${store}/answers`)));

  test('the answers of the ops port', () =>
    expect(written(opsAnswers)).toMatchFileSnapshot(fileOf(`${store}/ops-answers`)));

  test('what commands print for machines, and their exit codes', () =>
    expect(written(commands)).toMatchFileSnapshot(fileOf(`${store}/commands`)));

  test('the journal', async () => {
    const entries: Record<string, unknown> = {};
    // Those of several sources within one millisecond have no order.
    for (const source of ['shop', 'stall', 'vault']) {
      const { out } = await world.run(['decisions', 'export', '--source', source]);
      const lines = out.trim().split('\n');
      entries[source] = lines.map((line) => mask.value(JSON.parse(line)));
    }
    await expect(written(entries)).toMatchFileSnapshot(fileOf(`${store}/journal`));
  });

  test('the metrics: their names, types and labels', () =>
    expect(written(metricsIn(metrics))).toMatchFileSnapshot(fileOf(`${store}/metrics`)));

  test('the log: its events and their fields', async () => {
    await serving.stop();
    const fields = Map.groupBy(serving.log, ({ event }) => String(event));
    const events = [...fields].map(([event, lines]): [string, readonly string[]] => [
      event,
      [...new Set(lines.flatMap((line) => Object.keys(line)))].toSorted(),
    ]);
    await expect(
      written(Object.fromEntries(events.toSorted(([a], [b]) => (a < b ? -1 : 1)))),
    ).toMatchFileSnapshot(fileOf(`${store}/log`));
  });

  test('what is in the store', async () => {
    const kept =
      redis === undefined ? schemaOf(join(world.folder, 'store.db')) : await keysOf(redis.url, mask);
    await expect(written(kept)).toMatchFileSnapshot(fileOf(`${store}/store`));
  });
});

describe('what people write', () => {
  let world: World;
  beforeAll(() => (world = createWorld()));
  afterAll(() => world.remove());

  test.each(['settings', 'policies', 'assets', 'tests'])('the schema of %s', async (name) => {
    const file = new URL(`../../config/schemas/${name}.schema.json`, import.meta.url);
    await expect(written(withoutProse(JSON.parse(readFileSync(file, 'utf8'))))).toMatchFileSnapshot(
      fileOf(`schemas/${name}`),
    );
  });

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

/** A JSON Schema without what is only said to people. */
function withoutProse(schema: unknown, isNames = false): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withoutProse(each));
  if (typeof schema !== 'object' || schema === null) return schema;
  const prose = new Set(['description', 'title', 'examples', 'markdownDescription', '$comment']);
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => isNames || !prose.has(name))
      .map(([name, each]) => [
        name,
        withoutProse(each, !isNames && (name === 'properties' || name === '$defs')),
      ]),
  );
}
