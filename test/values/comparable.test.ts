import { expect, it } from 'vitest';
import { comparable } from '../../src/values/comparable.ts';

it.each([
  ['0xDAC17F958D2ee523a2206206994597C13D831ec7', '0xdac17f958d2ee523a2206206994597c13d831ec7'],
  ['0XDAC17F958D2EE523A2206206994597C13D831EC7', '0xdac17f958d2ee523a2206206994597c13d831ec7'],
  ['BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ', 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'],
  ['LTC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ', 'ltc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'],
])('%s is %s written otherwise', (written, same) => {
  expect(comparable(written)).toBe(same);
  expect(comparable(same)).toBe(same);
});

it.each([
  ['of mixed case, which no bech32 address has', 'bc1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDQ'],
  ['with a letter that bech32 does not know', 'BC1QAR0SRRR7XFKVY5L643LYDNW9RE59GTZZWF5MDB'],
  ['of base58', 'TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE'],
  ['of base32', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'],
  ['that is a symbol', 'USDT1742'],
  ['that is no hexadecimal', '0xZZ'],
])('a text %s stays as it is', (_which, text) => {
  expect(comparable(text)).toBe(text);
});
