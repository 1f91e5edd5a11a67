import { describe, expect, it, onTestFinished } from 'vitest';
import { FAULTS, type Fault, readFaults } from '../faults.ts';
import { startTestService } from '../../../test/service.ts';
import {
  FROM,
  type Received,
  SCHEMES,
  TO,
  type TestSandbox,
  balanceOf,
  flat,
  keysOf,
  receiverSources,
  sharedCredentials,
  startAnswered,
  startReceiver,
  startTestSandbox,
  transaction,
  withdrawal,
} from './sandbox.ts';

const PAY = 'opay/transferToMerchantAuth';
const payment = { userId: '12345', appOrderId: 'o-1', orderAmount: '100', payCoinSymbol: 'USDT1742' };
const W1 = { speedUps: 1, amount: '1.50', request: 'w-1' };
const C1 = { speedUps: 1, request: 'c-1' };

const folder = sharedCredentials();

async function startBoth(faults: readonly Fault[]): Promise<TestSandbox> {
  const service = await startTestService({ settings: { sources: receiverSources(folder) } });
  onTestFinished(() => service.stop());
  return startTestSandbox({ receiver: service.url, faults: new Map(faults.map((fault) => [fault, 100])) });
}

const all = Object.keys(FAULTS) as readonly Fault[];
const payments = all.filter((fault) => /^tamper-(?!credential|terms|outputs)/.test(fault));
const cosigner = ['tamper-credential', 'tamper-terms', 'tamper-outputs'] as const;

describe('the real receiver refuses a tampered confirmation', () => {
  describe.each(SCHEMES)('with %s', (scheme) => {
    it.each(payments)('%s', async (fault) => {
      const sandbox = await startBoth([fault]);
      expect((await sandbox.call(PAY, payment, scheme)).code).toBe('10015');
      expect(sandbox.log.find(({ kind }) => kind === 'confirmation')).toMatchObject({
        outcome: '"FAILURE"',
        why: 'it answered FAILURE',
        faults: [fault],
      });
      expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('100000');
    });
  });

  it.each(cosigner)('%s', async (fault) => {
    const sandbox = await startBoth([fault]);
    await sandbox.steer(withdrawal(W1));
    if (fault !== 'tamper-outputs') await sandbox.steer(transaction(C1));
    for (let polls = 0; polls < 3; polls++) await sandbox.steer({ command: 'poll' });
    const tampered = sandbox.log.filter(({ faults }) => faults.includes(fault));
    expect(tampered.length).toBeGreaterThan(0);
    expect(tampered.map(({ outcome }) => outcome)).toEqual(tampered.map(() => '"FAILURE"'));
    // What is honest beside it is signed all the same.
    for (const each of (await sandbox.steer({ command: 'signings' })) as readonly object[]) {
      expect(each).toMatchObject({ status: 'signed', signed: 2 });
    }
  });

  it('and a receiver that says yes to one is found out, and debits nothing', async () => {
    const sandbox = await startAnswered('SUCCESS', { faults: new Map([['tamper-amount', 100]]) });
    expect((await sandbox.call(PAY, payment)).code).toBe('10015');
    expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('100000');
    expect(sandbox.log[0]?.why).toContain('said yes to a tampered confirmation');
  });
});

describe('the real receiver accepts what is only written in another form', () => {
  const wire = all.filter((fault) => fault.startsWith('wire-'));
  describe.each(SCHEMES)('a payment with %s', (scheme) => {
    it.each(['late', 'repeat'] as const)('%s', async (fault) => {
      const sandbox = await startBoth([fault]);
      expect((await sandbox.call(PAY, payment, scheme)).code).toBe('0');
      const confirmations = sandbox.log.filter(({ kind }) => kind === 'confirmation');
      expect(confirmations.length).toBe(fault === 'repeat' ? 2 : 1);
      for (const each of confirmations) expect(each).toMatchObject({ outcome: '"SUCCESS"', faults: [fault] });
      expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('99900');
    });
  });

  it.each(['wire-text', 'wire-big-id', 'late', 'repeat', 'reorder'] as const)(
    'a withdrawal and a transaction with %s',
    async (fault) => {
      const sandbox = await startBoth([fault]);
      await sandbox.steer(withdrawal(W1));
      await sandbox.steer(transaction(C1));
      for (let polls = 0; polls < 3; polls++) await sandbox.steer({ command: 'poll' });
      expect(sandbox.log.filter(({ faults }) => faults.includes(fault)).length).toBeGreaterThan(0);
      expect(await sandbox.steer({ command: 'signings' })).toMatchObject([
        { status: 'signed', signed: 2, refused: 0 },
        { status: 'signed', signed: 2, refused: 0 },
      ]);
    },
  );

  it('all forms at once', async () => {
    const sandbox = await startBoth([...wire, 'repeat', 'reorder', 'late']);
    for (const [at, scheme] of SCHEMES.entries()) {
      expect((await sandbox.call(PAY, { ...payment, appOrderId: `o-${at}` }, scheme)).code).toBe('0');
    }
    await sandbox.steer(withdrawal(W1));
    await sandbox.steer(transaction(C1));
    for (let polls = 0; polls < 3; polls++) await sandbox.steer({ command: 'poll' });
    expect(await sandbox.steer({ command: 'signings' })).toMatchObject([
      { status: 'signed' },
      { status: 'signed' },
    ]);
  });
});

