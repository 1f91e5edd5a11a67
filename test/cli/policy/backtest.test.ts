import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from '../../../src/store/embedded/open.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { POLICIES, type TestService, startTestService } from '../../service.ts';
import { type Place, place, placeIn } from '../terminal.ts';

const DAY_MS = 86_400_000;
/** Three hours before the clock of these calls. */
const START_MS = Date.UTC(2025, 5, 15, 9);
const LISTED =
  'policy: payments\ncallback: payment\nwhen: { source: shop }\nrules:\n  - deny-list: { of: userId, list: blocked-users }\n';

interface Running extends Place {
  readonly service: TestService;
  readonly at: (ms: number) => void;
}

async function serve(
  policies: Readonly<Record<string, string>> = POLICIES,
  folder?: string,
): Promise<Running> {
  let nowMs = START_MS;
  const service = await startTestService({
    policies,
    folder: folder ?? temporaryFolder(),
    clock: () => nowMs,
  });
  onTestFinished(() => service.stop());
  return {
    ...placeIn(service.folder),
    service,
    at: (ms) => {
      nowMs = START_MS + ms;
    },
  };
}

/** Payments of 500, 700 and 1001 an hour apart, and a candidate that allows 600. */
async function recorded(): Promise<Running> {
  const running = await serve();
  for (const [hour, orderAmount] of ['500', '700', '1001'].entries()) {
    running.at(hour * 3_600_000);
    await running.service.pay({ appOrderId: `o-${hour}`, orderAmount });
  }
  running.write('policies/payments.yaml', POLICIES['payments.yaml'].replace('max: 1000 ', 'max: 600 '));
  return running;
}

describe('policy backtest', () => {
  it('says how many verdicts would change, and by which rules: 1', async () => {
    const { run } = await recorded();
    const { code, out } = await run`policy backtest`;
    expect(code).toBe(1);
    expect(out).toMatch(
      /^3 recorded callbacks decided again under [0-9a-f]{12}, from 2025-06-15T09:00:00\.000Z to 2025-06-15T11:00:00\.000Z\.\n/,
    );
    expect(out).toContain('unchanged           2\nSUCCESS -> FAILURE  1\nFAILURE -> SUCCESS  0\n');
    expect(out).toContain('  1  now refused by  payments/amount-limit#1\n');
    expect(out).toContain('Add --show 20');
    expect(out).not.toContain('payment:o-1');
  });

  it('with --show tells the callbacks one by one, with what was recorded', async () => {
    const { run } = await recorded();
    const { out } = await run`policy backtest --show 20`;
    expect(out).toContain(
      '2025-06-15T10:00:00.000Z  shop/2  payment:o-1  SUCCESS -> FAILURE\n  recorded   APPROVED: approved: all 2 rules that enforce pass\n  candidate  payments/amount-limit#1: the amount 700 is above the maximum 600 [amount 700, max 600]',
    );
    const { json } = await run`policy backtest --show 20 --json`;
    expect(json()).toMatchObject({
      callbacks: 3,
      toFailure: 1,
      period: { first: '2025-06-15T09:00:00.000Z', last: '2025-06-15T11:00:00.000Z' },
      changed: [{ id: 'shop/2', at: '2025-06-15T10:00:00.000Z', candidate: { values: { max: '600' } } }],
    });
  });

  it('under the policies in force changes nothing: 0', async () => {
    const { run, write } = await recorded();
    write('policies/payments.yaml', POLICIES['payments.yaml']);
    const { code, out } = await run`policy backtest`;
    expect(code).toBe(0);
    expect(out).toContain('unchanged           3\n');
    expect(out).not.toContain('By rule');
  });

  it('reports a period, and one source', async () => {
    const { run } = await recorded();
    // It is 12:00, so the last is an hour old.
    expect((await run`policy backtest --since 90m --json`).json()).toMatchObject({
      callbacks: 1,
      unchanged: 1,
    });
    expect((await run`policy backtest --until 2025-06-15T10:00:00Z --json`).json()).toMatchObject({
      callbacks: 1,
    });
    expect((await run`policy backtest --source shop --json`).json()).toMatchObject({
      callbacks: 3,
    });
    expect(await run`policy backtest --source vault`).toMatchObject({ code: 1 });
  });

  it('takes a file instead of a store, with nothing but a directory', async () => {
    const { run, write, folder } = await recorded();
    const { out } = await run`decisions export`;
    const file = write('decisions.jsonl', out);
    const other = place();
    const call = ['policy', 'backtest', join(folder, 'policies'), '--from-file', file, '--json'] as const;
    const found = await other.run(...call);
    expect(found.code).toBe(1);
    expect(found.json()).toEqual((await run`policy backtest --json`).json());
    expect((await other.run(...call, '--source', 'vault')).json()).toMatchObject({ callbacks: 0 });
  });

  it('shows how far it is', async () => {
    const { runWith, service } = await serve();
    for (let id = 0; id < 500; id += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => service.pay({ appOrderId: `o-${id + n}`, orderAmount: '1' })),
      );
    }
    const shown: string[] = [];
    await runWith({ progress: (line) => void shown.push(line) })('policy', 'backtest');
    expect(shown).toEqual([`[${'#'.repeat(30)}] 100%  500 callbacks`, '']);
  });

  it('refuses faulty candidates: 1', async () => {
    const { run, write } = place();
    write('policies/payments.yaml', 'policy: [');
    expect(await run`policy backtest`).toMatchObject({ code: 1 });
  });
});

describe('a list that is older than what the journal still holds', () => {
  /** Made with one user on it, so long ago that the journal has forgotten it. */
  async function withOldList(): Promise<Running> {
    const { folder } = place();
    const old = await openEmbeddedStore({
      path: join(folder, 'store.db'),
      clock: () => START_MS - 500 * DAY_MS,
    });
    const change = { source: 'shop', list: 'blocked-users', remove: [], by: 'ada', message: '' };
    await old.changeList({ ...change, add: ['666'] });
    await old.close();
    const running = await serve({ 'payments.yaml': LISTED }, folder);
    for (const [appOrderId, userId] of [
      ['o-1', '1'],
      ['o-2', '666'],
    ] as const)
      await running.service.pay({ appOrderId, userId });
    expect(
      (await running.service.store.entries({ source: 'shop', limit: 10 })).map(({ type }) => type),
    ).not.toContain('list');
    return running;
  }

  it('is known if it has not changed since', async () => {
    const { run } = await withOldList();
    expect((await run`policy backtest --json`).json()).toMatchObject({
      callbacks: 2,
      unchanged: 2,
      warnings: [],
    });
  });

  it('is known but for what was taken off it, and that is told', async () => {
    const { run, service } = await withOldList();
    await service.store.changeList({
      source: 'shop',
      list: 'blocked-users',
      add: ['7'],
      remove: [],
      by: 'ada',
      message: '',
    });
    await service.pay({ appOrderId: 'o-3', userId: '7' });
    const { out, code } = await run`policy backtest`;
    expect(code).toBe(0);
    expect(out).toContain('unchanged           3\n');
    expect(out).toContain('Note: the list shop/blocked-users is older than the record');
  });
});
