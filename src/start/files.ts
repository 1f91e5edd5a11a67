import { X509Certificate } from 'node:crypto';
import { CountersignError, messageOf } from '../errors.ts';
import type { TlsContext } from '../http/server.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Plugins } from '../plugins/plugins.ts';
import { type Secrets, readPem, secretsOf } from '../settings/secrets.ts';
import type { Settings, SourceSettings } from '../settings/schema.ts';
import { storeAddress } from '../settings/store.ts';
import type { Authenticator } from '../signature/authenticate.ts';
import type { DecryptionThreads } from '../signature/blocks.ts';
import { fingerprintOf } from '../signature/keys.ts';
import { type ReadSecret, type SecretRef, acceptedSecrets, nameOfSecret } from '../values/secret.ts';
import { authenticatorOf } from './sources.ts';

/*
 * The keys of the sources, and the certificates of the ports and of the store.
 */

/** A key file that can't be used. The key that was read from it before stays in use. */
export interface UnreadableKey {
  readonly source: string;
  readonly file: string;
  /** The fingerprint of the key in use; empty for a secret, which must not have one. */
  readonly fingerprint: string;
  /** The fault of the file. */
  readonly because: string;
}

/** The keys of the sources. They are read again when a file changes. */
export interface WatchedKeys {
  readonly current: () => Authenticator;
  readonly reload: () => void;
  /** Files that could be read before and can't be used now. Removing a key file doesn't revoke its key. */
  readonly unreadable: () => readonly UnreadableKey[];
}

type Texts = ReadonlyMap<string, string>;

/**
 * Reads all keys. Throws one error that lists every key that can't be read. Later, a file that can't be used
 * leaves its last key in use: a missing mount must not stop payments. The other files are read.
 */
export function watchKeys(
  settings: Settings,
  read: ReadSecret,
  { log, threads }: { readonly log: Log; readonly threads: DecryptionThreads },
): WatchedKeys {
  const initialTexts = new Map<string, string>();
  let authenticator = authenticatorOf(settings, recording(read, initialTexts), threads);
  let texts: Texts = initialTexts;
  let unreadable: readonly UnreadableKey[] = [];

  function reloadKeys(): void {
    const rereads = settings.sources.map((source) => reread(settings, source, { read, texts }));
    const newTexts: Texts = new Map([...texts, ...rereads.flatMap((each) => [...each.texts])]);
    const readKept: ReadSecret = (reference) => newTexts.get(nameOfSecret(reference)) ?? read(reference);
    authenticator = authenticatorOf(settings, readKept, threads);
    const failed = rereads.flatMap((each) => each.unreadable);
    logChanges(newTexts, failed);
    texts = newTexts;
    unreadable = failed;
  }

  function logChanges(now: Texts, failed: readonly UnreadableKey[]): void {
    for (const { because, ...of } of failed) {
      log.error('keys-unreadable', { ...of, because: `${because}; what was read before stays in use` });
    }
    for (const source of settings.sources) {
      for (const [name, reference] of referencesOf(source)) {
        const file = 'file' in reference ? reference.file : undefined;
        const isOfFile = (key: UnreadableKey): boolean => key.source === source.name && key.file === file;
        const isReadableAgain = unreadable.some(isOfFile) && !failed.some(isOfFile);
        const text = now.get(name) ?? '';
        if (text === texts.get(name) && !isReadableAgain) continue;
        log.info('keys-reread', { source: source.name, file, fingerprint: fingerprintOf(text) });
      }
    }
  }

  return {
    current: () => authenticator,
    unreadable: () => unreadable,
    reload() {
      try {
        reloadKeys();
      } catch (thrown) {
        // A conflict between sources is the fault of no single file.
        const because = messageOf(thrown);
        log.error('keys-unreadable', { because: `${because}; what was read before stays in use` });
        unreadable = [{ source: '', file: '', fingerprint: '', because }];
      }
    },
  };
}

/**
 * The texts of the source's usable files, and the files that can't be used. So a replaced key is revoked even
 * if another file is unusable.
 */
function reread(
  settings: Settings,
  source: SourceSettings,
  { read, texts }: { readonly read: ReadSecret; readonly texts: Texts },
): { readonly texts: Texts; readonly unreadable: readonly UnreadableKey[] } {
  const textsBy = (readText: ReadSecret): Texts => {
    const found = new Map<string, string>();
    authenticatorOf({ ...settings, sources: [source] }, recording(readText, found));
    return found;
  };
  try {
    return { texts: textsBy(read), unreadable: [] };
  } catch (thrown) {
    const unreadable = unusableKeys(source, { thrown, read, texts });
    const isUnreadable = (reference: SecretRef): boolean =>
      'file' in reference && unreadable.some(({ file }) => file === reference.file);
    try {
      const readOrKeep: ReadSecret = (reference) =>
        (isUnreadable(reference) ? texts.get(nameOfSecret(reference)) : undefined) ?? read(reference);
      return { texts: textsBy(readOrKeep), unreadable };
    } catch {
      // Other faults remain: the source keeps all its keys, and an error is logged.
      return { texts: new Map(), unreadable };
    }
  }
}

