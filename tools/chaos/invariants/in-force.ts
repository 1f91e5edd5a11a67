import {
  type Case,
  type Findings,
  type Invariant,
  both,
  certainSpans,
  findings,
  isWithin,
  describe,
  describeEntry,
} from '../case.ts';
import type { Act, Exchange, Span } from '../history.ts';
import type { Read } from '../case.ts';

/**
 * No approval wholly within a span: neither one sent and answered in it, nor one that the journal puts there.
 */
function noneWithin(
  span: Span,
  { exchanges, approved }: Pick<Case, 'exchanges' | 'approved'>,
  concerns: { readonly sent: (each: Exchange) => boolean; readonly read: (each: Read) => boolean },
): Findings {
  const during = ` while ${span.fromMs} to ${span.untilMs}`;
  return both(
    findings(
      exchanges.filter((each) => isWithin(span, each.sentAtMs, each.endedAtMs) && concerns.sent(each)),
      (each) => (each.answer === 'SUCCESS' ? describe(each) + during : undefined),
    ),
    findings(
      approved.filter((each) => isWithin(span, each.entry.atMs) && concerns.read(each)),
      (each) => describeEntry(each) + during,
    ),
  );
}

const all = { sent: () => true, read: () => true };

/** From the return of `freeze`, or from the loss of the data, until `unfreeze` is begun. */
export const noneWhileFrozen: Invariant = {
  name: 'nothing is approved while frozen',
  check: (history) => both(...history.frozen.map((span) => noneWithin(span, history, all))),
};

/** From the return of a push until the next one is begun, each approval is of its revision. */
export const noOldRevision: Invariant = {
  name: 'nothing is approved under a revision no longer in force',
  check({ acts, approved }) {
    const pushes = acts.filter((act) => act.type === 'push');
    const decided = approved.filter(({ entry }) => entry.type !== 'notice');
    return both(
      ...pushes.map((push) => {
        const [span] = certainSpans(pushes.slice(pushes.indexOf(push)), (act) => act === push);
        if (span === undefined) return { checked: 0, broken: [] };
        return findings(
          decided.filter(({ entry }) => isWithin(span, entry.atMs)),
          (each) =>
            each.entry.revision === push.revision
              ? undefined
              : `${describeEntry(each)} under ${each.entry.revision}, ${push.revision} was in force from ${span.fromMs}`,
        );
      }),
    );
  },
};

/** From the return of an addition until the removal is begun. */
export const noneListed: Invariant = {
  name: 'nothing is approved that a list denies',
  check(history) {
    const changes = history.acts.filter((act) => act.type === 'list');
    const values = Map.groupBy(changes, ({ source, value }) => `${source} ${value}`);
    return both(...[...values.values()].map((acts) => listed(history, acts)));
  },
};

function listed(history: Case, acts: readonly Extract<Act, { type: 'list' }>[]): Findings {
  const [first] = acts;
  const isMeant = ({ source, listed: value }: Exchange['callback']): boolean =>
    source === first?.source && value === first.value;
  const spans = certainSpans(acts, (act) => act.type === 'list' && act.change === 'add');
  const concerns = {
    sent: ({ callback }: Exchange) => isMeant(callback) && callback.question !== 'sign_success',
    read: ({ callback, entry }: Read) =>
      callback !== undefined && isMeant(callback) && entry.type !== 'notice',
  };
  return both(...spans.map((span) => noneWithin(span, history, concerns)));
}
