import { describe, expect, it } from 'vitest';
import { compileRelease } from '../../../src/policy/compile.ts';
import {
  A,
  B,
  faultsOf,
  judged,
  onePolicy,
  outputs,
  payment,
  release,
  ruleFaults,
  transfer,
} from '../callbacks.ts';
import { tablesOf, string } from '../../cases.ts';
import { asCallback } from '../callbacks.ts';

const toBoth = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });

const rowsOf = tablesOf(new URL('cases/lists.yaml', import.meta.url), { A, B });

describe('allow-list', () => {
  it.each(rowsOf('allowed', string, asCallback))('%s lets pass what it names', (rule, callback) => {
    expect(judged(rule, callback).result.verdict).toBe('pass');
  });

  it.each(rowsOf('not-allowed', string, asCallback, string))(
    '%s refuses anything else',
    (rule, callback, because) => {
      expect(judged(rule, callback).result).toMatchObject({ verdict: 'refuse' });
      expect(judged(rule, callback).result.because).toContain(because);
    },
  );

  it('asks the store for a list there, all addresses at once', () => {
    const { result, claims } = judged('allow-list: { of: to, list: partners }', toBoth);
    expect(result).toMatchObject({ verdict: 'claim', values: { member: 'to', list: 'partners' } });
    expect(claims).toEqual([
      {
        type: 'list',
        result: 0,
        decides: true,
        retryable: false,
        list: 'partners',
        values: [A.toLowerCase(), B.toLowerCase()],
        must: 'hold-all',
      },
    ]);
  });
});

describe('deny-list', () => {
  it.each(rowsOf('not-denied', string, asCallback))(
    '%s lets pass what it does not name',
    (rule, callback) => {
      expect(judged(rule, callback).result.verdict).toBe('pass');
    },
  );

  it.each(rowsOf('denied', string, asCallback, string))('%s refuses', (rule, callback, because) => {
    expect(judged(rule, callback).result).toMatchObject({ verdict: 'refuse' });
    expect(judged(rule, callback).result.because).toContain(because);
  });

  it('asks the store for a list there, and refuses at once if the member is missing', () => {
    expect(judged('deny-list: { of: userId, list: blocked-users }', payment()).claims).toMatchObject([
      { list: 'blocked-users', values: ['12345'], must: 'hold-none' },
    ]);
    const missing = judged('deny-list: { of: memo, list: memos }', transfer());
    expect(missing.result).toMatchObject({ verdict: 'refuse', because: 'memo is missing' });
    expect(missing.claims).toEqual([]);
  });

  it('reads a file: one value a line, comments and blank lines left out', () => {
    const lists = { 'users.txt': '\uFEFF# blocked\r\n\n  12345   # since March\n#1\n777\n777' };
    const rule = 'deny-list: { of: userId, file: users.txt }';
    expect(judged(rule, payment(), { lists }).result).toMatchObject({
      verdict: 'refuse',
      because: 'userId 12345 is on users.txt',
      values: { list: 'users.txt' },
    });
    expect(judged(rule, payment({ userId: '777' }), { lists }).result.verdict).toBe('refuse');
    expect(judged(rule, payment({ userId: '1' }), { lists }).result.verdict).toBe('pass');
  });

  it('an empty file denies nothing and allows nothing', () => {
    const lists = { 'none.txt': '# nobody yet\n' };
    expect(judged('deny-list: { of: userId, file: none.txt }', payment(), { lists }).result.verdict).toBe(
      'pass',
    );
    expect(judged('allow-list: { of: userId, file: none.txt }', payment(), { lists }).result.verdict).toBe(
      'refuse',
    );
  });

  it('a file with a value that no callback could have is a fault: the list would not deny it', () => {
    const faults = faultsOf(onePolicy('deny-list: { of: userId, file: users.txt }'), {
      'users.txt': '12345, 777\n',
    });
    expect(faults).toEqual([expect.stringContaining(`userId can't be "12345, 777"; write digits`)]);
  });

  it('a file with too many values is a fault', () => {
    const text = Array.from({ length: 1_000_001 }, (_, index) => index).join('\n');
    const faults = faultsOf(onePolicy('deny-list: { of: userId, file: users.txt }'), { 'users.txt': text });
    expect(faults).toEqual([expect.stringContaining('more than 1000000 values')]);
  });

  it.each(rowsOf('faults', string, string))('%s is a fault', (parameters, fault) => {
    expect(ruleFaults(`deny-list: ${parameters}`)[0]).toContain(fault);
    expect(ruleFaults(`allow-list: ${parameters}`)[0]).toContain(fault);
  });

  it.each(rowsOf('never-matched', string, string))(
    '%s could never match, which is a fault',
    (parameters, fault) => {
      expect(ruleFaults(`deny-list: ${parameters}`, 'transfer')[0]).toContain(fault);
    },
  );
});

