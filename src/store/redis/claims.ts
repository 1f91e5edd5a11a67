import { z } from 'zod';
import type { Claim, ClaimResult } from '../../claims/claims.ts';
import { orderFound } from '../../claims/order.ts';
import type { WindowClaim } from '../../claims/window.ts';
import type { Amount } from '../../values/amount.ts';
import type { SourceKeys } from './keys.ts';
import { parseJson, parseReply } from './reply.ts';

/** The key that a claim of the subject is checked against, in the slot of the source. */
export function claimKey(keys: SourceKeys, subject: string, claim: Claim): string {
  if (claim.type === 'window') return keys.counter(claim.key);
  if (claim.type === 'mark') return keys.mark(claim.key);
  if (claim.type === 'order') return keys.order(subject);
  if (claim.type === 'speed-up') return keys.subject(subject);
  return keys.list(claim.list);
}

/**
 * A claim as `settle.lua` reads it: one argument with its header, then its texts. No part of a header
 * contains a blank.
 */
export function claimArguments(claim: Claim): string[] {
  if (claim.type === 'window') return [windowHeader(claim)];
  if (claim.type === 'mark') return [header(claim, `${flag(claim.exempt)} ${claim.ageMs}`)];
  if (claim.type === 'speed-up') return [header(claim, `${claim.max} ${claim.withinMs}`)];
  if (claim.type === 'order') {
    const members = Object.entries(claim.members);
    return [header(claim, String(members.length)), ...members.flat()];
  }
  const condition = claim.type === 'list' ? claim.must : claim.ageMs;
  return [header(claim, `${condition} ${claim.values.length}`), claim.list, ...claim.values];
}

function windowHeader(claim: WindowClaim): string {
  const { key, window } = claim;
  const span = window.type === 'rolling' ? `${window.lengthMs} ${window.bucketMs} 0` : `0 0 ${window.endMs}`;
  return header(claim, `r:${key} ${formatUnits(claim.amount)} ${formatUnits(claim.max)} ${span}`);
}

const TAIL = '0'.repeat(28);

/** An amount as scripts read it. The exponent keeps most amounts short. */
function formatUnits(amount: Amount): string {
  const written = String(amount);
  return written.endsWith(TAIL) ? `${written.slice(0, -TAIL.length)}e28` : written;
}

function header(claim: Claim, rest: string): string {
  return `${claim.type} ${flag(claim.decides)} ${permanenceCode(claim)} ${rest}`;
}

export const flag = (value: boolean): string => (value ? '1' : '0');

/**
 * How long a refusal is repeated. 1: always. 0: until the revision or a list changes. 2: never; it is decided
 * again each time.
 */
export function permanenceCode(of: { readonly final: boolean; readonly afresh: boolean }): string {
  return of.final ? '1' : of.afresh ? '2' : '0';
}

/**
 * The results of claims, as scripts answer and journal them: JSON of texts. Read without zod, which is too
 * slow for each decision. Throws STORE_CORRUPT for anything else.
 */
export function readClaims(json: string): readonly ClaimResult[] {
  return json === '[]' ? [] : parseJson(list, 'the results of claims', json).map(readClaim);
}

const list = z.custom<readonly unknown[]>((value) => Array.isArray(value), 'not a list');

/** Undefined if the texts are not a result of this kind. The first text is the kind. */
type ReadResult = (texts: readonly unknown[]) => ClaimResult | undefined;

const RESULTS: ReadonlyMap<unknown, ReadResult> = new Map<Claim['type'], ReadResult>([
  [
    'window',
    (texts) => {
      const [holds, reserved, used] = [texts[1], texts[2], texts[3]];
      if (texts.length !== 4 || !isFlag(holds) || !isFlag(reserved) || !isUnits(used)) return undefined;
      return { holds: holds === '1', reserved: reserved === '1', used: BigInt(used) };
    },
  ],
  [
    'list',
    (texts) => {
      const [holds, missing, present] = [texts[1], texts[2], texts.slice(3)];
      if (!isFlag(holds) || !isFlag(missing) || !present.every(isText)) return undefined;
      return { holds: holds === '1', missing: missing === '1', present };
    },
  ],
  [
    'aged',
    (texts) => {
      const [holds, missing, added] = [texts[1], texts[2], texts.slice(3)];
      if (!isFlag(holds) || !isFlag(missing) || !added.every(isAdded)) return undefined;
      const times = added.map(([value, at]) => [value, Number(at)] as const);
      return { holds: holds === '1', missing: missing === '1', added: times };
    },
  ],
  [
    'mark',
    (texts) => {
      const [holds, markedAt] = [texts[1], texts[2]];
      if (texts.length !== 3 || !isFlag(holds) || !isDigits(markedAt)) return undefined;
      return { holds: holds === '1', markedAtMs: Number(markedAt) };
    },
  ],
  [
    'order',
    (texts) => {
      const [holds, order, differs] = [texts[1], orderFound.safeParse(texts[2]), texts.slice(3)];
      if (!isFlag(holds) || !order.success || !differs.every(isText)) return undefined;
      // Sorted here, because Lua sorts by the server's locale.
      return { holds: holds === '1', order: order.data, differs: differs.toSorted() };
    },
  ],
  [
    'speed-up',
    (texts) => {
      const [holds, approvedAt, speedUps] = [texts[1], texts[2], texts[3]];
      if (texts.length !== 4 || !isFlag(holds) || !isDigits(approvedAt) || !isDigits(speedUps))
        return undefined;
      return { holds: holds === '1', approvedAtMs: Number(approvedAt), speedUps: Number(speedUps) };
    },
  ],
]);

function readClaim(written: unknown): ClaimResult {
  const texts: readonly unknown[] = Array.isArray(written) ? written : [];
  return RESULTS.get(texts[0])?.(texts) ?? parseReply(z.never(), 'the result of a claim', written);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): value is '0' | '1' => value === '0' || value === '1';
const isUnits = (value: unknown): value is string => isText(value) && /^\d+$/.test(value);
const isDigits = (value: unknown): value is string => isText(value) && /^\d{1,16}$/.test(value);
const isAdded = (value: unknown): value is readonly [value: string, at: string] =>
  Array.isArray(value) && value.length === 2 && isText(value[0]) && isDigits(value[1]);
