import { getAddress, isAddress } from 'viem/utils';
import { base58Check, readRipple, readSolana, readTron } from './address/base58.ts';
import { hasPrefix, readAccount, segwit } from './address/bech32.ts';
import { identityOfBitcoinCash, readBitcoinCash, spellingsOfBitcoinCash } from './address/cashaddr.ts';
import { type AddressResult, type AddressReader, badAddress, goodAddress } from './address/chain-address.ts';
import { readPaddedHex, readStarknet, spellingsOfPaddedHex } from './address/padded-hex.ts';
import { readStellar } from './address/stellar.ts';
import { readTon, spellingsOfTon } from './address/ton.ts';
import { toComparable } from './comparable.ts';

export type { AddressResult } from './address/chain-address.ts';

interface ChainRow {
  /** A description of the form, for the reference and for error messages. */
  readonly form: string;
  readonly read: (text: string, prefix: string | undefined) => AddressResult;
  /** All comparable texts of a canonical address. Without it, an address has only one. */
  readonly spellings?: (address: string) => readonly string[];
  /** Whether a memo is a destination tag: a whole number. */
  readonly tagged?: true;
}

const PADDED_HEX =
  '`0x` and 64 hexadecimal digits, or fewer if the first are zeros; not 40, and there is no checksum';

/** How each chain writes addresses. Networks that write addresses the same way share a row. */
const chains = {
  evm: {
    form:
      '`0x` and 40 hexadecimal digits; where their case mixes, it is the checksum of EIP-55, or that of ' +
      'Rootstock (EIP-1191)',
    read: readEvm,
  },
  bitcoin: {
    form: '`bc1…`, or base58 with `1…` or `3…`',
    read: segwitOr('bc', base58Check([0x00, 0x05], 'bc1…, 1… or 3… with a checksum')),
  },
  'bitcoin-testnet': {
    form: '`tb1…`, or base58 with `m…`, `n…` or `2…`',
    read: segwitOr('tb', base58Check([0x6f, 0xc4], 'tb1…, m…, n… or 2… with a checksum')),
  },
  litecoin: {
    form: '`ltc1…`, or base58 with `L…` or `M…`; not the old `3…`, which is Bitcoin’s as well',
    read: segwitOr('ltc', base58Check([0x30, 0x32], 'ltc1…, L… or M… with a checksum')),
  },
  bch: {
    form: '`bitcoincash:q…` or `bitcoincash:p…`, also without the prefix, or the old base58 with `1…` or `3…`',
    read: readBitcoinCash,
    spellings: spellingsOfBitcoinCash,
  },
  dogecoin: {
    form: 'base58 with `D…`, `9…` or `A…`',
    read: base58Check([0x1e, 0x16], 'D…, 9… or A… with a checksum'),
  },
  tron: { form: 'base58 with `T…`; not the hexadecimal `41…`', read: readTron },
  ripple: { form: 'base58 with `r…`; not an X-address', read: readRipple, tagged: true },
  stellar: { form: '`G…` or `C…` in base32 with a checksum; not a muxed `M…`', read: readStellar },
  solana: { form: '32 bytes in base58; there is no checksum', read: readSolana },
  ton: {
    form: '48 characters of base64 with a checksum (`EQ…`, `UQ…`), or `0:` and 64 hexadecimal digits',
    read: readTon,
    spellings: spellingsOfTon,
  },
  sui: { form: PADDED_HEX, read: readPaddedHex, spellings: spellingsOfPaddedHex },
  aptos: { form: PADDED_HEX, read: readPaddedHex, spellings: spellingsOfPaddedHex },
  starknet: {
    form: `${PADDED_HEX}; below 2^251`,
    read: readStarknet,
    spellings: spellingsOfPaddedHex,
  },
  bech32: {
    form: 'the asset’s `prefix`, `1`, and 20 or 32 bytes in bech32, like `cosmos1…`',
    read: (text, prefix) =>
      prefix === undefined ? badAddress('its prefix is not known') : readAccount(prefix, text),
  },
  text: {
    form: 'any other way: visible ASCII, compared as exact text, no checksum verified; see `spellings`',
    read: (text) => goodAddress(text, toComparable(text)),
  },
} as const satisfies Readonly<Record<string, ChainRow>>;

