import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { mergedEntries } from '../../src/journal/record.ts';
import type { JournalEntry } from '../../src/store/store.ts';
import { parseAmount } from '../../src/values/amount.ts';
import { placeIn } from '../cli/terminal.ts';
import { type StoreHost, describeOnBothStores } from '../scenarios/on-both-stores.ts';
import { type Payment, TO, type TestService, transfer, web3 } from '../service.ts';
import { thaw } from '../store/requests.ts';

const OTHER = '0x8617e340b3d01fa5f11f306f4090fd50e238070d';
const START_MS = Date.UTC(2026, 2, 2, 10);
const POLICIES = {
  'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - window-limit: { per: [userId], window: 24h, max: 3000 }
  - velocity-limit: { per: [userId], window: 1m, max: 4 }
  - deny-list: { of: userId, list: blocked-users }
---
policy: valued-payments
callback: payment
when: { source: shop, symbol: BTC }
rules:
  - value-limit: { max: 10000, maxAge: 10m }
  - expected-order: {}
`,
  'custody.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: 10 }
  - allow-list: { of: to, list: partners }
  - window-limit: { window: 1h, max: 60 }
  - speed-up: { max: 1, within: 24h }
---
policy: calls
callback: web3
when: { source: vault, main_chain_symbol: ETH }
rules:
  - amount-limit: { max: 0 }
  - allow-list: { of: interactive_contract, values: ['${TO}'] }
`,
};
const TIGHTER = `${POLICIES['custody.yaml']}  - allow-list: { of: from, values: ['${OTHER}'] }\n`;

/** Numbers below a bound, the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

interface Traffic {
  readonly service: TestService;
  readonly nowMs: () => number;
  readonly pass: (ms: number) => void;
}

/**
 * Some hundred callbacks of two sources, between changes of lists, prices and orders, a freeze, and time that
 * passes.
 */
async function record({ service, nowMs, pass }: Traffic): Promise<void> {
  const pick = numbers(7);
  const { store } = service;
  const by = { by: 'ada', message: '' };
  const list = (source: string, name: string, add: readonly string[], remove: readonly string[] = []) =>
    store.changeList({ source, list: name, add, remove, ...by });
  const price = (units: string) =>
    store.changePrices({
      set: [{ asset: 'BTC', price: parseAmount(units) ?? 0n, asOfMs: nowMs() }],
      remove: [],
      by: 'feed',
    });
  await list('vault', 'partners', [TO]);
  for (let turn = 0; turn < 300; turn++) {
    if (turn === 20) await list('shop', 'blocked-users', ['103']);
    if (turn === 90) await list('shop', 'blocked-users', ['104'], ['103']);
    if (turn === 150) await list('vault', 'partners', [], [TO]);
    if (turn === 200) await list('vault', 'partners', [OTHER, TO]);
    if (turn % 60 === 10) await price(turn < 100 ? '90000' : '110000');
    if (turn === 120) await store.freeze({ reason: 'drill', by: 'ada' });
    if (turn === 130) await thaw(store);
    await (turn % 3 === 0 ? custody(service, pick) : payments(service, pick, nowMs()));
    pass(pick(8) * pick(8) * 20_000);
  }
}

async function payments(service: TestService, pick: (below: number) => number, nowMs: number): Promise<void> {
  const scheme = (['md5', 'rsa', 'rsa-envelope'] as const)[pick(3)];
  if (pick(5) === 0) {
    const id = `b-${pick(30)}`;
    const members = { userId: '200', symbol: 'BTC', amount: '0.1', scheme: 'md5' };
    const order = { source: 'shop', subject: `payment:${id}`, members, by: 'ada' };
    if (pick(3) > 0) await service.store.expectOrder({ ...order, expiresAtMs: nowMs + 600_000 });
    const payment = {
      appOrderId: id,
      userId: '200',
      payCoinSymbol: 'BTC',
      orderAmount: pick(6) === 0 ? '0.2' : '0.1',
    };
    await service.pay(payment, 'md5');
    return;
  }
  // Few ids, so that many come again, with the same terms and with others.
  const id = pick(120);
  const payment: Partial<Payment> = {
    appOrderId: `o-${id}`,
    userId: String(100 + (id % 6)),
    orderAmount: pick(12) === 0 ? '7' : String(50 + ((id * 37) % 1200)),
  };
  // At once, as far as the machine lets them.
  await Promise.all([service.pay(payment, scheme), pick(4) === 0 ? service.pay(payment) : undefined]);
}

