import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { compileRelease } from '../../src/policy/compile.ts';
import type { Claim } from '../../src/claims/claims.ts';
import { addedText, checkedValue, removedTexts } from '../../src/release/lists.ts';
import { toComparableEntry } from '../../src/values/comparable.ts';
import { NOON, evaluateAt, faultsOf, judged, payment, release, transfer, web3 } from './callbacks.ts';
import { ROUTER, call, callbackOf } from './calls/transactions.ts';

/** What `list add` puts into the store for a value; undefined if it refuses the value. */
function stored(value: string): readonly string[] | undefined {
  try {
    return [addedText(checkedValue(value.trim()))];
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.code === 'LIST_INVALID') return undefined;
    throw thrown;
  }
}

/** What the store is asked for; empty where the callback is refused without being looked up. */
const asked = (claims: readonly Claim[]): readonly string[] =>
  claims.flatMap((claim) => (claim.type === 'list' || claim.type === 'aged' ? claim.values : []));

const ABI = 'note(string text)';
const noteRule = (condition: string): string =>
  `contract-calls: { abis: own.abi, calls: [{ contract: '${ROUTER}', method: 'note(string)', where: { text: ${condition} } }] }`;
const FILES = { 'own.abi': ABI };
const WEB3 = { when: '{ main_chain_symbol: ETH }' };
const note = (text: string) => callbackOf({ contract: ROUTER, data: call('note(string)', text) });
const listFile = (value: string): string => `${JSON.stringify(value)}\n`;

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }).filter((text) => text.isWellFormed()),
  fc.constantFrom(
    '0xAB',
    '0XaBcD',
    'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ',
    'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh',
    'EVIL',
    'cafe\u0301',
    'caf\u00e9',
    '\u212a',
    'zero\u200bwidth',
    '0012',
    '#7',
    '"x"',
  ),
);
const text = fc.oneof(
  word,
  fc.array(word, { minLength: 2, maxLength: 4 }).map((words) => words.join(' ')),
  word.map((each) => ` ${each}\u00a0`),
);
const RUNS = { numRuns: 150 };

describe('whatever was added is found by the same value', () => {
  it('as a memo, by every rule that looks it up', () => {
    fc.assert(
      fc.property(text, (value) => {
        const entries = stored(value);
        if (entries === undefined) return;
        let callback;
        try {
          callback = transfer({ memo: value });
        } catch {
          // Refused as it is read, and so by every list.
          return;
        }
        for (const rule of [
          'deny-list: { of: memo, list: x }',
          'cooling-period: { of: memo, list: x, for: 1h }',
        ]) {
          expect(asked(judged(rule, callback).claims)).toEqual(entries);
        }
        const lists = { 'a.txt': listFile(value) };
        for (const where of ['file: a.txt', `values: [${JSON.stringify(value)}]`]) {
          const denied = judged(`deny-list: { of: memo, ${where} }`, callback, { lists });
          const allowed = judged(`allow-list: { of: memo, ${where} }`, callback, { lists });
          expect([denied.result.verdict, allowed.result.verdict]).toEqual(['refuse', 'pass']);
        }
        const equals = judged(`allow-list: { of: memo, values: ${JSON.stringify(value)} }`, callback);
        expect(equals.result.verdict).toBe('pass');
      }),
      RUNS,
    );
  });

  it('as an address with a memo', () => {
    const to = '0xDAC17F958D2ee523a2206206994597C13D831ec7';
    fc.assert(
      fc.property(text, (memo) => {
        const entries = stored(`${to} ETH ${memo}`);
        if (entries === undefined) return;
        let callback;
        try {
          callback = transfer({ to, memo });
        } catch {
          return;
        }
        const { claims } = judged('deny-list: { of: [to, symbol, memo], list: x }', callback);
        expect(asked(claims)).toEqual(entries);
      }),
      RUNS,
    );
  });

  it('as a text argument of call data, by lists, by files and by values', () => {
    fc.assert(
      fc.property(text, (value) => {
        const entries = stored(value);
        if (entries === undefined) return;
        const callback = note(value);
        const look = (condition: string) =>
          judged(noteRule(condition), callback, { ...WEB3, lists: { ...FILES, 'a.txt': listFile(value) } });
        for (const condition of ['{ list: x }', '{ not-list: x }']) {
          const { result, claims } = look(condition);
          // Looked up as it was added, or refused for what lists can't tell apart.
          const refused = result.verdict === 'refuse' && result.values['argument'] === 'text';
          expect(refused ? entries : asked(claims)).toEqual(entries);
          expect(refused).toBe(result.verdict !== 'claim');
        }
        if (look('{ not-list: x }').result.verdict !== 'claim') return;
        expect(look('{ file: a.txt }').result.verdict).toBe('pass');
        expect(look(`{ values: [${JSON.stringify(value)}] }`).result.verdict).toBe('pass');
      }),
      RUNS,
    );
  });

  it.each<[string, string, string]>([
    ['several words', 'Evil Bridge 0xDEAD', 'Evil Bridge 0xDEAD'],
    [
      'an address in capitals among words',
      'to BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ',
      'to BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ',
    ],
    ['one word in capitals', '0XDEAD', '0xdead'],
    ['letters that were composed', 'cafe\u0301', 'caf\u00e9'],
  ])('as a text argument of %s', (_, added, argument) => {
    const { claims } = judged(noteRule('{ not-list: x }'), note(argument), { ...WEB3, lists: FILES });
    expect(asked(claims)).toEqual(stored(added));
    const lists = { ...FILES, 'a.txt': listFile(added) };
    expect(judged(noteRule('{ file: a.txt }'), note(argument), { ...WEB3, lists }).result.verdict).toBe(
      'pass',
    );
  });

  it.each([
    ['a blank before', ' evil'],
    ['a line break after', 'evil\n'],
    ['a zero-width space', 'ev\u200bil'],
    ['letters that are not composed', 'cafe\u0301'],
  ])('and a text argument with %s evades no list: it is refused', (_, argument) => {
    for (const condition of ['{ not-list: x }', '{ list: x }', '{ values: [evil, café] }']) {
      const { result, claims } = judged(noteRule(condition), note(argument), { ...WEB3, lists: FILES });
      expect(result).toMatchObject({ verdict: 'refuse', values: { argument: 'text' } });
      expect(result.because).toMatch(/so another text looks the same/);
      expect(claims).toEqual([]);
    }
    expect(judged(noteRule('any'), note(argument), { ...WEB3, lists: FILES }).result.verdict).toBe('pass');
  });

  it('as a user, an id, an address, a symbol', () => {
    const A = '0xDAC17F958D2ee523a2206206994597C13D831ec7';
    const BECH32 = 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ';
    for (const [member, value, callback] of [
      ['userId', '12345', payment()],
      ['appOrderId', '0xAB', payment({ appOrderId: '0xAB' })],
      ['to', A, transfer({ to: A })],
      ['to', A, transfer({ to: A.toLowerCase() })],
      ['from', BECH32, transfer({ from: BECH32.toLowerCase() })],
      ['symbol', '0xA', transfer({ symbol: '0xa' })],
      ['interactive_contract', A, web3({ interactive_contract: A })],
    ] as const) {
      expect(asked(judged(`deny-list: { of: ${member}, list: x }`, callback).claims)).toEqual(stored(value));
    }
  });
});

