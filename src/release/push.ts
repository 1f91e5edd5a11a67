import { CountersignError, usageError } from '../errors.ts';
import { compileRelease } from '../policy/compile.ts';
import type { Release } from '../policy/release.ts';
import { type Control, type HistoryEntry, type Store, filesOf } from '../store/store.ts';
import { invalidPolicies } from './files.ts';

/** The most history entries that are searched. */
const HISTORY_MAX = 1000;
/** In place of a revision: the one that was in force before. */
const PREVIOUS = 'previous';
const REVISION = /^[0-9a-f]{4,64}$/;

/** What a store keeps of the signatures: see signed.ts. */
export interface SignedRevision {
  readonly serial: number;
  readonly documents: Readonly<Record<string, string>>;
}

export interface PushRequest {
  readonly release: Pick<Release, 'revision' | 'document'>;
  /** The files that it was compiled from: see sources.ts. */
  readonly files?: string | undefined;
  /** Absent without signatures. */
  readonly signed?: SignedRevision | undefined;
  /** The revision that the release was compared with; the empty text for none. */
  readonly expected: string;
  readonly by: string;
  readonly message: string;
}

/**
 * Puts a release in force. After it resolves, no decision is made under another revision. Throws
 * POLICY_CONFLICT if another revision than `expected` is in force.
 */
export async function pushRelease(
  store: Pick<Store, 'push'>,
  { release, files, signed, expected, by, message }: PushRequest,
): Promise<Control> {
  const { revision, document } = release;
  const beside = { ...(files !== undefined && { [filesOf(revision)]: files }), ...signed?.documents };
  const push = { revision, document, expected, by, message, beside };
  const { outcome, control } = await store.push(signed ? { ...push, serial: signed.serial } : push);
  if (outcome === 'in-force') return control;
  throw conflict(control.revision, expected, revision);
}

/** The POLICY_CONFLICT of a push of `revision`. */
export function conflict(inForce: string, expected: string, revision: string): CountersignError {
  return new CountersignError(
    'POLICY_CONFLICT',
    `${shortRevision(inForce)} is in force, but this push expects ${shortRevision(expected)}; ` +
      'see what differs with `countersign policy diff`, then push again',
    { inForce, expected, revision },
  );
}

/**
 * The release that a rollback would put in force again, in place of `expected`. `wanted`: a revision, at
 * least its first four digits, or `previous` for the one that was in force before. Throws REVISION_UNKNOWN,
 * POLICY_INVALID if this version of the program can't compile it, or USAGE if it is in force already.
 */
export async function findRollback(
  store: Pick<Store, 'control' | 'history' | 'document'>,
  wanted: string,
): Promise<{ readonly release: Release; readonly expected: string }> {
  const { revision: expected } = await store.control();
  const named = wanted === PREVIOUS ? await previousTo(store, expected) : wanted;
  const release = await readRevision(store, await findRevision(store, named));
  if (release.revision !== expected) return { release, expected };
  throw usageError(`revision ${shortRevision(expected)} is in force already; name an older one`, {
    revision: expected,
  });
}

/** The revision that was in force before another one. Throws REVISION_UNKNOWN. */
async function previousTo(store: Pick<Store, 'history'>, inForce: string): Promise<string> {
  const history = await store.history(HISTORY_MAX);
  const at = history.findIndex(({ revision }) => revision === inForce);
  const before = history.slice(at + 1).find(({ revision }) => revision !== inForce);
  if (at !== -1 && before !== undefined) return before.revision;
  throw unknown(PREVIOUS, 'is not in the history: nothing was in force before');
}

/** The only revision that begins with `prefix`. Throws REVISION_UNKNOWN unless there is exactly one. */
export async function findRevision(
  store: Pick<Store, 'history' | 'document'>,
  prefix: string,
): Promise<string> {
  const wanted = prefix.toLowerCase();
  if (!REVISION.test(wanted)) {
    throw unknown(prefix, 'is not 4 to 64 hexadecimal digits');
  }
  if (wanted.length === 64 && (await store.document(wanted)) !== undefined) return wanted;
  const history = await store.history(HISTORY_MAX);
  const found = [...new Set(history.map(({ revision }) => revision))].filter((each) =>
    each.startsWith(wanted),
  );
  const [revision] = found;
  if (revision === undefined) {
    const isSearchComplete = wanted.length === 64 || history.length < HISTORY_MAX;
    throw isSearchComplete
      ? unknown(prefix, 'was never pushed')
      : unknown(
          prefix,
          `is not among the last ${HISTORY_MAX} pushes`,
          'for an older one, write all 64 digits',
        );
  }
  if (found.length > 1)
    throw unknown(prefix, `could be any of ${found.map(shortRevision).join(', ')}; write more digits`);
  return revision;
}

/** Compiles a stored revision. Throws REVISION_UNKNOWN, or POLICY_INVALID if it can't be compiled. */
export async function readRevision(store: Pick<Store, 'document'>, revision: string): Promise<Release> {
  const document = await store.document(revision);
  if (document === undefined) throw unknown(revision, 'is not in the store');
  const compiled = compileRelease(document);
  if (!compiled.ok)
    throw invalidPolicies(`the policies in revision ${shortRevision(revision)}`, compiled.faults);
  if (compiled.release.revision === revision) return compiled.release;
  throw new CountersignError(
    'STORE_CORRUPT',
    `the document stored as revision ${shortRevision(revision)} is that of ` +
      `${shortRevision(compiled.release.revision)}; push the policies again`,
    { revision, found: compiled.release.revision },
  );
}

/** The pushes, newest first, with a mark for the one in force. */
export async function releaseHistory(
  store: Pick<Store, 'control' | 'history'>,
  limit: number,
): Promise<readonly (HistoryEntry & { readonly inForce: boolean })[]> {
  const control = await store.control();
  const history = await store.history(limit);
  const current = history.find(({ revision }) => revision === control.revision);
  return history.map((entry) => ({ ...entry, inForce: entry === current }));
}

/** A short form of a revision. */
export function shortRevision(revision: string): string {
  return revision === '' ? 'no revision' : revision.slice(0, 12);
}

function unknown(
  revision: string,
  why: string,
  fix = '`countersign policy history` lists them',
): CountersignError {
  return new CountersignError('REVISION_UNKNOWN', `revision ${revision} ${why}; ${fix}`, { revision });
}

/** The last push of a revision. Undefined if the history no longer has it. */
export async function lastPush(
  store: Pick<Store, 'history'>,
  revision: string,
): Promise<HistoryEntry | undefined> {
  const history = await store.history(HISTORY_MAX);
  return history.find((push) => push.revision === revision);
}