describe('the forms', () => {
  async function bodies(faults: readonly Fault[], command: object): Promise<readonly Received[]> {
    const sandbox = await startAnswered('SUCCESS', { faults: new Map(faults.map((fault) => [fault, 100])) });
    await sandbox.steer({ ...command });
    await sandbox.steer({ command: 'poll' });
    return sandbox.received;
  }

  it.each<[Fault, object, RegExp]>([
    ['wire-big-id', withdrawal(W1), /"transfer_id":9007199254740993\d+,/],
    ['wire-big-id', transaction(C1), /"trans_id":9007199254740993\d+,/],
    ['wire-text', withdrawal(W1), /"transfer_id":"\d+",.*"amount":"1\.50",/],
    ['wire-text', transaction(C1), /"trans_id":"\d+",.*"amount":"0",/],
  ])('%s', async (fault, command, form) => {
    const [honest] = await bodies([], command);
    const [odd] = await bodies([fault], command);
    expect(honest?.body).not.toMatch(form);
    expect(odd?.body).toMatch(form);
  });
});

describe('the faults of the bill', () => {
  const BILL = 'opay/merchantBillingDay';
  type Bill = { readonly count: number; readonly list: readonly Record<string, unknown>[] };

  async function billWith(fault: Fault, params = {}, answer = 'SUCCESS'): Promise<Bill> {
    const sandbox = await startAnswered(answer, { faults: new Map([[fault, 100]]) });
    await sandbox.call(PAY, payment);
    const { data, dataText } = await sandbox.call(BILL, params);
    // The exact digits, which a number of this test would lose.
    const [, amount] = /"orderAmount":([\d.]+)/.exec(dataText) ?? [];
    const { count, list } = data as Bill;
    return { count, list: list.map((each) => ({ ...each, orderAmount: amount })) };
  }

  const honest = {
    appOrderId: 'o-1',
    payCoinSymbol: 'USDT1742',
    orderAmount: '100',
    orderType: 1,
    userId: 12_345,
  };

  it.each<[Fault, readonly object[]]>([
    ['late', [honest]],
    ['bill-omit', []],
    ['bill-twice', [honest, honest]],
    ['wire-zeros', [{ ...honest, orderAmount: '100.000' }]],
    ['bill-amount', [{ ...honest, orderAmount: '100.000000000000000001' }]],
    ['bill-user', [{ ...honest, userId: 12_346 }]],
    ['bill-day', []],
    ['bill-invented', [honest, { ...honest, appOrderId: 'invented-o-1' }]],
  ])('%s', async (fault, records) => {
    const { count, list } = await billWith(fault);
    expect(count).toBe(records.length);
    expect(list).toMatchObject(records);
  });

  it('bill-day has the payment a day later', async () => {
    expect((await billWith('bill-day', { day: '2026-01-16' })).list).toMatchObject([
      { ...honest, payTime: '2026-01-16 12:00:00' },
    ]);
  });

  it('are named in the log where they differ in this bill, and not for other days', async () => {
    const receiver = await startReceiver((_, response) => void response.end('SUCCESS'));
    const faults = readFaults('bill-user@o-0,bill-omit@o-2');
    const sandbox = await startTestSandbox({ receiver: receiver.url, faults });
    for (let at = 0; at < 3; at++) await sandbox.call(PAY, { ...payment, appOrderId: `o-${at}` });
    const { list } = (await sandbox.call(BILL)).data as Bill;
    expect(list.map(({ userId }) => userId)).toEqual([12_346, 12_345]);
    expect(sandbox.log.at(-1)?.faults).toEqual(['bill-user@o-0', 'bill-omit@o-2']);
    await sandbox.call(BILL, { day: '2026-01-14' });
    expect(sandbox.log.at(-1)?.faults).toEqual([]);
  });

  it('bill-refused debits what the receiver refused', async () => {
    expect((await billWith('late', {}, 'FAILURE')).list).toEqual([]);
    expect((await billWith('bill-refused', {}, 'FAILURE')).list).toMatchObject([honest]);
  });
});

