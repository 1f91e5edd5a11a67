import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { formatFault } from '../../src/policy/fault.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import { runTests } from '../../src/simulation/run-tests.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { type Staging, runOn } from './staged.ts';

const UNHURRIED = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 };
const PAYMENT = "userId: '12345', payCoinSymbol: USDT1742";

const policy = (rule: string, refusals = ''): string => `policy: limits
callback: payment
when: { source: shop, symbol: USDT1742 }
${refusals}rules:
  - ${rule}
`;

/**
 * Order 1 uses the limit up; order 2 is refused, comes again at once, and once more when the window has
 * passed.
 */
const comesAgain = (after: string, last: string): string => `tests:
  - test: comes again
    now: 2026-03-02T10:00:00Z
    callbacks:
      - { source: shop, payment: { appOrderId: '1', ${PAYMENT}, orderAmount: '100' }, expect: SUCCESS }
      - { source: shop, payment: { appOrderId: '2', ${PAYMENT}, orderAmount: '100' }, expect: FAILURE }
      - { source: shop, payment: { appOrderId: '2', ${PAYMENT}, orderAmount: '100' }, expect: FAILURE }
      - source: shop
        after: ${after}
        payment: { appOrderId: '2', ${PAYMENT}, orderAmount: '100' }
        expect: ${last}
`;

const limits = [
  ['a rolling window limit', 'window-limit: { per: [userId], window: 1h, max: 150 }', '62m'],
  ['a calendar window limit', 'window-limit: { per: [userId], window: day, max: 150 }', '14h'],
  ['a velocity limit', 'velocity-limit: { per: [userId], window: 1m, max: 1 }', '62s'],
] as const;

describe.each(['embedded', 'redis'] as const)('what a limit refused, on %s,', (kind) => {
  let redis: RedisServerProcess | undefined;
  let folder = '';
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
    folder = mkdtempSync(join(tmpdir(), 'countersign-refusals-'));
  });
  afterAll(async () => {
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

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

  /** What came of each callback; the same as `policy test` says. */
  async function outcomes(policies: string, cases: string) {
    const compiled = readPolicyFiles([{ name: 'limits.yaml', text: policies }], () => undefined);
    if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
    const read = readTestFiles([{ name: 'limits.test.yaml', text: cases }]);
    if (!read.ok) throw new Error(read.faults.map(formatFault).join('\n'));
    const [test] = read.tests;
    if (test === undefined) throw new Error('there is no test');
    const found = await runOn(await staging(), compiled.release, test);
    const simulated = runTests(compiled.release, [test]).tests[0]?.callbacks.map((each) => each.found);
    expect(simulated).toEqual(found);
    return found;
  }

  it.each(limits)('%s: is decided anew once time has freed the limit', async (_name, rule, after) => {
    const found = await outcomes(policy(rule), comesAgain(after, 'SUCCESS'));
    expect(found.map(({ verdict }) => verdict)).toEqual(['SUCCESS', 'FAILURE', 'FAILURE', 'SUCCESS']);
    const name = `limits/${rule.split(':')[0]}#1`;
    for (const refused of found.slice(1, 3)) {
      expect(refused).toMatchObject({ code: 'RULE_REFUSED', rule: name });
      expect(refused.because).toContain(`${name} refuses: `);
    }
  });

  it.each(limits)(
    '%s: stands for good under refusals: final, and the rule is named',
    async (_name, rule, after) => {
      const found = await outcomes(policy(rule, 'refusals: final\n'), comesAgain(after, 'FAILURE'));
      expect(found.map(({ verdict }) => verdict)).toEqual(['SUCCESS', 'FAILURE', 'FAILURE', 'FAILURE']);
      const name = `limits/${rule.split(':')[0]}#1`;
      for (const refused of found.slice(1))
        expect(refused).toMatchObject({ code: 'RULE_REFUSED', rule: name });
      expect(found[3]?.because).toContain(`${name} refused it first: `);
      expect(found[3]?.because).toContain('refusals: final');
    },
  );
});
