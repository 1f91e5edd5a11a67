import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { type ServiceProcess, startServiceProcess } from '../service-process.ts';
import { PAYMENT_PATH, POLICIES, signedPayment, writeServiceFolder } from '../service.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const PERSON = { 'x-person': 'rita', 'sec-fetch-site': 'same-origin' };
const FORM = { ...PERSON, 'content-type': 'application/x-www-form-urlencoded' };
const TOKEN = 'token-of-the-tests';
const ACCOUNT = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const MULTICALL = '0xca11bde05977b3631167028862be2a173976ca11';
const TOKEN_CONTRACT = '0xdac17f958d2ee523a2206206994597c13d831ec7';

/** Movements of a transaction are read for each of these. */
const MOVING = {
  ...POLICIES,
  'web3.yaml': [1, 2, 3]
    .map(
      (number) => `policy: tokens-${number}
callback: web3
when: { source: vault, main_chain_symbol: ETH }
movements: { approvals: count }
rules:
  - window-limit: { by: asset, window: 24h, max: { USDT: 50000, ETH: 10 } }
  - contract-calls:
      multicall: { depth: 1, calls: 100 }
      calls:
        - contract: '${MULTICALL}'
          method: aggregate3((address,bool,bytes)[])
          where: { calls.allowFailure: { values: false } }
        - contract: '${TOKEN_CONTRACT}'
          method: transfer(address,uint256)
          decimals: 6
          where: { to: any, amount: { max: 1 } }
`,
    )
    .join('---\n'),
  'assets.yaml': `assets:
  ETH: { chain: evm, decimals: 18 }
  USDT: { chain: evm, decimals: 6, contracts: { ETH: '${TOKEN_CONTRACT}' } }
`,
};

const word = (value: number | string): string =>
  (typeof value === 'number' ? value.toString(16) : value.slice(2)).padStart(64, '0');

/** `aggregate3` of Multicall3 with as many transfers of a token as 56 KB hold. */
function largeTransaction(): string {
  const calls = 86;
  const transfer = `a9059cbb${word(ACCOUNT)}${word(1)}`;
  const call = [
    word(TOKEN_CONTRACT),
    word(0),
    word(0x60),
    word(transfer.length / 2),
    transfer.padEnd(192, '0'),
  ];
  const encoded = call.join('');
  const offsets = Array.from({ length: calls }, (_, at) => word(calls * 32 + (at * encoded.length) / 2));
  return `0x82ad56cb${word(0x20)}${word(calls)}${offsets.join('')}${encoded.repeat(calls)}`;
}

const WEB3 = {
  from: ACCOUNT,
  to: MULTICALL,
  amount: '0',
  symbol: 'ETH',
  interactive_contract: MULTICALL,
  input_data: largeTransaction(),
};

/** The processes that a process has started, and those that they have started. */
function descendantsOf(pid: number): readonly number[] {
  const children = readdirSync('/proc')
    .map(Number)
    .filter((each) => parentOf(each) === pid);
  return children.flatMap((each) => [each, ...descendantsOf(each)]);
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}
const parentOf = (pid: number): number => Number(/^PPid:\t(\d+)$/m.exec(statusOf(pid))?.[1]);
const isAlive = (pid: number): boolean => /^State:\t[^ZX]/m.test(statusOf(pid));

const page = (service: ServiceProcess): Promise<Response> =>
  fetch(`${service.ops}/console/decisions`, { headers: PERSON });
const tryIt = (service: ServiceProcess): Promise<Response> =>
  fetch(`${service.ops}/console/try`, {
    method: 'POST',
    headers: FORM,
    body: new URLSearchParams({ kind: 'web3', source: 'vault', ...WEB3 }),
  });
const simulate = (service: ServiceProcess): Promise<Response> =>
  fetch(`${service.ops}/api/simulate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ source: 'vault', kind: 'web3', members: WEB3 }),
  });

let orders = 0;
async function pay(service: ServiceProcess): Promise<string> {
  const body = signedPayment({ appOrderId: `order-${(orders += 1)}`, orderAmount: '1' });
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${service.url}${PAYMENT_PATH}`, { method: 'POST', headers, body })).text();
}

describeOnBothStores('people and the callbacks', (host) => {
  async function started(): Promise<ServiceProcess> {
    const people = [{ name: 'rita', roles: ['read'] }];
    const folder = writeServiceFolder({
      ...(host.kind === 'redis' && { redis: host.redis().url }),
      policies: MOVING,
      settings: {
        ops: { port: '0', token: { env: 'OPS_TOKEN' } },
        console: { proxy: { header: 'x-person', addresses: ['127.0.0.1'], people } },
      },
    });
    const service = await startServiceProcess(folder, ['env', `OPS_TOKEN=${TOKEN}`]);
    onTestFinished(async () => {
      for (const each of descendantsOf(service.pid)) process.kill(each, 'SIGKILL');
      await service.kill();
      rmSync(folder, { recursive: true });
    });
    expect((await page(service)).status).toBe(200);
    return service;
  }

  it('callbacks are decided while the process of the console is stopped: nothing that people ask for is done in theirs', async () => {
    const service = await started();
    expect(await (await tryIt(service)).text()).toContain('approved: all 6 rules that enforce pass');
    const stopped = descendantsOf(service.pid);
    expect(stopped).toHaveLength(1);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    const answered: string[] = [];
    const asked = [tryIt, simulate, page, tryIt, simulate].map(async (ask) => {
      const { status } = await ask(service);
      answered.push(ask.name);
      return status;
    });
    for (let time = 0; time < 10; time++) expect(await pay(service)).toBe('SUCCESS');
    const ready = await fetch(`${service.ops}/readyz`);
    expect(ready.status).toBe(200);
    expect(answered).toEqual([]);
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
    expect(await Promise.all(asked)).toEqual([200, 200, 200, 200, 200]);
  });

  it('callbacks are decided while there is no process of the console, which is started again, and ends with the service', async () => {
    const service = await started();
    const [first = 0] = descendantsOf(service.pid);
    process.kill(first, 'SIGKILL');
    await eventually('it has ended', () => service.log.find(({ event }) => event === 'console-ended'));
    expect(await pay(service)).toBe('SUCCESS');
    const ready = await fetch(`${service.ops}/readyz`);
    expect(ready.status).toBe(200);
    const { checks } = (await ready.json()) as { readonly checks: readonly object[] };
    expect(checks).toContainEqual({
      name: 'console',
      ok: false,
      because: expect.stringContaining('it ended with SIGKILL') as string,
      decisive: false,
    });
    expect([(await page(service)).status, (await simulate(service)).status]).toEqual([503, 503]);
    await eventually('pages are answered again', async () =>
      (await page(service)).status === 200 ? true : undefined,
    );
    expect((await simulate(service)).status).toBe(200);
    const [second = 0, ...others] = descendantsOf(service.pid);
    expect(second).not.toBe(first);
    expect(others).toEqual([]);
    // A signal to all processes of the service, as of a terminal, leaves the pages that are still asked for.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.kill(second, signal);
    expect((await page(service)).status).toBe(200);
    await service.kill();
    await eventually('it has ended', () => (isAlive(second) ? undefined : true));
  });
});
