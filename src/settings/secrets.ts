import { createPublicKey } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { CountersignError } from '../errors.ts';
import { type ReadSecret, type SecretRef, nameOfSecret } from '../values/secret.ts';
import { isDemoCredential } from './demo.ts';
import type { Environment } from './environment.ts';

/** Secrets and keys, read where the settings say that they are. */
export interface Secrets {
  /** The content now, at most 64 KiB. Throws SECRET_UNREADABLE. */
  readonly read: ReadSecret;
  /**
   * Lets `watch` look at a file that is no secret but belongs to one, such as a certificate. Call it before
   * reading.
   */
  readonly follow: (file: string) => void;
  /**
   * Calls back within about `pollMs` after a file that was read has changed, appeared or gone; whoever is
   * called reads again, and must not throw. Returns what ends it.
   */
  readonly watch: (changed: () => void) => () => void;
  /** Secret files that every user of the machine can read, of those read so far. */
  readonly warnings: () => readonly string[];
}

const MAX_BYTES = 64 * 1024;

export function createSecrets(from: { readonly env: Environment; readonly pollMs: number }): Secrets {
  const stateOfFile = new Map<string, string>();
  const readableByAll = new Set<string>();
  const watchers = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<void> => {
    let changed = false;
    for (const [file, before] of stateOfFile) {
      const now = await stat(file, { bigint: true }).then(stateOf, () => MISSING);
      // A read in the meantime has seen what is there now.
      if (now === before || stateOfFile.get(file) !== before) continue;
      stateOfFile.set(file, now);
      changed = true;
    }
    if (changed) for (const watcher of watchers) watcher();
    if (watchers.size > 0) schedule();
  };
  const schedule = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void look(), from.pollMs).unref();
  };

  return {
    read: (reference) => {
      if ('env' in reference) {
        const value = Object.hasOwn(from.env, reference.env) ? from.env[reference.env] : undefined;
        return trimmed(reference, value ?? '', 'is not set or is empty');
      }
      // Noted before it is read: a change while it is being read is seen at the next look.
      stateOfFile.set(reference.file, stateNow(reference.file));
      const { content, mode } = readSmallFile(reference);
      const secret = trimmed(reference, content, 'is empty');
      const open = process.platform !== 'win32' && (mode & 0o004) !== 0;
      if (open && !isPublic(secret) && !isDemoCredential(secret)) readableByAll.add(reference.file);
      else readableByAll.delete(reference.file);
      return secret;
    },
    follow: (file) => void stateOfFile.set(file, stateNow(file)),
    watch: (changed) => {
      // Each watch is one of its own, also if the same function watches twice.
      const watcher = (): void => changed();
      watchers.add(watcher);
      schedule();
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0) clearTimeout(timer);
      };
    },
    warnings: () =>
      [...readableByAll].map(
        (file) => `the secret in file ${file} can be read by every user of this machine: chmod o-r it`,
      ),
  };
}

const MISSING = 'missing';

/**
 * Differs after a write, and after another file was put in its place by rename or by the swap of a link above
 * it.
 */
function stateOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}

function stateNow(file: string): string {
  try {
    return stateOf(statSync(file, { bigint: true }));
  } catch {
    return MISSING;
  }
}

function readSmallFile(reference: { readonly file: string }): { content: string; mode: number } {
  let descriptor: number | undefined;
  try {
    // With O_NONBLOCK a pipe that nobody writes to does not stop the program here. Windows does not have it.
    descriptor = openSync(reference.file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw unreadable(reference, 'is not a file');
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    if (length > MAX_BYTES) throw unreadable(reference, 'is larger than 64 KiB');
    const content = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
    return { content, mode: stats.mode };
  } catch (thrown) {
    if (thrown instanceof CountersignError) throw thrown;
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'no reason given';
    throw unreadable(
      reference,
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not text' : `cannot be read (${code})`,
    );
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function trimmed(reference: SecretRef, content: string, ifEmpty: string): string {
  const secret = content.trim();
  if (secret === '') throw unreadable(reference, ifEmpty);
  if (secret.length > MAX_BYTES) throw unreadable(reference, 'is larger than 64 KiB');
  return secret;
}

function unreadable(reference: SecretRef, problem: string): CountersignError {
  const cure =
    'file' in reference
      ? 'put the secret there, readable for this user; a relative path of the settings begins in the folder of their file'
      : 'set it before the start';
  return new CountersignError('SECRET_UNREADABLE', `${nameOfSecret(reference)} ${problem}: ${cure}`, {
    ...reference,
    problem,
  });
}

/** Public keys and certificates may be read by anybody. */
function isPublic(content: string): boolean {
  if (/-----BEGIN (?:RSA )?PUBLIC KEY-----|-----BEGIN CERTIFICATE-----/.test(content))
    return !content.includes('PRIVATE KEY');
  try {
    createPublicKey({ key: Buffer.from(content, 'base64'), format: 'der', type: 'spki' });
    return true;
  } catch {
    return false;
  }
}
