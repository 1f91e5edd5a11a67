import { hash } from 'node:crypto';
import { base58check, bech32 } from '@scure/base';
import { type AddressResult, badAddress } from './chain-address.ts';

/*
 * An address of Bitcoin Cash is a type and a hash. It is written as cashaddr, with or without its prefix and in
 * either case, or like an old address of Bitcoin. Two of the types say that the owner also takes tokens. All
 * forms are of the same account.
 */

const PREFIX = 'bitcoincash';
const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const CASHADDR =
  /^(?:bitcoincash:[02-9ac-hj-np-z]+|BITCOINCASH:[02-9AC-HJ-NP-Z]+|[qpzr][02-9ac-hj-np-z]{41,60}|[QPZR][02-9AC-HJ-NP-Z]{41,60})$/;
const CHECKSUM_SYMBOLS = 8;
/** The version byte says the type in its upper bits. The types of owners that take tokens are greater by 2. */
const TAKES_TOKENS = 2;
const OLD_VERSIONS = [0x00, 0x05] as const;
const KEY_HASH_BYTES = 20;
const LONG_HASH_BYTES = 32;
/** How the version byte says that the hash has 32 bytes. */
const LONG_HASH = 3;

const base58WithChecksum = base58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));

interface Account {
  /** 0: the hash of a key. 1: the hash of a script. */
  readonly type: 0 | 1;
  readonly hash: Uint8Array;
}

/** Any form of an address. The canonical form is cashaddr with its prefix, in lower case, for no tokens. */
export function readBitcoinCash(text: string): AddressResult {
  if (!CASHADDR.test(text)) return readOld(text);
  const account = accountIn(text);
  return typeof account === 'string' ? badAddress(account) : { ok: true, address: cashaddr(account, 0) };
}

function readOld(text: string): AddressResult {
  const form = badAddress('it is neither bitcoincash:… (or q…, p…, z…, r…) nor base58 with 1… or 3…');
  if (!/^[13][1-9A-HJ-NP-Za-km-z]{24,34}$/.test(text)) return form;
  const bytes = base58Bytes(text);
  if (bytes === undefined) return badAddress('its checksum is wrong');
  const type = OLD_VERSIONS.findIndex((version) => version === bytes[0]);
  if (bytes.length !== 1 + KEY_HASH_BYTES || (type !== 0 && type !== 1)) return form;
  return { ok: true, address: cashaddr({ type, hash: bytes.subarray(1) }, 0) };
}

function base58Bytes(text: string): Uint8Array | undefined {
  try {
    return base58WithChecksum.decode(text);
  } catch {
    return undefined;
  }
}

/** Every form of a canonical address. */
export function spellingsOfBitcoinCash(address: string): readonly string[] {
  const account = accountIn(address);
  if (typeof account === 'string') return [];
  const modern = [0, TAKES_TOKENS].flatMap((add) => {
    const full = cashaddr(account, add);
    const short = full.slice(PREFIX.length + 1);
    return [full, short, full.toUpperCase(), short.toUpperCase()];
  });
  const old = oldForm(account);
  return old === undefined ? modern : [...modern, old];
}

/**
 * The form by which a cashaddr text is compared where its chain is not known: the old form, which is an address
 * of Bitcoin as well, if it has one. Undefined for any other text.
 */
export function identityOfBitcoinCash(text: string): string | undefined {
  const account = CASHADDR.test(text) ? accountIn(text) : '';
  return typeof account === 'string' ? undefined : (oldForm(account) ?? cashaddr(account, 0));
}

function oldForm({ type, hash: of }: Account): string | undefined {
  if (of.length !== KEY_HASH_BYTES) return undefined;
  return base58WithChecksum.encode(Uint8Array.of(OLD_VERSIONS[type], ...of));
}

/** The account in a cashaddr text, or why the text is not a cashaddr address. */
function accountIn(text: string): Account | string {
  const lower = text.toLowerCase();
  const symbols = Array.from(lower.slice(lower.indexOf(':') + 1), (letter) => ALPHABET.indexOf(letter));
  if (checksumOf(symbols) !== 0n) return 'its checksum is wrong';
  const [version = 0xff, ...of] = bech32.fromWordsUnsafe(symbols.slice(0, -CHECKSUM_SYMBOLS)) ?? [];
  const type = (version >> 3) % TAKES_TOKENS;
  const size = version & 7;
  const length = size === 0 ? KEY_HASH_BYTES : size === LONG_HASH ? LONG_HASH_BYTES : -1;
  if (version >> 3 > 1 + TAKES_TOKENS || of.length !== length) return 'its version is not known';
  return { type: type === 0 ? 0 : 1, hash: Uint8Array.from(of) };
}

function cashaddr({ type, hash: of }: Account, add: number): string {
  const version = ((type + add) << 3) | (of.length === LONG_HASH_BYTES ? LONG_HASH : 0);
  const symbols = bech32.toWords(Uint8Array.of(version, ...of));
  const checksum = checksumOf([...symbols, ...Array<number>(CHECKSUM_SYMBOLS).fill(0)]);
  const end = Array.from({ length: CHECKSUM_SYMBOLS }, (_, index) =>
    Number((checksum >> BigInt(5 * (CHECKSUM_SYMBOLS - 1 - index))) & 31n),
  );
  return `${PREFIX}:${[...symbols, ...end].map((symbol) => ALPHABET[symbol]).join('')}`;
}

const PREFIX_SYMBOLS = [...Array.from(PREFIX, (letter) => letter.charCodeAt(0) & 31), 0];
const GENERATORS = [0x98f2bc8e61n, 0x79b76d99e2n, 0xf33e5fb3c4n, 0xae2eabe2a8n, 0x1e4f43e470n];

/** The checksum of 40 bits over the prefix and these symbols. It is 0 if the last symbols are the right ones. */
function checksumOf(symbols: readonly number[]): bigint {
  let remainder = 1n;
  for (const symbol of [...PREFIX_SYMBOLS, ...symbols]) {
    const top = remainder >> 35n;
    remainder = ((remainder & 0x07ffffffffn) << 5n) ^ BigInt(symbol);
    for (const [bit, generator] of GENERATORS.entries()) {
      if (((top >> BigInt(bit)) & 1n) === 1n) remainder ^= generator;
    }
  }
  return remainder ^ 1n;
}
