import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import type { JournalEntry, JournalQuery, JournalType, Store } from '../store/store.ts';
import { type Amount, parseAmount } from '../values/amount.ts';
import { addressIdentity } from '../values/address.ts';
import { canonicalUserId } from '../values/user-id.ts';
import { exactJsonOrText } from '../values/text.ts';
import {
  START,
  type Stream,
  cursorOf,
  notACursor,
  passEntry,
  positionOf,
  queriesFrom,
  startOf,
} from './cursor.ts';
import { explainJournalEntry } from './explanation.ts';
import { mergedEntries } from './record.ts';
import { bodyText } from './recorded.ts';

/** What entries must have. A member that is left out filters nothing. */
export interface EntryFilter {
  readonly type?: JournalType | undefined;
  readonly verdict?: 'SUCCESS' | 'FAILURE' | undefined;
  readonly code?: string | undefined;
  /**
   * The rule that refused: a policy (`p`), a kind of rule (`p/amount-limit`) or a rule (`p/amount-limit#1`).
   */
  readonly rule?: string | undefined;
  /** `userId` of a payment. */
  readonly user?: string | undefined;
  /** An address of the callback: its sender, its recipients, its contract. */
  readonly address?: string | undefined;
  readonly asset?: string | undefined;
  /** A user, an address or an asset, whichever it is. */
  readonly party?: string | undefined;
  readonly fromAmount?: Amount | undefined;
  /** The amount itself is included. */
  readonly toAmount?: Amount | undefined;
}

export interface SearchQuery {
  readonly streams: readonly Stream[];
  readonly newestFirst: boolean;
  readonly period: Pick<JournalQuery, 'fromMs' | 'untilMs'>;
  /** START for the first page. */
  readonly cursor: string;
  readonly filter: EntryFilter;
  readonly limit: number;
  /** Whether the page has the members of its entries, too. */
  readonly withMembers?: boolean;
  /** After so many entries, or when `isOver` says so of their number, the page ends with what was found. */
  readonly most?: number;
  readonly isOver?: (looked: number) => boolean;
}

/** What a callback asks for, as it was sent. A member that the callback does not have is the empty text. */
export interface EntryMembers {
  readonly amount: string;
  readonly asset: string;
  readonly user: string;
}

export interface SearchPage {
  readonly entries: readonly JournalEntry[];
  /** Of each entry, in their order; empty unless the query asks for them. */
  readonly members: readonly EntryMembers[];
  /** The cursor of the next page; undefined at the end. */
  readonly next: string | undefined;
  /** The time of the last entry that was looked at; undefined if there was none. */
  readonly lookedAtMs: number | undefined;
}

/**
 * A page of the entries that match, by time. Throws USAGE for a cursor of another search or another store.
 */
export async function searchJournal(
  store: Pick<Store, 'entries' | 'entry'>,
  { streams, newestFirst, period, cursor, filter, limit, withMembers, most = Infinity, isOver }: SearchQuery,
): Promise<SearchPage> {
  const start = startOf(streams, { ...period, newestFirst });
  const position = positionOf(cursor, start);
  const found: JournalEntry[] = [];
  let looked = 0;
  let lookedAtMs: number | undefined;
  const page = (next: string | undefined): SearchPage => ({
    entries: found,
    members: withMembers === true ? found.map(entryMembers) : [],
    next,
    lookedAtMs,
  });
  const queries = queriesFrom(position, streams).map((query) => ({ ...query, explained: false }));
  for await (const entry of entriesAfter(cursor, mergedEntries(store, queries, newestFirst))) {
    if (found.length === limit || looked === most || isOver?.(looked) === true) {
      return page(cursorOf(position));
    }
    looked += 1;
    lookedAtMs = entry.atMs;
    passEntry(position, entry);
    if (!mayMatch(entry, filter)) continue;
    // The explanation is computed only for entries that everything else lets pass.
    const explained = await store.entry(entry.source, entry.id);
    if (explained !== undefined && (filter.rule === undefined || refusedBy(explained, filter.rule))) {
      found.push(explained);
    }
  }
  return page(undefined);
}

/** The entries. Throws USAGE if the ids of the cursor are not those of the store. */
async function* entriesAfter(
  cursor: string,
  entries: AsyncGenerator<JournalEntry>,
): AsyncGenerator<JournalEntry> {
  try {
    yield* entries;
  } catch (thrown) {
    const isOurs = thrown instanceof CountersignError && thrown.code === 'USAGE' && 'after' in thrown.data;
    throw isOurs && cursor !== START ? notACursor(cursor) : thrown;
  }
}

