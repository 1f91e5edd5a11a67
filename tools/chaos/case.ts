import { z } from 'zod';
import type { JournalEntry } from '../../src/store/store.ts';
import type { Act, Exchange, History, Planned, Span } from './history.ts';

/** A history, put in order for the invariants. */
export interface Case extends History {
  readonly successes: readonly Exchange[];
  /** What the journal says was answered, oldest first within a source. */
  readonly read: readonly Read[];
  /** Those of `read` that say SUCCESS. */
  readonly approved: readonly Read[];
  /** Spans in which it certainly was frozen, and those in which it may have been. */
  readonly frozen: readonly Span[];
  readonly perhapsFrozen: readonly Span[];
}

/** A journal entry about a callback, with that callback; undefined if no such body was ever sent. */
export interface Read {
  readonly entry: JournalEntry;
  readonly body: string;
  readonly callback: Planned | undefined;
}

/** How often an invariant was looked at, and a sentence for each time that it did not hold. */
export interface Findings {
  readonly checked: number;
  readonly broken: readonly string[];
}

export interface Invariant {
  readonly name: string;
  readonly check: (history: Case) => Findings;
}

const detail = z.object({ body: z.string() });
const ABOUT_CALLBACKS: ReadonlySet<string> = new Set(['decision', 'repeat', 'notice']);

export function caseOf(history: History): Case {
  const planned = new Map(history.exchanges.map(({ callback }) => [callback.body, callback]));
  const entries = [...history.journal.values()].flat();
  const read = entries
    .filter(({ type }) => ABOUT_CALLBACKS.has(type))
    .map((entry) => {
      const { body } = detail.parse(JSON.parse(entry.detail));
      return { entry, body, callback: planned.get(body) };
    });
  const acts = history.acts.toSorted((a, b) => a.begunAtMs - b.begunAtMs);
  return {
    ...history,
    acts,
    successes: history.exchanges.filter(({ answer }) => answer === 'SUCCESS'),
    read,
    approved: read.filter(({ entry }) => entry.verdict === 'SUCCESS'),
    frozen: certainSpans(acts.filter(isAboutFreezing), ({ type }) => type !== 'unfreeze'),
    perhapsFrozen: possibleSpans(acts.filter(isAboutFreezing)),
  };
}

const isAboutFreezing = ({ type }: Act): boolean =>
  type === 'freeze' || type === 'unfreeze' || type === 'loss';

/**
 * From when an act had returned until the next one of its kind was begun: in between, what it brought about
 * holds. The acts must be of one kind, in order. One that was rejected may come about at any time, so nothing
 * is certain after it.
 */
export function certainSpans(acts: readonly Act[], begins: (act: Act) => boolean): readonly Span[] {
  return acts.flatMap((act, index) =>
    act.certain && begins(act)
      ? [{ fromMs: act.endedAtMs, untilMs: acts[index + 1]?.begunAtMs ?? Infinity }]
      : [],
  );
}

function possibleSpans(acts: readonly Act[]): readonly Span[] {
  return acts.flatMap((act, index) => {
    if (act.type === 'unfreeze' && act.certain) return [];
    const ending = acts.slice(index + 1).find(({ type, certain }) => type === 'unfreeze' && certain);
    return [{ fromMs: act.begunAtMs, untilMs: ending?.endedAtMs ?? Infinity }];
  });
}

/** Whether all of it lies in the span; instants are whole milliseconds, so its very ends prove nothing. */
export const isWithin = ({ fromMs, untilMs }: Span, begunAtMs: number, endedAtMs = begunAtMs): boolean =>
  begunAtMs > fromMs && endedAtMs < untilMs;

export const overlaps = (span: Span, { sentAtMs, endedAtMs }: Exchange): boolean =>
  sentAtMs <= span.untilMs && endedAtMs >= span.fromMs;

export function describe({ callback, receiver, answer, sentAtMs }: Exchange): string {
  return `${callback.story} ${callback.subject} sent to ${receiver} at ${sentAtMs}, answered ${answer ?? 'nothing'}`;
}

export function describeEntry({ entry, callback }: Read): string {
  return `${entry.source}/${entry.id} ${entry.type} ${entry.verdict} of ${callback?.story ?? 'nobody knows what'} ${entry.subject}`;
}

/** Looks at each; a sentence is what is wrong. */
export function findings<T>(looked: readonly T[], wrong: (each: T) => string | undefined): Findings {
  return { checked: looked.length, broken: looked.map(wrong).filter((said) => said !== undefined) };
}

export const both = (...parts: readonly Findings[]): Findings => ({
  checked: parts.reduce((sum, { checked }) => sum + checked, 0),
  broken: parts.flatMap(({ broken }) => broken),
});
