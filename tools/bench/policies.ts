/** By what the sender of the measurement is known. */
export const APP_KEY = 'bench-shop';
export const SECRET = 'a secret of this measurement alone';
export const TOKEN = 'Bearer of-this-measurement-alone';
export const RECIPIENT = '0x52908400098527886E0F7030069857D2E4169EE7';
export const TOKEN_CONTRACT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';

/** What the small program decides by: five rules, three of which count in the store. */
export const FEW_RULES = `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { min: 0.01, max: 10000 }
  - window-limit: { per: [userId], window: 24h, max: 1000000 }
  - velocity-limit: { per: [userId], window: 1m, max: 100000 }
  - window-limit: { window: day, zone: UTC, max: 1000000000 }
  - deny-list: { of: userId, values: ['99999'] }
`;

/** The list in the store that one of the many rules looks into, and how many users are on it. */
export const BLOCKED = { list: 'blocked-users', entries: 100_000 } as const;

/** The five rules, of which those that count are each a second alternative, after one that refuses. */
export const ALTERNATIVE_RULES = FEW_RULES.replace(
  /  - ((?:window|velocity)-limit: .*)/g,
  "  - any:\n      - allow-list: { of: userId, values: ['99999'] }\n      - $1",
);

/** Policies of two rules each for coins that no callback of the measurement is about. */
function coins(count: number): readonly string[] {
  return Array.from(
    { length: count },
    (_, index) => `policy: coin-${index}
callback: payment
when: { source: shop, symbol: COIN${index} }
rules:
  - amount-limit: { max: ${1000 + index} }
  - window-limit: { per: [userId], window: 24h, max: ${10_000 + index} }
`,
  );
}

/** The five rules, and so many more in policies that do not apply. */
export function rulesInAll(rules: number): string {
  return [FEW_RULES, ...coins((rules - 5) / 2)].join('---\n');
}

/** The five rules, one of which looks into a list in the store. */
export const LIST_RULES = FEW_RULES.replace("values: ['99999']", 'list: blocked-users');

/** The assets of a custody customer. */
export const ASSETS = 'assets: { ETH: { chain: evm, decimals: 18 } }\n';

/** What a custody customer decides by. */
export const COSIGNER_RULES = `policy: withdrawals
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: 1000 }
  - allow-list: { of: to, values: ['${RECIPIENT}'] }
  - window-limit: { per: [to], window: 24h, max: 100000000 }
  - window-limit: { window: day, zone: UTC, max: 1000000000 }
  - velocity-limit: { per: [from], window: 1m, max: 100000 }
---
policy: calls
callback: web3
when: { source: vault, main_chain_symbol: ETH }
rules:
  - contract-calls:
      calls:
        - contract: '${TOKEN_CONTRACT}'
          method: transfer(address,uint256)
          decimals: 6
          where:
            to: { values: ['${RECIPIENT}'] }
            amount: { max: 1000 }
  - velocity-limit: { per: [from], window: 1m, max: 100000 }
`;

/**
 * What a grown merchant decides by: a hundred policies of one source. Four of them apply to a callback, with
 * twenty rules: the five above, a list of a hundred thousand users in the store, and fourteen that look at
 * the callback alone.
 */
export const MANY_RULES = [
  FEW_RULES,
  `policy: users
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - deny-list: { of: userId, list: ${BLOCKED.list} }
  - deny-list: { of: userId, values: ['1', '2', '3'] }
  - expression: { require: "userId != '0' && !userId.startsWith('00')" }
  - allow-list: { of: symbol, values: USDT1742 }
  - expression: { require: 'userId.size() < 20' }
`,
  `policy: amounts
callback: payment
when: { source: shop }
rules:
  - amount-limit: { by: asset, max: { USDT1742: 10000, BTC: 0.1, ETH: 3 } }
  - expression: { require: "amount < decimal('20000')" }
  - expression: { require: "amount + decimal('0.01') <= decimal('10000.01')" }
  - amount-limit: { max: 15000 }
  - amount-limit: { min: 0.001 }
`,
  `policy: hours
callback: payment
when: { source: shop }
rules:
  - schedule: { days: [mon, tue, wed, thu, fri, sat, sun], hours: '00:00-24:00', zone: Europe/Berlin }
  - allow-list: { of: symbol, values: [USDT1742, BTC, ETH] }
  - deny-list: { of: symbol, values: [SCAM, RUG] }
  - expression: { require: "appOrderId.startsWith('order-')" }
  - amount-limit: { max: 12000 }
`,
  ...coins(96),
].join('---\n');
