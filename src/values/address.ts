import { isAddress } from 'viem/utils';
import { base58Check, isRippleX, readRipple, readSolana, readTron } from './address/base58.ts';
import { hasPrefix, readAccount, segwit } from './address/bech32.ts';
import { type AddressResult, type AddressReader, badAddress, goodAddress } from './address/chain-address.ts';
import { toComparable } from './comparable.ts';

export type { AddressResult } from './address/chain-address.ts';

interface ChainRow {
  /** A description of the form, for the reference and for error messages. */
  readonly form: string;
  readonly read: (text: string, prefix: string | undefined) => AddressResult;
}

/** How each chain writes addresses. Networks that write addresses the same way share a row. */
const chains = {
  evm: {
    form: '`0x` and 40 hexadecimal digits; where their case mixes, it is the checksum of EIP-55',
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
  dogecoin: {
    form: 'base58 with `D…`, `9…` or `A…`',
    read: base58Check([0x1e, 0x16], 'D…, 9… or A… with a checksum'),
  },
  tron: { form: 'base58 with `T…`; not the hexadecimal `41…`', read: readTron },
  ripple: { form: 'base58 with `r…`; not an X-address', read: readRipple },
  solana: { form: '32 bytes in base58; there is no checksum', read: readSolana },
  bech32: {
    form: 'the asset’s `prefix`, `1`, and 20 or 32 bytes in bech32, like `cosmos1…`',
    read: (text, prefix) =>
      prefix === undefined ? badAddress('its prefix is not known') : readAccount(prefix, text),
  },
  text: {
    form: 'any other way: visible ASCII, compared as exact text, no checksum verified',
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

/** Whether addresses of this chain begin with a prefix that the asset table names. */
export const needsPrefix = (chain: Chain): boolean => chain === 'bech32';

const VISIBLE = /^[\x21-\x7e]{1,256}$/;

/**
 * Reads an address by the rules of its chain and verifies its checksum. The result is the text by which
 * addresses are compared: see {@link toComparable}. The chain `bech32` needs `prefix`; the other chains
 * ignore it.
 */
export function readAddress(chain: Chain, text: string, prefix?: string): AddressResult {
  if (!VISIBLE.test(text)) return badAddress('it is not 1 to 256 visible ASCII characters without blanks');
  return table[chain].read(text, prefix);
}

/** Whether the memo to this address must be a number: on Ripple it is the destination tag, an integer. */
export function requiresNumericMemo(address: string): boolean {
  return (address.startsWith('r') && readRipple(address).ok) || isRippleX(address);
}

/** Reads a witness address if the text has the prefix, and the `otherwise` form if not. */
function segwitOr(prefix: string, otherwise: AddressReader): AddressReader {
  const witness = segwit(prefix);
  return (text) => (hasPrefix(prefix, text) ? witness(text) : otherwise(text));
}

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** Letters of one case alone: the address carries no checksum. */
const ONE_CASE = /^0x(?:[0-9a-f]{40}|[0-9A-F]{40})$/;

/** `0x` and 40 hexadecimal digits. Mixed case is the checksum of EIP-55, and must be right. */
function readEvm(text: string): AddressResult {
  if (!EVM_ADDRESS.test(text)) return badAddress('it is not 0x and 40 hexadecimal digits');
  if (!ONE_CASE.test(text) && !isAddress(text)) {
    return badAddress('its checksum is wrong: its upper-case letters do not match EIP-55');
  }
  return goodAddress(text, text.toLowerCase());
}
