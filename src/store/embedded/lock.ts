import { rmSync, statSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { isBusy } from './sqlite-errors.ts';

/** How a process waits for SQLite's write lock. The wait blocks the thread that writes. */
export interface LockWait {
  readonly waitMs: number;
  /** Whether writers without priority yield to this process. */
  readonly hasPriority: boolean;
}

/** The callers of a service wait for an answer, so a service gives up soon. */
export const SERVICE_WAIT: LockWait = { waitMs: 500, hasPriority: false };
/** A command can wait. A freeze must succeed while services are busy, even if the disk stalls for seconds. */
export const COMMAND_WAIT: LockWait = { waitMs: 30_000, hasPriority: true };
/** An archiver has time, and must not delay decisions. */
export const BACKGROUND_WAIT: LockWait = { waitMs: 30_000, hasPriority: false };

const RETRY_MS = 0.5;
/** How often a request is repeated. A request that isn't repeated is from a process that was killed. */
const REQUEST_EVERY_MS = 100;
/** The longest time that a writer yields before one transaction, and to one request. */
const YIELD_MS = 400;
/** How often a writer looks for a request, at most. Looking costs as much as a small statement. */
const CHECK_EVERY_MS = 10;

/**
 * This file exists while a process requests priority. SQLite's locks don't say whether another process
 * waits.
 */
const requestFileOf = (file: string): string => `${file}-waits`;

/**
 * Begins a transaction that writes. SQLite's own wait retries up to 100 ms apart, so it can miss all gaps
 * between the transactions of other writers, and busy writers can pass the lock among themselves.
 * Therefore a process with priority requests that the others yield. It does so before its first try: while
 * others write, `BEGIN` itself retries inside SQLite for up to ten seconds, because the head of the
 * write-ahead log changes under it. Throws what SQLite throws at the end of the wait.
 */
export function createBegin(file: string, connection: DatabaseSync, wait: LockWait): () => void {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const waitNever = connection.prepare('PRAGMA busy_timeout = 0');
  const waitAsUsual = connection.prepare(`PRAGMA busy_timeout = ${wait.waitMs}`);
  const pause = createPause();
  const mustYield = wait.hasPriority ? () => false : createRequestCheck(file);
  const requestFile = requestFileOf(file);

  const beginInTime = (): void => {
    const sinceMs = performance.now();
    let requestAtMs = sinceMs;
    for (let nowMs = sinceMs; ; nowMs = performance.now()) {
      if (wait.hasPriority && nowMs >= requestAtMs) {
        requestPriority(requestFile);
        if (nowMs === sinceMs) pause(CHECK_EVERY_MS + RETRY_MS);
        requestAtMs = nowMs + REQUEST_EVERY_MS;
      }
      const yields = nowMs < sinceMs + YIELD_MS && mustYield(nowMs);
      if (!yields) {
        try {
          begin.run();
          return;
        } catch (thrown) {
          if (!isBusy(thrown) || nowMs >= sinceMs + wait.waitMs) throw thrown;
        }
      }
      pause(RETRY_MS);
    }
  };

  return () => {
    waitNever.get();
    try {
      beginInTime();
    } finally {
      waitAsUsual.get();
      if (wait.hasPriority) withdrawRequest(requestFile);
    }
  };
}

/** Without a request this process waits like all others. */
function requestPriority(requestFile: string): void {
  try {
    writeFileSync(requestFile, '');
  } catch {
    // The disk is full, or the folder is read-only: the lock can still be taken once it is free.
  }
}

function withdrawRequest(requestFile: string): void {
  try {
    rmSync(requestFile, { force: true });
  } catch {
    // The others ignore it after YIELD_MS.
  }
}

/** Whether another process requests priority. A request that isn't repeated is ignored after YIELD_MS. */
function createRequestCheck(file: string): (nowMs: number) => boolean {
  const requestFile = requestFileOf(file);
  let requestedAt: bigint | undefined;
  let foundAtMs = 0;
  let checkAgainMs = 0;
  return (nowMs) => {
    if (nowMs >= checkAgainMs) {
      const found = modifiedAt(requestFile);
      if (found !== requestedAt) [requestedAt, foundAtMs] = [found, nowMs];
      checkAgainMs = nowMs + CHECK_EVERY_MS;
    }
    return requestedAt !== undefined && nowMs < foundAtMs + YIELD_MS;
  };
}

function modifiedAt(path: string): bigint | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
  } catch {
    return undefined;
  }
}

/** Blocks the thread. */
export function createPause(): (pauseMs: number) => void {
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return (pauseMs) => void Atomics.wait(cell, 0, 0, pauseMs);
}
