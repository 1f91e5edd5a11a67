import { z } from 'zod';
import { type Callback, KINDS, type Kind, type Verdict } from '../callback/callback.ts';
import { parseRecorded } from '../callback/kinds.ts';
import { type ClaimResult, claimResults } from '../claims/claims.ts';
import { amountText } from '../claims/kind.ts';
import { CountersignError } from '../errors.ts';
import { proposalFromJson } from '../policy/proposal.ts';
import { explain } from '../policy/explain.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import type { JournalType, PriceHistoryEntry } from '../store/store.ts';

/** An item of a record. Items are in order of time, price changes before the entries of their millisecond. */
export type RecordItem = RecordedEntry | RecordedPrices;

/** An entry of the journal, with its detail as JSON. */
export interface RecordedEntry {
  readonly id: string;
  readonly source: string;
  readonly atMs: number;
  readonly type: JournalType;
  readonly subject: string;
  readonly verdict: Verdict | '';
  readonly code: string;
  /** The entry of the decision that is repeated; empty if none is. */
  readonly of: string;
  readonly claims: unknown;
  /** Without the proposal, which is most of the text and is read only on demand. */
  readonly detail: unknown;
  readonly proposal: () => unknown;
  /** The version of the prices at the decision. 0 if the decision did not use prices. */
  readonly prices: number;
}

export interface RecordedPrices extends Pick<PriceHistoryEntry, 'version' | 'atMs' | 'set' | 'remove'> {
  readonly type: 'prices';
}

const answer = z.object({ verdict: z.enum(['yes', 'no', 'failed']), because: z.string() });

const callbackDetail = z.object({
  kind: z.enum(KINDS),
  scheme: z.string().optional(),
  body: z.string(),
  plaintext: z.string().optional(),
  answers: z.record(z.string(), answer).optional(),
  group: z.string().optional(),
});

/** A recorded callback, parsed again from its body. */
export interface RecordedCallback {
  readonly callback: Callback;
  readonly scheme: string | undefined;
  /** The group of the source at that time, if it had one. */
  readonly group: string | undefined;
  /** The recorded answers of plugins, by pluginQuestionKey. */
  readonly answers: ReadonlyMap<string, PluginAnswer>;
}

/** The text of a recorded callback: the body, or its plaintext if it was in an envelope. */
export interface RecordedText {
  readonly kind: Kind;
  readonly scheme: string | undefined;
  readonly body: string;
}

/** The text of an entry's callback, or a sentence that says why it can't be read. */
export function recordedText({ detail }: Pick<RecordedEntry, 'detail'>): RecordedText | string {
  const read = readDetail(detail);
  if (typeof read === 'string') return read;
  const { kind, scheme, body, plaintext } = read;
  return { kind, scheme, body: plaintext ?? body };
}

function readDetail(detail: unknown): z.output<typeof callbackDetail> | string {
  const read = callbackDetail.safeParse(detail);
  if (read.success) return read.data;
  const member = read.error.issues[0]?.path.join('.') || 'all of it';
  return `its detail can't be read: ${member} has a wrong form`;
}

/**
 * The callback of an entry, decoded and parsed as when it arrived, or a sentence that says why it can't be
 * read.
 */