function recording(read: ReadSecret, texts: Map<string, string>): ReadSecret {
  return (reference) => {
    const text = read(reference);
    texts.set(nameOfSecret(reference), text);
    return text;
  };
}

const referencesOf = (source: SourceSettings): ReadonlyMap<string, SecretRef> =>
  new Map(secretsOf(source).map(({ reference }) => [nameOfSecret(reference), reference]));

/** The files of the source that can't be read or hold no key. */
function unusableKeys(
  source: SourceSettings,
  { thrown, read, texts }: { readonly thrown: unknown; readonly read: ReadSecret; readonly texts: Texts },
): readonly UnreadableKey[] {
  const message = messageOf(thrown);
  const found = [...referencesOf(source)].flatMap(([name, reference]): readonly UnreadableKey[] => {
    const fault = faultOf(reference, read) ?? (message.includes(`${name} `) ? message : undefined);
    if (fault === undefined || !('file' in reference)) return [];
    const fingerprint = fingerprintOf(texts.get(name) ?? '') ?? '';
    return [{ source: source.name, file: reference.file, fingerprint, because: fault }];
  });
  return found.length > 0 ? found : [{ source: source.name, file: '', fingerprint: '', because: message }];
}

function faultOf(reference: SecretRef, read: ReadSecret): string | undefined {
  try {
    read(reference);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof CountersignError) return thrown.message;
    throw thrown;
  }
}

/** For `/readyz`: the keys that are in use although their files can't be used. */
export function keysState(unreadable: readonly UnreadableKey[]): { ok: boolean; because: string } {
  if (unreadable.length === 0) return { ok: true, because: 'all key files can be used' };
  const sentences = unreadable.map(({ source, fingerprint, because }) => {
    const key = fingerprint === '' ? 'what was read before' : `the key ${fingerprint} that was read before`;
    return `source ${source}: ${because}; ${key} stays in use`;
  });
  return { ok: false, because: sentences.join('\n') };
}

/**
 * The keys and secrets that are accepted now, by their owner: as a source's callbacks name them in the journal,
 * and those of services and of `ops.token`. A token that can't be read is left out.
 */
export function acceptedKeys(
  { ops: { token } }: Settings,
  read: ReadSecret,
  { keys, plugins }: { readonly keys: WatchedKeys; readonly plugins: Plugins },
): ReadonlyMap<string, readonly string[]> {
  const tokens = (): readonly string[] => {
    try {
      return token === undefined ? [] : acceptedSecrets(token, read).map(({ line }) => `token${line}`);
    } catch {
      return [];
    }
  };
  return new Map([
    ...keys
      .current()
      .describe()
      .map(({ source, by }) => [source, by] as const),
    ...plugins.secrets().map(([service, secrets]) => [`service ${service}`, secrets] as const),
    ['ops.token', tokens()],
  ]);
}

export type PortName = 'public' | 'ops';

/** Reads the certificate of a port, and follows its files from now on. Undefined for a port without TLS. */
export function tlsContext(settings: Settings, port: PortName, secrets: Secrets): TlsContext | undefined {
  const tls: Settings['public']['tls'] = settings[port].tls;
  if (tls === undefined) return undefined;
  return {
    cert: secrets.readPem(tls.certificate, `${port}.tls.certificate`),
    key: secrets.read(tls.key),
    ca: tls.clientCa === undefined ? undefined : secrets.readPem(tls.clientCa, `${port}.tls.clientCa`),
  };
}

/** Shows when the certificate of a port, and the authorities of its clients, expire. */
export function showPortExpiries(
  metrics: Pick<Metrics, 'certificateExpires'>,
  port: PortName,
  { cert, ca }: TlsContext,
): void {
  metrics.certificateExpires(`${port}.tls.certificate`, expiryOf(cert));
  if (ca !== undefined) metrics.certificateExpires(`${port}.tls.clientCa`, expiryOf(ca));
}

/** Shows the same of the client certificate for Redis. The store reads its files only at the start. */
export function showStoreExpiries(
  metrics: Pick<Metrics, 'certificateExpires'>,
  { url, tls }: Settings['store'],
): void {
  const address = storeAddress(url);
  if (address === undefined || address.kind === 'embedded' || !address.tls) return;
  for (const name of ['certificate', 'ca'] as const) {
    const file = tls?.[name];
    const setting = `store.tls.${name}`;
    if (file !== undefined) metrics.certificateExpires(setting, expiryOf(readPem(file, setting)));
  }
}

/**
 * A chain, or a list of authorities, is valid until its first certificate expires. Undefined if the file holds
 * no certificate that can be read.
 */
function expiryOf(pem: string): number | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const expiries = blocks.map(notAfterMs);
  return expiries.length === 0 || expiries.includes(NaN) ? undefined : Math.min(...expiries);
}

function notAfterMs(block: string): number {
  try {
    return Date.parse(new X509Certificate(block).validTo);
  } catch {
    return NaN;
  }
}
