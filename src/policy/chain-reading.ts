import type { Callback, ChainReading, MemberProblem, Payout } from '../callback/callback.ts';
import type { Amount } from '../values/amount.ts';
import { hasSpellings, hasTags, otherSpellings } from '../values/address.ts';
import { TAG_FORM, isDestinationTag } from '../values/destination-tag.ts';
import { type Asset, type AssetTable, readAssetAddress } from './assets.ts';

/**
 * The callback as the chain of its asset reads it. Its addresses have the canonical form, by which rules
 * compare and count; its terms stay as they were sent. Without a chain in the asset table, the callback is
 * unchanged.
 */
export function readByChain(callback: Callback, assets: AssetTable): Callback {
  if (callback.kind === 'payment') return callback;
  const asset = assets.get(callback.symbol);
  if (asset === undefined || asset.chain === 'text') return callback;
  const reading = readingOf(callback, asset);
  if (!hasSpellings(asset.chain)) return { ...callback, reading };
  const canonical = (text: string): string => reading.canonical(text) ?? text;
  const payouts = merged(callback.payouts, canonical);
  const values = new Map(callback.values);
  for (const [member, texts] of addressesIn(callback)) {
    const paid = callback.kind === 'transfer' && member === 'to';
    values.set(member, paid ? payouts.map(({ to }) => to) : texts.map(canonical));
  }
  return { ...callback, reading, values, payouts };
}

type CosignerCallback = Exclude<Callback, { kind: 'payment' }>;

/** The addresses as written, by member. A missing address is left out. */
function addressesIn(callback: CosignerCallback): ReadonlyMap<string, readonly string[]> {
  const addresses = new Map([
    ['from', [callback.from]],
    ['to', callback.kind === 'transfer' ? callback.recipients : [callback.to]],
  ]);
  if (callback.kind === 'web3' && callback.interactiveContract !== '') {
    addresses.set('interactive_contract', [callback.interactiveContract]);
  }
  return addresses;
}

function readingOf(callback: CosignerCallback, asset: Asset): ChainReading {
  // Checksums are only verified if a rule uses the address.
  const problems = new Map<string, MemberProblem | undefined>();
  return {
    problemOf: (member) => {
      if (!problems.has(member)) problems.set(member, problemIn(callback, asset, member));
      return problems.get(member);
    },
    canonical: (text) => {
      const read = hasSpellings(asset.chain) ? readAssetAddress(asset, text) : undefined;
      return read?.ok === true ? read.address : undefined;
    },
    otherSpellings: (address) => otherSpellings(asset.chain, address),
  };
}

function problemIn(callback: CosignerCallback, asset: Asset, member: string): MemberProblem | undefined {
  const { chain, symbol } = asset;
  const values = { symbol, chain, member };
  if (member === 'memo' && callback.kind === 'transfer') {
    const { memo } = callback;
    if (memo === undefined || !hasTags(chain) || isDestinationTag(memo)) return undefined;
    const because = `memo ${memo} is not a destination tag of ${symbol}, which is ${TAG_FORM}`;
    return { because, values: { ...values, memo } };
  }
  for (const address of addressesIn(callback).get(member) ?? []) {
    const read = readAssetAddress(asset, address);
    if (read.ok) continue;
    const because = `${member} ${address} is not an address of ${symbol}: ${read.because}`;
    return { because, values: { ...values, address } };
  }
  return undefined;
}

/** One payout for each canonical address, sorted by address like those of the callback. */
function merged(payouts: readonly Payout[], canonical: (text: string) => string): readonly Payout[] {
  const paid = new Map<string, Amount>();
  for (const { to, amount } of payouts) {
    const address = canonical(to);
    paid.set(address, (paid.get(address) ?? 0n) + amount);
  }
  return [...paid].sort(([a], [b]) => (a < b ? -1 : 1)).map(([to, amount]) => ({ to, amount }));
}
