/** Something that a program on the way has put before a text or a request. */
export interface Prefix {
  /** With its article. */
  readonly name: string;
  /** What to do about it. */
  readonly fix: string;
  readonly isProxyHeader: boolean;
}

/** What turns the headers of the PROXY protocol into ones that are read. */
export const PROXY_FIX =
  'turn the PROXY protocol off in the load balancer, and let it send the client in X-Forwarded-For';

const prefixes: readonly (Prefix & { readonly bytes: Uint8Array })[] = [
  {
    name: 'a byte order mark (EF BB BF)',
    fix: 'the sender must leave it out',
    bytes: Uint8Array.of(0xef, 0xbb, 0xbf),
    isProxyHeader: false,
  },
  ...[Uint8Array.of(0xff, 0xfe), Uint8Array.of(0xfe, 0xff)].map((bytes) => ({
    name: 'a byte order mark of UTF-16',
    fix: 'the sender must send UTF-8, without a byte order mark',
    bytes,
    isProxyHeader: false,
  })),
  {
    name: 'a header of the PROXY protocol, version 1',
    fix: PROXY_FIX,
    bytes: Buffer.from('PROXY '),
    isProxyHeader: true,
  },
  // A reader of HTTP may have skipped the empty lines with which it begins.
  ...['\r\n\r\n\0\r\nQUIT\n', '\0\r\nQUIT\n'].map((signature) => ({
    name: 'a header of the PROXY protocol, version 2',
    fix: PROXY_FIX,
    bytes: Buffer.from(signature),
    isProxyHeader: true,
  })),
];

/** The known prefix with which these bytes begin. */
export function prefixOf(bytes: Uint8Array): Prefix | undefined {
  return prefixes.find((prefix) => prefix.bytes.every((byte, at) => bytes[at] === byte));
}

interface Kind {
  readonly text: string;
  readonly undo: (text: string) => string;
}

const encoded: Kind = {
  text: 'it is percent-encoded (%2B in place of +); the sender must not encode it for a URL',
  undo: percentDecoded,
};
const outside: Kind = {
  text: 'it begins or ends with white space; the sender must leave that out',
  undo: (text) => text.trim(),
};
const lines: Kind = {
  text: 'it contains line ends; the sender must write it in one line',
  undo: (text) => text.replaceAll(/[\r\n]|\\r|\\n/g, ''),
};
const blanks: Kind = {
  text: 'it has blanks in place of +; the sender, or a gateway, must not decode it as a form',
  undo: (text) => text.replaceAll(' ', '+'),
};

/** What happens to base64 or hexadecimal digits on the way. A blank at an end may be a + or none. */
const damages: readonly (readonly Kind[])[] = [
  [encoded, outside, lines, blanks],
  [encoded, lines, blanks],
];

export interface Damage {
  /** What has happened, and what to do about it. */
  readonly because: string;
  readonly repaired: string;
}

/**
 * What has damaged a text on the way: `isWhole` is true once that is undone. Undefined if nothing is known. Of two
 * ways to undo it, the one is right that leaves whole groups of four characters.
 */
export function damageIn(text: string, isWhole: (text: string) => boolean): Damage | undefined {
  const possible = damages.map((kinds) => undo(kinds, text)).filter(({ repaired }) => isWhole(repaired));
  const damage = possible.find(({ repaired }) => repaired.length % 4 === 0) ?? possible[0];
  return damage?.because === '' ? undefined : damage;
}

function undo(kinds: readonly Kind[], text: string): Damage {
  const found: string[] = [];
  let repaired = text;
  for (const kind of kinds) {
    const undone = kind.undo(repaired);
    if (undone !== repaired) found.push(kind.text);
    repaired = undone;
  }
  return { because: found.join('; '), repaired };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
