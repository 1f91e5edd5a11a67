import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { nextPort } from '../../../test/ports.ts';
import { NOW_MS, sharedCredentials, startReceiver, startTestSandbox } from './sandbox.ts';
import { runCall, running } from '../../../test/cli/terminal.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';

/** A sandbox, and commands that steer it. */
async function steered() {
  const asked: unknown[] = [];
  const receiver = await startReceiver(({ body }, response) => {
    asked.push(JSON.parse(body));
    response.end('SUCCESS');
  });
  const sandbox = await startTestSandbox({ receiver: receiver.url });
  const folder = temporaryFolder();
  const { port } = new URL(sandbox.controlUrl);
  const run = running((argv) => runCall(['sandbox', ...argv, '--control-port', port]));
  return { run, folder, asked, bill: async () => (await sandbox.call('opay/merchantBillingDay')).data };
}

describe('the commands that steer a sandbox', () => {
  it('begin withdrawals and transactions, poll, and show them', async () => {
    const { run } = await steered();
    expect(await run('withdraw', '--request', 'w-1', '--speed-ups', '1')).toMatchObject({ code: 0, err: '' });
    expect((await run('web3', '--request', 'c-1', '--json')).json()).toMatchObject({ requestId: 'c-1' });
    expect(await run('poll')).toMatchObject({ code: 0, out: 'The co-signer looked at 2 pending.\n' });
    await run('poll');
    expect((await run('signings')).out).toBe(
      'transfer w-1  signed  2 signed  0 refused\nweb3 c-1  signed  1 signed  0 refused\n',
    );
    const entries = (await run('log', '--count', '1', '--json')).json();
    expect(entries).toMatchObject([{ kind: 'command', about: 'poll' }]);
    expect((await run('log')).out).toMatch(/cosigner {2}transfer w-1 sign_prepare/);
    expect((await run('self-check')).out).toBe('SUCCESS\n');
  });

  it('deposit, log in and list users', async () => {
    const { run } = await steered();
    const deposited = await run('deposit', '12345', '--amount', '0.5', '--symbol', 'BTC', '--json');
    expect(deposited.json()).toMatchObject({ uid: 12_345, balance: '5.5' });
    expect((await run('login', '12345')).out).toMatch(
      /^User 12345 logged in with the code [0-9a-f]{32}\.\n$/,
    );
    expect((await run('users')).out).toContain('5.5 BTC');
  });

  it('make a transfer order, which is in the bill', async () => {
    const { run, bill } = await steered();
    const made = await run('transfer', '12345', '--amount', '0.5', '--symbol', 'BTC', '--order-id', 'T-1');
    expect(made).toMatchObject({ code: 0, out: 'Transfer order T-1: user 12345 has 5.5 BTC.\n' });
    expect((await run('transfer', '12345', '--json')).json()).toMatchObject({ amount: '100' });
    expect(await bill()).toMatchObject({
      count: 2,
      list: [{ appOrderId: 'T-1', orderAmount: 0.5, orderType: 11, userId: 12_345 }, { orderType: 11 }],
    });
  });

  it('snapshot, reset and restore', async () => {
    const { run, folder } = await steered();
    const file = join(folder, 'before.json');
    await run('deposit', '12345', '--amount', '1', '--symbol', 'BTC');
    expect(await run('snapshot', file)).toMatchObject({ code: 0, out: `The snapshot is in ${file}.\n` });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await run('reset');
    expect((await run('users')).out).not.toContain('6 BTC');
    expect((await run('restore', file)).code).toBe(0);
    expect((await run('users')).out).toContain('6 BTC');
  });

  it('show, set and move the clock', async () => {
    const { run } = await steered();
    const stands = (atMs: number) => `The clock of the sandbox stands at ${new Date(atMs).toISOString()}.\n`;
    expect((await run('clock', 'show')).out).toBe(stands(NOW_MS));
    expect((await run('clock', 'move', '2h')).out).toBe(stands(NOW_MS + 7_200_000));
    expect((await run('clock', 'set', '2026-03-02T10:00:00Z')).out).toBe(stands(Date.UTC(2026, 2, 2, 10)));
  });

  it.each([
    [['withdraw', '--amount', 'much'], 'is not a decimal'],
    [['withdraw', '--amount', '-1'], 'is not a decimal'],
    [['withdraw', '--outputs', 'A'], '--outputs A is not valid'],
    [['withdraw', '--outputs', 'A=x'], '--outputs A=x is not valid'],
    [['withdraw', '--outputs', 'A=1,B=2', '--amount', '4'], '--amount 4 is not 3, the sum of the outputs'],
    [
      ['withdraw', '--outputs', 'A=1', '--to-address', 'B'],
      '--to-address B is not an address of the outputs',
    ],
    [['withdraw', '--speed-ups', '11'], '--speed-ups 11 is not valid'],
    [['web3', '--amount', '-2'], 'amount'],
    [['deposit', 'ann'], 'ann is not a uid'],
    [['deposit', '1'], 'there is no user 1'],
    [['deposit', '12345', '--symbol', 'X'], 'there is no coin X'],
    [['login', '1'], 'there is no user 1'],
    [['clock', 'stop'], 'stop is not an action'],
    [['clock', 'set', 'noon'], 'noon is not an instant'],
    [['clock', 'move', 'on'], 'on is not a duration'],
    [['restore', '/nowhere'], "can't read /nowhere"],
    [['restore', 'package.json'], 'the snapshot is not valid'],
    [['restore', 'README.md'], 'the snapshot is not JSON'],
    [['snapshot', '/nowhere/x'], "can't write /nowhere/x"],
    [['transfer', 'x'], 'x is not a uid'],
    [['transfer', '12345', '--amount', '0'], 'the amount is 0'],
    [['transfer', '12345', '--symbol', 'NOPE'], 'there is no coin NOPE'],
    [['transfer', '1'], 'there is no user 1'],
    [['transfer', '12345', '--order-id', 'past-1'], 'there already is an order past-1'],
    [['log', '--count', '0'], '--count 0 is not valid'],
  ])('%j is wrong, and says why', async (argv, said) => {
    const { run } = await steered();
    const ran = await run(...argv);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain(said);
  });

  it('say that no sandbox runs, or that something else does', async () => {
    const port = String(await nextPort());
    const alone = await runCall(['sandbox', 'users', '--control-port', port]);
    expect(alone).toMatchObject({ code: 2, err: expect.stringContaining('no sandbox answers') });
    const other = await startReceiver((_, response) => void response.end('{"hello":1}'));
    const wrong = await runCall(['sandbox', 'users', '--control-port', new URL(other.url).port]);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('is not a sandbox') });
  });
});

