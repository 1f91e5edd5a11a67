import { createHash, createPublicKey } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { CountersignError, messageOf } from '../errors.ts';
import { type ReadSecret, type SecretRef, nameOfSecret } from '../values/secret.ts';
import type { Environment } from './environment.ts';
import type { Settings } from './schema.ts';

/** Reads secrets and keys at the places that the settings name. */
export interface Secrets {
  /** The current content, at most 64 KiB. Throws SECRET_UNREADABLE. */
  readonly read: ReadSecret;
  /** Reads a certificate as {@link readPem} does, and watches its file. */
  readonly readPem: (file: string, setting: string) => string;
  /**
   * Calls `changed` about `pollMs` after a file that was read has changed, appeared or disappeared. `changed`
   * must read again and must not throw. Returns a function that ends the watch.
   */
  readonly watch: (changed: () => void) => () => void;
  /** A warning for each secret file, of those read so far, that every user of the machine can read. */
  readonly warnings: () => readonly string[];
}

const MAX_BYTES = 64 * 1024;
const POLL_MS = 1000;

/** `pollMs`: the time between two looks at the files. */
export function createSecrets({
  env,
  pollMs = POLL_MS,
}: {
  readonly env: Environment;
  readonly pollMs?: number;
}): Secrets {
  const stateOfFile = new Map<string, string>();
  const readableByAll = new Set<string>();
  const watchers = new Set<() => void>();
  let timer: NodeJS.Timeout | undefined;

  const pollFiles = async (): Promise<void> => {
    let changed = false;
    for (const [file, before] of stateOfFile) {
      const now = await stat(file, { bigint: true }).then(stateOf, () => MISSING);
      if (now === before) continue;
      stateOfFile.set(file, now);
      changed = true;
    }
    if (changed) for (const watcher of watchers) watcher();
    if (watchers.size > 0) schedule();
  };
  /** From its first read on. A later read doesn't count, because it may be for another use of the file. */
  const follow = (file: string): void => {
    if (!stateOfFile.has(file)) stateOfFile.set(file, stateNow(file));
  };
  const schedule = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void pollFiles(), pollMs).unref();
  };

  return {
    read: (reference) => {
      if ('env' in reference) {
        const value = Object.hasOwn(env, reference.env) ? env[reference.env] : undefined;
        return trimmed(reference, value ?? '', 'is not set or is empty');
      }
      // Before the read, so that the next poll notices a change during it.
      follow(reference.file);
      const { content, mode } = readSmallFile(reference);
      const secret = trimmed(reference, content, 'is empty');
      const open = process.platform !== 'win32' && (mode & 0o004) !== 0;
      if (open && !isPublic(secret) && !isDemoCredential(secret)) readableByAll.add(reference.file);
      else readableByAll.delete(reference.file);
      return secret;
    },
    readPem: (file, setting) => {
      follow(file);
      return readPem(file, setting);
    },
    watch: (changed) => {
      // A new function, so that one `changed` can be watched twice.
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
        (file) => `the secret in file ${file} can be read by every user of this machine; run chmod o-r on it`,
      ),
  };
}

/** Reads a certificate. It is no secret, so errors name its path. Throws SETTINGS_INVALID. */
export function readPem(file: string, setting: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new CountersignError('SETTINGS_INVALID', `${setting}: can't read ${file}: ${messageOf(thrown)}`);
  }
}

const MISSING = 'missing';

/** Differs after a write, and after a rename or a changed link put another file in its place. */
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
    // O_NONBLOCK, which Windows lacks, prevents a hang on a pipe that has no writer.
    descriptor = openSync(reference.file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw unreadable(reference, 'is not a regular file');
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
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'is not text' : `can't be read (${code})`,
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
  const fix =
    'file' in reference
      ? 'put the secret there, readable for this user; ' +
        'relative paths of the settings are resolved against the folder of their file'
      : 'set it before the start';
  return new CountersignError('SECRET_UNREADABLE', `${nameOfSecret(reference)} ${problem}; ${fix}`, {
    ...reference,
    problem,
  });
}

/** Whether the content is a public key or a certificate, which everybody may read. */
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

/** Digests of the files in config/demo, to recognise copies of them elsewhere. */
const demoDigests: ReadonlySet<string> = new Set([
  '8f131c732d76852732b6a969a13a7eff7217c02961410d6a144ee09b903fd05d', // shop.secret
  'e08e4834848dd991f3009e06aff430359bfb3866b7908e3689be8ba79d8f03a1', // vault.token
  'cc5543cd249e79c082872b5399134768ec5a94bfdb56e05eb826795e9f38f943', // platform.private.pem
  'fce0b2218c574b23e31119fad04351abd5bd75b8d661cf5c829988688b957c63', // platform.public.pem
  'e36468d8b37b354c32b3f8a44f7a597c1b4e3b6161cb1129e79eda0e1384317d', // merchant.private.pem
  '42ec966f18fe50ebfbbba764434d7eb81b41a0d5d0f8df1056d45f0c8976a4e1', // merchant.public.pem
]);

/**
 * Whether the content is one of the published demo secrets and keys, with or without PEM lines and line
 * breaks.
 */
export function isDemoCredential(content: string): boolean {
  return demoDigests.has(createHash('sha256').update(significantText(content)).digest('hex'));
}

function significantText(content: string): string {
  const letters = content.replaceAll(/-----[^-]+-----|\s/g, '');
  return letters.replaceAll('-', '+').replaceAll('_', '/').replaceAll('=', '');
}

/**
 * A sentence for each secret and key of the settings that is a published demo credential. Unreadable
 * references are skipped.
 */
export function demoCredentials(settings: Settings, read: ReadSecret): readonly string[] {
  return secretsOf(settings).flatMap(({ setting, reference }) => {
    const content = contentOf(reference, read);
    if (content === undefined || !isDemoCredential(content)) return [];
    return [`${setting} (${nameOfSecret(reference)}) is published with the program: for trying out only`];
  });
}

interface NamedSecret {
  readonly setting: string;
  readonly reference: SecretRef;
}

/** All references below a part of the settings, each by its name there. */
export function secretsOf(settings: object): readonly NamedSecret[] {
  const found: NamedSecret[] = [];
  const visit = (node: unknown, setting: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const reference = referenceOf(node);
    if (reference !== undefined) found.push({ setting, reference });
    for (const [name, child] of Object.entries(node)) {
      visit(
        child,
        Array.isArray(node) ? `${setting}[${name}]` : setting === '' ? name : `${setting}.${name}`,
      );
    }
  };
  visit(settings, '');
  return found;
}

/** A module has a `file` as well, beside other members. */
function referenceOf(node: object): SecretRef | undefined {
  if (Object.keys(node).length !== 1) return undefined;
  if ('file' in node && typeof node.file === 'string') return { file: node.file };
  if ('env' in node && typeof node.env === 'string') return { env: node.env };
  return undefined;
}

function contentOf(reference: SecretRef, read: ReadSecret): string | undefined {
  try {
    return read(reference);
  } catch (thrown) {
    if (thrown instanceof CountersignError) return undefined;
    throw thrown;
  }
}