describe('allow-list for a member of one value', () => {
  it.each(rowsOf('value-passes', string, asCallback))('%s lets the value pass', (rule, callback) => {
    expect(judged(rule, callback).result.verdict).toBe('pass');
  });

  it.each(rowsOf('value-refused', string, asCallback, string))(
    '%s refuses any other',
    (rule, callback, because) => {
      expect(judged(rule, callback).result).toMatchObject({ verdict: 'refuse' });
      expect(judged(rule, callback).result.because).toContain(because);
    },
  );
});

describe('a text that no callback could ever have', () => {
  it.each(rowsOf('impossible-texts', string, string, string))(
    '%s is a fault, for the list would deny nothing',
    (_what, rule, member) => {
      expect(ruleFaults(rule, 'transfer').join('\n')).toContain(`: ${member} can't be "`);
    },
  );

  it('a memo may have blanks', () => {
    expect(
      judged("deny-list: { of: memo, values: ['order 7'] }", transfer({ memo: 'order 7' })).result,
    ).toMatchObject({ verdict: 'refuse' });
  });

  it('an address of bech32 in capitals is the same address', () => {
    const address = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq';
    const rule = `deny-list: { of: to, values: [${address}] }`;
    expect(judged(rule, transfer({ to: address.toUpperCase() })).result).toMatchObject({ verdict: 'refuse' });
  });
});

const R = 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh';
const S = 'rPEPPER7kfTD9w2To4CQk6UCfuHM9c6GDY';
const xrp = (body: Readonly<Record<string, unknown>> = {}) =>
  transfer({ symbol: 'XRP', to: R, memo: '12345', ...body });