/** Whether all but the rule matches. */
function mayMatch(entry: JournalEntry, { type, verdict, code, rule, ...members }: EntryFilter): boolean {
  if (type !== undefined && entry.type !== type) return false;
  if (verdict !== undefined && entry.verdict !== verdict) return false;
  if (code !== undefined && entry.code !== code) return false;
  if (rule !== undefined && entry.verdict === 'SUCCESS') return false;
  return Object.values(members).every((wanted) => wanted === undefined) || matchesMembers(entry, members);
}

const scalar = z.string().optional().catch(undefined);
/** The members by which entries are found, as they were sent. */
const membersShape = z.object({
  userId: scalar,
  orderAmount: scalar,
  amount: scalar,
  payCoinSymbol: scalar,
  symbol: scalar,
  main_chain_symbol: scalar,
  from: scalar,
  to: scalar,
  interactive_contract: scalar,
  outputs: z.unknown().optional(),
});
const outputsShape = z.array(z.object({ address_to: scalar, amount: scalar }));

type Members = z.output<typeof membersShape>;

/** The members of a callback's body. Undefined for an entry without a callback. */
function membersOf(entry: JournalEntry): Members | undefined {
  const text = bodyText(entry);
  return text === undefined ? undefined : membersShape.safeParse(exactJsonOrText(text)).data;
}

function entryMembers(entry: JournalEntry): EntryMembers {
  const {
    userId = '',
    orderAmount,
    amount,
    payCoinSymbol,
    symbol,
    main_chain_symbol: chain,
  } = membersOf(entry) ?? {};
  return { amount: orderAmount ?? amount ?? '', asset: payCoinSymbol ?? symbol ?? chain ?? '', user: userId };
}

function matchesMembers(
  entry: JournalEntry,
  { user, address, asset, party, fromAmount, toAmount }: EntryFilter,
): boolean {
  // Addresses have other spellings, but not those that are numbers.
  const number = party !== undefined && /^\d+$/.test(party) ? canonicalUserId(party) : undefined;
  const id = user === undefined ? undefined : canonicalUserId(user);
  if (![id, asset, number].every((wanted) => mayContain(entry.detail, wanted))) return false;
  const members = membersOf(entry);
  if (members === undefined) return false;
  const isUser = (wanted: string): boolean =>
    members.userId !== undefined && canonicalUserId(members.userId) === canonicalUserId(wanted);
  const isAsset = (wanted: string): boolean =>
    [members.payCoinSymbol, members.symbol, members.main_chain_symbol].includes(wanted);
  if (user !== undefined && !isUser(user)) return false;
  if (asset !== undefined && !isAsset(asset)) return false;
  if (address !== undefined && !hasAddress(members, address)) return false;
  if (party !== undefined && !isUser(party) && !isAsset(party) && !hasAddress(members, party)) return false;
  const amount = parseAmount(members.orderAmount ?? members.amount ?? '');
  return isWithin(amount, fromAmount, toAmount);
}

function hasAddress(
  { from, to, interactive_contract: contract, outputs }: Members,
  address: string,
): boolean {
  const wanted = addressIdentity(address);
  const addresses = [from, to, contract, ...outputsOf(outputs).map((output) => output.address_to)];
  return addresses.some((each) => each !== undefined && addressIdentity(each) === wanted);
}

const WRITTEN_AS_IT_IS = /^[\w .@:+-]+$/;

/**
 * False if no value in the text is the wanted one, which is faster to find out than by reading the text. A
 * character may also be written as an escape, such as `\u0031`.
 */
function mayContain(json: string, wanted: string | undefined): boolean {
  if (wanted === undefined || !WRITTEN_AS_IT_IS.test(wanted)) return true;
  return json.includes(wanted) || json.includes('\\u');
}

function outputsOf(written: unknown): z.output<typeof outputsShape> {
  const outputs = typeof written === 'string' ? exactJsonOrText(written) : written;
  return outputsShape.safeParse(outputs).data ?? [];
}

function isWithin(amount: Amount | undefined, from: Amount | undefined, to: Amount | undefined): boolean {
  if (from === undefined && to === undefined) return true;
  return amount !== undefined && (from === undefined || amount >= from) && (to === undefined || amount <= to);
}

/** Whether a policy (`p`), a kind of rule (`p/amount-limit`) or one rule (`p/amount-limit#1`) refused. */
function refusedBy(entry: JournalEntry, wanted: string): boolean {
  const { deciding } = explainJournalEntry(entry);
  if (deciding === undefined) return false;
  const { policy, rule } = deciding;
  return [policy, `${policy}/${rule}`, `${policy}/${rule.replace(/#\d+$/, '')}`].includes(wanted);
}
