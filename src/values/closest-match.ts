/** Longer words are not compared, because the comparison takes quadratic time. */
const MAX_LENGTH = 64;

/** A shorter word is the beginning of too many others. */
const BEGINNING_LENGTH = 3;

/**
 * The candidate that `word` is probably a misspelling of, for "did you mean". It differs by at most one edit
 * for each three letters, rounded up, and by at most three edits: by two for a word of four letters. If none
 * does, it is the longest that the word begins with: `max` for `maximum`.
 */
export function closestMatch(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.ceil(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best ?? beginningOf(word.toLowerCase(), candidates);
}

function beginningOf(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  for (const candidate of candidates) {
    const isLonger = candidate.length >= Math.max(BEGINNING_LENGTH, (best?.length ?? 0) + 1);
    if (isLonger && word.startsWith(candidate.toLowerCase())) best = candidate;
  }
  return best;
}

/** The Levenshtein distance: insertions, deletions and substitutions that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