describe('countersign sandbox', () => {
  const start = (...argv: readonly string[]) =>
    runCall(['sandbox', '--port', '0', '--control-port', '0', ...argv]);

  it('makes a folder of credentials once, for one user alone, and prints the settings that fit', async () => {
    const parent = temporaryFolder();
    const folder = join(parent, 'credentials');
    const first = await start('--credentials', folder);
    expect(first).toMatchObject({ code: 0, err: `The credentials in ${folder} are new.\n` });
    const secret = readFileSync(join(folder, 'shop.secret'), 'utf8');
    expect(statSync(join(folder, 'shop.secret')).mode & 0o777).toBe(0o600);
    const second = await start('--credentials', folder);
    expect(second).toMatchObject({ code: 0, err: '' });
    expect(readFileSync(join(folder, 'shop.secret'), 'utf8')).toBe(secret);
    expect(first.out).not.toContain(secret.trim());
    const block = /sources:\n(?: .*\n)+/.exec(first.out)?.[0] ?? '';
    const { sources } = parse(block) as { readonly sources: readonly object[] };
    expect(sources).toMatchObject([{ name: 'shop', appKey: 'demo-shop' }, { name: 'vault' }]);
    for (const [, file = ''] of block.matchAll(/file: "([^"]+)"/g)) expect(existsSync(file)).toBe(true);
  });

  it.each([
    [['--faults', 'x'], '--faults x is not valid'],
    [['--clock', 'noon'], '--clock noon is not valid'],
    [['--zone', 'Mars/Base'], '--zone Mars/Base is not a time zone'],
    [['--deny', 'x'], '--deny x is no operation'],
    [['--receiver', 'localhost'], '--receiver localhost is not an http'],
    [['--withdraw-url', 'file:///x'], '--withdraw-url file:///x is not an http'],
    [['--cosigner-credential', 'cookie'], '--cosigner-credential cookie is not valid'],
    [['--port', 'x'], '--port x is not valid'],
    [['--seed', ''], '--seed is empty'],
  ])('%j is wrong, and says why', async (argv, said) => {
    const ran = await start('--credentials', sharedCredentials(), ...argv);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain(said);
  });

  it('names the credentials that it cannot read, and not their content', async () => {
    const folder = temporaryFolder();
    expect((await start('--credentials', folder)).err).toContain('platform.private.pem');
    writeFileSync(join(folder, 'platform.private.pem'), 'not-a-key-but-a-secret');
    const ran = await start('--credentials', folder);
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('is not an RSA key') });
    expect(ran.err).not.toContain('not-a-key-but-a-secret');
  });

  it('says that a port is taken', async () => {
    const other = await startReceiver((_, response) => void response.end());
    const { port } = new URL(other.url);
    const ran = await start('--credentials', sharedCredentials(), '--port', port);
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('Give another --port') });
    const control = await start('--credentials', sharedCredentials(), '--control-port', port);
    expect(control).toMatchObject({ code: 2, err: expect.stringContaining('Give another --control-port') });
  });

  it('fits the demo settings without editing', async () => {
    const ran = await start('--json');
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({ ready: true, receiver: 'http://127.0.0.1:8080' });
  });

  it.each([
    [[], 'demo', 'now'],
    [['--seed', 'demo'], 'demo', '2026-01-15T04:00:00.000Z'],
    [['--seed', '7'], '7', '2026-01-15T04:00:00.000Z'],
    [['--seed', '7', '--clock', 'now'], '7', 'now'],
    [['--clock', '2026-03-02T10:00:00Z'], 'demo', '2026-03-02T10:00:00.000Z'],
  ])('%j has the seed %s and the clock %s', async (argv, seed, clock) => {
    const ran = await start('--json', '--credentials', sharedCredentials(), ...argv);
    expect(ran.json()).toMatchObject({ seed, clock });
  });
});

it('a withdrawal with outputs has their sum as its amount, and the first one as its address', async () => {
  const { run, asked } = await steered();
  await run('withdraw', '--symbol', 'BTC', '--outputs', 'A=0.01,B=0.02');
  await run('poll');
  expect(asked[0]).toMatchObject({ to: 'A', amount: 0.03 });
});
