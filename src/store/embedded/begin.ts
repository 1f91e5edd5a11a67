import { rmSync, statSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { isBusy } from './fault.ts';

/** How a process waits for the transactions of others, which keeps the waiting thread from all else. */
export interface LockWait {
  readonly waitMs: number;
  /** Whether those that only give way let it pass first, once it has waited for a moment. */
  readonly goesFirst: boolean;
}

/** A service has callers that wait: beyond that they had rather be told. */
export const SERVICE_WAITS: LockWait = { waitMs: 500, goesFirst: false };
/**
 * A command has time, and a freeze must come about beside whatever is decided, also while the disk stalls for
 * seconds.
 */
export const COMMAND_WAITS: LockWait = { waitMs: 30_000, goesFirst: true };

const LOOK_MS = 0.5;
/** What waits for longer than that asks for the way, */
const ASK_AFTER_MS = 20;
/** and asks again so often: who asks no more may have been killed. */
const ASK_EVERY_MS = 100;
/** For so long at most way is given before one transaction, and to one question. */
const GIVE_WAY_MS = 400;
/**
 * How often a transaction looks, at most, whether an operator waits for the lock: a look costs as much as a
 * small statement.
 */
const LISTEN_EVERY_MS = 10;

/** Present while somebody asks for the way. SQLite's locks do not tell that anybody waits for them. */
const questionOf = (file: string): string => `${file}-waits`;

/**
 * Begins a transaction that writes. SQLite's own wait looks ever more rarely, up to a tenth of a second
 * apart, and so can miss every gap between the transactions of busy writers; and however often one looks,
 * several of them can take every gap from it. So who `goesFirst` asks for the way. Throws what SQLite throws
 * once the wait is over.
 */
export function createBegin(file: string, connection: DatabaseSync, wait: LockWait): () => void {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const atOnce = connection.prepare('PRAGMA busy_timeout = 0');
  const patient = connection.prepare(`PRAGMA busy_timeout = ${wait.waitMs}`);
  const pause = createPause();
  const isAsked = wait.goesFirst ? () => false : createListening(file);
  const question = questionOf(file);

  const beginWithin = (asked: () => void): void => {
    const sinceMs = performance.now();
    let askAtMs = sinceMs + ASK_AFTER_MS;
    for (let nowMs = sinceMs; ; nowMs = performance.now()) {
      const givesWay = nowMs < sinceMs + GIVE_WAY_MS && isAsked(nowMs);
      if (!givesWay) {
        try {
          begin.run();
          return;
        } catch (thrown) {
          if (!isBusy(thrown) || nowMs >= sinceMs + wait.waitMs) throw thrown;
        }
        if (wait.goesFirst && nowMs >= askAtMs) {
          ask(question);
          asked();
          askAtMs = nowMs + ASK_EVERY_MS;
        }
      }
      pause();
    }
  };

  return () => {
    let hasAsked = false;
    atOnce.get();
    try {
      beginWithin(() => (hasAsked = true));
    } finally {
      patient.get();
      if (hasAsked) withdraw(question);
    }
  };
}

/** Nobody gives way where it can't be asked for; what asks then waits as all others do. */
function ask(question: string): void {
  try {
    writeFileSync(question, '');
  } catch {
    // A full disk has room for an empty file, and if not, a lock that is free can still be taken.
  }
}

function withdraw(question: string): void {
  try {
    rmSync(question, { force: true });
  } catch {
    // It is ignored before long.
  }
}

/**
 * Whether somebody asks for the way. A question that is not asked again, for its asker was killed, is soon
 * ignored.
 */
function createListening(file: string): (nowMs: number) => boolean {
  const question = questionOf(file);
  let asked: bigint | undefined;
  let askedSinceMs = 0;
  let listenAgainMs = 0;
  return (nowMs) => {
    if (nowMs >= listenAgainMs) {
      const found = askedAt(question);
      if (found !== asked) [asked, askedSinceMs] = [found, nowMs];
      listenAgainMs = nowMs + LISTEN_EVERY_MS;
    }
    return asked !== undefined && nowMs < askedSinceMs + GIVE_WAY_MS;
  };
}

function askedAt(question: string): bigint | undefined {
  try {
    return statSync(question, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
  } catch {
    return undefined;
  }
}

function createPause(): () => void {
  const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return () => void Atomics.wait(cell, 0, 0, LOOK_MS);
}
