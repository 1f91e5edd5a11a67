import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toComparable, toComparableEntry } from '../../src/values/comparable.ts';

it.each([
  ['0xDAC17F958D2ee523a2206206994597C13D831ec7', '0xdac17f958d2ee523a2206206994597c13d831ec7'],
  ['0XDAC17F958D2EE523A2206206994597C13D831EC7', '0xdac17f958d2ee523a2206206994597c13d831ec7'],
  ['BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ', 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'],
  ['LTC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ', 'ltc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'],
  [
    'PERSISTENCE1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ',
    'persistence1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq',
  ],
  ['C4E1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ', 'c4e1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'],
])('%s is %s written otherwise', (written, same) => {
  expect(toComparable(written)).toBe(same);
  expect(toComparable(same)).toBe(same);
});

it.each([
  ['of mixed case, which no bech32 address has', 'bc1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ'],
  ['with a letter that bech32 does not know', 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDB'],
  ['of base58', 'TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE'],
  ['of base32', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'],
  ['that is a symbol', 'USDT1742'],
  ['that is no hexadecimal', '0xZZ'],
])('a text %s stays as it is', (_which, text) => {
  expect(toComparable(text)).toBe(text);
});

describe('an entry of several parts', () => {
  it.each([
    ['0xDAC17F958D2ee523a2206206994597C13D831ec7 ETH', '0xdac17f958d2ee523a2206206994597c13d831ec7 ETH'],
    [
      'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ BTC rent 0xAB',
      'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq BTC rent 0xab',
    ],
    [
      'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XRP  Two Blanks ',
      'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XRP  Two Blanks ',
    ],
  ])('%j is compared part by part', (written, same) => {
    expect(toComparableEntry(written)).toBe(same);
  });

  it('is its members’ comparable texts joined, and the same again', () => {
    const member = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.constantFrom(
        '0xDAC17F958D2ee523a2206206994597C13D831ec7',
        '0xAB',
        'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ',
      ),
    );
    fc.assert(
      fc.property(fc.array(member, { minLength: 1, maxLength: 4 }), (members) => {
        const entry = toComparableEntry(members.join(' '));
        expect(toComparableEntry(members.map(toComparable).join(' '))).toBe(entry);
        expect(toComparableEntry(entry)).toBe(entry);
        const whole = members.filter((each) => !each.includes(' '));
        expect(toComparableEntry(whole.join(' '))).toBe(whole.map(toComparable).join(' '));
      }),
    );
  });
});