describe('the faults of the co-signer', () => {
  interface Call {
    readonly type: string;
    readonly txid?: string;
    readonly [name: string]: unknown;
  }

  /** The calls about one request; `S` is the first txid, `T` the second. */
  async function callsWith(
    fault: Fault,
    command: object,
    { answer = 'SUCCESS' } = {},
  ): Promise<{ readonly calls: readonly Call[]; readonly told: string; readonly sandbox: TestSandbox }> {
    const receiver = await startReceiver((_, response) => void response.end(answer));
    const sandbox = await startTestSandbox({
      receiver: receiver.url,
      faults: readFaults(`${fault}@w-1,${fault}@c-1`),
    });
    await sandbox.steer({ ...command });
    for (let polls = 0; polls < 3; polls++) await sandbox.steer({ command: 'poll' });
    const calls = receiver.received.map(({ body }) => JSON.parse(body) as Call);
    const txids = [...new Set(calls.flatMap(({ txid }) => txid ?? []))];
    const told = calls.map(({ type, txid, pending_round: speedUp }) => {
      const signed = txid === undefined ? '' : ` ${'STU'.charAt(txids.indexOf(txid))}`;
      return `${type.replace('sign_', '')}${speedUp === true ? ' faster' : ''}${signed}`;
    });
    return { calls, told: told.join(', '), sandbox };
  }

  const HONEST = 'prepare, start, success S';

  describe.each([
    ['a withdrawal', withdrawal({ ...W1, speedUps: 0 })],
    ['a transaction', transaction({ ...C1, speedUps: 0 })],
  ])('%s', (_, command) => {
    it.each<[Fault, string, object]>([
      ['late', HONEST, {}],
      ['sign-unasked', 'success S', {}],
      ['sign-unasked', 'success S', { answer: 'FAILURE' }],
      ['sign-refused', HONEST, { answer: 'FAILURE' }],
      ['sign-twice', `${HONEST}, success T`, {}],
      ['sign-speed-up', `${HONEST}, success faster T`, {}],
    ])('with %s: %s', async (fault, wanted, options) => {
      const { told, sandbox } = await callsWith(fault, command, options);
      expect(told).toBe(wanted);
      expect(sandbox.log.some(({ faults }) => faults.includes(fault))).toBe(true);
    });

    it('with sign-refused is not otherwise different, and then the log does not name it', async () => {
      const { told, sandbox } = await callsWith('sign-refused', command);
      expect(told).toBe(HONEST);
      expect(sandbox.log.flatMap(({ faults }) => faults)).toEqual([]);
    });
  });

  const OUTPUTS = [
    { to: TO, amount: '1' },
    { to: FROM, amount: '0.5' },
  ];
  const CHANGED = `${TO.slice(0, -1)}1`;

  it.each<[Fault, object, object]>([
    ['sign-amount', withdrawal(W1), { amount: 2.5 }],
    [
      'sign-amount',
      withdrawal({ ...W1, amount: '1.5', outputs: OUTPUTS }),
      { amount: 2.5, outputs: ['2', '0.5'] },
    ],
    ['sign-amount', transaction(C1), { amount: 1 }],
    ['sign-amount', transaction({ ...C1, amount: '-1' }), { amount: 1 }],
    ['sign-address', withdrawal(W1), { to: CHANGED }],
    ['sign-address', withdrawal({ ...W1, outputs: OUTPUTS }), { to: CHANGED, outputs: ['1', '0.5'] }],
    ['sign-address', transaction(C1), { to: CHANGED }],
  ])('%s changes what is signed, and nothing else: %j', async (fault, command, changed) => {
    const { calls, told } = await callsWith(fault, { ...command, speedUps: 0 });
    expect(told).toBe(HONEST);
    const [, start, success] = calls;
    const { txid: _, outputs, ...signed } = success ?? { type: '' };
    const parsed = JSON.parse(typeof outputs === 'string' ? outputs : '[]') as readonly {
      readonly address_to: string;
      readonly amount: string;
    }[];
    const { outputs: wanted = [], ...members } = changed as { readonly outputs?: readonly string[] };
    const { outputs: asked, ...terms } = { ...start };
    expect(signed).toEqual({ ...terms, type: 'sign_success', ...members });
    expect(outputs).not.toBe(asked ?? 'none');
    expect(parsed.map(({ amount }) => amount)).toEqual(wanted);
    // The outputs include the address that is paid, or the receiver could not read them.
    const paid = parsed.map(({ address_to: to }) => to);
    expect(paid.includes(String(signed['to']))).toBe(wanted.length > 0);
  });
});

