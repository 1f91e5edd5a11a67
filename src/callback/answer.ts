import type { Verdict } from './callback.ts';

/**
 * The bodies of an approval and of a refusal (section 6.4). The specification does not define them for
 * payments, so they are a setting.
 */
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

/**
 * A JSON object with the code "0" for SUCCESS and "1" for FAILURE, like the answers to other callbacks of the
 * platform (section 7).
 */
export const jsonAnswer: AnswerFormat = {
  contentType: 'application/json',
  success: '{"code":"0","msg":"success","data":"success"}',
  failure: '{"code":"1","msg":"failure","data":"failure"}',
};

/** The answer to one callback. */
export interface Answer {
  readonly contentType: string;
  readonly body: string;
}

export function answerOf(verdict: Verdict, format: AnswerFormat = plainAnswer): Answer {
  return { contentType: format.contentType, body: verdict === 'SUCCESS' ? format.success : format.failure };
}

/** The answer to a self-check, with a verdict for each hash. */
export function selfCheckAnswer(valid: { readonly client: boolean; readonly verify: boolean }): Answer {
  const verdict = (yes: boolean): Verdict => (yes ? 'SUCCESS' : 'FAILURE');
  return {
    contentType: 'application/json',
    body: JSON.stringify({
      client_system_pubkey_hash_valid: verdict(valid.client),
      verify_sign_pub_hash_valid: verdict(valid.verify),
    }),
  };
}
