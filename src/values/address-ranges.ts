import { BlockList, isIP } from 'node:net';

/**
 * Whether an address is in one of the ranges, such as `10.0.0.0/8` or an address alone. What is no address is
 * in none.
 */
export function createAddressRanges(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const isShort = isIP(address) === 4;
    const bits = prefix === undefined ? (isShort ? 32 : 128) : Number.parseInt(prefix, 10);
    list.addSubnet(address, bits, isShort ? 'ipv4' : 'ipv6');
  }
  return (address) => {
    const version = isIP(address);
    // A range has no zone, so an address with one (`fe80::1%eth0`) is in none.
    if (version === 0 || address.includes('%')) return false;
    return list.check(address, version === 4 ? 'ipv4' : 'ipv6');
  };
}
