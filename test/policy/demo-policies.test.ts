import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from '../../src/start/service.ts';
import { createLog } from '../../src/observe/log.ts';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { formatFault } from '../../src/policy/fault.ts';
import type { Release } from '../../src/policy/release.ts';
import { readTests } from '../../src/simulation/test-files.ts';
import { runTests } from '../../src/simulation/run-tests.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { type Ran, runCall } from '../cli/terminal.ts';

const DIRECTORY = 'config/policies';
const SETTINGS = 'config/countersign.yaml';
const STRANGER = '0xde709f2102306220921060314715629080e2fb77';

const yamlIn = (directory: string): readonly string[] =>
  readdirSync(directory).filter((name) => name.endsWith('.yaml'));

const firstLine = (file: string): string => readFileSync(file, 'utf8').split('\n')[0] ?? '';

/** The release of the same files, each with its text changed. */
function changed(change: (text: string) => string): Release {
  const files = yamlIn(DIRECTORY).map((name) => ({
    name,
    text: change(readFileSync(join(DIRECTORY, name), 'utf8')),
  }));
  const compiled = readPolicyFiles(files, (name) => readFileSync(join(DIRECTORY, name), 'utf8'));
  if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
  return compiled.release;
}

const withoutObserve = (text: string): string => text.replaceAll(/^ +mode: observe\n/gm, '');

