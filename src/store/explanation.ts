import { type Callback, KINDS, type Kind } from '../callback/callback.ts';
import { callbackKinds } from '../callback/kinds.ts';
import { messageOf } from '../errors.ts';
import { evaluate } from '../policy/evaluate.ts';
import { type Facts, NO_PRICES, factsAt } from '../policy/facts.ts';
import { proposalToJson } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import { readMembers } from '../values/members.ts';
import { VERSION } from '../values/version.ts';
import { type Kept, digestOf, readKept } from './kept-decision.ts';

/** An entry of the journal, as far as its decision is explained by it. */
export interface KeptEntry {
  readonly source: string;
  readonly subject: string;
  readonly detail: string;
}

/**
 * The detail with the proposal, computed again from what was known. `release` is the revision of the entry:
 * undefined if none was in force, or a sentence that says why it can't be read. The member `note` says if this
 * version explains the decision otherwise than the version that made it, or not at all; `kept` is then the
 * stored detail. Never throws.
 */
export function explainedDetail(entry: KeptEntry, release: Release | string | undefined): string {
  const kept = readKept(entry.detail);
  if (kept === undefined) {
    return JSON.stringify({ kept: entry.detail, note: `version ${VERSION} can't read this entry` });
  }
  const { requestId, address, by, scheme, answers, group, body, plaintext } = kept;
  const arrival = { requestId, address, by, scheme };
  const kind = KINDS.find((each) => entry.subject.startsWith(`${each}:`));
  const callback =
    kind === undefined ? 'its subject has no kind' : callbackOf(entry, kind, plaintext ?? body);
  const unexplained = (because: string): string => {
    const note = unexplainedNote(kept, because);
    return JSON.stringify({ ...arrival, kind, body, plaintext, answers, group, kept: entry.detail, note });
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
      answers,
      group,
      ...(isSame ? {} : { kept: entry.detail, note: differenceNote(kept) }),
      proposal: proposalToJson(proposal),
    });
  } catch (thrown) {
    return unexplained(messageOf(thrown));
  }
}

function factsOf({ evaluatedAtMs, scheme, group, prices, answers = {} }: Kept): Facts {
  return factsAt(evaluatedAtMs, {
    scheme,
    group,
    prices: prices === undefined ? NO_PRICES : { version: prices.version, prices: new Map(prices.used) },
    answers: new Map(Object.entries(answers)),
  });
}

/** The callback, decoded and parsed as when it arrived, or why this version can't. */
function callbackOf({ source }: KeptEntry, kind: Kind, text: string): Callback | string {
  const decoded = readMembers(text);
  // The bounds of then don't matter: the callback was within them.
  const callback = decoded.ok
    ? callbackKinds[kind].parse(decoded.members, source, { outputs: Infinity })
    : decoded;
  return callback.ok ? callback.callback : `its body can't be read: ${callback.because}`;
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
