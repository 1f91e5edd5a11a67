import { base58Check, isRippleX, readRipple, readSolana, readTron } from './address/base58.ts';
import { hasPrefix, readAccount, segwit } from './address/bech32.ts';
import { readEvm } from './address/evm.ts';
import { type AddressRead, type ReadAddress, badAddress, goodAddress } from './address/read.ts';
import { comparable } from './comparable.ts';

export type { AddressRead } from './address/read.ts';

interface ChainRow {
  /** How it writes addresses, for people. */
  readonly writes: string;
  readonly read: (text: string, prefix: string | undefined) => AddressRead;
}

/**
 * Every way to write addresses that there is; nothing else spells a chain's name. A network with another's
 * way shares its row.
 */
const chains = {
  evm: {
    writes: '`0x` and 40 hexadecimal digits; where their case mixes, it is the checksum of EIP-55',
    read: readEvm,
  },
  bitcoin: {
    writes: '`bc1…`, or base58 with `1…` or `3…`',
    read: either('bc', base58Check([0x00, 0x05], 'bc1…, 1… or 3… with a checksum')),
  },
  'bitcoin-testnet': {
    writes: '`tb1…`, or base58 with `m…`, `n…` or `2…`',
    read: either('tb', base58Check([0x6f, 0xc4], 'tb1…, m…, n… or 2… with a checksum')),
  },
  litecoin: {
    writes: '`ltc1…`, or base58 with `L…` or `M…`; not the old `3…`, which is Bitcoin’s as well',
    read: either('ltc', base58Check([0x30, 0x32], 'ltc1…, L… or M… with a checksum')),
  },
  dogecoin: {
    writes: 'base58 with `D…`, `9…` or `A…`',
    read: base58Check([0x1e, 0x16], 'D…, 9… or A… with a checksum'),
  },
  tron: { writes: 'base58 with `T…`; not the hexadecimal `41…`', read: readTron },
  ripple: { writes: 'base58 with `r…`; not an X-address', read: readRipple },
  solana: { writes: '32 bytes in base58; there is no checksum', read: readSolana },
  bech32: {
    writes: 'the asset’s `prefix`, `1`, and 20 or 32 bytes in bech32, like `cosmos1…`',
    read: (text, prefix) =>
      prefix === undefined ? badAddress('its prefix is not known') : readAccount(prefix, text),
  },
  text: {
    writes: 'any other way: visible ASCII, compared as exact text, no checksum verified',
    read: (text) => goodAddress(text, comparable(text)),
  },
} as const satisfies Readonly<Record<string, ChainRow>>;

export type Chain = keyof typeof chains;

const table: Readonly<Record<Chain, ChainRow>> = chains;

const isChain = (name: string): name is Chain => Object.hasOwn(table, name);

/** The ways in which chains write addresses. `text` is any other: exact text. */
export const CHAINS: readonly Chain[] = Object.keys(table).filter(isChain);

/** How a chain writes addresses, for people. */
export function chainWrites(chain: Chain): string {
  return table[chain].writes;
}

/** Whether addresses of this chain begin with a prefix that only the asset knows. */
export const needsPrefix = (chain: Chain): boolean => chain === 'bech32';

const VISIBLE = /^[\x21-\x7e]{1,256}$/;

/**
 * An address as its chain reads it: checksums verified, in the one form by which it is compared, which is
 * always the {@link comparable} text. `prefix` is for `bech32` alone, and needed there.
 */
export function readAddress(chain: Chain, text: string, prefix?: string): AddressRead {
  if (!VISIBLE.test(text)) return badAddress('it is not 1 to 256 visible ASCII characters without blanks');
  return table[chain].read(text, prefix);
}

/**
 * Whether a memo to this address is a number: on Ripple a destination tag, which any of its programs reads as
 * an integer.
 */
export function takesNumber(address: string): boolean {
  return (address.startsWith('r') && readRipple(address).ok) || isRippleX(address);
}

/** A witness address, if it looks like one, else the other form. */
function either(prefix: string, otherwise: ReadAddress): ReadAddress {
  const witness = segwit(prefix);
  return (text) => (hasPrefix(prefix, text) ? witness(text) : otherwise(text));
}