describe('the policies that come along', async () => {
  const release = await readPolicyDirectory(DIRECTORY);
  const tests = await readTests(DIRECTORY);

  it('pass their tests, which make each rule pass and refuse, also one that only observes', () => {
    const report = runTests(release, tests);
    expect(report.tests.filter(({ passed }) => !passed)).toEqual([]);
    expect(report.passed).toBeGreaterThan(0);
    expect(report.coverage.rules.filter(({ passed, refused }) => passed === 0 || refused === 0)).toEqual([]);
    expect(report.coverage.complete).toBe(true);
  });

  it('have tests for each file', () => {
    const policies = yamlIn(DIRECTORY).filter((name) => name !== 'assets.yaml');
    const tested = policies.map((name) => name.replace(/yaml$/, 'test.yaml'));
    expect(yamlIn(join(DIRECTORY, 'tests'))).toEqual(tested);
  });

  it('tell editors where their schema is', () => {
    const schemaOf = (name: string) => (name === 'assets.yaml' ? 'assets' : 'policies');
    for (const name of yamlIn(DIRECTORY)) {
      expect(firstLine(join(DIRECTORY, name))).toBe(
        `# yaml-language-server: $schema=../schemas/${schemaOf(name)}.schema.json`,
      );
    }
    for (const name of yamlIn(join(DIRECTORY, 'tests'))) {
      expect(firstLine(join(DIRECTORY, 'tests', name))).toBe(
        '# yaml-language-server: $schema=../../schemas/tests.schema.json',
      );
    }
  });

  it('name the sources and the coins that they are for, so that none opens the way for another', () => {
    for (const { when, callback } of release.policies) {
      expect([...(when.texts.get('source') ?? [])]).toEqual([callback === 'payment' ? 'shop' : 'vault']);
      expect(when.texts.get('symbol')?.size).toBeGreaterThan(0);
    }
  });

  it('begin with the rules that the first minute shows', () => {
    const names = release.policies
      .find(({ name }) => name === 'usdt-payments')
      ?.rules.map(({ name }) => name);
    expect(names?.slice(0, 4)).toEqual([
      'amount-limit#1',
      'window-limit#2',
      'velocity-limit#3',
      'deny-list#4',
    ]);
  });

  it('hold with every rule enforced that only observes, and with the service asked that a comment names', () => {
    const all = changed((text) => withoutObserve(text).replaceAll(/^( +)# (- ask: .*)$/gm, '$1$2'));
    const rules = all.policies.flatMap((policy) => policy.rules);
    expect(rules.filter(({ mode }) => mode === 'observe')).toEqual([]);
    expect(rules.filter(({ pluginQuestions = [] }) => pluginQuestions.length > 0)).toHaveLength(1);
  });

  it('refuse what is given nothing once every rule is enforced', () => {
    const report = runTests(changed(withoutObserve), tests);
    const refusing = report.tests.flatMap(({ callbacks }) => callbacks.map(({ found }) => found.rule));
    for (const rule of [
      'usdt-payments/expected-order#5',
      'coin-payments/value-limit#6',
      'eth-withdrawals/cooling-period#6',
      'xrp-withdrawals/schedule#6',
    ]) {
      expect(refusing).toContain(rule);
    }
  });
});

/** Instants at which an office is open, and at which it is not. */
const INSTANTS = [
  ['on a working day', Date.UTC(2026, 2, 2, 10)],
  ['in a Sunday night', Date.UTC(2026, 2, 8, 2, 30)],
  ['at midnight of a holiday', Date.UTC(2026, 3, 30, 22)],
] as const;

describe.each(INSTANTS)('the demo, %s, with nothing in its store', (_, nowMs) => {
  let folder = '';
  let service: Service | undefined;
  let env: Readonly<Record<string, string>> = {};
  const clock = () => nowMs;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-demo-'));
    env = {
      COUNTERSIGN_STORE: `embedded:${join(folder, 'store.db')}`,
      COUNTERSIGN_PUBLIC_PORT: '0',
      COUNTERSIGN_OPS_PORT: '0',
    };
    const stream = new Writable({ write: (_chunk, _encoding, done) => done() });
    const log = createLog({ level: 'error', stream });
    service = await startService({ settings: loadSettings({ file: SETTINGS, env }), env, clock, log });
  });

  afterAll(async () => {
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (...words: readonly string[]): Promise<Ran> =>
    runCall(['send', ...words, '--to', service?.publicUrl ?? '', '--config', SETTINGS], { env, clock });

  it.each([
    [['payment']],
    [['payment', '--scheme', 'rsa']],
    [['payment', '--scheme', 'rsa-envelope', '--order', 'A-1']],
    [['payment', '--symbol', 'BTC', '--amount', '0.01', '--scheme', 'rsa']],
    [['transfer']],
    [['transfer', '--speed-up']],
    [['web3']],
    [['web3', '--speed-up']],
  ])('send %j: SUCCESS, also when it comes again', async (words) => {
    for (let turn = 0; turn < 2; turn++) {
      const { code, out, err } = await send(...words);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toMatch(/^SUCCESS\nSUCCESS {2}APPROVED/);
    }
  });

  it.each([
    [['payment', '--amount', '20000'], 'usdt-payments/amount-limit#1'],
    [['payment', '--user', '99999'], 'usdt-payments/deny-list#4'],
    [['payment', '--symbol', 'BTC', '--amount', '0.01', '--order', 'B-1'], 'coin-payments/expression#5'],
    [['payment', '--symbol', 'SOL'], 'no policy'],
    [['transfer', '--amount', '10.000000000000000001'], 'eth-withdrawals/amount-limit#2'],
    [['transfer', '--to-address', STRANGER], 'eth-withdrawals/allow-list#1'],
    [['transfer', '--symbol', 'TRX'], 'no policy'],
    [['transfer', '--request', 'never-approved', '--speed-up'], 'eth-withdrawals/speed-up#5'],
    [['web3', '--amount', '0.1'], 'eth-web3/contract-calls#1'],
    [['web3', '--amount=-1'], 'eth-web3/contract-calls#1'],
    [['web3', '--contract', STRANGER], 'eth-web3/contract-calls#1'],
    [['web3', '--data', '0xa9059cbb'], 'eth-web3/contract-calls#1'],
    [['web3', '--symbol', 'BSC'], 'no policy'],
  ])('send %j: FAILURE by %s', async (words, why) => {
    const { code, out } = await send(...words);
    expect(code).toBe(1);
    expect(out).toMatch(/^FAILURE\nFAILURE /);
    expect(out).toContain(`because ${why}`);
  });
});