describe('--faults', () => {
  it.each([
    ['', {}],
    ['late', { late: 100 }],
    ['late=20,repeat=0', { late: 20, repeat: 0 }],
    [' wire-text=5 ', { 'wire-text': 5 }],
    ['late@a-1', { late: new Set(['a-1']) }],
    ['late@a/b:1, late@b', { late: new Set(['a/b:1', 'b']) }],
    ['late=20,late@a', { late: new Set(['a']) }],
    ['late@a,late=20', { late: 20 }],
    ['tamper=10,tamper-sign=90', expect.objectContaining({ 'tamper-amount': 10, 'tamper-sign': 90 })],
    ['all=1', Object.fromEntries(all.map((fault) => [fault, 1]))],
  ])('%j is read', (written, rates) => {
    expect(Object.fromEntries(readFaults(written))).toEqual(rates);
  });

  it.each([
    'x',
    'late=101',
    'late=-1',
    'late=5%',
    'late=',
    '=5',
    'late 5',
    'wire-',
    'late@',
    'late@a b',
    '@a',
    'x@a',
  ])('%j is not', (written) => {
    expect(() => readFaults(written)).toThrow(/--faults .* is not valid/);
  });

  it('occur as often as they should, the same ones with the same seed, and others with another', async () => {
    const occurred = async (seed: string): Promise<readonly string[]> => {
      const sandbox = await startAnswered('SUCCESS', { seed, faults: readFaults('repeat=30') });
      for (let at = 0; at < 100; at++) {
        await sandbox.call(PAY, { ...payment, orderAmount: '1', appOrderId: `o-${at}` });
      }
      const repeated = sandbox.log.filter(({ kind, faults }) => kind === 'confirmation' && faults.length > 0);
      return [...new Set(repeated.map(({ about }) => about))];
    };
    const [first, second, other] = [await occurred('a'), await occurred('a'), await occurred('b')];
    expect(second).toEqual(first);
    expect(other).not.toEqual(first);
    expect(first.length).toBeGreaterThan(10);
    expect(first.length).toBeLessThan(60);
  });
});

describe('answers that lie', () => {
  async function answersWith(faults: string) {
    const receiver = await startReceiver((_, response) => void response.end('SUCCESS'));
    return startTestSandbox({ receiver: receiver.url, faults: readFaults(faults) });
  }

  it.each(SCHEMES)('an error is answered after the payment was made, with %s', async (scheme) => {
    const sandbox = await answersWith('answer-error@o-1');
    const answer = await sandbox.call(PAY, payment, scheme);
    expect([answer.code, answer.msg]).toEqual(['10001', 'system error']);
    expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('99900');
    expect(sandbox.log.at(-1)).toMatchObject({ outcome: '0', faults: ['answer-error@o-1'] });
    expect((await sandbox.call(PAY, { ...payment, appOrderId: 'o-2' }, scheme)).code).toBe('0');
    expect(sandbox.log.at(-1)?.faults).toEqual([]);
  });

  it('the HTTP status is 500, and the body is that of a right answer', async () => {
    const sandbox = await answersWith('answer-status@o-1');
    const body = flat(payment, keysOf(sandbox.folder).secret);
    const answer = await fetch(`${sandbox.url}/${PAY}`, { method: 'POST', body });
    expect([answer.status, await answer.json()]).toEqual([500, { code: '0', msg: 'suc', data: null }]);
    expect(sandbox.log.at(-1)?.faults).toEqual(['answer-status@o-1']);
  });

  it('the connection ends without an answer, for an operation that is named by its path', async () => {
    const sandbox = await answersWith('answer-lost@symbol/openSymbolList');
    await expect(sandbox.call('symbol/openSymbolList')).rejects.toThrow('fetch failed');
    expect(sandbox.log.at(-1)?.faults).toEqual(['answer-lost@symbol/openSymbolList']);
    expect((await sandbox.call(PAY, payment)).code).toBe('0');
  });
});

it('a signature that is tampered with is another one', async () => {
  const bodies: string[] = [];
  const receiver = await startReceiver(({ body }, response) => {
    bodies.push(body);
    response.end('FAILURE');
  });
  const faults = readFaults('tamper-sign');
  const sandbox = await startTestSandbox({ receiver: receiver.url, faults });
  const { secret } = keysOf(sandbox.folder);
  const order = (appOrderId: string) => ({
    userId: '12345',
    appOrderId,
    orderAmount: '1',
    payCoinSymbol: 'BTC',
  });
  const rightSign = (id: string): string => (JSON.parse(flat(order(id), secret)) as { sign: string }).sign;
  const ids = Array.from({ length: 500 }, (_, at) => `s-${at}`);
  const first = ids.find((id) => rightSign(id).startsWith('a')) ?? '';
  const other = ids.find((id) => /^[1-9]/.test(rightSign(id))) ?? '';
  for (const id of [first, other]) {
    await sandbox.call('opay/transferToMerchantAuth', order(id));
    const { sign } = JSON.parse(bodies.at(-1) ?? '') as { readonly sign: string };
    expect(sign.toLowerCase()).not.toBe(rightSign(id));
    expect(sign.slice(1).toLowerCase()).toBe(rightSign(id).slice(1));
  }
});
