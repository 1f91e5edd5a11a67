import { describe, expect, it, onTestFinished } from 'vitest';
import { pluginQuestionKey } from '../../src/policy/facts.ts';
import type { Release } from '../../src/policy/release.ts';
import { type BacktestOptions, type BacktestReport, backtest } from '../../src/simulation/backtest.ts';
import { payment, release, transfer } from '../policy/callbacks.ts';
import { type Recorder, START_MS, createRecorder } from './records.ts';

const HOUR_MS = 3_600_000;
const UNIT = 10n ** 36n;
const policy = (...rules: readonly string[]): Release =>
  release(
    `policy: p\ncallback: payment\nwhen: { source: shop, symbol: [USDT1742] }\nrules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`,
  );
const LIMIT = 'amount-limit: { max: 1000 }';
const window = (max: number): string => `window-limit: { per: [userId], window: 1h, max: ${max} }`;

function recorder(recorded: Release): Recorder {
  const made = createRecorder(recorded);
  onTestFinished(() => made.close());
  return made;
}

/** The body of a payment as it was sent, sign and all, and its callback. */
function pay(
  made: Recorder,
  id: string,
  amount: string,
  atMs = 0,
  more: Parameters<Recorder['ask']>[3] = {},
) {
  const members = { appOrderId: id, orderAmount: amount };
  const body = { appKey: 'k', userId: '12345', payCoinSymbol: 'USDT1742', ...members, sign: 's' };
  return made.ask(payment(members), body, atMs, more);
}

function run(
  made: Recorder,
  candidate: Release,
  more: Partial<BacktestOptions> = {},
): Promise<BacktestReport> {
  return backtest({ release: candidate, record: made.items, show: 100, ...more });
}

const idsOf = (report: BacktestReport): readonly string[] => report.changed.map(({ subject }) => subject);

