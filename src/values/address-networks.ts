import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

const ADDRESS_CHARACTERS = 64;

/**
 * The networks that an address belongs to, narrowest first. An IPv4 address is its own network. In IPv6, one
 * host usually has a /64, and one customer a /48. A text that is not an address is returned unchanged, up to
 * 64 characters.
 */
export function networksOf(address: string): readonly [string, ...string[]] {
  const parsed = parseAddress(address);
  if (typeof parsed === 'string') return [parsed];
  const groups = parsed.parts.map((group) => group.toString(16));
  return [`${groups.slice(0, 4).join(':')}::/64`, `${groups.slice(0, 3).join(':')}::/48`];
}

const WITH_PORT = /^(?:\[([^\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/;

/**
 * The address alone: without the port and the brackets that some gateways write into X-Forwarded-For
 * (`203.0.113.7:41022`, `[2001:db8::7]:443`), and an IPv4 address without its IPv6 prefix. What is no address
 * is returned unchanged.
 */
export function hostOf(text: string): string {
  const [, bracketed, short] = WITH_PORT.exec(text.trim()) ?? [];
  const host = (bracketed ?? short ?? text).replace(MAPPED, '');
  return isIP(host) === 0 ? text : host;
}

/** An IPv4 address in an IPv6 address, as a socket for both has it. */
const MAPPED = /^::ffff:(?=\d)/i;

/**
 * The one form of an IPv4 address, or an IPv6 address. A text that is not an address is returned unchanged,
 * up to 64 characters. Every callback asks this several times, and ipaddr.js takes 2 to 6 microseconds.
 */
export function parseAddress(address: string): string | ipaddr.IPv6 {
  const text = address.slice(0, ADDRESS_CHARACTERS);
  const unmapped = text.replace(MAPPED, '');
  if (isIPv4(unmapped)) return unmapped;
  if (!ipaddr.isValid(text)) return text;
  const parsed = ipaddr.process(text);
  return 'parts' in parsed ? parsed : parsed.toString();
}
