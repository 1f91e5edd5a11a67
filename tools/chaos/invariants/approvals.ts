import { type Case, type Invariant, both, findings, describe, describeEntry } from '../case.ts';

/** Both what was answered and what the journal says was approved. */
function never(wrong: (callback: Case['exchanges'][number]['callback']) => boolean): Invariant['check'] {
  return ({ exchanges, approved }) =>
    both(
      findings(
        exchanges.filter(({ callback }) => wrong(callback)),
        (each) => (each.answer === 'SUCCESS' ? describe(each) : undefined),
      ),
      findings(
        approved.filter(({ callback }) => callback !== undefined && wrong(callback)),
        describeEntry,
      ),
    );
}

export const authentic: Invariant = {
  name: 'nothing unauthentic is approved',
  check: never(({ authentic: is }) => !is),
};

export const lawful: Invariant = {
  name: 'nothing is approved that no policy lets through',
  check: never(({ authentic: is, approvable }) => is && !approvable),
};

/** By what was answered, and once more by the journal: an approval that nobody was told of counts as well. */
export const oneSetOfTerms: Invariant = {
  name: 'no subject is approved with two sets of terms',
  check({ successes, approved }) {
    const answered = successes.map(({ callback }) => callback);
    const journalled = approved.flatMap(({ callback }) => (callback === undefined ? [] : [callback]));
    const subjects = Map.groupBy(
      [...answered, ...journalled],
      ({ source, subject }) => `${source} ${subject}`,
    );
    return findings([...subjects], ([subject, callbacks]) => {
      const terms = new Set(callbacks.map((callback) => callback.terms));
      return terms.size > 1 ? `${subject} was approved with ${[...terms].join(' and with ')}` : undefined;
    });
  },
};

/** What was approved is repeated, not approved anew, unless a refusal came in between. */
export const decidedOnce: Invariant = {
  name: 'a question is approved once',
  check({ read }) {
    const standing = new Map<string, string>();
    return findings(
      read.filter(({ entry }) => entry.type === 'decision' && entry.code !== 'FROZEN'),
      (each) => {
        const { entry, callback } = each;
        if (callback === undefined || entry.code === 'TERMS_CHANGED') return undefined;
        const question = `${entry.source} ${entry.subject} ${callback.question}`;
        const before = standing.get(question);
        standing.set(question, entry.verdict);
        return before === 'SUCCESS' && entry.verdict === 'SUCCESS'
          ? `${describeEntry(each)}: it was approved before`
          : undefined;
      },
    );
  },
};

/** A `sign_success` only tells; it is in order if a `sign_start` with the same terms was approved before. */
export const signedAsApproved: Invariant = {
  name: 'a signature is in order only if it was approved before',
  check({ approved }) {
    const started = new Set<string>();
    const broken: string[] = [];
    let checked = 0;
    for (const each of approved) {
      if (each.callback === undefined) continue;
      const { subject, terms, question } = each.callback;
      if (question === 'sign_start') started.add(`${subject} ${terms}`);
      if (question !== 'sign_success') continue;
      checked += 1;
      if (!started.has(`${subject} ${terms}`)) broken.push(describeEntry(each));
    }
    return { checked, broken };
  },
};
