import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { rules } from '../../src/policy/rules/registry.ts';
import { differencesOf, runTests } from '../../src/simulation/run-tests.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { everySuite } from './rule-cases.ts';
import { type Staging, runOn } from './staged.ts';

const UNHURRIED = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 };
const suites = await everySuite();

describe.each(['embedded', 'redis'] as const)('as its page shows it, each rule decides, on %s', (kind) => {
  let redis: RedisServerProcess | undefined;
  let folder = '';
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
    folder = mkdtempSync(join(tmpdir(), 'countersign-rules-'));
  });
  afterAll(async () => {
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A store that nobody has used, gone when the test is over. */
  async function staging(): Promise<Staging> {
    let nowMs = 0;
    const clock = (): number => nowMs;
    const name = randomUUID();
    const store = await (redis === undefined
      ? openEmbeddedStore({ path: join(folder, `${name}.db`), clock })
      : openRedisStore({ url: redis.url, prefix: name, clock, ...UNHURRIED }));
    onTestFinished(() => store.close());
    const setClock = (atMs: number): void => {
      nowMs = atMs;
    };
    return { store, clock, setClock };
  }

  describe.each(suites)('$of', ({ release, tests }) => {
    it.each(tests.map((test) => [test.name, test] as const))('%s', async (_, test) => {
      const found = await runOn(await staging(), release, test);
      expect(found).toHaveLength(test.callbacks.length);
      const differences = test.callbacks.map(({ line, expect: expected }, index) => {
        const was = found[index];
        return {
          line,
          differences: was === undefined ? ['nothing was found'] : differencesOf(expected, was),
        };
      });
      expect(differences.filter((each) => each.differences.length > 0)).toEqual([]);
      // What `policy test` says of it is what production does, to the last word.
      expect(found).toEqual(runTests(release, [test]).tests[0]?.callbacks.map((each) => each.found));
    });
  });
});

it.each(rules)('the tests of $name have it pass and refuse', ({ name }) => {
  const suite = suites.find(({ of }) => of === name);
  const { coverage } =
    suite === undefined ? { coverage: { rules: [] } } : runTests(suite.release, suite.tests);
  const own = coverage.rules.filter(({ rule }) => rule.includes(`/${name}#`));
  expect(own.some(({ passed }) => passed > 0)).toBe(true);
  expect(own.some(({ refused }) => refused > 0)).toBe(name !== 'pass');
});
