import { messageOf } from '../../src/errors.ts';

/** The answer of a receiver, or the reason why there is none. */
export type Answer =
  | { readonly ok: true; readonly status: number; readonly text: string }
  | { readonly ok: false; readonly why: string };

/** Longer answers are not read to their end. */
const ANSWER_BYTES_MAX = 4096;

export interface Call {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
}

/** Posts JSON. Follows no redirect, and never rejects. */
export async function post({ url, headers, body, timeoutMs }: Call): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > ANSWER_BYTES_MAX)
        return { ok: false, why: `its answer has more than ${ANSWER_BYTES_MAX} bytes` };
    }
    return { ok: true, status: response.status, text: Buffer.concat(chunks).toString('utf8') };
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === 'TimeoutError') {
      return { ok: false, why: `it did not answer within ${timeoutMs} ms` };
    }
    const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
    return { ok: false, why: `it can't be reached: ${messageOf(cause)}` };
  }
}

/** The answer for the log: short, on one line. */
export function shownAnswer(answer: Answer): string {
  if (!answer.ok) return answer.why;
  const text = JSON.stringify(answer.text.slice(0, 100));
  return answer.status === 200 ? text : `HTTP ${answer.status} ${text}`;
}