export function recordedCallback({
  source,
  detail,
}: Pick<RecordedEntry, 'source' | 'detail'>): RecordedCallback | string {
  const read = readDetail(detail);
  if (typeof read === 'string') return read;
  const { kind, scheme, body, plaintext, answers = {}, group } = read;
  const callback = parseRecorded(kind, source, plaintext ?? body);
  if (typeof callback === 'string') return callback;
  return { callback, scheme, group, answers: new Map(Object.entries(answers)) };
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

/** The change of an entry of type `list`. Undefined if it can't be read. */
export function recordedListChange({ detail }: RecordedEntry): z.output<typeof listDetail> | undefined {
  return listDetail.safeParse(detail).data;
}

/** The change of an entry of type `order`. Undefined if it can't be read. */
export function recordedOrderChange({ detail }: RecordedEntry): z.output<typeof orderDetail> | undefined {
  return orderDetail.safeParse(detail).data;
}

const liftDetail = z.object({ change: z.literal('lift'), lockout: z.object({ id: z.string() }) });

/** The id of a lock-out that was lifted. Undefined for an entry that this version can't read. */
export function recordedLift({ detail }: RecordedEntry): string | undefined {
  return liftDetail.safeParse(detail).data?.lockout.id;
}

/** `rule` is the rule that refused, as POLICY/NAME#N, or the code if no rule did. */
export interface Reason {
  readonly verdict: Verdict;
  readonly rule: string;
  readonly because: string;
  /** The values that the rule used. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Why a recorded callback got its verdict, as far as this version of the program can read the entry. Never
 * throws.
 */
export function recordedReason(entry: RecordedEntry): Reason {
  const { code, of } = entry;
  const verdict = entry.verdict === 'SUCCESS' ? 'SUCCESS' : 'FAILURE';
  const withoutProposal: Reason = { verdict, rule: code, because: code, values: {} };
  try {
    const proposal = proposalFromJson(entry.proposal());
    const { deciding, because, rules } = explain(proposal, { code, of, claims: claimsOf(entry.claims) });
    if (deciding === undefined) return { ...withoutProposal, because };
    const at = rules.findIndex(({ policy, rule }) => policy === deciding.policy && rule === deciding.rule);
    const values = proposal.results[at]?.values ?? {};
    return { verdict, rule: `${deciding.policy}/${deciding.rule}`, because: deciding.because, values };
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    return withoutProposal;
  }
}

/** Amounts are bigints in the store's journal, and decimal text in an export. */
const results = claimResults(z.union([z.bigint(), amountText]));

/** The results of the claims; none if they can't be read. */
function claimsOf(written: unknown): readonly ClaimResult[] {
  return results.safeParse(written).data ?? [];
}

/** A detail, or a line that ends with one, without its proposal. */
export interface SplitProposal {
  /** Everything but the proposal, if it could be separated. */
  readonly rest: unknown;
  /** Reads the proposal. Undefined if there is no readable one. */
  readonly proposal: () => unknown;
  /** The version of the prices at the evaluation. 0 if it did not use prices. */
  readonly prices: number;
}

const BEGINNING = ',"proposal":{';
/** The end of a proposal that is the last member of a detail, or of a line that ends with the detail. */
const END = /"prices":(\d{1,15}),"validFromMs":\d{1,16},"validUntilMs":\d{1,16}\}(\}{1,2})$/;
const END_CHARACTERS = 200;

/**
 * Reads JSON text without the proposal at its end, which is most of an entry and is needed only for changed
 * verdicts. JSON strings have no unescaped quotes, so `BEGINNING` never matches within a string. Throws
 * SyntaxError.
 */
export function splitProposal(text: string): SplitProposal {
  const at = text.indexOf(BEGINNING);
  const end = at === -1 ? null : END.exec(text.slice(-END_CHARACTERS));
  const [, prices = '0', closing = ''] = end ?? [];
  const rest = end === null ? undefined : parseOrUndefined(text.slice(0, at) + closing);
  if (rest === undefined) return parseWithProposal(text);
  const begin = at + BEGINNING.length - 1;
  return {
    rest,
    proposal: () => parseOrUndefined(text.slice(begin, text.length - closing.length)),
    prices: Number(prices),
  };
}

const withProposal = z.object({ proposal: z.looseObject({ prices: z.number().optional() }) });
const holdingDetail = z.object({ detail: withProposal });

function parseWithProposal(text: string): SplitProposal {
  const rest: unknown = JSON.parse(text);
  const proposal =
    withProposal.safeParse(rest).data?.proposal ?? holdingDetail.safeParse(rest).data?.detail.proposal;
  return { rest, proposal: () => proposal, prices: proposal?.prices ?? 0 };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
