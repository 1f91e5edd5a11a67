import { BlockList, isIP } from 'node:net';

import { CountersignError } from '../errors.ts';

/** The addresses of a list of ranges. */
export interface Addresses {
  /** False for whatever is no address. `::ffff:10.1.2.3` is 10.1.2.3. */
  readonly includes: (address: string) => boolean;
  /** Whether a range of this list takes in everybody. */
  readonly everyone: boolean;
}

/**
 * From addresses (`10.1.2.3`, `fd00::1`) and ranges (`10.1.2.0/24`). Throws SETTINGS_INVALID for any other
 * text.
 */
export function compileAddresses(ranges: readonly string[]): Addresses {
  if (ranges.length === 0) throw new CountersignError('SETTINGS_INVALID', 'addresses: list at least one');
  const list = new BlockList();
  let everyone = false;
  for (const range of ranges) {
    const { address, bits, family } = parseRange(range);
    list.addSubnet(address, bits, family);
    everyone ||= bits === 0;
  }
  return {
    everyone,
    includes(address) {
      const version = isIP(address);
      // An address with a zone (`fe80::1%eth0`) says more than a range can.
      if (version === 0 || address.includes('%')) return false;
      return list.check(address, version === 4 ? 'ipv4' : 'ipv6');
    },
  };
}

function parseRange(range: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } {
  const [, address = '', prefix] = /^([^/%]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(range) ?? [];
  const version = isIP(address);
  const width = version === 4 ? 32 : 128;
  const bits = prefix === undefined ? width : Number(prefix);
  if (version === 0 || bits > width) {
    throw new CountersignError(
      'SETTINGS_INVALID',
      `addresses: ${JSON.stringify(range)} is no address or range: write it like 10.1.2.3, 10.1.2.0/24 or fd00::/8`,
    );
  }
  if (/^::ffff:/i.test(address)) {
    throw new CountersignError(
      'SETTINGS_INVALID',
      `addresses: write ${JSON.stringify(range)} as the IPv4 address that it stands for`,
    );
  }
  return { address, bits, family: version === 4 ? 'ipv4' : 'ipv6' };
}