describe('entries that bind several members', () => {
  it.each([
    [`allow-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`, xrp()],
    [
      `allow-list: { of: [to, symbol, memo], values: '${A} ETH two  blanks' }`,
      transfer({ memo: 'two  blanks' }),
    ],
    [`allow-list: { of: [symbol, to], values: ['ETH ${A.toLowerCase()}'] }`, transfer()],
    [`allow-list: { of: [symbol, to], values: ['ETH ${A}', 'ETH ${B}'] }`, toBoth],
    [`allow-list: { of: [to, memo], values: ['${A} pay 0xAB'] }`, transfer({ memo: 'pay 0xAB' })],
    [`allow-list: { of: [to, amount], values: ['${A} 1.50'] }`, transfer()],
    ['allow-list: { of: [payCoinSymbol, userId], values: USDT1742 12345 }', payment()],
    [`allow-list: { of: [to], values: '${A}' }`, transfer()],
    [`deny-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`, xrp({ memo: '1234' })],
    [`deny-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`, xrp({ to: S })],
    [`deny-list: { of: [to, symbol], values: '${R} XRP' }`, xrp({ symbol: 'TRX' })],
  ])('%s lets pass', (rule, callback) => {
    expect(judged(rule, callback).result).toMatchObject({ verdict: 'pass' });
  });

  it.each([
    [`allow-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`, xrp({ memo: '12346' }), 'is not on'],
    [
      `allow-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`,
      xrp({ memo: '123450' }),
      'is not on',
    ],
    [
      `allow-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`,
      xrp({ memo: '112345' }),
      'is not on',
    ],
    [`allow-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`, xrp({ to: S }), 'is not on'],
    [
      `allow-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`,
      xrp({ symbol: 'XRPL' }),
      'is not on',
    ],
    [
      `allow-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`,
      xrp({ memo: '' }),
      'memo is missing',
    ],
    [`allow-list: { of: [symbol, to], values: ['ETH ${A}'] }`, toBoth, 'is not on'],
    // The memo of one address does not serve another.
    [
      `allow-list: { of: [to, memo], values: ['${R} 1', '${S} 2'] }`,
      xrp({ memo: '2' }),
      `to memo ${R} 2 is not on`,
    ],
    [`deny-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`, xrp(), 'XRP 12345 is on'],
    [
      `deny-list: { of: [to, symbol, memo], values: '${R} XRP 12345' }`,
      xrp({ memo: null }),
      'memo is missing',
    ],
    [`deny-list: { of: [memo], values: x }`, xrp({ memo: '' }), 'memo is missing'],
    [`deny-list: { of: [symbol, to], values: ['ETH ${B.toLowerCase()}'] }`, toBoth, 'is on'],
    [`deny-list: { of: [to, memo], values: ['${A} pay 0xAB'] }`, transfer({ memo: 'pay 0xAB' }), 'is on'],
    [`deny-list: { of: memo, values: ['pay 0xAB'] }`, transfer({ memo: 'pay 0xAB' }), 'is on'],
  ])('%s refuses', (rule, callback, because) => {
    expect(judged(rule, callback).result).toMatchObject({ verdict: 'refuse' });
    expect(judged(rule, callback).result.because).toContain(because);
  });

  it('ask the store for one entry an address, each part comparable', () => {
    const callback = transfer({ memo: 'pay 0xAB', amount: '3', ...outputs([A, '1'], [B, '2']) });
    const { result, claims } = judged('deny-list: { of: [to, symbol, memo], list: partners }', callback);
    const entries = [`${A.toLowerCase()} ETH pay 0xab`, `${B.toLowerCase()} ETH pay 0xab`];
    expect(result).toMatchObject({
      verdict: 'claim',
      values: { member: 'to symbol memo', list: 'partners', values: entries.join(', ') },
    });
    expect(claims).toMatchObject([{ type: 'list', list: 'partners', values: entries, must: 'hold-none' }]);
  });

  it('ask the store for nothing where a member is missing', () => {
    for (const rule of ['allow-list', 'deny-list']) {
      const { result, claims } = judged(`${rule}: { of: [to, symbol, memo], list: partners }`, transfer());
      expect(result).toMatchObject({ verdict: 'refuse', because: 'memo is missing' });
      expect(claims).toEqual([]);
    }
  });

  it('stand in a file, also with a memo that a comment would cut short', () => {
    const lists = { 'partners.txt': `${R} XRP 12345 # deposits\n"${S}x XRP order #7" # sales\n` };
    const rule = 'allow-list: { of: [to, symbol, memo], file: partners.txt }';
    const sales = (memo: string) => xrp({ to: `${S}x`, memo });
    expect(judged(rule, xrp(), { lists }).result.verdict).toBe('pass');
    expect(judged(rule, sales('order #7'), { lists }).result.verdict).toBe('pass');
    expect(judged(rule, sales('order'), { lists }).result.verdict).toBe('refuse');
  });

  it.each([
    ['{ of: [memo, to], values: x y }', 'nothing can follow it in an entry; write [to, memo]'],
    ['{ of: [to, to], values: x y }', 'to appears twice'],
    ['{ of: [transfer_id, withdraw_id], values: 1 1 }', 'transfer_id appears twice'],
    ['{ of: [], values: x }', 'write a text, or a list of texts'],
    ['{ of: [to, momo], values: x y }', 'did you mean memo?'],
    [
      '{ of: [to, symbol, memo], values: x XRP }',
      '"x XRP" has too few parts; write the texts of to, symbol, memo',
    ],
    ['{ of: [to, symbol], values: x XRP 1 }', `symbol can't be "XRP 1"`],
    ['{ of: [to, symbol], values: "x  XRP" }', `symbol can't be " XRP"`],
    ['{ of: [to, symbol, memo], values: "x  XRP 1" }', `symbol can't be ""`],
    ['{ of: [to, symbol], values: "" }', 'has too few parts'],
    ['{ of: [to, amount], values: x 1e }', `amount can't be "1e"`],
    ['{ of: [to, amount], list: x }', 'an amount is not kept in a list'],
  ])('%s is a fault', (parameters, said) => {
    expect(ruleFaults(`deny-list: ${parameters}`, 'transfer').join('\n')).toContain(said);
    expect(ruleFaults(`allow-list: ${parameters}`, 'transfer').join('\n')).toContain(said);
  });
});

