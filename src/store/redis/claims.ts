import { z } from 'zod';
import type { Claim, OrderFound, WindowClaim } from '../../policy/proposal.ts';
import type { Amount } from '../../values/amount.ts';
import type { ClaimResult } from '../store.ts';
import type { SourceKeys } from './keys.ts';
import { expectJson, expectReply } from './reply.ts';

/** The key that a claim of the subject is checked against; it lies in the source's slot. */
export function claimKey(keys: SourceKeys, subject: string, claim: Claim): string {
  if (claim.type === 'window') return keys.counter(claim.key);
  if (claim.type === 'mark') return keys.mark(claim.key);
  if (claim.type === 'order') return keys.order(subject);
  if (claim.type === 'speed-up') return keys.subject(subject);
  return keys.list(claim.list);
}

/** A claim as `settle.lua` reads it: its head in one argument, which costs less than many, then its texts. */
export function claimArguments(claim: Claim): string[] {
  if (claim.type === 'window') return [windowHead(claim)];
  if (claim.type === 'mark') return [head(claim, `${flag(claim.exempt)} ${claim.ageMs}`)];
  if (claim.type === 'speed-up') return [head(claim, `${claim.max} ${claim.withinMs}`)];
  if (claim.type === 'order') {
    const members = Object.entries(claim.members);
    return [head(claim, String(members.length)), ...members.flat()];
  }
  const condition = claim.type === 'list' ? claim.must : claim.ageMs;
  return [head(claim, `${condition} ${claim.values.length}`), claim.list, ...claim.values];
}

function windowHead(claim: WindowClaim): string {
  const { key, window } = claim;
  const span = window.type === 'rolling' ? `${window.lengthMs} ${window.bucketMs} 0` : `0 0 ${window.endMs}`;
  return head(claim, `r:${key} ${amountText(claim.amount)} ${amountText(claim.max)} ${span}`);
}

const TAIL = '0'.repeat(28);

/** As scripts read it; most amounts are short so. */
function amountText(amount: Amount): string {
  const digits = String(amount);
  return digits.endsWith(TAIL) ? `${digits.slice(0, -TAIL.length)}e28` : digits;
}

/** None of these can hold a blank. */
function head(claim: Claim, rest: string): string {
  return `${claim.type} ${flag(claim.decides)} ${standing(claim)} ${rest}`;
}

export const flag = (value: boolean): string => (value ? '1' : '0');

/** How a refusal stands: for good, until it is asked again, or until the revision or a list changes. */
export function standing(of: { readonly final: boolean; readonly afresh: boolean }): string {
  return of.final ? '1' : of.afresh ? '2' : '0';
}

/**
 * The results of claims, as scripts answer and journal them: JSON of texts. Read by hand, for each decision
 * has some, and a schema would take as long for it as a rule. Throws STORE_CORRUPT for anything else.
 */
export function readClaims(json: string): readonly ClaimResult[] {
  return json === '[]' ? [] : expectJson(asArray, 'the results of claims', json).map(readClaim);
}

const asArray = z.custom<readonly unknown[]>((value) => Array.isArray(value), 'not a list');

type Read = (texts: readonly unknown[]) => ClaimResult | undefined;

/** By index: taking an array apart by pattern takes longer than all else here. */
const READ: Readonly<Record<string, Read>> = {
  window(texts) {
    const [holds, reserved, used] = [texts[1], texts[2], texts[3]];
    if (texts.length !== 4 || !isBit(holds) || !isBit(reserved) || !isDigits(used)) return undefined;
    return { holds: holds === '1', reserved: reserved === '1', used: BigInt(used) };
  },
  list(texts) {
    const [holds, missing, present] = [texts[1], texts[2], texts.slice(3)];
    if (!isBit(holds) || !isBit(missing) || !present.every(isText)) return undefined;
    return { holds: holds === '1', missing: missing === '1', present };
  },
  aged(texts) {
    const [holds, missing, added] = [texts[1], texts[2], texts.slice(3)];
    if (!isBit(holds) || !isBit(missing) || !added.every(isAdded)) return undefined;
    return {
      holds: holds === '1',
      missing: missing === '1',
      added: added.map(([value, at]) => [value, Number(at)]),
    };
  },
  mark(texts) {
    const [holds, markedAt] = [texts[1], texts[2]];
    if (texts.length !== 3 || !isBit(holds) || !isTime(markedAt)) return undefined;
    return { holds: holds === '1', markedAtMs: Number(markedAt) };
  },
  order(texts) {
    const [holds, order, differs] = [texts[1], texts[2], texts.slice(3)];
    if (!isBit(holds) || !isFound(order) || !differs.every(isText)) return undefined;
    // Sorted here, for Lua sorts by the server's locale.
    return { holds: holds === '1', order, differs: differs.toSorted() };
  },
  'speed-up'(texts) {
    const [holds, approvedAt, speedUps] = [texts[1], texts[2], texts[3]];
    if (texts.length !== 4 || !isBit(holds) || !isTime(approvedAt) || !isTime(speedUps)) return undefined;
    return { holds: holds === '1', approvedAtMs: Number(approvedAt), speedUps: Number(speedUps) };
  },
};

function readClaim(written: unknown): ClaimResult {
  const texts: readonly unknown[] = Array.isArray(written) ? written : [];
  const kind = texts[0];
  const read = isText(kind) && Object.hasOwn(READ, kind) ? READ[kind] : undefined;
  const result = read?.(texts);
  if (result !== undefined) return result;
  return expectReply(z.never(), 'the results of claims', written);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isBit = (value: unknown): value is '0' | '1' => value === '0' || value === '1';
const isDigits = (value: unknown): value is string => isText(value) && /^\d+$/.test(value);
const isTime = (value: unknown): value is string => isText(value) && /^\d{1,16}$/.test(value);
const isAdded = (value: unknown): value is readonly [value: string, at: string] =>
  Array.isArray(value) && value.length === 2 && isText(value[0]) && isTime(value[1]);
const FOUND: ReadonlySet<string> = new Set(['agrees', 'missing', 'cancelled', 'expired', 'used', 'differs']);
const isFound = (value: unknown): value is OrderFound => isText(value) && FOUND.has(value);
