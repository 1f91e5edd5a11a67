import { setTimeout as pauseFor } from 'node:timers/promises';
import { CountersignError, usageError } from '../../src/errors.ts';
import { type Clock, systemClock } from '../../src/values/clock.ts';
import { type PlatformCredentials, type Protection, createProtection } from './protection.ts';

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

/** Throws USAGE. */
export function checkTimeout(timeoutMs: number): number {
  if (Number.isInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= TIMEOUT_MOST_MS) return timeoutMs;
  throw usage(`timeoutMs is ${timeoutMs}; write milliseconds from 1 to ${TIMEOUT_MOST_MS}`);
}

function usage(because: string): CountersignError {
  return usageError(`the platform's ${because}`);
}
