import fc from 'fast-check';
import { base58, base58xrp, bech32, bech32m, createBase58check } from '@scure/base';
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  CHAINS,
  type Chain,
  addressForm,
  addressIdentity,
  hasSpellings,
  needsPrefix,
  otherSpellings,
  readAddress,
} from '../../src/values/address.ts';
import { toComparable } from '../../src/values/comparable.ts';

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));
const base58checkXrp = {
  encode: (payload: Uint8Array) => base58xrp.encode(base58.decode(base58check.encode(payload))),
};
const versioned = (version: number, bytes: Uint8Array): Uint8Array => Uint8Array.of(version, ...bytes);

/** A published address of each form; EIP-55's, EIP-1191's, BIP-173's, BIP-350's and SEP-23's among them. */
const GOOD: readonly [Chain, string, prefix?: string][] = [
  ['evm', '0x52908400098527886E0F7030069857D2E4169EE7'],
  ['evm', '0x8617E340B3D01FA5F11F306F4090FD50E238070D'],
  ['evm', '0xde709f2102306220921060314715629080e2fb77'],
  ['evm', '0x27b1fdb04752bbc536007a920d24acb045561c26'],
  ['evm', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ['evm', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'],
  ['evm', '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'],
  ['evm', '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb'],
  ['evm', '0x0000000000000000000000000000000000000000'],
  ['evm', '0x5aaEB6053f3e94c9b9a09f33669435E7ef1bEAeD'],
  ['evm', '0x27b1FdB04752BBc536007A920D24ACB045561c26'],
  ['stellar', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'],
  ['stellar', 'CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE'],
  ['bitcoin', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa'],
  ['bitcoin', '1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH'],
  ['bitcoin', '3LRW7jeCvQCRdPF8S3yUCfRAx4eqXFmdcr'],
  ['bitcoin', '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy'],
  ['bitcoin', 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4'],
  ['bitcoin', 'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y'],
  ['bitcoin', 'bc1sw50qgdz25j'],
  ['bitcoin', 'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs'],
  ['bitcoin', 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0'],
  ['bitcoin-testnet', 'mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r'],
  ['bitcoin-testnet', '2NByiBUaEXrhmqAsg7BbLpcQSAQs1EDwt5w'],
  ['bitcoin-testnet', 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7'],
  ['bitcoin-testnet', 'tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy'],
  ['bitcoin-testnet', 'tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c'],
  ['litecoin', 'LTuoeY6RBHV3n3cfhXVVTbJbxzxnXs9ofm'],
  ['litecoin', 'MGEW4aba3tnrVtVhGcmoqqHaLt5ymPSLPi'],
  ['litecoin', 'ltc1qxtm55gultqzhqzl2p3ks50hg2478y3hehuj6dz'],
  ['dogecoin', 'DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L'],
  ['tron', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t'],
  ['tron', 'TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7'],
  ['ripple', 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh'],
  ['ripple', 'rPEPPER7kfTD9w2To4CQk6UCfuHM9c6GDY'],
  ['ripple', 'rrrrrrrrrrrrrrrrrrrrrhoLvTp'],
  ['ripple', 'rrrrrrrrrrrrrrrrrrrrBZbvji'],
  ['solana', 'So11111111111111111111111111111111111111112'],
  ['solana', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'],
  ['solana', '11111111111111111111111111111111'],
  ['bech32', 'cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dd02', 'cosmos'],
  ['bech32', 'COSMOS1HSK6JRYYQJFHP5DHC55TC9JTCKYGX0EPH6DD02', 'cosmos'],
  ['bech32', bech32.encodeFromBytes('cosmosvaloper', new Uint8Array(20)).toUpperCase(), 'cosmosvaloper'],
  ['text', 'EQDtFpEwcFAEcRe5mLVh2N6C0x-_hJEM7W61_JLnSF74p4q2'],
  ['text', '0xABCDEF'],
];

const TON = 'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF';
const MASTERCHAIN = 'Ef_8uRo6OBbQ97jCx2EIuKm8Wmt6Vb15-KsQHFLbKSMiYDJ4';
const BCH_KEY = 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a';
const BCH_SCRIPT = 'bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq';
const LONG_ONE = `0x${'1'.padStart(64, '0')}`;
const STARKNET = '0x049d36570d4e46f48e99674bd3fcc84644ddd6b96f7c741b1562b82f9e004dc7';

/** Published addresses in each of their forms, with the canonical one. */
const SPELT: readonly (readonly [Chain, canonical: string, text: string])[] = [
  ['ton', TON, TON],
  ['ton', TON, 'UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA'],
  ['ton', TON, 'kQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPgpP'],
  ['ton', TON, '0QDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPleK'],
  ['ton', TON, 'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff+W72r5gqPrHF'],
  ['ton', TON, '0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e'],
  ['ton', TON, '0:CA6E321C7CCE9ECEDF0A8CA2492EC8592494AA5FB5CE0387DFF96EF6AF982A3E'],
  ['ton', MASTERCHAIN, '-1:fcb91a3a3816d0f7b8c2c76108b8a9bc5a6b7a55bd79f8ab101c52db29232260'],
  ['ton', MASTERCHAIN, 'kf/8uRo6OBbQ97jCx2EIuKm8Wmt6Vb15+KsQHFLbKSMiYIny'],
  ['ton', MASTERCHAIN, 'kf_8uRo6OBbQ97jCx2EIuKm8Wmt6Vb15-KsQHFLbKSMiYIny'],
  ['bch', BCH_KEY, BCH_KEY],
  ['bch', BCH_KEY, 'qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a'],
  ['bch', BCH_KEY, 'BITCOINCASH:QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A'],
  ['bch', BCH_KEY, 'QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A'],
  ['bch', BCH_KEY, '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu'],
  ['bch', BCH_SCRIPT, 'ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq'],
  ['bch', BCH_SCRIPT, '3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC'],
  ['bch', 'bitcoincash:qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy', '1KXrWXciRDZUpQwQmuM1DbwsKDLYAYsVLR'],
  ['bch', 'bitcoincash:qqq3728yw0y47sqn6l2na30mcw6zm78dzqre909m2r', '16w1D5WRVKJuZUsSRzdLp9w3YGcgoxDXb'],
  ['bch', 'bitcoincash:pqq3728yw0y47sqn6l2na30mcw6zm78dzq5ucqzc37', '31nwvkZwyPdgzjBJZXfDmSWsC4ZLKpYyUw'],
  [
    'bch',
    'bitcoincash:qr6m7j9njldwwzlg9v7v53unlr4jkmx6eylep8ekg2',
    'bitcoincash:zr6m7j9njldwwzlg9v7v53unlr4jkmx6eycnjehshe',
  ],
  [
    'bch',
    'bitcoincash:ppawqn2h74a4t50phuza84kdp3794pq3ccvm92p8sh',
    'bitcoincash:rpawqn2h74a4t50phuza84kdp3794pq3cct3k50p0y',
  ],
  ['aptos', LONG_ONE, '0x1'],
  ['aptos', LONG_ONE, LONG_ONE],
  ['sui', `0x${'2'.padStart(64, '0')}`, '0x2'],
  [
    'sui',
    '0xe51ff5cd221a81c3d6e22b9e670ddf99004d71de4f769b0312b68c7c4872e2f1',
    '0xE51FF5CD221A81C3D6E22B9E670DDF99004D71DE4F769B0312B68C7C4872E2F1',
  ],
  ['starknet', STARKNET, STARKNET],
  ['starknet', STARKNET, '0x49d36570d4e46f48e99674bd3fcc84644ddd6b96f7c741b1562b82f9e004dc7'],
  ['starknet', STARKNET, '0x049D36570D4e46f48e99674bd3fcc84644DdD6b96F7C741B1562B82f9e004dC7'],
  ['starknet', `0x07${'f'.repeat(62)}`, `0x7${'f'.repeat(62)}`],
];

/** Spellings that nobody uses. They are read, but a list is not searched for them. */
const UNUSUAL: typeof SPELT = [
  ['ton', TON, '0:Ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3E'],
  ['aptos', LONG_ONE, '0x0001'],
];

describe('an address that has several spellings', () => {
  it.each(SPELT)('of %s is %s, also where it is written %s', (chain, canonical, text) => {
    expect(readAddress(chain, text)).toEqual({ ok: true, address: canonical });
    expect([canonical, ...otherSpellings(chain, canonical)]).toContain(toComparable(text));
  });

  it.each(UNUSUAL)('of %s is %s, also where it is written %s', (chain, canonical, text) => {
    expect(readAddress(chain, text)).toEqual({ ok: true, address: canonical });
    expect(otherSpellings(chain, canonical)).not.toContain(toComparable(text));
  });

  it('is one of a chain that says so, and of no other', () => {
    expect(CHAINS.filter(hasSpellings)).toEqual(['bch', 'ton', 'sui', 'aptos', 'starknet']);
    for (const [chain, text] of GOOD) expect(otherSpellings(chain, text)).toEqual([]);
  });

  it('is the same in each of its other spellings, whatever it is', () => {
    const bytes32 = fc.oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytes.fill(0, 0, 5)),
    );
    fc.assert(
      fc.property(fc.constantFrom('bch', 'ton', 'sui', 'aptos', 'starknet'), bytes32, (chain, bytes) => {
        const digits = Buffer.from(bytes).toString('hex');
        const old = base58check.encode(versioned(0x05, bytes.subarray(0, 20)));
        const read = readAddress(
          chain,
          chain === 'bch' ? old : chain === 'ton' ? `0:${digits}` : `0x${digits}`,
        );
        fc.pre(read.ok || chain !== 'starknet');
        if (!read.ok) throw new Error(read.because);
        const others = otherSpellings(chain, read.address);
        expect(others).not.toContain(read.address);
        expect(others.map(toComparable)).toEqual(others);
        for (const text of others.filter((each) => each.length !== 42)) {
          expect(readAddress(chain, text)).toEqual(read);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('has one identity in all of its spellings, although nobody knows its chain', () => {
    const texts = new Map<string, Set<string>>();
    for (const [chain, canonical, text] of [...SPELT, ...UNUSUAL]) {
      const all = texts.get(canonical) ?? new Set([canonical, ...otherSpellings(chain, canonical)]);
      texts.set(canonical, all.add(text));
    }
    const identities = [...texts.values()].map((all) => [...new Set([...all].map(addressIdentity))]);
    expect(identities.map(({ length }) => length)).toEqual(identities.map(() => 1));
    expect(new Set(identities.flat()).size).toBe(texts.size);
  });

  it('of Bitcoin Cash with one character changed is refused', () => {
    const passed: string[] = [];
    for (let at = 0; at < BCH_KEY.length; at++) {
      for (const letter of 'qpzry9x8gf2tvdw0s3jn54khce6mua7l') {
        const changed = BCH_KEY.slice(0, at) + letter + BCH_KEY.slice(at + 1);
        if (changed !== BCH_KEY && readAddress('bch', changed).ok) passed.push(changed);
      }
    }
    expect(passed).toEqual([]);
  });

  it('of TON with one character changed is refused, but for the alphabet of base64', () => {
    const passed: string[] = [];
    for (let at = 0; at < TON.length; at++) {
      for (const letter of 'ABCXYZabcxyz0189-_+/') {
        const changed = TON.slice(0, at) + letter + TON.slice(at + 1);
        if (changed !== TON && readAddress('ton', changed).ok) passed.push(changed);
      }
    }
    expect(passed).toEqual(['EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff+W72r5gqPrHF']);
  });
});

describe('an identity', () => {
  it.each(GOOD.filter(([chain]) => chain !== 'text'))('of %s, %s, is its comparable text', (_, text) => {
    expect(addressIdentity(text)).toBe(toComparable(text));
  });

  it.each(['', '0x', '0xg', 'two words', '1'.repeat(5000), 'q'.repeat(5000), 'ключ', 'é', 'qé'])(
    'is there for any text',
    (text) => {
      expect(addressIdentity(text)).toBe(toComparable(text));
    },
  );
});

describe('a good address', () => {
  it.each(GOOD)('of %s, %s, is read, and is the text that lists compare', (chain, text, prefix) => {
    expect(readAddress(chain, text, prefix)).toEqual({ ok: true, address: toComparable(text) });
  });

  it('is there for every chain', () => {
    expect(new Set([...GOOD, ...SPELT].map(([chain]) => chain))).toEqual(new Set(CHAINS));
  });
});

/** An address of TON with a tag and a workchain that nobody uses. */
function tonOf(tag: number, workchain: number): string {
  const bytes = Buffer.alloc(36);
  bytes.writeUInt8(tag, 0);
  bytes.writeInt8(workchain, 1);
  let remainder = 0;
  // Two bytes of zero after the payload leave the checksum as the remainder.
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      const carry = remainder & 0x8000;
      remainder = ((remainder << 1) & 0xffff) | ((byte >> bit) & 1);
      if (carry !== 0) remainder ^= 0x1021;
    }
  }
  bytes.writeUInt16BE(remainder, 34);
  return bytes.toString('base64url');
}

describe('a bad address', () => {
  it.each<[Chain, string, string, prefix?: string]>([
    ['evm', '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'its checksum is wrong'],
    ['evm', '0x5AAEB6053f3e94c9b9a09f33669435e7ef1beaed', 'its checksum is wrong'],
    ['evm', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe', 'not 0x and 40'],
    ['evm', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed0', 'not 0x and 40'],
    ['evm', '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'not 0x and 40'],
    ['evm', '0X5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED', 'not 0x and 40'],
    ['evm', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg', 'not 0x and 40'],
    ['evm', '', '1 to 256 visible'],
    ['evm', ' 0x52908400098527886E0F7030069857D2E4169EE7', '1 to 256 visible'],
    ['evm', '0x52908400098527886E0F7030069857D2E4169EE7\n', '1 to 256 visible'],
    ['bitcoin', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb', 'its checksum is wrong'],
    ['bitcoin', '11A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'it is not bc1…'],
    ['bitcoin', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN0', 'it is not bc1…'],
    ['bitcoin', 'mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r', 'of another chain (its version byte is 111)'],
    ['bitcoin', 'LTuoeY6RBHV3n3cfhXVVTbJbxzxnXs9ofm', 'of another chain (its version byte is 48)'],
    ['bitcoin', 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7', 'it is not bc1…'],
    ['bitcoin', 'BC1SW50QGDZ25J', 'write it in lower case'],
    ['litecoin', '3LRW7jeCvQCRdPF8S3yUCfRAx4eqXFmdcr', 'of another chain (its version byte is 5)'],
    ['litecoin', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'it is not ltc1…'],
    ['bch', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6b', 'it is neither'],
    ['bch', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6q', 'its checksum is wrong'],
    ['bch', 'bitcoincash:qPM2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', 'it is neither'],
    ['bch', 'Bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a', 'it is neither'],
    ['bch', 'bchtest:pr6m7j9njldwwzlg9v7v53unlr4jkmx6eyvwc0uz5t', 'it is neither'],
    ['bch', 'pr6m7j9njldwwzlg9v7v53unlr4jkmx6eyvwc0uz5t', 'its checksum is wrong'],
    ['bch', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggv', 'its checksum is wrong'],
    ['bch', 'LTuoeY6RBHV3n3cfhXVVTbJbxzxnXs9ofm', 'it is neither'],
    ['bch', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'it is neither'],
    ['bch', `bitcoincash:${'q'.repeat(200)}`, 'its checksum is wrong'],
    [
      'stellar',
      'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ',
      'the number in it as the memo',
    ],
    ['stellar', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGA', 'its checksum is wrong'],
    ['stellar', 'ga7qynf7sowq3glr2bgmzehxavirza4kvwltjjfc7mgxua74p7ujvsgz', 'it is not G… or C…'],
    ['stellar', 'GAAAAAAAACGC6', 'it is not G… or C…'],
    ['stellar', 'SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKR', 'it is not G… or C…'],
    ['evm', '0x52908400098527886E0F7030069857D2E4169eE7', 'match neither EIP-55 nor EIP-1191'],
    ['dogecoin', 'LTuoeY6RBHV3n3cfhXVVTbJbxzxnXs9ofm', 'of another chain'],
    ['dogecoin', 'DH5yaieqoZN36fDVciNyRueRGvGLR3mr7M', 'its checksum is wrong'],
    ['tron', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T', 'its checksum is wrong'],
    ['tron', '41a614f803b6fd780986a42c78ec9c7f77e6ded13c', 'write it in base58, as T…'],
    ['tron', '0x41A614F803B6FD780986A42C78EC9C7F77E6DED13C', 'write it in base58, as T…'],
    ['tron', '0xa614f803b6fd780986a42c78ec9c7f77e6ded13c', 'it is not T…'],
    ['tron', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'of another chain'],
    ['ripple', 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTH', 'its checksum is wrong'],
    ['ripple', 'XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi', 'the tag as the memo'],
    ['ripple', '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa', 'its checksum is wrong'],
    ['solana', '1111111111111111111111111111111', '32 bytes'],
    ['solana', '111111111111111111111111111111111', '32 bytes'],
    ['solana', '0x52908400098527886E0F7030069857D2E4169EE7', '32 bytes'],
    ['solana', '1'.repeat(256), '32 bytes'],
    ['bech32', 'cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dd03', 'its checksum is wrong', 'cosmos'],
    ['bech32', 'cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dD02', 'mixes upper case', 'cosmos'],
    ['bech32', 'cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dd02', 'does not begin with osmo1', 'osmo'],
    ['bech32', 'cosmos1hsk6jryyqjfhp5dhc55tc9jtckygx0eph6dd02', 'its prefix is not known'],
    ['bech32', bech32.encodeFromBytes('cosmos', new Uint8Array(19)), '20 or 32 bytes', 'cosmos'],
    ['bech32', bech32.encodeFromBytes('cosmos', new Uint8Array(33)), '20 or 32 bytes', 'cosmos'],
    ['bech32', bech32m.encodeFromBytes('cosmos', new Uint8Array(20)), 'bech32m, not bech32', 'cosmos'],
    ['ton', 'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHG', 'its checksum is wrong'],
    ['ton', 'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF=', 'neither 48 characters'],
    ['ton', 'EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrH', 'neither 48 characters'],
    ['ton', 'Ef_8uRo6OBbQ97jCx2EIuKm8Wmt6Vb15+KsQHFLbKSMiYDJ4', 'neither 48 characters'],
    ['ton', '2:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e', 'neither 48 characters'],
    ['ton', '00:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e', 'neither 48 characters'],
    ['ton', 'ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e', 'neither 48 characters'],
    ['ton', '0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3', 'neither 48 characters'],
    ['ton', tonOf(0x11, 2), 'its workchain is 2, not 0 or -1'],
    ['ton', tonOf(0x12, 0), 'its tag 18 is not known'],
    ['sui', 'e51ff5cd221a81c3d6e22b9e670ddf99004d71de4f769b0312b68c7c4872e2f1', 'not 0x and up to 64'],
    ['sui', '0x', 'not 0x and up to 64'],
    ['sui', `0x0${'1'.repeat(64)}`, 'not 0x and up to 64'],
    ['sui', '0X1', 'not 0x and up to 64'],
    ['aptos', '0x52908400098527886E0F7030069857D2E4169EE7', 'like an address of an EVM chain'],
    ['aptos', '0xg', 'not 0x and up to 64'],
    ['starknet', `0x08${'0'.repeat(62)}`, 'it is not below 2^251'],
    ['starknet', `0x${'f'.repeat(64)}`, 'it is not below 2^251'],
    ['text', 'two words', 'without blanks'],
    ['text', 'a'.repeat(257), '1 to 256'],
    ['text', 'ключ', 'visible ASCII'],
  ])('of %s, %s, is refused: %s', (chain, text, because, prefix) => {
    const read = readAddress(chain, text, prefix);
    expect(read).toMatchObject({ ok: false });
    expect(read).toHaveProperty('because', expect.stringContaining(because));
  });
});

describe('the invalid addresses of BIP-173 and BIP-350', () => {
  it.each([
    ['tc1qw508d6qejxtdg4y5r3zarvary0c5xw7kg3g4ty', 'it is not'],
    ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5', 'its checksum is wrong'],
    ['BC13W508D6QEJXTDG4Y5R3ZARVARY0C5XW7KN40WF2', 'its witness version is not from 0 to 16'],
    ['bc1rw5uspcuh', 'checksum is bech32'],
    ['bc10w508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kw5rljs90', 'checksum is bech32'],
    ['BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P', 'has 16 bytes'],
    ['tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sL5k7', 'mixes upper case'],
    ['bc1zw508d6qejxtdg4y5r3zarvaryvqyzf3du', 'checksum is bech32'],
    ['tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3pjxtptv', 'does not end at a whole byte'],
    ['bc1gmk9yu', 'its witness version is not from'],
    ['tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut', 'it is not'],
    ['bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd', 'checksum is bech32'],
    ['tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf', 'checksum is bech32'],
    ['BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL', 'checksum is bech32'],
    ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh', 'checksum is bech32m'],
    ['tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47', 'checksum is bech32m'],
    ['bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4', 'its checksum is wrong'],
    ['BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R', 'its witness version is not from'],
    ['bc1pw5dgrnzv', 'has 1 bytes'],
    ['bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav', 'has 41 bytes'],
    ['tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq', 'mixes upper case'],
    ['bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf', 'does not end at a whole byte'],
    ['tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j', 'does not end at a whole byte'],
  ])('%s is refused: %s', (text, because) => {
    const chain = text.toLowerCase().startsWith('tb') ? 'bitcoin-testnet' : 'bitcoin';
    expect(readAddress(chain, text)).toHaveProperty('because', expect.stringContaining(because));
  });
});

/** Addresses of hashes, by chain; but for `evm` lower-case, `solana` and `text`, each has a checksum. */
const written: readonly [Chain, (bytes: Uint8Array) => string, prefix?: string][] = [
  ['bitcoin', (bytes) => base58check.encode(versioned(0x00, bytes))],
  ['bitcoin', (bytes) => base58check.encode(versioned(0x05, bytes))],
  ['bitcoin', (bytes) => bech32.encode('bc', [0, ...bech32.toWords(bytes)])],
  ['bitcoin', (bytes) => bech32m.encode('bc', [1, ...bech32m.toWords(bytes)])],
  ['bitcoin-testnet', (bytes) => base58check.encode(versioned(0x6f, bytes))],
  ['bitcoin-testnet', (bytes) => bech32.encode('tb', [0, ...bech32.toWords(bytes)])],
  ['litecoin', (bytes) => base58check.encode(versioned(0x30, bytes))],
  ['litecoin', (bytes) => base58check.encode(versioned(0x32, bytes))],
  ['litecoin', (bytes) => bech32.encode('ltc', [0, ...bech32.toWords(bytes)])],
  ['dogecoin', (bytes) => base58check.encode(versioned(0x1e, bytes))],
  ['dogecoin', (bytes) => base58check.encode(versioned(0x16, bytes))],
  ['tron', (bytes) => base58check.encode(versioned(0x41, bytes))],
  ['ripple', (bytes) => base58checkXrp.encode(versioned(0x00, bytes))],
  ['bech32', (bytes) => bech32.encodeFromBytes('cosmos', bytes), 'cosmos'],
];

const bytes20 = fc.uint8Array({ minLength: 20, maxLength: 20 });
const BECH32_LETTERS = Array.from('023456789acdefghjklmnpqrstuvwxyz');
const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code));

describe.each(written)('an address of %s', (chain, encode, prefix) => {
  it('of any hash is read, and is the text that lists compare', () => {
    fc.assert(
      fc.property(bytes20, (bytes) => {
        const text = encode(bytes);
        expect(readAddress(chain, text, prefix)).toEqual({ ok: true, address: toComparable(text) });
      }),
    );
  });

  it('with one character changed, left out, put in or exchanged is refused, or is the same', () => {
    const edit = fc.constantFrom('change', 'drop', 'insert', 'swap');
    fc.assert(
      fc.property(bytes20, fc.nat(100), visible, edit, (bytes, place, letter, kind) => {
        const text = encode(bytes);
        const at = place % text.length;
        const changed = edited(text, at, letter, kind);
        const read = readAddress(chain, changed, prefix);
        expect(!read.ok || read.address === toComparable(text)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function edited(text: string, at: number, letter: string, kind: string): string {
  const [before, after] = [text.slice(0, at), text.slice(at + 1)];
  if (kind === 'drop') return before + after;
  if (kind === 'insert') return before + letter + text.slice(at);
  if (kind === 'swap') return before + after.slice(0, 1) + text.charAt(at) + after.slice(1);
  return before + letter + after;
}

describe('an address of evm with the checksum of EIP-55', () => {
  const checked = GOOD.filter(([chain, text]) => chain === 'evm' && /[a-f]/.test(text) && /[A-F]/.test(text));

  it.each(checked)('%s %s with any one digit changed is refused', (chain, text) => {
    const passed: string[] = [];
    for (let at = 2; at < text.length; at++) {
      for (const digit of '0123456789abcdefABCDEF') {
        const changed = text.slice(0, at) + digit + text.slice(at + 1);
        if (changed !== text && readAddress(chain, changed).ok) passed.push(changed);
      }
    }
    expect(passed).toEqual([]);
  });

  it('has none in one case, so there a changed digit is another address', () => {
    const lower = '0xde709f2102306220921060314715629080e2fb77';
    expect(readAddress('evm', `${lower.slice(0, -1)}8`)).toMatchObject({ ok: true });
    expect(readAddress('evm', `0x${lower.slice(2).toUpperCase()}`)).toEqual({ ok: true, address: lower });
  });
});

describe('whatever text comes', () => {
  it('no chain throws, and what it reads is the text that lists compare, unless there are several', () => {
    const texts = fc.oneof(
      fc.string({ maxLength: 100 }),
      fc.constantFrom(...GOOD.map(([, text]) => text), ...SPELT.map(([, , text]) => text)),
      fc.string({ unit: visible, maxLength: 100 }),
      fc.string({ unit: fc.constantFrom(...BECH32_LETTERS), maxLength: 80 }).map((s) => `bc1${s}`),
    );
    fc.assert(
      fc.property(fc.constantFrom(...CHAINS), texts, (chain, text) => {
        const read = readAddress(chain, text, needsPrefix(chain) ? 'cosmos' : undefined);
        const same = read.ok && !hasSpellings(chain) ? read.address : toComparable(text);
        expect(same).toBe(toComparable(text));
        expect(read.ok ? readAddress(chain, read.address, 'cosmos') : read).toEqual(read);
      }),
      { numRuns: 400 },
    );
  });

  it('every chain says how it writes addresses', () => {
    for (const chain of CHAINS) expect(addressForm(chain)).not.toBe('');
  });
});
