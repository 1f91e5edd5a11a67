import type { Release } from '../policy/release.ts';
import type { Journal, JournalEntry } from './store.ts';
import { isKeptDecision } from './kept-decision.ts';

/** Revisions that are kept compiled. Consecutive entries mostly have the same one. */
const COMPILED_MAX = 8;

/**
 * The journal of a store, each decision with the proposal that it was made of: see explanation.ts. The rules
 * are loaded with the first decision that is explained. A command that explains none needs 10 MB less.
 */
export function explained(
  journal: Pick<Journal, 'entry' | 'entries'>,
  document: (revision: string) => Promise<string | undefined>,
): Pick<Journal, 'entry' | 'entries'> {
  const compiled = new Map<string, Promise<Release | string | undefined>>();
  let loaded: Promise<typeof import('./explanation.ts')> | undefined;

  function releaseOf(revision: string): Promise<Release | string | undefined> {
    const known = compiled.get(revision);
    if (known !== undefined) return known;
    const [oldest] = compiled.keys();
    if (oldest !== undefined && compiled.size >= COMPILED_MAX) compiled.delete(oldest);
    const release = read(revision);
    compiled.set(revision, release);
    release.catch(() => compiled.delete(revision));
    return release;
  }

  async function read(revision: string): Promise<Release | string | undefined> {
    if (revision === '') return undefined;
    const text = await document(revision);
    if (text === undefined) return `the store no longer has the revision ${revision}`;
    const { compileRelease } = await import('../policy/compile.ts');
    const result = compileRelease(text);
    if (!result.ok) return `this version can't compile the revision ${revision}`;
    const { release } = result;
    return release.revision === revision
      ? release
      : `the document stored as revision ${revision} is that of ${release.revision}`;
  }

  async function withProposal(entry: JournalEntry): Promise<JournalEntry> {
    if (!isKeptDecision(entry.detail)) return entry;
    const { explainedDetail } = await (loaded ??= import('./explanation.ts'));
    return { ...entry, detail: explainedDetail(entry, await releaseOf(entry.revision)) };
  }

  return {
    async entry(source, id) {
      const entry = await journal.entry(source, id);
      return entry && withProposal(entry);
    },
    async entries(query) {
      const entries = await journal.entries(query);
      return query.explained === false ? entries : Promise.all(entries.map(withProposal));
    },
  };
}