describe('an address in a policy', () => {
  const WRONG = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';
  const BTC = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
  const assets =
    'assets: { ETH: { chain: evm, decimals: 18 }, BTC: { chain: bitcoin, decimals: 8 }, XRP: { chain: ripple, decimals: 6 } }';
  const faults = (rule: string, when: string | undefined, lists = {}): string =>
    faultsOf(onePolicy(rule, 'transfer', when), lists, assets).join('\n');

  it.each([
    [
      `allow-list: { of: to, values: ['${A}', '${WRONG}'] }`,
      '{ symbol: ETH }',
      'of ETH: its checksum is wrong',
    ],
    [`deny-list: { of: from, values: '${BTC}' }`, '{ symbol: ETH }', 'of ETH: it is not 0x and 40'],
    [`allow-list: { of: to, values: '${WRONG}' }`, '{ symbol: ETH }', 'its checksum is wrong'],
    [`allow-list: { of: from, values: ['${WRONG}'] }`, '{ symbol: ETH }', 'its checksum is wrong'],
    [`allow-list: { of: to, values: '${R}' }`, '{ symbol: [ETH, BTC] }', 'of ETH: it is not 0x'],
    [
      `allow-list: { of: to, values: '${R}' }`,
      '{ symbol: [ETH, BTC] }',
      '; nor of BTC: its checksum is wrong',
    ],
    [`allow-list: { of: [symbol, to], values: 'ETH ${WRONG}' }`, undefined, 'of ETH: its checksum is wrong'],
    [
      `allow-list: { of: [symbol, to], values: 'ETH ${BTC}' }`,
      '{ symbol: [ETH, BTC] }',
      'not an address of ETH',
    ],
    [`allow-list: { of: [from, to], values: '${A} ${WRONG}' }`, '{ symbol: ETH }', 'its checksum is wrong'],
    ['allow-list: { of: to, file: a.txt }', '{ symbol: ETH }', `"${WRONG}" is not an address of ETH`],
  ])('%s with when %s is a fault, where no chain of it reads the address', (rule, when, said) => {
    expect(faults(rule, when, { 'a.txt': `${A}\n${WRONG} # ours` })).toContain(said);
  });

  it.each([
    [`allow-list: { of: to, values: ['${A}', '${BTC}'] }`, '{ symbol: [ETH, BTC] }'],
    [`allow-list: { of: to, values: '${WRONG}' }`, undefined],
    [`allow-list: { of: to, values: '${WRONG}' }`, '{ symbol: [ETH, DOGE] }'],
    [`allow-list: { of: memo, values: '${WRONG}' }`, '{ symbol: ETH }'],
    [`allow-list: { of: [symbol, to], values: ['ETH ${A}', 'BTC ${BTC}', 'DOGE x'] }`, undefined],
    ['allow-list: { of: to, file: a.txt }', '{ symbol: ETH }'],
    [`allow-list: { of: txid, values: '${WRONG}' }`, '{ symbol: ETH }'],
  ])('%s with when %s is none', (rule, when) => {
    expect(faults(rule, when, { 'a.txt': `${A}\n${B.toLowerCase()}` })).toBe('');
  });

  it('is checked in a contract as in a recipient, but not in a release that is in force', () => {
    const yaml = (value: string): string =>
      onePolicy(`allow-list: { of: interactive_contract, values: '${value}' }`, 'web3', '{ symbol: ETH }');
    expect(faultsOf(yaml(WRONG), {}, assets).join('\n')).toContain('of ETH: its checksum is wrong');
    const { document } = release(yaml(A), {}, assets);
    expect(document).toContain(A);
    expect(compileRelease(document.replace(A, WRONG))).toMatchObject({ ok: true });
  });

  it('is told of each by itself, but of ten at most', () => {
    const text = Array.from({ length: 12 }, (_, index) => `x${index}`).join('\n');
    const said = faultsOf(
      onePolicy('allow-list: { of: to, file: a.txt }', 'transfer', '{ symbol: ETH }'),
      { 'a.txt': `${A}\n${text}` },
      assets,
    );
    expect(said).toHaveLength(10);
  });

  it('in a release is not checked again in its file, where its spelling is gone', () => {
    const yaml = onePolicy('allow-list: { of: to, file: a.txt }', 'transfer', '{ symbol: ETH }');
    const { document } = release(yaml, { 'a.txt': A }, assets);
    expect(document).toContain(A.toLowerCase());
    expect(compileRelease(document.replace(A.toLowerCase(), 'x'))).toMatchObject({ ok: true });
  });
});
