import { type Callback, type ChainReading, type MemberProblem, mergedPayouts } from '../callback/callback.ts';
import { hasSpellings, hasTags, otherSpellings } from '../values/address.ts';
import { TAG_FORM, isDestinationTag } from '../values/destination-tag.ts';
import {
  ASSETS_FILE,
  type Asset,
  type AssetTable,
  hasKnownSpellings,
  readAssetAddress,
} from './language/assets.ts';

/**
 * The callback as the chain of its asset reads it. Its addresses have the canonical form, by which rules
 * compare and count. Where the asset table does not say how the chain spells addresses, they stay as they are, and
 * the reading says so (`unspelled`).
 */
export function readByChain(callback: Callback, assets: AssetTable): Callback {
  if (callback.kind === 'payment') return callback;
  const asset = assets.get(callback.symbol);
  if (asset === undefined || !hasKnownSpellings(asset)) {
    return { ...callback, reading: unspelledReading(callback.symbol) };
  }
  if (asset.chain === 'text') return callback;
  const reading = readingOf(callback, asset);
  if (!hasSpellings(asset.chain)) return { ...callback, reading };
  const canonical = (text: string): string => reading.canonical(text) ?? text;
  const payouts = mergedPayouts(callback.payouts, canonical);
  const values = new Map(callback.values);
  for (const [member, texts] of addressesIn(callback)) {
    const paid = callback.kind === 'transfer' && member === 'to';
    values.set(member, paid ? payouts.map(({ to }) => to) : texts.map(canonical));
  }
  return { ...callback, reading, values, payouts };
}

/** The reading of an asset if the asset table does not say how its chain spells addresses. */
const unspelledReading = (symbol: string): ChainReading => ({
  problemOf: () => undefined,
  unspelled: {
    because:
      `${ASSETS_FILE} does not say how ${symbol} spells addresses, so another spelling of the address would not ` +
      'be noticed; write its chain there, or `spellings: one` if each of its addresses has only one spelling',
    values: { symbol },
  },
  canonical: () => undefined,
  otherSpellings: () => [],
});

type CosignerCallback = Exclude<Callback, { kind: 'payment' }>;

/** The addresses as written, by member. A missing address is left out. */
function addressesIn(callback: CosignerCallback): ReadonlyMap<string, readonly string[]> {
  const { from, to } = callback.texts;
  const addresses = new Map([
    ['from', [from]],
    ['to', callback.kind === 'transfer' ? callback.recipients : [to]],
  ]);
  if (callback.kind === 'web3' && callback.texts.interactive_contract !== '') {
    addresses.set('interactive_contract', [callback.texts.interactive_contract]);
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
    const { memo } = callback.texts;
    if (memo === '' || !hasTags(chain) || isDestinationTag(memo)) return undefined;
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
