const SYMBOLS =
  'A ATOM B BNB BSC BTC DOGE EOS ETH KAS LTC SOL SUI TON TRX USDC USDT USDT1742 X XRP XRPL xrp'.split(' ');

/** An asset table by which any text is an address, and no address has another spelling. */
export const ASSETS = `assets:\n${SYMBOLS.map(
  (symbol) => `  ${symbol}: { chain: text, spellings: one, decimals: 18 }\n`,
).join('')}`;
