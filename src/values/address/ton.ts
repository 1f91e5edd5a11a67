import { type AddressResult, badAddress } from './chain-address.ts';
import { crc16 } from './crc16.ts';

/*
 * An address of TON (TEP-2) is a workchain and a hash. It is written raw (`0:` and the hash in hexadecimal), or
 * as 36 bytes in base64 of either alphabet: a tag, the workchain, the hash, and a checksum. The tag says
 * whether a transfer may come back (0x11) or not (0x51), and with 0x80 that the address is for test networks.
 * All forms are of the same account.
 */

const RAW = /^(0|-1):([0-9a-f]{64})$/i;
const TAGGED = /^(?:[A-Za-z0-9_-]{48}|[A-Za-z0-9+/]{48})$/;
const TAGS = [0x11, 0x51, 0x91, 0xd1] as const;
const BYTES = 36;
const CHECKSUM_AT = BYTES - 2;

interface Account {
  readonly workchain: number;
  readonly hash: Buffer;
}

/** Any form of an address. The canonical form begins with `EQ`, or with `Ef` on the masterchain. */
export function readTon(text: string): AddressResult {
  const [, workchain, hash] = RAW.exec(text) ?? [];
  if (workchain !== undefined && hash !== undefined) {
    return canonicalTon({ workchain: Number(workchain), hash: Buffer.from(hash, 'hex') });
  }
  if (!TAGGED.test(text)) {
    return badAddress('it is neither 48 characters of base64 nor 0: and 64 hexadecimal digits');
  }
  const bytes = Buffer.from(text, 'base64');
  if (bytes.readUInt16BE(CHECKSUM_AT) !== crc16(bytes.subarray(0, CHECKSUM_AT))) {
    return badAddress('its checksum is wrong');
  }
  if (!TAGS.some((tag) => tag === bytes[0])) return badAddress(`its tag ${bytes[0]} is not known`);
  const account = accountIn(bytes);
  return account.workchain === 0 || account.workchain === -1
    ? canonicalTon(account)
    : badAddress(`its workchain is ${account.workchain}, not 0 or -1`);
}

/** Every form of a canonical address. Of raw forms, those with letters in one case. */
export function spellingsOfTon(address: string): readonly string[] {
  const account = accountIn(Buffer.from(address, 'base64'));
  const hash = account.hash.toString('hex');
  return [
    ...TAGS.map((tag) => tagged(tag, account)).flatMap((bytes) => [
      bytes.toString('base64url'),
      bytes.toString('base64'),
    ]),
    `${account.workchain}:${hash}`,
    `${account.workchain}:${hash.toUpperCase()}`,
  ];
}

const canonicalTon = (account: Account): AddressResult => ({
  ok: true,
  address: tagged(TAGS[0], account).toString('base64url'),
});

function accountIn(bytes: Buffer): Account {
  return { workchain: bytes.readInt8(1), hash: bytes.subarray(2, CHECKSUM_AT) };
}

function tagged(tag: number, { workchain, hash }: Account): Buffer {
  const bytes = Buffer.alloc(BYTES);
  bytes.writeUInt8(tag, 0);
  bytes.writeInt8(workchain, 1);
  bytes.set(hash, 2);
  bytes.writeUInt16BE(crc16(bytes.subarray(0, CHECKSUM_AT)), CHECKSUM_AT);
  return bytes;
}