describe('a backtest', () => {
  it('under the same policies changes nothing', async () => {
    const made = recorder(policy(LIMIT, window(1500)));
    for (const [id, amount] of [
      ['1', '1000'],
      ['2', '600'],
      ['1', '1000'],
      ['3', '1001'],
      ['1', '999'],
    ] as const) {
      pay(made, id, amount);
    }
    expect(made.items.map((item) => ('code' in item ? item.code : ''))).toEqual([
      'APPROVED',
      'RULE_REFUSED',
      'APPROVED',
      'RULE_REFUSED',
      'TERMS_CHANGED',
    ]);
    expect(await run(made, policy(LIMIT, window(1500)))).toMatchObject({
      callbacks: 5,
      unchanged: 5,
      toFailure: 0,
      toSuccess: 0,
      notKnown: 0,
      changed: [],
      warnings: [],
    });
  });

  it('tells the rule that refuses now, with its values, and what was recorded', async () => {
    const made = recorder(policy(LIMIT));
    pay(made, '1', '500');
    pay(made, '2', '501');
    const report = await run(made, policy('amount-limit: { max: 500 }'));
    expect(report.rules).toEqual([{ change: 'SUCCESS->FAILURE', rule: 'p/amount-limit#1', callbacks: 1 }]);
    expect(report.changed).toMatchObject([
      {
        id: '2',
        source: 'shop',
        subject: 'payment:2',
        atMs: START_MS,
        recorded: { verdict: 'SUCCESS', rule: 'APPROVED' },
        candidate: {
          verdict: 'FAILURE',
          rule: 'p/amount-limit#1',
          because: 'the amount 501 is above the maximum 500',
          values: { amount: '501', max: '500' },
        },
      },
    ]);
  });

  it('tells the rule that refused then, where it no longer does', async () => {
    const made = recorder(policy(LIMIT));
    pay(made, '1', '1001');
    const report = await run(made, policy('amount-limit: { max: 1001 }'));
    expect(report.rules).toEqual([{ change: 'FAILURE->SUCCESS', rule: 'p/amount-limit#1', callbacks: 1 }]);
    expect(report.changed[0]?.recorded).toMatchObject({ rule: 'p/amount-limit#1', values: { max: '1000' } });
  });

  it('counts on: what the candidate refuses leaves room for what comes after', async () => {
    const made = recorder(policy(LIMIT, window(1000)));
    pay(made, '1', '900');
    pay(made, '2', '200');
    const report = await run(made, policy('amount-limit: { max: 800 }', window(1000)));
    expect(report).toMatchObject({ toFailure: 1, toSuccess: 1, unchanged: 0 });
    expect(idsOf(report)).toEqual(['payment:1', 'payment:2']);
  });

  it('lets time pass as it did', async () => {
    const made = recorder(policy(window(1000)));
    pay(made, '1', '1000');
    pay(made, '2', '1000', HOUR_MS / 2);
    pay(made, '3', '1000', 2 * HOUR_MS);
    expect(await run(made, policy(window(1000)))).toMatchObject({ unchanged: 3 });
    expect(await run(made, policy(window(2000)))).toMatchObject({ toSuccess: 1, unchanged: 2 });
  });

  it('reports from an instant on, and decides what was before for what it reserved', async () => {
    const made = recorder(policy(window(1000)));
    pay(made, '1', '1000');
    pay(made, '2', '500', 1000);
    const since = { fromMs: START_MS + 1000 };
    expect(await run(made, policy(window(1000)), since)).toMatchObject({ callbacks: 1, unchanged: 1 });
    const report = await run(made, policy('amount-limit: { max: 999 }', window(1000)), since);
    expect(report).toMatchObject({ callbacks: 1, toSuccess: 1, toFailure: 0 });
    expect(report.period).toEqual({ firstMs: START_MS + 1000, lastMs: START_MS + 1000 });
    const until = { untilMs: START_MS + 1000 };
    expect(await run(made, policy(LIMIT), until)).toMatchObject({ callbacks: 1, unchanged: 1 });
  });

  it('leaves out what was refused for all was frozen, and reserves nothing for it', async () => {
    const made = recorder(policy(window(1000)));
    const frozen = { type: 'decision', verdict: 'FAILURE', code: 'FROZEN', claims: [] } as const;
    const body = {
      appKey: 'k',
      appOrderId: '1',
      orderAmount: '1000',
      userId: '12345',
      payCoinSymbol: 'USDT1742',
    };
    made.add({
      ...frozen,
      subject: 'payment:1',
      detail: JSON.stringify({ body: JSON.stringify(body) }),
      atMs: 0,
    });
    pay(made, '2', '1000', 1);
    expect(await run(made, policy(window(1000)))).toMatchObject({ callbacks: 1, unchanged: 1, frozen: 1 });
  });

  it('follows the lists of the record', async () => {
    const listed = policy('deny-list: { of: userId, list: blocked }');
    const made = recorder(listed);
    pay(made, '0', '1');
    made.list('blocked', [], [], 0);
    pay(made, '1', '1', 1);
    made.list('blocked', ['12345'], [], 2);
    pay(made, '2', '1', 3);
    made.list('blocked', [], ['12345'], 4);
    pay(made, '2', '1', 5);
    expect(await run(made, listed)).toMatchObject({ unchanged: 4, warnings: [] });
    expect(await run(made, policy(LIMIT))).toMatchObject({ toSuccess: 2, unchanged: 2 });
  });

  it('decides with the prices of the version that was seen, also within one millisecond', async () => {
    const valued = policy('value-limit: { max: 100, maxAge: 10m }');
    const made = recorder(valued);
    made.prices(1, 0, [['USDT1742', UNIT]]);
    pay(made, '1', '100', 5);
    made.prices(2, 5, [['USDT1742', 2n * UNIT]]);
    pay(made, '2', '100', 5);
    const [first, one, second, two] = made.items;
    // As a reader merges them: changes of prices before the entries of their millisecond.
    const items = [first, second, one, two].filter((item) => item !== undefined);
    expect(await run({ ...made, items }, valued)).toMatchObject({ unchanged: 2, warnings: [] });
  });

  it.each([0, 1, 5])('tells at most as many callbacks one by one as are asked for: %i', async (show) => {
    const made = recorder(policy(LIMIT));
    for (const id of ['1', '2', '3']) pay(made, id, '600');
    const report = await run(made, policy('amount-limit: { max: 1 }'), { show });
    expect(report.changed).toHaveLength(Math.min(3, show));
    expect(report.toFailure).toBe(3);
  });
});

