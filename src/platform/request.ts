import { setTimeout as pauseFor } from 'node:timers/promises';
import { CountersignError } from '../errors.ts';
import { type Clock, systemClock } from '../values/clock.ts';
import type { Member, Members } from '../values/members.ts';
import { fixOfDoubt, invalidAnswer, readAnswer } from './envelope.ts';
import { PlatformError } from './error.ts';
import {
  type CheckedParameters,
  type DataOf,
  type Operation,
  type ParametersOf,
  checkParameters,
  describeOperation,
  parameterError,
} from './operation.ts';
import { type PlatformCredentials, type Protection, createProtection } from './protection.ts';
import { type Posted, post } from './transport.ts';

export interface PlatformConfig {
  /** The base address, such as `https://openapi.example.com`. */
  readonly url: string;
  /** The second segment of the path, which the specification writes as `vendor`. */
  readonly segment?: string;
  readonly credentials: PlatformCredentials;
  /** The time limit for one request and its whole answer, in milliseconds. By default 30 s. */
  readonly timeoutMs?: number;
  /** How often a reading operation is sent again after a fault that may pass. By default 2. */
  readonly retries?: number;
  /** The most bytes of an answer. By default 16 MiB; a page of 2,000 bill records has about 1 MiB. */
  readonly answerBytes?: number;
}

/** The time, the randomness of the jitter, and the pause between attempts. Tests give their own. */
export interface PlatformParts {
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Rejects if the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export const systemParts: PlatformParts = {
  clock: systemClock,
  random: Math.random,
  pause: (ms, signal) => pauseFor(ms, undefined, signal === undefined ? {} : { signal }),
};

export interface CallOptions {
  /** Instead of that of the configuration. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call. The outcome of a payment is then unknown. */
  readonly signal?: AbortSignal | undefined;
}

/** What all operations share. */
export interface Connection extends PlatformParts {
  readonly base: string;
  readonly protection: Protection;
  readonly timeoutMs: number;
  readonly retries: number;
  readonly answerBytes: number;
}

const TIMEOUT_MS = 30_000;
const TIMEOUT_MOST_MS = 300_000;
const ANSWER_BYTES = 16 * 1024 * 1024;
const RETRIES = 2;
const RETRIES_MOST = 10;

/** Throws USAGE, or KEY_UNREADABLE. */
export function createConnection(config: PlatformConfig, parts: PlatformParts): Connection {
  const { url, segment = 'vendor', timeoutMs = TIMEOUT_MS, retries = RETRIES } = config;
  if (!/^https?:\/\/[^\s#?@]+$/.test(url) || !URL.canParse(url)) {
    throw usage('url is not a base address; write one such as https://openapi.example.com');
  }
  if (!/^[A-Za-z0-9._~-]{1,64}$/.test(segment) || /^\.+$/.test(segment)) {
    throw usage(`segment ${JSON.stringify(segment)} is not one segment of a path; write one such as vendor`);
  }
  checkTimeout(timeoutMs);
  if (!Number.isInteger(retries) || retries < 0 || retries > RETRIES_MOST) {
    throw usage(`retries is ${retries}; write a whole number from 0 to ${RETRIES_MOST}`);
  }
  return {
    ...parts,
    base: `${url.replace(/\/+$/, '')}/platformapi/${segment}/open/`,
    protection: createProtection(config.credentials),
    timeoutMs,
    retries,
    answerBytes: config.answerBytes ?? ANSWER_BYTES,
  };
}

function checkTimeout(timeoutMs: number): number {
  if (Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= TIMEOUT_MOST_MS) return timeoutMs;
  throw usage(`timeoutMs is ${timeoutMs}; write milliseconds from 1 to ${TIMEOUT_MOST_MS}`);
}

function usage(because: string): CountersignError {
  return new CountersignError('USAGE', `the platform's ${because}`);
}

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
      throw faultError('PLATFORM_CANCELLED', operation, 'it was cancelled');
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
    throw faultError('PLATFORM_TIMEOUT', operation, `the answer was not complete within ${timeoutMs} ms`);
  }
  if (posted.kind === 'cancelled') {
    throw posted.sent
      ? faultError('PLATFORM_CANCELLED', operation, 'it was cancelled before its answer was complete')
      : new PlatformError('PLATFORM_CANCELLED', 'it was cancelled before it was sent', {
          ...describeOperation(operation),
          outcome: 'not-sent',
          fix: 'nothing was sent',
        });
  }
  if (posted.kind === 'broken') {
    throw posted.sent
      ? faultError('PLATFORM_UNREACHABLE', operation, `the connection broke (${posted.because})`)
      : notSent(operation, connection, posted.because);
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

function faultError(
  code: 'PLATFORM_TIMEOUT' | 'PLATFORM_CANCELLED' | 'PLATFORM_UNREACHABLE',
  operation: Operation,
  because: string,
): PlatformError {
  return new PlatformError(code, because, {
    ...describeOperation(operation),
    outcome: operation.reads ? 'not-read' : 'unknown',
    fix: fixOfDoubt(operation),
  });
}

function notSent(operation: Operation, { base }: Connection, because: string): PlatformError {
  return new PlatformError('PLATFORM_UNREACHABLE', `${new URL(base).origin} can't be reached (${because})`, {
    ...describeOperation(operation),
    outcome: 'not-sent',
    fix: 'nothing was sent; check platform.url and the network',
  });
}
