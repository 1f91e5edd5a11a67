import { z } from 'zod';
import { type Callback, type Kind, kindOfSubject } from '../callback/callback.ts';
import { parseRecorded } from '../callback/kinds.ts';
import type { PeoplesApproval, PluginAnswer } from '../policy/facts.ts';
import { isKeptDecision, keptApproval, keptText, readKept } from '../store/kept-decision.ts';
import type { JournalEntry } from '../store/store.ts';
import { jsonOrText } from '../values/text.ts';

/*
 * What the detail of an entry says. An entry has the same members wherever it is read from: a store, an
 * export, an archive. Its detail is text: that of a kept decision (see kept-decision.ts), or JSON, with the
 * proposal of a decision that was explained.
 */

const details = new WeakMap<object, unknown>();

/** The value of an entry's detail; the text itself if it can't be read. It is read once. */
export function detailOf(entry: Pick<JournalEntry, 'detail'>): unknown {
  if (details.has(entry)) return details.get(entry);
  const kept = isKeptDecision(entry.detail) ? readKept(entry.detail) : undefined;
  const detail = kept ?? jsonOrText(entry.detail);
  details.set(entry, detail);
  return detail;
}

// ---- the callback ----

const answer = z.object({ verdict: z.enum(['yes', 'no', 'failed']), because: z.string() });

const callbackShape = z.object({
  scheme: z.string().optional(),
  body: z.string(),
  plaintext: z.string().optional(),
  answers: z.record(z.string(), answer).optional(),
  group: z.string().optional(),
  approval: keptApproval.optional(),
  onlyApproved: z.boolean().optional(),
});

/** The text of a recorded callback: the body, or its plaintext if it was in an envelope. */
export interface RecordedText {
  readonly kind: Kind;
  readonly scheme: string | undefined;
  readonly body: string;
}

/** A recorded callback, parsed again from its text. */
export interface RecordedCallback {
  readonly callback: Callback;
  readonly scheme: string | undefined;
  /** The group of the source at that time, if it had one. */
  readonly group: string | undefined;
  /** The recorded answers of plugins, by pluginQuestionKey. */
  readonly answers: ReadonlyMap<string, PluginAnswer>;
  /** What people had said by then. */
  readonly approval: PeoplesApproval | undefined;
  /** Whether a freeze excepted only what people approve. */
  readonly onlyApproved: boolean;
}

/** The text of an entry's callback, or a sentence that says why it can't be read. */
export function recordedText(entry: Pick<JournalEntry, 'subject' | 'detail'>): RecordedText | string {
  const read = readCallback(entry);
  return typeof read === 'string' ? read : { kind: read.kind, scheme: read.scheme, body: read.text };
}

/**
 * The callback of an entry, decoded and parsed as when it arrived, or a sentence that says why it can't be
 * read.
 */
export function recordedCallback(
  entry: Pick<JournalEntry, 'source' | 'subject' | 'detail'>,
): RecordedCallback | string {
  const read = readCallback(entry);
  if (typeof read === 'string') return read;
  const { kind, scheme, text, answers = {}, group, approval: said, onlyApproved = false } = read;
  const callback = parseRecorded(kind, entry.source, text);
  if (typeof callback === 'string') return callback;
  return { callback, scheme, group, answers: new Map(Object.entries(answers)), approval: said, onlyApproved };
}

function readCallback(entry: Pick<JournalEntry, 'subject' | 'detail'>) {
  const kind = kindOfSubject(entry.subject);
  if (kind === undefined) return 'its subject has no kind';
  const { data, error } = callbackShape.safeParse(detailOf(entry));
  if (data !== undefined) return { ...data, kind, text: data.plaintext ?? data.body };
  const member = error.issues[0]?.path.join('.') || 'all of it';
  return `its detail can't be read: ${member} has a wrong form`;
}

const bodyShape = callbackShape.pick({ body: true, plaintext: true });

/**
 * The text of an entry's callback, also of one that could not be parsed. Undefined for an entry without a
 * callback. Of a kept decision, nothing else is read: a search looks at many entries.
 */
export function bodyText(entry: Pick<JournalEntry, 'detail'>): string | undefined {
  const kept = keptText(entry.detail);
  if (kept !== undefined) return kept;
  const { data } = bodyShape.safeParse(detailOf(entry));
  return data && (data.plaintext ?? data.body);
}

const pricesShape = z.object({ proposal: z.object({ prices: z.number() }) });

/** The version of the prices at an explained decision. 0 if the decision did not use prices. */
export const pricesOf = (entry: Pick<JournalEntry, 'detail'>): number =>
  pricesShape.safeParse(detailOf(entry)).data?.proposal.prices ?? 0;

// ---- changes ----

const texts = z.array(z.string());

/** The changes that entries of a type record. */
export const CHANGES = {
  list: z.object({ list: z.string(), add: texts, remove: texts }),
  order: z.discriminatedUnion('change', [
    z.object({
      change: z.literal('expect'),
      members: z.record(z.string(), z.string()),
      expiresAtMs: z.number(),
    }),
    z.object({ change: z.literal('cancel') }),
  ]),
  lockout: z.object({ change: z.literal('lift'), lockout: z.object({ id: z.string() }) }),
};

/** The change of an entry, in a shape of {@link CHANGES}. Undefined if it can't be read. */
export const recordedChange = <T>(shape: z.ZodType<T>, entry: Pick<JournalEntry, 'detail'>): T | undefined =>
  shape.safeParse(detailOf(entry)).data;
