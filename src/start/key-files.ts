import { CountersignError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { secretsOf } from '../settings/secrets.ts';
import type { Settings, SourceSettings } from '../settings/schema.ts';
import type { Authenticator } from '../signature/authenticate.ts';
import type { DecryptionThreads } from '../signature/blocks.ts';
import { fingerprintOf } from '../signature/keys.ts';
import { type ReadSecret, type SecretRef, nameOfSecret } from '../values/secret.ts';
import { authenticatorOf } from './sources.ts';

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
  let texts: Texts = new Map();
  let unreadable: readonly UnreadableKey[] = [];
  const initialTexts = new Map<string, string>();
  let authenticator = authenticatorOf(settings, recording(read, initialTexts), threads);
  texts = initialTexts;

  function reloadKeys(): void {
    const newTexts = new Map(texts);
    const failed: UnreadableKey[] = [];
    for (const source of settings.sources) {
      const sourceTexts = new Map<string, string>();
      try {
        authenticatorOf({ ...settings, sources: [source] }, recording(read, sourceTexts));
        for (const [name, text] of sourceTexts) newTexts.set(name, text);
      } catch (thrown) {
        const unreadableKeys = unusableKeys(source, { thrown, read, texts });
        failed.push(...unreadableKeys);
        for (const [name, text] of usableTexts(settings, source, { unreadableKeys, read, texts }))
          newTexts.set(name, text);
      }
    }
    const readKept: ReadSecret = (reference) => newTexts.get(nameOfSecret(reference)) ?? read(reference);
    authenticator = authenticatorOf(settings, readKept, threads);
    logChanges(texts, newTexts, failed);
    texts = newTexts;
    unreadable = failed;
  }

  function logChanges(previousTexts: Texts, now: Texts, failed: readonly UnreadableKey[]): void {
    for (const { because, ...of } of failed) {
      log.error('keys-unreadable', { ...of, because: `${because}; what was read before stays in use` });
    }
    for (const source of settings.sources) {
      for (const reference of referencesOf(source)) {
        const name = nameOfSecret(reference);
        const text = now.get(name) ?? '';
        const isKeyOfFile = ({ source: of, file }: UnreadableKey): boolean =>
          of === source.name && 'file' in reference && file === reference.file;
        const isReadableAgain = unreadable.some(isKeyOfFile) && !failed.some(isKeyOfFile);
        if (text === previousTexts.get(name) && !isReadableAgain) continue;
        const file = 'file' in reference ? reference.file : undefined;
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

/** The texts of the source's usable files. So a replaced key is revoked even if another file is unusable. */
function usableTexts(
  settings: Settings,
  source: SourceSettings,
  {
    unreadableKeys,
    read,
    texts,
  }: { readonly unreadableKeys: readonly UnreadableKey[]; readonly read: ReadSecret; readonly texts: Texts },
): Texts {
  const isUnreadable = (reference: SecretRef): boolean =>
    'file' in reference && unreadableKeys.some(({ file }) => file === reference.file);
  const previousText = (reference: SecretRef): string | undefined => texts.get(nameOfSecret(reference));
  const sourceTexts = new Map<string, string>();
  try {
    const readOrKeep: ReadSecret = (reference) =>
      (isUnreadable(reference) ? previousText(reference) : undefined) ?? read(reference);
    authenticatorOf({ ...settings, sources: [source] }, recording(readOrKeep, sourceTexts));
    return sourceTexts;
  } catch {
    // Other faults remain: the source keeps all its keys, and an error is logged.
    return new Map();
  }
}

function recording(read: ReadSecret, texts: Map<string, string>): ReadSecret {
  return (reference) => {
    const text = read(reference);
    texts.set(nameOfSecret(reference), text);
    return text;
  };
}

const referencesOf = (source: SourceSettings): readonly SecretRef[] => {
  const references = secretsOf(source).map(({ reference }) => reference);
  return references.filter(
    (reference, at) =>
      references.findIndex((other) => nameOfSecret(other) === nameOfSecret(reference)) === at,
  );
};

/** The files of the source that can't be read or hold no key. */
function unusableKeys(
  source: SourceSettings,
  { thrown, read, texts }: { readonly thrown: unknown; readonly read: ReadSecret; readonly texts: Texts },
): readonly UnreadableKey[] {
  const message = messageOf(thrown);
  const found = referencesOf(source).flatMap((reference): readonly UnreadableKey[] => {
    const name = nameOfSecret(reference);
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
