import { type Chain, hasSpellings, hasTags, otherSpellings, readAddress } from '../../values/address.ts';
import { toComparable } from '../../values/comparable.ts';
import { TAG_FORM, isDestinationTag } from '../../values/destination-tag.ts';
import { type Asset, type AssetTable, readAssetAddress } from './assets.ts';
import { formatInput } from '../fault.ts';
import { ADDRESS_MEMBERS } from './members.ts';

/*
 * The texts of a policy that depend on the chain of an asset: addresses, and destination tags.
 */

/** The assets that a policy is about: those under its `when`, or all. */
export interface Scope {
  readonly when: ReadonlyMap<string, ReadonlySet<string>>;
  readonly assets: AssetTable;
}

/** The chains of these assets on which an address has several spellings. */
export function chainsWithSpellings(
  { when, assets }: Scope,
  symbols: Iterable<string> = when.get('symbol') ?? assets.keys(),
): readonly Chain[] {
  const chains = [...symbols].flatMap((symbol) => assets.get(symbol)?.chain ?? []);
  return [...new Set(chains)].filter(hasSpellings);
}

/** The texts that a callback may have for an address of a policy, which is comparable. */
export function addressTexts(comparable: string, chains: readonly Chain[]): readonly string[] {
  return [...new Set([comparable, ...canonicalTexts(comparable, chains)])];
}

/** All texts that a list in the store may have for an address: its canonical forms, then all others. */
export function addressSpellings(written: string, chains: readonly Chain[]): readonly string[] {
  const canonical = canonicalTexts(written, chains);
  const others = chains.flatMap((chain) => canonical.flatMap((address) => otherSpellings(chain, address)));
  return [...new Set([...canonical, toComparable(written), ...others])];
}

function canonicalTexts(text: string, chains: readonly Chain[]): readonly string[] {
  return chains.flatMap((chain) => {
    const read = readAddress(chain, text);
    return read.ok ? [read.address] : [];
  });
}

/** The assets of these symbols. Undefined if there are none, or if the asset table lacks one. */
export function knownAssets(
  { when, assets }: Scope,
  symbols: Iterable<string> = when.get('symbol') ?? [],
): readonly Asset[] | undefined {
  const found = [...symbols].map((symbol) => assets.get(symbol));
  const known = found.filter((asset) => asset !== undefined);
  return known.length === 0 || known.length < found.length ? undefined : known;
}

export interface WrongText {
  readonly message: string;
  readonly fix: string;
}

/** Why no callback about one of these assets can have this text in the member; undefined if it can. */
export function wrongText(member: string, text: string, assets: readonly Asset[]): WrongText | undefined {
  if (member === 'memo' && assets.every(({ chain }) => hasTags(chain)) && !isDestinationTag(text)) {
    const message = `${formatInput(text)} is not a destination tag of ${assets[0]?.symbol}`;
    return { message, fix: `write ${TAG_FORM}, in digits, without leading zeros` };
  }
  if (!ADDRESS_MEMBERS.has(member)) return undefined;
  const reads = assets.map((asset) => ({ asset, read: readAssetAddress(asset, text) }));
  if (reads.some(({ read }) => read.ok)) return undefined;
  const why = reads.map(({ asset, read }) => `of ${asset.symbol}: ${read.ok ? '' : read.because}`);
  const message = `${formatInput(text)} is not an address ${why.join('; nor ')}`;
  return { message, fix: 'copy the address again from where it is known' };
}
