import { readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { TO } from '../../test/service.ts';
import type { Limits } from './history.ts';

const UNIT = 10n ** 36n;
/** Short, so that a run goes through many windows. */
const WINDOW = '4s';
const WINDOW_MS = 4000;

/** The list of each source that operators change while it runs. */
export const LISTS = { shop: 'blocked-users', vault: 'blocked-senders' } as const;

/** Far above what any callback in order asks. */
export const REFUSED_AMOUNT = '100000';

export interface Revision {
  readonly files: Readonly<Record<string, string>>;
  readonly release: Release;
  readonly limits: Limits;
}

/**
 * One of any number of revisions: they all let through what is in order, and differ in the tight limits and
 * in their names.
 */
export function revisionOf(number: number): Revision {
  const [paid, sent, calls] = number % 2 === 0 ? [100, 25, 8] : [80, 20, 6];
  const files = {
    'assets.yaml': 'assets: { ETH: { chain: evm, decimals: 18 } }\n',
    'payments.yaml': `policy: payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { max: ${1000 + number} }
  - deny-list: { of: userId, list: ${LISTS.shop} }
`,
    'tight.yaml': `policy: tight
callback: payment
when: { source: shop, symbol: TIGHT1 }
rules:
  - window-limit: { per: [userId], window: ${WINDOW}, max: ${paid} }
  - velocity-limit: { per: [userId], window: ${WINDOW}, max: 12 }
`,
    'transfers.yaml': `policy: transfers
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: 10 }
  - allow-list: { of: to, values: ['${TO}'] }
  - window-limit: { per: [from], window: ${WINDOW}, max: ${sent} }
  - deny-list: { of: from, list: ${LISTS.vault} }
`,
    'web3.yaml': `policy: web3
callback: web3
when: { source: vault, main_chain_symbol: ETH }
rules:
  - amount-limit: { max: 0 }
  - allow-list: { of: interactive_contract, values: ['${TO}'] }
  - velocity-limit: { per: [from], window: ${WINDOW}, max: ${calls} }
  - deny-list: { of: from, list: ${LISTS.vault} }
`,
  };
  const limit = (max: number): Limits[string] => ({ max: BigInt(max) * UNIT, lengthMs: WINDOW_MS });
  return {
    files,
    release: compiled(files),
    limits: { paid: limit(paid), payments: limit(12), sent: limit(sent), calls: limit(calls) },
  };
}

function compiled(files: Readonly<Record<string, string>>): Release {
  const read = readPolicyFiles(
    Object.entries(files).map(([name, text]) => ({ name, text })),
    () => undefined,
  );
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  return read.release;
}

/** Exact: a decimal text in units of 10^-36. */
export function unitsOf(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(36, '0'));
}
