import type { PluginAnswer } from '../policy/facts.ts';
import { decodeMembers } from '../values/members.ts';
import { sentence } from './sentence.ts';
import { isAnswerSigned } from './signing.ts';
import { Unanswered } from './unanswered.ts';

/** The longest body of an answer. */
export const ANSWER_BYTES = 4096;
const BOUNDS = { bytes: ANSWER_BYTES, members: 3, depth: 1, numberCharacters: 80 };
const MEMBERS: ReadonlySet<string> = new Set(['nonce', 'verdict', 'because']);

export interface Received {
  readonly status: number;
  /** None of one that was sent twice. */
  readonly signature: string | undefined;
  readonly body: Uint8Array;
}

/**
 * What a service answered to the question with this nonce. Throws Unanswered for all that is not a signed yes
 * or no.
 */
export function readAnswer(
  { signature, body }: Pick<Received, 'signature' | 'body'>,
  nonce: string,
  secret: string,
): PluginAnswer {
  if (signature === undefined) throw new Unanswered('its answer is not signed');
  if (!isAnswerSigned(secret, nonce, body, signature)) {
    throw new Unanswered('the signature of its answer is not that of this question, body and secret');
  }
  const decoded = decodeMembers(body, BOUNDS);
  if (!decoded.ok) throw new Unanswered(`its answer can't be read: ${decoded.because}`);
  const { members } = decoded;
  const strange = [...members.keys()].find((name) => !MEMBERS.has(name));
  if (strange !== undefined) throw new Unanswered(`its answer has a member that is not known: ${strange}`);
  if ([...members.values()].some(({ kind }) => kind !== 'string')) {
    throw new Unanswered('its answer has a member that is no text');
  }
  if (members.get('nonce')?.text !== nonce) throw new Unanswered('its answer names another nonce');
  const verdict = members.get('verdict')?.text;
  if (verdict !== 'yes' && verdict !== 'no') throw new Unanswered('its verdict is neither yes nor no');
  return { verdict, because: sentence(members.get('because')?.text ?? '') };
}
