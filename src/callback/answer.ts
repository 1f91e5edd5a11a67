import type { Verdict } from './callback.ts';

/** The bytes that stand for yes and for no (section 6.4; for payments not shown, so a setting). */
export interface AnswerFormat {
  readonly contentType: string;
  readonly success: string;
  readonly failure: string;
}

export const plainAnswer: AnswerFormat = {
  contentType: 'text/plain',
  success: 'SUCCESS',
  failure: 'FAILURE',
};

/** As a sibling callback of the platform is answered: an envelope whose code is "0" for yes (section 7). */
export const jsonAnswer: AnswerFormat = {
  contentType: 'application/json',
  success: '{"code":"0","msg":"success","data":"success"}',
  failure: '{"code":"1","msg":"failure","data":"failure"}',
};

/** What is sent back for one callback. */
export interface Answer {
  readonly contentType: string;
  readonly body: string;
}

export function answerOf(verdict: Verdict, format: AnswerFormat = plainAnswer): Answer {
  return { contentType: format.contentType, body: verdict === 'SUCCESS' ? format.success : format.failure };
}

/** To a self-check: each hash judged for itself. */
export function selfCheckAnswer(valid: { readonly client: boolean; readonly verify: boolean }): Answer {
  const word = (yes: boolean): Verdict => (yes ? 'SUCCESS' : 'FAILURE');
  return {
    contentType: 'application/json',
    body: JSON.stringify({
      client_system_pubkey_hash_valid: word(valid.client),
      verify_sign_pub_hash_valid: word(valid.verify),
    }),
  };
}