async function custody(service: TestService, pick: (below: number) => number): Promise<void> {
  if (pick(3) === 0) {
    const from = pick(2) === 0 ? OTHER : '0x27b1fdb04752bbc536007a920d24acb045561c26';
    const contract = pick(4) === 0 ? OTHER : TO;
    await service.cosign(
      '/cosigner/web3',
      web3({ request_id: `c-${pick(20)}-${from.slice(2, 4)}`, from, interactive_contract: contract }),
    );
    return;
  }
  const id = pick(40);
  const members = { request_id: `w-${id}`, amount: String(1 + (id % 12)), to: id % 7 === 0 ? OTHER : TO };
  const types = ['sign_prepare', 'sign_start', 'sign_success'] as const;
  const type = types[pick(3)];
  const speedUp = type !== 'sign_success' && pick(4) === 0;
  const txid = type === 'sign_success' ? { txid: `0xabc${pick(3)}` } : {};
  await service.cosign('/cosigner/withdraw', transfer({ ...members, type, pending_round: speedUp, ...txid }));
}

async function recorded(host: StoreHost): Promise<TestService> {
  // Redis has a time of its own, which passes by itself.
  let nowMs = START_MS;
  const clock = host.kind === 'embedded' ? () => nowMs : Date.now;
  const service = await host.start({ policies: POLICIES, clock });
  await record({
    service,
    nowMs: clock,
    pass: (ms) => {
      nowMs += ms;
    },
  });
  return service;
}

async function entriesOf({ store }: TestService): Promise<readonly JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const entry of mergedEntries(store, [{ source: 'shop' }, { source: 'vault' }], false))
    entries.push(entry);
  return entries;
}

const isQuestion = ({ type }: JournalEntry): boolean => type === 'decision' || type === 'repeat';
const isFrozen = ({ code }: JournalEntry): boolean => code === 'FROZEN';
const reportShape = z.object({
  changed: z.array(z.object({ id: z.string(), candidate: z.object({ rule: z.string() }) })),
});

describeOnBothStores(
  'what was recorded is decided again',
  (host) => {
    it('with the same verdicts under the policies that were in force, from the store and from a file', async () => {
      const service = await recorded(host);
      const entries = await entriesOf(service);
      const questions = entries.filter(isQuestion);
      const asked = questions.filter((entry) => !isFrozen(entry));
      for (const code of ['APPROVED', 'RULE_REFUSED', 'TERMS_CHANGED', 'FROZEN']) {
        expect(questions.some((entry) => entry.code === code)).toBe(true);
      }
      for (const type of ['repeat', 'notice', 'list', 'order'])
        expect(entries.some((entry) => entry.type === type)).toBe(true);

      const { folder, run } = placeIn(service.folder);
      const found = await run('policy', 'backtest', '--json');
      const unchanged = {
        callbacks: asked.length,
        unchanged: asked.length,
        toFailure: 0,
        toSuccess: 0,
        notKnown: 0,
        frozen: questions.length - asked.length,
        rules: [],
        warnings: [],
      };
      expect(found.json()).toMatchObject(unchanged);
      expect(found.code).toBe(0);

      const exported = await run('decisions', 'export');
      const file = join(folder, 'decisions.jsonl');
      writeFileSync(file, exported.out);
      const again = await run('policy', 'backtest', '--from-file', file, '--json');
      expect(again.json()).toEqual(found.json());
    });

    it('with those changed that a tighter rule refuses, and no others', async () => {
      const service = await recorded(host);
      const { run, write } = placeIn(service.folder);
      write('candidate/payments.yaml', POLICIES['payments.yaml']);
      write('candidate/custody.yaml', TIGHTER);
      const { code, json } = await run(
        'policy',
        'backtest',
        join(service.folder, 'candidate'),
        '--show',
        '1000',
        '--json',
      );
      const hit = (await entriesOf(service)).filter(
        (entry) =>
          isQuestion(entry) &&
          entry.subject.startsWith('web3:') &&
          entry.verdict === 'SUCCESS' &&
          !entry.detail.includes(`\\"from\\":\\"${OTHER}`),
      );
      expect(hit.length).toBeGreaterThan(5);
      expect(code).toBe(1);
      expect(json()).toMatchObject({
        toFailure: hit.length,
        toSuccess: 0,
        rules: [{ change: 'SUCCESS->FAILURE', rule: 'calls/allow-list#3', callbacks: hit.length }],
      });
      expect(reportShape.parse(json()).changed.map(({ id }) => id)).toEqual(
        hit.map(({ source, id }) => `${source}/${id}`),
      );
    });
  },
  { timeoutMs: 60_000 },
);
