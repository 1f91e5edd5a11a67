import { z } from 'zod';
import type { Callback } from '../callback/callback.ts';
import { callbackKinds } from '../callback/kinds.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import type { JournalType, PriceHistoryEntry } from '../store/store.ts';
import type { Verdict } from '../callback/callback.ts';
import { readMembers } from '../values/members.ts';

/** What a backtest goes by, in order of time; price changes before the entries of the same millisecond. */
export type RecordItem = RecordedEntry | RecordedPrices;

/** An entry of the journal, its detail as JSON. */
export interface RecordedEntry {
  readonly id: string;
  readonly source: string;
  readonly atMs: number;
  readonly type: JournalType;
  readonly subject: string;
  readonly verdict: Verdict | '';
  readonly code: string;
  readonly claims: unknown;
  /** Without the proposal, most of it, which is read when somebody asks. */
  readonly detail: unknown;
  readonly proposal: () => unknown;
  /** The version of the prices that it was decided with; 0 if they did not matter. */
  readonly prices: number;
}

export interface RecordedPrices extends Pick<PriceHistoryEntry, 'version' | 'atMs' | 'set' | 'remove'> {
  readonly type: 'prices';
}

const answer = z.object({ verdict: z.enum(['yes', 'no', 'failed']), because: z.string() });

const callbackDetail = z.object({
  kind: z.enum(['payment', 'transfer', 'web3']),
  scheme: z.string().optional(),
  body: z.string(),
  plaintext: z.string().optional(),
  answers: z.record(z.string(), answer).optional(),
});

/** A recorded callback, read again from its body. */
export interface RecordedCallback {
  readonly callback: Callback;
  readonly scheme: string | undefined;
  /** What those who were asked then answered, by pluginQuestionKey. */
  readonly answers: ReadonlyMap<string, PluginAnswer>;
}

/**
 * The callback of an entry, by the decoder and the parser that read it when it came; or why it can't be read.
 */
export function recordedCallback({ source, detail }: RecordedEntry): RecordedCallback | string {
  const read = callbackDetail.safeParse(detail);
  if (!read.success) {
    return `its detail can't be read: ${read.error.issues[0]?.path.join('.') || 'all of it'} is not as it should be`;
  }
  const { kind, scheme, body, plaintext, answers = {} } = read.data;
  const decoded = readMembers(plaintext ?? body);
  if (!decoded.ok) return `its body can't be read: ${decoded.because}`;
  // It was within the bounds of its day.
  const parsed = callbackKinds[kind].parse(decoded.members, source, { outputs: Infinity });
  if (!parsed.ok) return `its body can't be read: ${parsed.because}`;
  return {
    callback: parsed.callback,
    scheme,
    answers: new Map(Object.entries(answers)),
  };
}

const texts = z.array(z.string());
const listDetail = z.object({ list: z.string(), add: texts, remove: texts });
const orderDetail = z.discriminatedUnion('change', [
  z.object({
    change: z.literal('expect'),
    members: z.record(z.string(), z.string()),
    expiresAtMs: z.number(),
  }),
  z.object({ change: z.literal('cancel') }),
]);

/** What an entry of type `list` changed; undefined if it can't be read. */
export function recordedListChange({ detail }: RecordedEntry): z.output<typeof listDetail> | undefined {
  return listDetail.safeParse(detail).data;
}

/** What an entry of type `order` changed; undefined if it can't be read. */
export function recordedOrderChange({ detail }: RecordedEntry): z.output<typeof orderDetail> | undefined {
  return orderDetail.safeParse(detail).data;
}