describe('what a backtest can not know', () => {
  const asks = release(
    'policy: p\ncallback: transfer\nwhen: { source: vault }\nrules:\n  - amount-limit: { max: 10 }\n  - ask: { service: risk }\n',
  );
  const open = release(
    'policy: p\ncallback: transfer\nwhen: { source: vault }\nrules:\n  - amount-limit: { max: 10 }\n',
  );
  const body = { type: 'sign_start', transfer_id: 7, from: 'a', to: 'b', amount: '1', symbol: 'ETH' };
  const withdraw = (made: Recorder, id: string, more: Parameters<Recorder['ask']>[3] = {}, amount = '1') => {
    const members = { ...body, request_id: id, amount };
    return made.ask(transfer(members), members, 0, more);
  };

  it('is what somebody would have answered who was not asked', async () => {
    const made = recorder(open);
    withdraw(made, '1');
    const report = await run(made, asks);
    expect(report).toMatchObject({ callbacks: 1, notKnown: 1, toFailure: 0 });
    expect(report.unknown[0]?.because).toContain('service risk');
  });

  it('unless it is refused whatever the answer', async () => {
    const made = recorder(
      release(
        'policy: p\ncallback: transfer\nwhen: { source: vault }\nrules:\n  - amount-limit: { max: 20 }\n',
      ),
    );
    withdraw(made, '1', {}, '11');
    expect(await run(made, asks)).toMatchObject({ notKnown: 0, toFailure: 1 });
  });

  it('nor where the rule only observes', async () => {
    const made = recorder(open);
    withdraw(made, '1');
    const observes = release(
      'policy: p\ncallback: transfer\nwhen: { source: vault }\nrules:\n  - amount-limit: { max: 10 }\n  - { ask: { service: risk }, mode: observe }\n',
    );
    expect(await run(made, observes)).toMatchObject({ notKnown: 0, unchanged: 1 });
  });

  it.each([
    ['yes', 'SUCCESS'],
    ['no', 'FAILURE'],
    ['failed', 'FAILURE'],
  ] as const)('while a recorded %s is an answer', async (answered, verdict) => {
    const made = recorder(asks);
    const [question] = asks.policies.flatMap(({ rules }) =>
      rules.flatMap(({ pluginQuestions }) => pluginQuestions ?? []),
    );
    if (question === undefined) throw new Error('the rule asks nothing');
    const answers = new Map([[pluginQuestionKey(question), { verdict: answered, because: 'so' }]]);
    expect(withdraw(made, '1', { answers }).verdict).toBe(verdict);
    expect(await run(made, asks)).toMatchObject({ unchanged: 1, notKnown: 0 });
  });

  it('a repeat by another scheme stays refused, whatever the policies, and uses nothing up', async () => {
    const made = recorder(policy(LIMIT));
    pay(made, '1', '1000');
    pay(made, '1', '1000', 1, { over: { type: 'decision', verdict: 'FAILURE', code: 'SCHEME_CHANGED' } });
    expect(await run(made, policy(LIMIT, window(1000)))).toMatchObject({ notKnown: 0, unchanged: 2 });
  });

  it('what was released counts no more, and its repeats stay refused', async () => {
    const limits = policy(LIMIT, window(1000), 'window-limit: { window: 7d, max: 2000 }');
    const approved = { over: { type: 'decision', verdict: 'SUCCESS', code: 'APPROVED' } } as const;
    const refusedAgain = { over: { type: 'decision', verdict: 'FAILURE', code: 'RELEASED' } } as const;
    const refused = { over: { type: 'decision', verdict: 'FAILURE', code: 'RULE_REFUSED' } } as const;
    const releaseOf = (subject: string, atMs: number) => ({ type: 'release', subject, atMs }) as const;
    const made = recorder(limits);
    pay(made, '1', '900');
    pay(made, '2', '900');
    made.add(releaseOf('payment:1', 1));
    made.add(releaseOf('payment:0', 1));
    pay(made, '1', '900', 1, refusedAgain);
    pay(made, '3', '1000', 1, approved);
    pay(made, '4', '1', 1, refused);
    // The hour of the first approval is over: its release would give nothing back to that window.
    pay(made, '5', '900', 2 * HOUR_MS, approved);
    pay(made, '6', '200', 4 * HOUR_MS, refused);
    made.add(releaseOf('payment:5', 4 * HOUR_MS));
    pay(made, '7', '1000', 4 * HOUR_MS, approved);
    expect(await run(made, limits)).toMatchObject({
      changed: [],
      notKnown: 0,
      unchanged: 8,
      warnings: ['1 approvals were released that were given before the record begins'],
    });
  });

  it('is what the terms were of an id that came first before the record begins', async () => {
    const made = recorder(policy(LIMIT));
    pay(made, '1', '1', 0, { over: { verdict: 'FAILURE', code: 'TERMS_CHANGED' } });
    pay(made, '1', '2', 1, { over: { type: 'decision', verdict: 'SUCCESS', code: 'APPROVED' } });
    expect(await run(made, policy(LIMIT))).toMatchObject({ notKnown: 1, unchanged: 1 });
  });

  it.each([
    ['a body that is no JSON', 'payment:1', '{"body":"{"}', /body can.t be read/],
    ['a body of another kind', 'web3:1', '{"body":"{\\"appOrderId\\":\\"1\\"}"}', /body can.t be read/],
    ['a kind that there is not', 'refund:1', '{"body":"{}"}', /subject has no kind/],
    ['no body', 'payment:1', '{}', /detail can.t be read/],
    ['a detail that is no JSON', 'payment:1', 'torn', /detail can.t be read/],
  ])('is %s', async (_, subject, detail, said) => {
    const made = recorder(policy(LIMIT));
    made.add({ type: 'decision', verdict: 'SUCCESS', code: 'APPROVED', subject, detail, atMs: 0 });
    const report = await run(made, policy(LIMIT));
    expect(report).toMatchObject({ callbacks: 1, notKnown: 1 });
    expect(report.unknown[0]?.because).toMatch(said);
  });

  it('is told: a list of which the record knows nothing', async () => {
    const made = recorder(policy(LIMIT));
    pay(made, '1', '1');
    const report = await run(made, policy('deny-list: { of: userId, list: blocked }'));
    expect(report).toMatchObject({ toFailure: 1 });
    expect(report.warnings).toEqual([expect.stringContaining('no list shop/blocked')]);
  });

  it('is told: a list that is older than the record', async () => {
    const listed = policy('deny-list: { of: userId, list: blocked }');
    const made = recorder(listed);
    made.add({ type: 'list', detail: JSON.stringify({ list: 'blocked', add: [], remove: ['1'] }), atMs: 0 });
    pay(made, '1', '1', 1);
    const report = await run(made, listed);
    expect(report.warnings).toEqual([expect.stringContaining('shop/blocked is older than the record')]);
  });

  it('is told: a repeat of what was decided before the record begins', async () => {
    const made = recorder(policy(LIMIT));
    pay(made, '1', '1', 0, { over: { type: 'repeat' } });
    const report = await run(made, policy(LIMIT));
    expect(report).toMatchObject({ unchanged: 1 });
    expect(report.warnings).toEqual([expect.stringContaining('1 repeats of decisions')]);
  });

  it('is told: prices that are not in the record, changes that can not be read, orders from before', async () => {
    const made = recorder(policy(LIMIT));
    const { detail } = pay(recorder(policy(LIMIT)), '1', '1');
    pay(made, '1', '1', 0, { over: { detail: detail.replace('"prices":0', '"prices":3') } });
    made.add({ type: 'list', detail: '{}', atMs: 1 });
    made.add({ type: 'order', subject: 'payment:9', detail: '{"change":"cancel"}', atMs: 1 });
    expect((await run(made, policy(LIMIT))).warnings).toHaveLength(3);
  });

  it('is nothing where there is nothing', async () => {
    const report = await run(recorder(policy(LIMIT)), policy(LIMIT));
    expect(report).toMatchObject({ callbacks: 0, unchanged: 0, period: undefined });
  });
});