describe('what lists already hold', () => {
  it('is found as before: no entry has another form now, but for Unicode normal form C', () => {
    const earlier = (value: string): string =>
      value
        .split(' ')
        .map((part) =>
          /^0x[0-9a-f]+$/i.test(part) || /^[A-Z][A-Z0-9]{0,31}1[02-9AC-HJ-NP-Z]{38,}$/.test(part)
            ? part.toLowerCase()
            : part,
        )
        .join(' ');
    fc.assert(
      fc.property(text, (value) => {
        fc.pre(value.normalize('NFC') === value);
        expect(toComparableEntry(value)).toBe(earlier(value));
      }),
      RUNS,
    );
  });

  it('is taken off in the form that a list keeps, also if no callback can have it', () => {
    expect(new Set(removedTexts(checkedValue('cafe\u0301 0xAB')))).toEqual(new Set(['caf\u00e9 0xab']));
    expect(new Set(removedTexts(checkedValue('zero\u200bwidth')))).toEqual(new Set(['zero\u200bwidth']));
  });

  it('and a revision in force whose values no callback can have any more still compiles, and still denies', () => {
    const yaml = (value: string): string =>
      `policy: one\ncallback: transfer\nrules:\n  - deny-list: { of: memo, file: a.txt }\n  - allow-list: { of: memo, values: [fine, ${value}] }\n`;
    const sound = release(yaml('VALUE'), { 'a.txt': 'bad\nVALUE\n' });
    const older = compileRelease(sound.document.replaceAll('VALUE', 'zero\u200bwidth'));
    if (!older.ok) throw new Error(JSON.stringify(older.faults));
    const verdicts = (memo: string): readonly string[] =>
      evaluateAt(older.release, transfer({ memo }), NOON).results.map(({ verdict }) => verdict);
    expect(verdicts('fine')).toEqual(['pass', 'pass']);
    expect(verdicts('bad')).toEqual(['refuse', 'refuse']);
  });
});

describe('what no callback can have is not added', () => {
  it.each([
    ['a zero-width space', 'ev\u200bil', 'has an invisible character: a zero width space (U+200B)'],
    [
      'a bidirectional override',
      '\u202eevil',
      'has an invisible character: a right-to-left override (U+202E)',
    ],
    ['a control character', 'ev\u0007il', 'control character'],
  ])('%s', (_, value, why) => {
    expect(() => addedText(checkedValue(value))).toThrow(why);
    const rule = `deny-list: { of: memo, values: [${JSON.stringify(value)}] }`;
    expect(faultsOf(`policy: one\ncallback: transfer\nrules:\n  - ${rule}\n`).join('\n')).toContain(
      "memo can't be",
    );
  });
});
