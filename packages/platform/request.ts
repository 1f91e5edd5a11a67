import type { Member, Members } from '../../src/values/members.ts';
import type { CallOptions } from './calls.ts';
import { type Connection, checkTimeout } from './connection.ts';
import { readAnswer } from './envelope.ts';
import {
  type CheckedParameters,
  type DataOf,
  type Operation,
  type ParametersOf,
  checkParameters,
  doubtful,
  invalidAnswer,
  notSent,
  parameterError,
} from './operation.ts';
import { type Posted, post } from './transport.ts';

/**
 * Sends one operation and reads its answer. A reading operation is sent again, after a pause with jitter, if
 * the platform could not be reached, was late, or failed with a status from 500. No other operation is ever
 * sent twice. Throws a PlatformError.
 */
export async function request<O extends Operation>(
  connection: Connection,
  operation: O,
  parameters: ParametersOf<O>,
  options?: CallOptions,
): Promise<DataOf<O>>;
export async function request(
  connection: Connection,
  operation: Operation,
  parameters: unknown,
  { timeoutMs = connection.timeoutMs, signal }: CallOptions = {},
): Promise<unknown> {
  checkTimeout(timeoutMs);
  const checked = checkParameters(operation, parameters, connection.clock());
  for (let attempt = 0; ; attempt++) {
    const posted = await post({
      url: connection.base + operation.path,
      body: sealed(connection, operation, checked),
      timeoutMs,
      answerBytes: connection.answerBytes,
      signal,
    });
    const mayPass =
      posted.kind === 'broken' ||
      posted.kind === 'timeout' ||
      (posted.kind === 'answer' && posted.status >= 500);
    if (!mayPass || !operation.reads || attempt >= connection.retries || signal?.aborted === true) {
      return readPosted(posted, connection, { operation, checked, timeoutMs });
    }
    const pauseMs = Math.floor(connection.random() * Math.min(PAUSE_MOST_MS, PAUSE_MS * 2 ** attempt));
    await connection.pause(pauseMs, signal).catch(() => {
      throw doubtful('PLATFORM_CANCELLED', operation, 'it was cancelled');
    });
  }
}

/** The longest pause before the second attempt. It doubles with each attempt. */
const PAUSE_MS = 500;
const PAUSE_MOST_MS = 8_000;

function sealed({ protection, clock }: Connection, operation: Operation, checked: CheckedParameters): string {
  const { numbers = [] } = operation;
  const members: Members = new Map(
    Array.from(checked, ([name, text]): [string, Member] => [
      name,
      { kind: numbers.includes(name) ? 'number' : 'string', text },
    ]),
  );
  if (operation.body !== 'encrypted') return protection.seal(members, clock());
  const result = protection.sealEncrypted(members, clock());
  if (typeof result === 'string') throw parameterError(operation, [result]);
  return result.body;
}

/** The data of an answer. Throws what became of the request otherwise. */
function readPosted(
  posted: Posted,
  connection: Connection,
  {
    operation,
    checked,
    timeoutMs,
  }: { readonly operation: Operation; readonly checked: CheckedParameters; readonly timeoutMs: number },
): unknown {
  if (posted.kind === 'too-large') {
    throw invalidAnswer(operation, `it has more than ${connection.answerBytes} bytes`);
  }
  if (posted.kind === 'timeout') {
    throw doubtful('PLATFORM_TIMEOUT', operation, `the answer was not complete within ${timeoutMs} ms`);
  }
  if (posted.kind === 'cancelled') {
    throw posted.sent
      ? doubtful('PLATFORM_CANCELLED', operation, 'it was cancelled before its answer was complete')
      : notSent('PLATFORM_CANCELLED', operation, 'it was cancelled before it was sent');
  }
  if (posted.kind === 'broken') {
    const { origin } = new URL(connection.base);
    throw posted.sent
      ? doubtful('PLATFORM_UNREACHABLE', operation, `the connection broke (${posted.because})`)
      : notSent('PLATFORM_UNREACHABLE', operation, `${origin} can't be reached (${posted.because})`, {
          fix: 'nothing was sent; check platform.url and the network',
        });
  }
  const fault = faultOfAnswer(posted);
  if (fault !== undefined) throw invalidAnswer(operation, fault, { status: posted.status });
  const { protection } = connection;
  const own = (operation.secrets ?? []).map((name) => checked.get(name) ?? '');
  return readAnswer(operation, posted.body, { protection, secrets: [...protection.secrets, ...own] });
}

/** The fault of an answer's status or type; undefined if its body can be read. */
function faultOfAnswer({
  status,
  contentType,
  encoding,
  location,
}: Extract<Posted, { kind: 'answer' }>): string | undefined {
  if (status >= 300 && status < 400) {
    const where = location === undefined ? '' : ` to ${location}`;
    return `it is a redirect${where}, which is not followed; write the final address in platform.url`;
  }
  if (status !== 200) return `its HTTP status is ${status}, not 200`;
  if (encoding !== 'identity') return `it is compressed (${encoding.slice(0, 40)}), which was not asked for`;
  if (/^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i.test(contentType)) return undefined;
  return /^text\/html/i.test(contentType)
    ? 'it is a web page (HTML) and not JSON; check platform.url and platform.segment'
    : `its content type is ${JSON.stringify(contentType.slice(0, 80))} and not application/json`;
}
