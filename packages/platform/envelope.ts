import { failure, type Failure } from '../../src/errors.ts';
import { exactValue } from '../../src/values/exact-json.ts';
import {
  type Bounds,
  type Member,
  type Members,
  decodeMembers,
  membersJson,
} from '../../src/values/members.ts';
import { printableSentence } from '../../src/values/printable.ts';
import { platformCode } from './codes.ts';
import { PlatformError } from './error.ts';
import { type Operation, invalidAnswer } from './operation.ts';
import type { Protection } from './protection.ts';
import { faultsText } from './readings.ts';

/** A page of 2,000 records of 60 members each has 120,000 members. */
const ANSWER_BOUNDS: Omit<Bounds, 'bytes'> = { members: 2_000_000, depth: 16, numberCharacters: 128 };

/**
 * The data of an answer `{code, msg, message, data, sign}`. Throws PLATFORM_REFUSED if the code is not 0, and
 * PLATFORM_ANSWER_INVALID if any part of the answer is not as the specification says.
 */
export function readAnswer(
  operation: Operation,
  bytes: Uint8Array,
  { protection, secrets }: { readonly protection: Protection; readonly secrets: readonly string[] },
): unknown {
  const bounds = { ...ANSWER_BOUNDS, bytes: bytes.length };
  const answer = decodeMembers(bytes, bounds);
  if (!answer.ok) throw invalidAnswer(operation, answer.because);
  const { members } = answer;
  const isBare = operation.answer === 'bare' && !members.has('code') && !members.has('data');
  if (isBare) return readData(operation, exactOf(operation, rawObject(members), bounds));

  const code = codeOf(members);
  // 4.21 has no code in its envelope either.
  if (code === undefined && operation.answer !== 'bare') {
    throw invalidAnswer(operation, 'the member code, which says yes or no, is missing or is not a text');
  }
  if (code !== undefined && code !== '0') throw refusal(operation, code, members, secrets);

  const opened = protection.open(members.get('data') ?? NULL, members.get('sign'));
  if (!opened.ok) throw invalidAnswer(operation, opened.because, { reason: opened.code });
  if ('plain' in opened) {
    const plain = exactOf(operation, opened.plain, bounds);
    // Anybody on the way could make an empty answer of one that has to be signed.
    return readData(protection.signsAnswers ? { ...operation, empty: undefined } : operation, plain);
  }
  const decrypted = decodeJson(opened.text, bounds);
  if (!decrypted.ok) throw invalidAnswer(operation, `in the decrypted data, ${decrypted.because}`);
  return readData(operation, exactOf(operation, decrypted.member, bounds));
}

const NULL: Member = { kind: 'null', text: 'null' };

function rawObject(members: Members): Member {
  return { kind: 'object', text: membersJson(members) };
}

/** Any JSON value as a member. It is wrapped, so that one reader checks all of it. */
function decodeJson(
  bytes: Uint8Array,
  bounds: Bounds,
): { readonly ok: true; readonly member: Member } | Failure {
  const wrapped = Buffer.concat([Buffer.from('{"data":'), bytes, Buffer.from('}')]);
  const decoded = decodeMembers(wrapped, { ...bounds, bytes: wrapped.length });
  if (!decoded.ok) return decoded;
  const member = decoded.members.get('data');
  return member === undefined || decoded.members.size !== 1
    ? failure('NOT_JSON', 'the text is not one JSON value')
    : { ok: true, member };
}

function exactOf(operation: Operation, member: Member, bounds: Bounds): unknown {
  const read = exactValue(member, bounds);
  if (!read.ok) throw invalidAnswer(operation, read.because);
  return read.value;
}

function codeOf(members: Members): string | undefined {
  const code = members.get('code');
  return (code?.kind === 'string' || code?.kind === 'number') && code.text !== '' ? code.text : undefined;
}

function readData(operation: Operation, value: unknown): unknown {
  const parsed = operation.data.safeParse(value === null ? (operation.empty ?? null) : value);
  if (parsed.success) return parsed.data;
  throw invalidAnswer(operation, faultsText(parsed.error.issues, ['data']));
}

function refusal(
  operation: Operation,
  code: string,
  members: Members,
  secrets: readonly string[],
): PlatformError {
  const { meaning, fix, doubtful } = platformCode(code);
  const said = [members.get('msg'), members.get('message')].find(
    (member) => member?.kind === 'string' && member.text !== '',
  );
  const message = printableSentence(withoutSecrets(said?.text ?? '', secrets));
  const shownCode = printableSentence(withoutSecrets(code, secrets)).slice(0, 32);
  const words = message === '' ? '' : `, in its words ${JSON.stringify(message)}`;
  return new PlatformError('PLATFORM_REFUSED', `the platform answers ${shownCode}, ${meaning}${words}`, {
    operation: operation.name,
    section: operation.section,
    outcome: doubtful === true && !operation.reads ? 'unknown' : 'refused',
    fix,
    refusal: { code: shownCode, meaning, message },
  });
}

/** A text of the platform, which may repeat what was sent to it. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret !== '')
    .reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
}
