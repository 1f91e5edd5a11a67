import { KINDS } from '../callback/callback.ts';
import { parseRecorded } from '../callback/kinds.ts';
import { messageOf } from '../errors.ts';
import { compileRelease } from '../policy/compile.ts';
import { evaluate } from '../policy/evaluate.ts';
import { type Facts, NO_PRICES, factsAt } from '../policy/facts.ts';
import { proposalToJson } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import { VERSION } from '../values/version.ts';
import { type Kept, digestOf, readKept } from './kept-decision.ts';
import type { JournalEntry } from './store.ts';

/** Revisions that are kept compiled. Consecutive entries mostly have the same one. */
const COMPILED_MAX = 8;

/** Explains kept decisions. `document` reads that of a revision. */
export function createExplainer(
  document: (revision: string) => Promise<string | undefined>,
): (entry: JournalEntry) => Promise<JournalEntry> {
  const compiled = new Map<string, Promise<Release | string | undefined>>();

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
    const result = compileRelease(text);
    if (!result.ok) return `this version can't compile the revision ${revision}`;
    const { release } = result;
    return release.revision === revision
      ? release
      : `the document stored as revision ${revision} is that of ${release.revision}`;
  }

  return async (entry) => ({ ...entry, detail: explainedDetail(entry, await releaseOf(entry.revision)) });
}

/** An entry of the journal, as far as its decision is explained by it. */
export interface KeptEntry {
  readonly source: string;
  readonly subject: string;
  readonly detail: string;
}

/**
 * The detail with the proposal, computed again from what was known. `release` is the revision of the entry:
 * undefined if none was in force, or a sentence that says why it can't be read. The member `note` says if
 * this version explains the decision otherwise than the version that made it, or not at all; `kept` is then
 * the stored detail. Never throws.
 */
export function explainedDetail(entry: KeptEntry, release: Release | string | undefined): string {
  const kept = readKept(entry.detail);
  if (kept === undefined) {
    return JSON.stringify({ kept: entry.detail, note: `version ${VERSION} can't read this entry` });
  }
  const { requestId, traceId, address, by, scheme, body, plaintext } = kept;
  const { answers, group, approval, onlyApproved } = kept;
  const arrival = { requestId, traceId, address, by, scheme };
  const facts = { answers, group, approval, onlyApproved };
  const kind = KINDS.find((each) => entry.subject.startsWith(`${each}:`));
  const callback =
    kind === undefined ? 'its subject has no kind' : parseRecorded(kind, entry.source, plaintext ?? body);
  const unexplained = (because: string): string => {
    const note = unexplainedNote(kept, because);
    return JSON.stringify({ ...arrival, kind, body, plaintext, ...facts, kept: entry.detail, note });
  };
  if (typeof callback === 'string') return unexplained(callback);
  if (typeof release === 'string') return unexplained(release);
  try {
    const proposal = evaluate(release, callback, factsOf(kept));
    const isSame = digestOf(proposal) === kept.digest;
    const { question, terms, unknown } = callback;
    return JSON.stringify({
      ...arrival,
      kind,
      question,
      terms,
      unknown,
      body,
      plaintext,
      ...facts,
      ...(isSame ? {} : { kept: entry.detail, note: differenceNote(kept) }),
      proposal: proposalToJson(proposal),
    });
  } catch (thrown) {
    return unexplained(messageOf(thrown));
  }
}

function factsOf({ evaluatedAtMs, scheme, group, prices, answers = {}, ...people }: Kept): Facts {
  return factsAt(evaluatedAtMs, {
    scheme,
    group,
    prices: prices === undefined ? NO_PRICES : { version: prices.version, prices: new Map(prices.used) },
    answers: new Map(Object.entries(answers)),
    approval: people.approval,
    onlyApproved: people.onlyApproved === true,
  });
}

function differenceNote({ program }: Kept): string {
  const cause = program === VERSION ? ': its time zones, or the entry, have changed since' : '';
  return (
    `explained again by version ${VERSION}; version ${program}, which made the decision, ` +
    `explained it otherwise${cause}`
  );
}

function unexplainedNote({ program, refusal }: Kept, because: string): string {
  const words = refusal === undefined ? '' : `; ${refusal.rule} refused: ${refusal.because}`;
  return `version ${VERSION} can't explain this decision of version ${program}: ${because}${words}`;
}
