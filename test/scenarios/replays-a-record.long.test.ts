import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { placeIn } from '../cli/terminal.ts';
import { POLICIES, TO, type TestService, transfer, web3 } from '../service.ts';
import { type Staging, startStaging } from '../staging.ts';
import { describeOnBothStores } from './on-both-stores.ts';

const CALLBACKS = 1000;
/** Withdrawals of nothing: authentic, and no question. */
const UNREADABLE = CALLBACKS / 200;
/** What the tightened rule refuses, and the others do not. */
const TIGHTER = 600;
const BLOCKED = '0x00000000000000000000000000000000000000bb';

const FOLDER: Readonly<Record<string, string>> = {
  'assets.yaml': 'assets: { ETH: { chain: evm, decimals: 18 } }\n',
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - deny-list: { of: userId, list: blocked-users }
`,
  'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: 10 }
  - window-limit: { per: [to], window: 24h, max: 400 }
  - deny-list: { of: to, values: ['${BLOCKED}'] }
`,
  'web3.yaml': POLICIES['web3.yaml'],
};

/** What was asked, and how it was answered. */
interface Asked {
  readonly subject: string;
  readonly amount: number;
  readonly answer: string;
}

type Ask = (service: TestService) => Promise<Asked>;

const SCHEMES = ['md5', 'rsa', 'rsa-envelope'] as const;

function pay(n: number, amount: number, scheme = SCHEMES[n % 3] ?? 'md5', userId = String(n % 17)): Ask {
  return async (service) => {
    const payment = { appOrderId: `order-${n}`, orderAmount: String(amount), userId };
    return { subject: `payment:order-${n}`, amount, answer: await service.pay(payment, scheme) };
  };
}

function withdraw(n: number, members: Readonly<Record<string, unknown>>): Ask {
  return async (service) => {
    const body = transfer({ request_id: `withdrawal-${n}`, transfer_id: n, ...members });
    const answer = await service.cosign('/cosigner/withdraw', body);
    return { subject: `transfer:withdrawal-${n}`, amount: 0, answer };
  };
}

function call(n: number, amount: number): Ask {
  return async (service) => {
    const answer = await service.cosign('/cosigner/web3', web3({ request_id: `call-${n}`, amount }));
    return { subject: `web3:call-${n}`, amount: 0, answer };
  };
}

/** Ten of all kinds: approved, refused by each rule, repeated in another scheme, with other terms. */
function ten(n: number): readonly Ask[] {
  const amount = (n * 37) % 1200;
  const to = n % 3 === 0 ? TO : `0x${String(n).padStart(40, '0')}`;
  const steps = { amount: String(1 + (n % 9)), to };
  return [
    pay(n, 1 + amount),
    pay(n, 1 + amount, SCHEMES[(n + 1) % 3]),
    pay(n, 2 + amount),
    pay(n + 5000, 700, SCHEMES[(n + 2) % 3], n % 4 === 0 ? '666' : '1'),
    withdraw(n, { ...steps, type: 'sign_prepare' }),
    withdraw(n, steps),
    withdraw(n, { ...steps, type: 'sign_success', txid: `0x${n}` }),
    withdraw(n + 5000, { amount: String(n % 20), to: n % 2 === 0 ? TO : BLOCKED }),
    call(n, 0),
    call(n + 5000, n % 3 === 0 ? -1 : n % 2),
  ];
}

async function record(service: TestService): Promise<readonly Asked[]> {
  await block(service);
  const asked: Asked[] = [];
  for (let n = 0; n < CALLBACKS / 10; n++) {
    for (const ask of ten(n)) asked.push(await ask(service));
  }
  await service.cosign('/cosigner/withdraw', {
    type: 'verify_public_hash',
    app_id: '1',
    client_system_pubkey_hash: 'a',
    verify_sign_pub_hash: 'b',
  });
  return asked;
}

const block = ({ store }: TestService) =>
  store.changeList({
    source: 'shop',
    list: 'blocked-users',
    add: ['666'],
    remove: [],
    by: 'ada',
    message: 'fraud',
  });

async function instance(policies: Readonly<Record<string, string>>): Promise<Staging> {
  const staging = await startStaging({ policies });
  onTestFinished(() => staging.service.stop());
  await block(staging.service);
  return staging;
}

