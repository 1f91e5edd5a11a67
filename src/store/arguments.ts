import { CountersignError, usageError } from '../errors.ts';
import type {
  ApprovalRequestChange,
  JournalQuery,
  OrderAnnouncement,
  PriceChange,
  PriceHistoryQuery,
} from './store.ts';

/* What both stores check of their arguments, and the errors for what is not there. */

// ---- orders ----

/**
 * Throws USAGE unless an announcement names a member and has a whole expiry. One without members would agree
 * with any callback.
 */
export function assertAnnouncement({ source, subject, members, expiresAtMs }: OrderAnnouncement): void {
  if (Object.keys(members).length === 0) {
    throw usageError(
      `the order for ${subject} of ${source} names no members, so any callback would agree; name some`,
      { source, subject },
    );
  }
  if (!Number.isSafeInteger(expiresAtMs) || expiresAtMs < 0) {
    throw usageError(
      `expiresAtMs is ${expiresAtMs}; give whole milliseconds since 1970 as an order's expiry`,
      { source, subject, expiresAtMs },
    );
  }
}

// ---- approval requests ----

const KEEP_MAX_MS = 3650 * 86_400_000;

/** Throws USAGE unless the change says for how many milliseconds the request is kept. */
export function assertApprovalRequestChange({ scope, id, keepMs }: ApprovalRequestChange): void {
  if (Number.isInteger(keepMs) && keepMs > 0 && keepMs <= KEEP_MAX_MS) return;
  throw usageError(
    `the approval request ${id} is to be kept for ${keepMs} ms; give whole milliseconds from 1 to ${KEEP_MAX_MS}`,
    { scope, id, keepMs },
  );
}

// ---- the journal ----

const LIMIT_MAX = 1000;

/** Throws USAGE for a limit outside 1 to 1000, or an `after` that is no id of the store's entries. */
export function assertJournalQuery(
  { limit, after = '' }: JournalQuery,
  isEntryId: (text: string) => boolean,
): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw usageError(`the limit is ${limit} entries; give 1 to ${LIMIT_MAX}`, { limit });
  }
  if (after !== '' && !isEntryId(after)) {
    throw usageError(`${JSON.stringify(after)} is not an id of the journal; give one of its ids`, { after });
  }
}

// ---- prices ----

/** The most assets that one change of prices can name, and the most history entries of one query. */
const ENTRIES_MAX = 1000;

/** Throws USAGE unless a change names 1 to 1000 assets, set or removed, each once, with prices above zero. */
export function assertPriceChange({ set, remove }: PriceChange): void {
  const assets = [...set.map(({ asset }) => asset), ...remove];
  if (assets.length === 0 || assets.length > ENTRIES_MAX) {
    throw wrong(`a change of ${assets.length} prices; give 1 to ${ENTRIES_MAX}`, { assets: assets.length });
  }
  const seen = new Set<string>();
  const duplicate = assets.find((asset) => seen.size === seen.add(asset).size);
  if (duplicate !== undefined) {
    throw wrong(`the price of ${JSON.stringify(duplicate)} is changed twice; name it once`, {
      asset: duplicate,
    });
  }
  for (const { asset, price, asOfMs } of set) {
    if (price <= 0n) {
      throw wrong(`the price of ${JSON.stringify(asset)} is not above zero; give one that is, or remove it`, {
        asset,
      });
    }
    if (!Number.isSafeInteger(asOfMs) || asOfMs < 0) {
      throw wrong(
        `the price of ${JSON.stringify(asset)} is as of ${asOfMs}; give whole milliseconds since 1970`,
        { asset, asOfMs },
      );
    }
  }
}

/** Throws USAGE unless `after` is 0 or a version, or `before` is a version, and `limit` is 1 to 1000. */
export function assertPriceQuery({ after, before, limit }: PriceHistoryQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > ENTRIES_MAX) {
    throw wrong(`a limit of ${limit} price changes; give 1 to ${ENTRIES_MAX}`, { limit });
  }
  const [version, least] = before === undefined ? [after, 0] : [before, 1];
  if (!Number.isSafeInteger(version) || version < least) {
    throw wrong(`${version} is not a version of the prices; give ${least} or a version`, { version });
  }
}

const wrong = (message: string, data: Readonly<Record<string, unknown>>): CountersignError =>
  usageError(message, data);

// ---- not found ----

export const missingList = (source: string, list: string): CountersignError =>
  new CountersignError(
    'NOT_FOUND',
    `the source ${source} has no list ${list}; create it with \`countersign list add\``,
    { source, list },
  );

export const missingLockout = (source: string, id: string): CountersignError =>
  new CountersignError(
    'NOT_FOUND',
    `the source ${source} has no lock-out ${id}; \`countersign lockout list\` lists those that stand`,
    { source, id },
  );

export const missingOrder = (source: string, subject: string): CountersignError =>
  new CountersignError(
    'NOT_FOUND',
    `the source ${source} has no order for ${subject}; \`countersign orders expect\` announces one`,
    { source, subject },
  );
