import { gzipSync } from 'node:zlib';
import type { Fault } from './faults.ts';
import { type Json, type JsonObject, isExactNumber, isList } from './json.ts';
import type { Reply } from './server.ts';
import { type Scheme, flipped } from './signing.ts';

/** An answer before it is written with a scheme. Without a code it says neither yes nor no. */
export interface Answer {
  readonly code: string | undefined;
  readonly msg: string;
  readonly data: Json;
  readonly scheme: Scheme | undefined;
}

/** What a fault does to an answer: before it is written, to its members, or to its text. */
interface Effect {
  /** Only answers with this scheme can have it. */
  readonly scheme?: Scheme;
  readonly changes?: (answer: Answer) => Answer;
  readonly writes?: (members: JsonObject) => JsonObject;
  readonly sends?: (text: string) => Partial<Reply>;
}

const refusing =
  (code: string, msg: string) =>
  (answer: Answer): Answer => ({ ...answer, code, msg, data: null });
const changing =
  (change: (data: Json) => Json) =>
  (answer: Answer): Answer => ({ ...answer, data: change(answer.data) });

const EFFECTS = {
  'answer-lost': { sends: () => ({ delivery: 'lost' }) },
  'answer-cut': { sends: () => ({ delivery: 'cut' }) },
  'answer-drip': { sends: () => ({ delivery: 'drip' }) },
  'answer-endless': { sends: () => ({ delivery: 'endless' }) },
  'answer-status': { sends: () => ({ status: 500 }) },
  'answer-redirect': {
    sends: () => ({ status: 307, body: '', headers: { location: '/elsewhere?token=secret' } }),
  },
  'answer-html': {
    sends: () => ({ body: '<!doctype html><p>It works', headers: { 'content-type': 'text/html' } }),
  },
  'answer-type': { sends: () => ({ headers: { 'content-type': 'text/plain' } }) },
  'answer-gzip': {
    sends: (text) => ({ body: gzipSync(text), headers: { 'content-encoding': 'gzip' } }),
  },
  'answer-empty': { sends: () => ({ body: '' }) },
  'answer-half': { sends: (text) => ({ body: text.slice(0, text.length / 2) }) },
  'answer-twice': { sends: (text) => ({ body: text.replace('{', '{"msg":"",') }) },
  'answer-code': { changes: (answer) => ({ ...answer, code: undefined }) },
  'answer-error': { changes: refusing('10001', 'system error') },
  'answer-denied': { changes: refusing('10015', 'operation failed') },
  'answer-scheme': {
    changes: (answer) => ({ ...answer, scheme: answer.scheme === 'rsa-envelope' ? 'md5' : 'rsa-envelope' }),
  },
  'answer-kinds': { changes: changing(inLists) },
  'answer-member': { changes: changing(withoutMember) },
  'answer-count': { changes: changing(countingMore) },
  // The page itself is changed by the operation.
  'answer-pages': {},
  'answer-sign': {
    scheme: 'rsa-envelope',
    writes: (members) => ({ ...members, sign: spoilt(members['sign']) }),
  },
  'answer-unsigned': { scheme: 'rsa-envelope', writes: (members) => without(members, 'sign') },
  'answer-data': {
    scheme: 'rsa-envelope',
    writes: (members) => ({ ...members, data: spoilt(members['data']) }),
  },
} as const satisfies Readonly<Partial<Record<Fault, Effect>>>;

export type AnswerFault = keyof typeof EFFECTS;

export const ANSWER_FAULTS = Object.keys(EFFECTS).filter((name): name is AnswerFault => name in EFFECTS);

export const effectOf = (fault: AnswerFault | undefined): Effect =>
  fault === undefined ? {} : EFFECTS[fault];

/** An answer without data has empty texts, which stay so. */
const spoilt = (text: Json | undefined): Json =>
  typeof text === 'string' && text !== '' ? flipped(text) : '';

/** Each value that is no object is in a list of its own. */
function inLists(data: Json): Json {
  if (typeof data !== 'object' || data === null || isExactNumber(data)) return [data];
  if (isList(data)) return data.map(inLists);
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, inLists(value)]));
}

/** Without its first list, or else its first member. */
function withoutMember(data: Json): Json {
  if (typeof data !== 'object' || data === null || isExactNumber(data)) return data;
  if (isList(data)) return data.map(withoutMember);
  const members = Object.entries(data);
  const [left] = members.find(([, value]) => isList(value)) ?? members[0] ?? [];
  return without(data, left);
}

const without = (members: JsonObject, left: string | undefined): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([name]) => name !== left));

function countingMore(data: Json): Json {
  if (typeof data !== 'object' || data === null || isExactNumber(data)) return data;
  if (isList(data)) return data.map(countingMore);
  return data['count'] === undefined ? data : { ...data, count: Number(data['count']) + 1 };
}
