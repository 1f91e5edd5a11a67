import type { Shot } from './generate.ts';
import { type Random, bytesOf } from './random.ts';
import type { Sent } from './reference/reading.ts';

/*
 * Callbacks as HTTP requests, some of which are none.
 */

/** One request as it goes over the wire, and what the reference is to read in it. */
export interface Message {
  readonly label: string;
  readonly bytes: Uint8Array;
  /** Undefined where it is no request that could be answered SUCCESS, whatever its body. */
  readonly sent: Sent | undefined;
  /** Whether a FAILURE would be a wrong one if the reference says yes. */
  readonly fine: boolean;
  /** How many answers are in order. */
  readonly answersMax: number;
}

type Head = readonly (readonly [name: string, value: string])[];

const JSON_TYPES: readonly [string, ...string[]] = [
  'application/json',
  'application/json;charset=UTF-8',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'application/json ; charset="utf-8" ',
];
const OTHER_TYPES: readonly [string, ...string[]] = [
  'text/plain',
  'application/jsonx',
  'application/json; charset=latin1',
  'application/json; charset=utf-16',
  'application/json, application/json',
  'application/x-www-form-urlencoded',
  `application/json${' '.repeat(14_000)}x`,
  `application/json${'; '.repeat(5000)}x`,
  `application/json; charset${' '.repeat(12_000)}=`,
  `application/json;charset=${'utf-8;charset='.repeat(700)}`,
  '',
];

/** The request that carries a callback, perhaps spoilt in its head or its framing. */
export function messageOf(random: Random, shot: Shot): Message {
  const { body } = shot.sent;
  const own: Head = [['Host', 'x'], ...Object.entries(shot.headers), ['Connection', 'close']];
  // Over a socket every address is this one, so what was wrong with it is not.
  const sent: Sent = { ...shot.sent, address: '127.0.0.1' };
  const fine = (head: Head, rest: Uint8Array, label: string): Message => ({
    label: `http: ${label}`,
    bytes: requestOf(shot.path, [...own, ...head], rest),
    sent,
    fine: true,
    answersMax: 1,
  });
  const bad = (head: Head, label: string, answersMax = 1): Message => ({
    ...fine(head, body, label),
    sent: undefined,
    fine: false,
    answersMax,
  });
  const type = ['Content-Type', random.pick(JSON_TYPES)] as const;
  const length = ['Content-Length', String(body.length)] as const;
  switch (random.below(14)) {
    case 0:
      return fine([type, ['Transfer-Encoding', 'chunked']], chunked(random, body), 'in chunks');
    case 1:
      return bad([['Content-Type', random.pick(OTHER_TYPES)], length], 'another content type');
    case 2:
      return bad(
        [type, length, ['Content-Encoding', random.pick(['gzip', 'deflate', 'br', 'x'])]],
        'an encoding',
      );
    case 3:
      return bad([type, length, ['Transfer-Encoding', 'chunked']], 'length and chunks', 2);
    case 4:
      return bad([type, length, ['Content-Length', String(body.length + 1)]], 'two lengths', 2);
    case 5:
      return shorter(random, fine([type], body, 'a shorter length'), {
        path: shot.path,
        head: [...own, type],
        body,
      });
    case 6:
      return twice(shot, fine([type, length], body, 'its headers twice'), [type, length]);
    case 7:
      return flipped(random, fine([type, length], body, 'a byte of its head changed'));
    case 8:
      return fine([type, length, ['Expect', '100-continue']], body, 'after a question');
    default:
      return fine([type, length], body, 'as it is');
  }
}

function requestOf(path: string, head: Head, body: Uint8Array): Uint8Array {
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}\r\n`, 'latin1'), body]);
}

function chunked(random: Random, body: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let from = 0; from < body.length;) {
    const part = body.subarray(from, from + 1 + random.below(Math.max(1, body.length / 2)));
    const extension = random.oneIn(4) ? ';x=y' : '';
    parts.push(Buffer.from(`${part.length.toString(16)}${extension}\r\n`), part, Buffer.from('\r\n'));
    from += part.length;
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

/** What the length leaves over is another request, or none. */
function shorter(
  random: Random,
  message: Message,
  { path, head, body }: { readonly path: string; readonly head: Head; readonly body: Uint8Array },
): Message {
  const length = random.below(body.length + 1);
  return {
    ...message,
    bytes: requestOf(path, [...head, ['Content-Length', String(length)]], body),
    sent: message.sent === undefined ? undefined : { ...message.sent, body: body.subarray(0, length) },
    answersMax: 2,
  };
}

/** Of a header that came twice nobody knows which one counts, so a co-signer has shown nothing. */
function twice(shot: Shot, message: Message, head: Head): Message {
  const credentials = Object.entries(shot.headers);
  if (credentials.length === 0 || message.sent === undefined) return message;
  return {
    ...message,
    bytes: requestOf(
      shot.path,
      [['Host', 'x'], ...credentials, ...credentials, ['Connection', 'close'], ...head],
      shot.sent.body,
    ),
    sent: { ...message.sent, header: () => undefined },
  };
}

/** Nobody can say what comes of it, but only a body that may pass may be passed. */
function flipped(random: Random, message: Message): Message {
  const bytes = Buffer.from(message.bytes);
  const at = random.below(bytes.indexOf('\r\n\r\n'));
  const by = bytesOf(random, 1);
  const isQuiet = /length|connection|transfer/i.test(lineAt(bytes, at));
  // A length that is too long, or a connection that stays open, would only be waited for.
  if (!isQuiet) bytes[at] = by[0] ?? 0;
  return { ...message, bytes, fine: false, answersMax: 2 };
}

function lineAt(bytes: Buffer, at: number): string {
  const text = bytes.toString('latin1');
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, text.indexOf('\r\n', at) + 20);
}
