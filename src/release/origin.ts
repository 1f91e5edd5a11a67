import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import type { Release } from '../policy/release.ts';
import type { HistoryEntry, Store } from '../store/store.ts';
import { canonicalJson, sha256Hex } from '../values/canonical.ts';
import { isoTime, jsonOrText, printable } from '../values/text.ts';
import { type Content, contentIn } from './content.ts';
import { shortRevision } from './push.ts';

/*
 * From which revision the files of a directory come. A push from the command line notes it in a hidden folder
 * beside them, for each store. A directory without a note is compared with earlier revisions.
 */

const FOLDER = '.countersign';
const FILE = 'revisions.json';
const noteShape = z.record(z.string(), z.string());

/** Pushes, and revisions, that a directory without a note is compared with. */
const PUSHES_MAX = 1000;
const REVISIONS_MAX = 20;

/** The directory of policy files, and the store that it is pushed to. */
export interface Origin {
  readonly directory: string;
  /** `store.url`, with `store.prefix`. */
  readonly address: string;
}

/** `store` has the settings of the store. */
export const originOf = (
  { url, prefix }: { readonly url: string; readonly prefix: string },
  directory: string,
): Origin => ({ directory, address: `${url} ${prefix}` });

const keyOf = ({ address }: Origin): string => sha256Hex(address).slice(0, 16);

async function notesIn({ directory }: Origin): Promise<Readonly<Record<string, string>>> {
  try {
    const read = noteShape.safeParse(jsonOrText(await readFile(join(directory, FOLDER, FILE), 'utf8')));
    return read.success ? read.data : {};
  } catch {
    // Without a note, the files are compared.
    return {};
  }
}

/** Notes that the files are those of a revision. A directory that can't be written gets no note. */
export async function noteOrigin(origin: Origin, revision: string): Promise<void> {
  const notes = { ...(await notesIn(origin)), [keyOf(origin)]: revision };
  const folder = join(origin.directory, FOLDER);
  try {
    await mkdir(folder, { recursive: true });
    // In a repository, the note would say of each clone that it comes from this revision.
    await writeFile(join(folder, '.gitignore'), '*\n');
    await writeFile(join(folder, FILE), `${JSON.stringify(notes, undefined, 2)}\n`);
  } catch {
    // The next push compares the files.
  }
}

/** Why a push of files would undo a newer push. */
export interface Stale {
  /** The revision that the files come from; undefined if they have no note. */
  readonly base: string | undefined;
  /** What is in the files as it was before a newer push changed it: `policy payments`. Empty with a note. */
  readonly undone: readonly string[];
  /** The push of what is in force; undefined if the history no longer has it. */
  readonly push: HistoryEntry | undefined;
}

/**
 * Whether the files come from an earlier revision than the one in force. Undefined if they don't, as far as
 * is known.
 */
export async function staleFiles(
  store: Pick<Store, 'document' | 'history'>,
  origin: Origin,
  { release, inForce }: { release: Pick<Release, 'revision' | 'document'>; inForce: string },
): Promise<Stale | undefined> {
  if (inForce === '' || release.revision === inForce) return undefined;
  const base = (await notesIn(origin))[keyOf(origin)];
  if (base === inForce) return undefined;
  const history = await store.history(PUSHES_MAX);
  const push = history.find(({ revision }) => revision === inForce);
  if (base !== undefined && history.some(({ revision }) => revision === base)) {
    return { base, undone: [], push };
  }
  const undone = await undoneItems(store, history, { document: release.document, inForce });
  return undone.length === 0 ? undefined : { base: undefined, undone, push };
}

/** What a document has as an earlier revision had it, and the one in force has otherwise. */
async function undoneItems(
  store: Pick<Store, 'document'>,
  history: readonly HistoryEntry[],
  { document, inForce }: { document: string; inForce: string },
): Promise<readonly string[]> {
  const [own, current] = [itemsIn(document), itemsIn(await store.document(inForce))];
  const differing = [...new Set([...own.keys(), ...current.keys()])].filter(
    (name) => own.get(name) !== current.get(name),
  );
  const earlier = new Set(history.map(({ revision }) => revision));
  earlier.delete(inForce);
  const undone = new Set<string>();
  for (const revision of [...earlier].slice(0, REVISIONS_MAX)) {
    const items = itemsIn(await store.document(revision));
    if (items.size === 0) continue;
    for (const name of differing) if (items.get(name) === own.get(name)) undone.add(name);
  }
  return [...undone].sort();
}

const nameOf = ({ policy }: Content['policies'][number]): string =>
  typeof policy === 'string' ? policy : '';

/** The policies, files and assets of a document, each as text. Empty if it can't be read. */
function itemsIn(document: string | undefined): ReadonlyMap<string, string> {
  let content;
  try {
    content = contentIn(document, '');
  } catch (thrown) {
    if (thrown instanceof CountersignError && thrown.code === 'STORE_CORRUPT') return new Map();
    throw thrown;
  }
  const { policies, lists, files = {}, assets } = content;
  return new Map([
    ...policies.map((policy) => [`policy ${nameOf(policy)}`, canonicalJson(policy)] as const),
    ...Object.entries(lists).map(([name, values]) => [`list file ${name}`, canonicalJson(values)] as const),
    ...Object.entries(files).map(([name, text]) => [`file ${name}`, text] as const),
    ...(assets === undefined ? [] : [['the asset table', canonicalJson(assets)] as const]),
  ]);
}

/** `pushed 2026-03-01T10:00:00.000Z by ada: as reviewed`. */
export const pushedText = (push: HistoryEntry | undefined): string =>
  push === undefined
    ? 'pushed earlier than the history tells'
    : `pushed ${isoTime(push.atMs)} by ${printable(push.by)}: ${printable(push.message)}`;

const NAMES_SHOWN = 3;

/** A clause about the files. */
export function staleText({ base, undone }: Stale): string {
  if (base !== undefined) return `the policy files come from revision ${shortRevision(base)}`;
  const names = undone.slice(0, NAMES_SHOWN).map(printable).join(', ');
  const more = undone.length > NAMES_SHOWN ? ` and ${undone.length - NAMES_SHOWN} more` : '';
  return `the policy files have ${names}${more} as an earlier revision had it`;
}

/** The POLICY_CONFLICT of a push that would undo a newer one. */
export function staleConflict(
  stale: Stale,
  { inForce, revision, directory }: { inForce: string; revision: string; directory: string },
): CountersignError {
  const short = shortRevision(inForce);
  return new CountersignError(
    'POLICY_CONFLICT',
    `${staleText(stale)}, and ${short} is in force, ${pushedText(stale.push)}. This push would undo it. ` +
      `\`countersign policy diff ${directory}\` shows what, and \`countersign policy checkout DIRECTORY\` writes ` +
      `the policies in force to files. To push all the same, give --expect ${short}`,
    { inForce, revision, base: stale.base ?? null, undone: stale.undone },
  );
}
