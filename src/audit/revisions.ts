import { CountersignError } from '../errors.ts';
import { readPolicyDirectory } from '../release/files.ts';
import { shortRevision } from '../release/push.ts';
import { signedBySerial } from '../release/signed.ts';
import { assertInside, filesOfRevision } from '../release/sources.ts';
import type { Releases } from '../store/store.ts';
import { sha256Hex } from '../values/canonical.ts';
import { isoTime } from '../values/text.ts';
import type { Bundle } from './bundle.ts';

/** More pushes than a store has. */
const PUSHES_MAX = 100_000;

/**
 * Writes the pushes of a period with the one before it, and the revisions of these pushes and of entries.
 * Returns what is missing, a sentence each.
 */
export async function writeRevisions(
  store: Pick<Releases, 'history' | 'document'>,
  bundle: Bundle,
  { fromMs, untilMs, named }: { fromMs: number; untilMs: number; named: ReadonlySet<string> },
): Promise<readonly string[]> {
  const history = (await store.history(PUSHES_MAX)).toReversed();
  const first = Math.max(
    0,
    history.findLastIndex(({ atMs }) => atMs < fromMs),
  );
  const pushes = history.slice(first).filter(({ atMs }) => atMs < untilMs);
  const missing: string[] = [];
  for (const { atMs, serial, ...push } of pushes) {
    const signed = serial > 0 && { serial, ...(await signaturesOf(store, serial, missing)) };
    bundle.add('revisions.jsonl', { ...push, ...signed, at: isoTime(atMs) });
  }
  for (const revision of new Set([...pushes.map((push) => push.revision), ...named])) {
    const because = await writeRevision(store, bundle, revision);
    if (because !== undefined) missing.push(`revision ${shortRevision(revision)}: ${because}`);
  }
  return missing;
}

/** The statement that people signed, with their signatures. What is missing is added to `missing`. */
async function signaturesOf(store: Pick<Releases, 'document'>, serial: number, missing: string[]) {
  try {
    const signed = await signedBySerial(store, serial);
    if (signed === undefined)
      missing.push(`the signatures of serial ${serial}: the store does not have them`);
    return signed;
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    missing.push(thrown.message);
    return undefined;
  }
}

async function writeRevision(
  store: Pick<Releases, 'document'>,
  bundle: Bundle,
  revision: string,
): Promise<string | undefined> {
  const document = await store.document(revision);
  if (document === undefined || sha256Hex(document) !== revision) return 'the store does not have it';
  const folder = `revisions/${revision}`;
  bundle.begin(`${folder}/document.json`, document);
  try {
    const { files, asWritten } = await filesOfRevision(store, revision);
    assertInside(`${bundle.directory}/${folder}/files`, files);
    for (const { name, text } of files) bundle.begin(`${folder}/files/${name}`, text);
    const compiled = await readPolicyDirectory(`${bundle.directory}/${folder}/files`);
    if (compiled.revision !== revision) return 'its files are not those of its document';
    return asWritten ? undefined : 'the store has no files of it, so they were made from its document';
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    return thrown.message;
  }
}
