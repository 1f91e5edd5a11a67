import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../../eventually.ts';
import { startRedisServer } from '../../redis-server.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const PROGRAM = fileURLToPath(new URL('../../../tools/end-to-end/main.ts', import.meta.url));

interface Running {
  readonly out: () => string;
  readonly stop: () => void;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
  /** What it left in its folder for temporary files. */
  readonly left: () => readonly string[];
}

function start(...argv: readonly string[]): Running {
  const folder = temporaryFolder();
  const child = spawn(process.execPath, [PROGRAM, ...argv], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return {
    out: () => out,
    stop: () => void child.kill('SIGTERM'),
    ended: new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err }))),
    left: () => readdirSync(folder),
  };
}

const lines = (out: string, form: RegExp): readonly string[] =>
  out.split('\n').filter((line) => form.test(line));

describe('npm run end-to-end', () => {
  it.each([
    ['with calls that are late, repeated, reordered and in other forms', []],
    ['without faults', ['--faults', '']],
  ])('%s: all sides agree to the last digit', async (_, argv) => {
    const program = start('--seed', '1', ...argv);
    const { code, out, err } = await program.ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines(out, /^(?:order|withdrawal|transaction)-\d/)).toHaveLength(100);
    // Balances, bill, journal, and both sides of the reconciliation.
    for (const coin of ['USDT1742', 'BTC', 'ETH']) {
      const sums = new RegExp(`^${coin} +(\\S+) +(\\S+) +(\\S+) +(\\S+) +(\\S+)$`, 'm').exec(out)?.slice(1);
      expect(new Set(sums).size).toBe(1);
      expect(Number(sums?.[0])).toBeGreaterThan(0);
    }
    expect(lines(out, /^yes {2}/).length).toBeGreaterThan(10);
    expect(lines(out, /^NO /)).toEqual([]);
    expect(program.left()).toEqual([]);
  });

  it('with tampering: each tampered call is refused, and each discrepancy is named', async () => {
    const program = start('--seed', '2', '--tamper');
    const { code, out, err } = await program.ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines(out, /tamper-\S+ +\d+ calls? +"FAILURE"$/).length).toBeGreaterThanOrEqual(10);
    const named = lines(out, / (?:bill|sign)-\S+ .* named$/);
    expect(new Set(named.map((line) => / ((?:bill|sign)-\S+) /.exec(line)?.[1])).size).toBe(13);
    expect(out).not.toMatch(/NOT NAMED|^NO /m);
    expect(program.left()).toEqual([]);
  });

  it('with all faults of the sandbox at once, some of the time', async () => {
    const program = start(
      '--seed',
      '3',
      '--faults',
      'bill=20,sign=20,tamper=10,repeat=20,wire=30,answer-lost=10',
    );
    const { code, out, err } = await program.ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines(out, / (?:bill|sign)-\S+ .* named$/).length).toBeGreaterThan(10);
  });

  it('on a Redis, which is as it was afterwards', async () => {
    const redis = await startRedisServer({ durable: true });
    onTestFinished(() => redis.stop());
    const program = start('--seed', '4', '--tamper', '--redis', redis.url);
    const { code, out, err } = await program.ended;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(lines(out, /^NO /)).toEqual([]);
    expect(program.left()).toEqual([]);
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    expect(await client.dbsize()).toBe(0);
  });

  it('that is stopped leaves nothing behind', async () => {
    const program = start('--seed', '5');
    await eventually('it pays', () => program.out().includes('The sandbox is at') || undefined);
    const urls = [...program.out().matchAll(/http:\/\/[\d.:]+/g)].map(([url]) => url);
    program.stop();
    expect(await program.ended).toMatchObject({ code: 2, err: 'it was stopped\n' });
    expect(program.left()).toEqual([]);
    expect(urls).toHaveLength(2);
    for (const url of urls) await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it.each([
    [['--faults', 'nope'], 2, '', '--faults nope is not valid'],
    [['--redis', 'http://x'], 2, '', "argument 'http://x' is invalid. Write an address such as redis://"],
    [['--redis', 'redis://:word@127.0.0.1:1/0'], 2, '', 'no Redis answers at 127.0.0.1:1: '],
    [['--faults', 'answer-status@opay/merchantBillingDay'], 2, '', 'BILL_INVALID'],
  ])('%j ends with exit code %i, and says why', async (argv, code, said, because) => {
    const program = start(...argv);
    const ended = await program.ended;
    expect(ended.code).toBe(code);
    expect(ended.out).toContain(said);
    expect(ended.err).toContain(because);
    expect(ended.err).not.toContain('word');
    expect(program.left()).toEqual([]);
  });
});