const replayed = z.object({
  callbacks: z.number(),
  same: z.number(),
  toFailure: z.number(),
  toSuccess: z.number(),
  failed: z.number(),
  notSent: z.number(),
  skipped: z.object({ late: z.number(), refused: z.number(), selfChecks: z.number(), changes: z.number() }),
  differing: z.array(
    z.object({ line: z.number(), id: z.string(), subject: z.string(), answered: z.string() }),
  ),
  failures: z.array(z.unknown()),
});

/** In the recorded order, since the withdrawals share a window. */
async function replayTo({ service, key }: Staging, file: string) {
  const { run } = placeIn(service.folder);
  const args = ['--to', service.url, '--key', key, '--concurrency', '1', '--json'];
  const { code, json } = await run('replay', file, ...args);
  return { code, report: replayed.parse(json()) };
}

const backtested = z.object({
  unchanged: z.number(),
  toFailure: z.number(),
  toSuccess: z.number(),
  notKnown: z.number(),
  warnings: z.array(z.string()),
  changed: z.array(z.object({ source: z.string(), id: z.string(), subject: z.string() })),
});

describeOnBothStores(
  'a thousand recorded callbacks, sent to another instance with other keys',
  (host) => {
    it('are answered as they were; a tightened rule differs in what it refuses, as the backtest foretold', async () => {
      const service = await host.start({ policies: FOLDER });
      const asked = await record(service);
      const answers = asked.map(({ answer }) => answer);
      expect(answers.filter((answer) => answer === 'SUCCESS').length).toBeGreaterThan(CALLBACKS / 4);
      expect(answers.filter((answer) => answer === 'FAILURE').length).toBeGreaterThan(CALLBACKS / 4);
      const file = join(service.folder, 'record.jsonl');
      const { run, write } = placeIn(service.folder);
      expect((await run('decisions', 'export', '--to', file)).code).toBe(0);

      const same = await replayTo(await instance(FOLDER), file);
      expect(same.report).toMatchObject({
        differing: [],
        failures: [],
        skipped: { refused: UNREADABLE, selfChecks: 1, changes: 1 },
      });
      expect(same).toMatchObject({
        code: 0,
        report: { callbacks: CALLBACKS - UNREADABLE, same: CALLBACKS - UNREADABLE, notSent: 0 },
      });

      const tightened = { ...FOLDER, 'payments.yaml': tighter(FOLDER['payments.yaml']) };
      for (const [name, text] of Object.entries(tightened)) write(join('candidate', name), text);
      const candidate = ['policy', 'backtest', join(service.folder, 'candidate'), '--from-file', file];
      const backtest = await run(...candidate, '--show', String(CALLBACKS), '--json');
      const foretold = backtested.parse(backtest.json());

      const refused = asked.filter(({ amount, answer }) => amount > TIGHTER && answer === 'SUCCESS');
      expect(refused.length).toBeGreaterThan(50);
      expect(foretold.changed.map(({ subject }) => subject)).toEqual(refused.map(({ subject }) => subject));
      expect(foretold).toMatchObject({ toSuccess: 0, notKnown: 0, warnings: [] });

      const { code, report } = await replayTo(await instance(tightened), file);
      expect(code).toBe(1);
      expect(report).toMatchObject({ failed: 0, notSent: 0, toSuccess: 0, toFailure: refused.length });
      expect(report.differing.map(({ subject }) => subject)).toEqual(refused.map(({ subject }) => subject));
      const changed = foretold.changed.map(({ source, id }) => (id.includes('/') ? id : `${source}/${id}`));
      expect(report.differing.map(({ id }) => id)).toEqual(changed);
      expect(report.differing.map(({ line }) => subjectAt(file, line))).toEqual(
        refused.map(({ subject }) => subject),
      );
    });
  },
  { timeoutMs: 180_000 },
);

const tighter = (policy = ''): string => policy.replace('max: 1000 ', `max: ${TIGHTER} `);

function subjectAt(file: string, line: number): string | undefined {
  return /"subject":"([^"]*)"/.exec(readFileSync(file, 'utf8').split('\n')[line - 1] ?? '')?.[1];
}