export type Chain = keyof typeof chains;

const table: Readonly<Record<Chain, ChainRow>> = chains;

const isChain = (name: string): name is Chain => Object.hasOwn(table, name);

/** The known chains. `text` is any other chain: its addresses are compared as exact text. */
export const CHAINS: readonly Chain[] = Object.keys(table).filter(isChain);

/** A description of how the chain writes addresses. */
export function addressForm(chain: Chain): string {
  return table[chain].form;
}

/** Whether an address of this chain has several comparable texts. */
export const hasSpellings = (chain: Chain): boolean => table[chain].spellings !== undefined;

/** The other comparable texts of a canonical address. */
export function otherSpellings(chain: Chain, address: string): readonly string[] {
  const spellings = table[chain].spellings?.(address) ?? [];
  return [...new Set(spellings)].filter((text) => text !== address);
}

/**
 * The text by which an address is compared where its chain is not known: in the terms of a subject, in searches
 * and in mappings. Texts that name one account on any chain with several spellings have the same.
 */
export function addressIdentity(text: string): string {
  const read = text.startsWith('0x') ? readPaddedHex(text) : readTon(text);
  return read.ok ? read.address : (identityOfBitcoinCash(text) ?? toComparable(text));
}

/** Whether a memo to an address of this chain is a destination tag. */
export const hasTags = (chain: Chain): boolean => table[chain].tagged === true;

/** Chains whose transfers can't carry a memo, so that an exchange names each customer by an address. */
const WITHOUT_MEMO: ReadonlySet<Chain> = new Set([
  'evm',
  'bitcoin',
  'bitcoin-testnet',
  'litecoin',
  'dogecoin',
  'tron',
  'sui',
  'aptos',
  'starknet',
]);

/** Whether a transfer to an address of this chain may have a memo. */
export const hasMemos = (chain: Chain): boolean => !WITHOUT_MEMO.has(chain);

/** Whether addresses of this chain begin with a prefix that the asset table names. */
export const needsPrefix = (chain: Chain): boolean => chain === 'bech32';

const VISIBLE = /^[\x21-\x7e]{1,256}$/;

/**
 * Reads an address by the rules of its chain and verifies its checksum. The result is the canonical form, by
 * which addresses are compared. It is the comparable text (see {@link toComparable}), unless the chain has
 * several for one address. The chain `bech32` needs `prefix`; the other chains ignore it.
 */
export function readAddress(chain: Chain, text: string, prefix?: string): AddressResult {
  if (!VISIBLE.test(text)) return badAddress('it is not 1 to 256 visible ASCII characters without blanks');
  return table[chain].read(text, prefix);
}

/** Reads a witness address if the text has the prefix, and the `otherwise` form if not. */
function segwitOr(prefix: string, otherwise: AddressReader): AddressReader {
  const witness = segwit(prefix);
  return (text) => (hasPrefix(prefix, text) ? witness(text) : otherwise(text));
}

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** Letters of one case alone: the address carries no checksum. */
const ONE_CASE = /^0x(?:[0-9a-f]{40}|[0-9A-F]{40})$/;

/** Rootstock's main network and its test network write checksums with the number of the network (EIP-1191). */
const ROOTSTOCK = [30, 31];

/** `0x` and 40 hexadecimal digits. Mixed case is the checksum of EIP-55 or EIP-1191, and must be right. */
function readEvm(text: string): AddressResult {
  if (!EVM_ADDRESS.test(text)) return badAddress('it is not 0x and 40 hexadecimal digits');
  const address = text.toLowerCase();
  if (ONE_CASE.test(text) || isAddress(text) || isRootstock(text)) return goodAddress(text, address);
  return badAddress('its checksum is wrong: its upper-case letters match neither EIP-55 nor EIP-1191');
}

const isRootstock = (text: string): boolean =>
  ROOTSTOCK.some((network) => getAddress(text, network) === text);
