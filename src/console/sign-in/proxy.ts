import { createAddressRanges } from '../../values/address-ranges.ts';
import type { Role } from '../../act/act.ts';
import type { Person } from '../page.ts';

/** A single sign-on proxy in front of the console, which names the person in a header. */
export interface ProxySettings {
  readonly header: string;
  /** Addresses of the proxy. A header from any other address counts for nothing. */
  readonly addresses: readonly string[];
  readonly people: readonly { readonly name: string; readonly roles: readonly Role[] }[];
}

/** What tells who sends a request. */
export interface RequestFacts {
  readonly cookies: ReadonlyMap<string, string>;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  /** The address of the connection. */
  readonly address: string;
}

/**
 * The person whom the proxy names. Undefined if the request does not come from the proxy, has the header twice
 * or not at all, or names somebody whom the settings do not list.
 */
export function createProxySignIn({
  header,
  addresses,
  people,
}: ProxySettings): (request: RequestFacts) => Person | undefined {
  const isProxy = createAddressRanges(addresses);
  const name = header.toLowerCase();
  const known = new Map(people.map((person) => [person.name, person]));
  return ({ rawHeaders, address }) => {
    if (!isProxy(address)) return undefined;
    const values = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
    const [value, ...others] = values;
    return value === undefined || others.length > 0 ? undefined : known.get(decoded(value));
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Node reads headers as Latin-1. Proxies write names in UTF-8, or really in Latin-1. */
function decoded(value: string): string {
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}
