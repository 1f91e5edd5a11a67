import { type Amount, tenTo } from '../values/amount.ts';
import { approvalFound } from './approval.ts';
import { type ClaimResult, NOT_CHECKED } from './claims.ts';
import { orderFound } from './order.ts';

/*
 * What the stores keep of the results of claims: a JSON list. A result is a list of texts, which begins with
 * a letter for the kind, and then whether the claim holds (1 or 0). If no text has a blank, the texts are
 * joined by blanks: `w 1 0 12e36`. An amount is in units of 10^-36, and may end with an exponent.
 */

/** The stored form of results. */
export function storedResults(results: readonly ClaimResult[]): string {
  return JSON.stringify(results.map((result) => joined(textsOf(result))));
}

/** The letter of each kind, by its type; `n` for a claim that was not checked. */
const LETTERS = {
  window: 'w',
  distinct: 'd',
  list: 'l',
  aged: 'a',
  mark: 'm',
  order: 'o',
  approval: 'p',
  refusals: 'r',
  'speed-up': 's',
  'not-checked': 'n',
} as const satisfies Readonly<Record<ClaimResult['type'], string>>;

const textsOf = (result: ClaimResult): readonly StoredText[] => [
  LETTERS[result.type],
  flag(result.holds),
  ...foundTexts(result),
];

function foundTexts(result: ClaimResult): readonly StoredText[] {
  if (result.type === 'window') return [formatUnits(result.reserved), formatUnits(result.used)];
  if (result.type === 'distinct') return [String(result.counted), String(result.further)];
  if (result.type === 'list') return [flag(result.missing), ...result.present];
  if (result.type === 'aged') {
    return [flag(result.missing), ...result.added.map(([value, at]) => [value, String(at)])];
  }
  if (result.type === 'mark') return [String(result.markedAtMs)];
  if (result.type === 'order') return [result.order, ...result.differs];
  if (result.type === 'approval') return [result.approval];
  if (result.type === 'refusals') {
    return [result.refusals, result.lockedAtMs, result.lockedUntilMs].map(String);
  }
  return result.type === 'speed-up' ? [String(result.approvedAtMs), String(result.speedUps)] : [];
}

type StoredText = string | readonly string[];

const flag = (value: boolean): string => (value ? '1' : '0');

function joined(texts: readonly StoredText[]): string | readonly StoredText[] {
  return texts.every((text) => isText(text) && !text.includes(' ')) ? texts.join(' ') : texts;
}

const ZEROS = /0{3,}$/;

/** An amount as digits, and an exponent in place of many zeros at the end. */
function formatUnits(amount: Amount): string {
  const digits = String(amount);
  return digits.replace(ZEROS, (zeros) => `e${zeros.length}`);
}

/**
 * The results of claims from their stored form; undefined for anything else. Read without zod, which is too
 * slow for each decision.
 */
export function readResults(json: string): readonly ClaimResult[] | undefined {
  if (json === '[]') return [];
  const list = parsed(json);
  if (!Array.isArray(list)) return undefined;
  const read: ClaimResult[] = [];
  for (const written of list as readonly unknown[]) {
    const result = readResult(written);
    if (result === undefined) return undefined;
    read.push(result);
  }
  return read;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function readResult(written: unknown): ClaimResult | undefined {
  const texts: readonly unknown[] | undefined = isText(written)
    ? written.split(' ')
    : Array.isArray(written)
      ? written
      : undefined;
  if (texts === undefined) return undefined;
  if (texts[0] === LETTERS['not-checked'])
    return texts.length === 2 && texts[1] === '0' ? NOT_CHECKED : undefined;
  return RESULTS.get(texts[0])?.(texts);
}

/** Undefined if the texts are not a result of this kind. The first text is the kind. */
type ReadResult = (texts: readonly unknown[]) => ClaimResult | undefined;

const RESULTS: ReadonlyMap<unknown, ReadResult> = new Map<string, ReadResult>([
  [
    LETTERS.window,
    (texts) => {
      const [holds, reserved, used] = [texts[1], texts[2], texts[3]];
      if (texts.length !== 4 || !isFlag(holds) || !isUnits(reserved) || !isUnits(used)) return undefined;
      return { type: 'window', holds: holds === '1', reserved: parseUnits(reserved), used: parseUnits(used) };
    },
  ],
  [
    LETTERS.distinct,
    (texts) => {
      const [holds, counted, further] = texts.slice(1);
      if (texts.length !== 4 || !isFlag(holds) || !isDigits(counted) || !isDigits(further)) return undefined;
      return { type: 'distinct', holds: holds === '1', counted: Number(counted), further: Number(further) };
    },
  ],
  [
    LETTERS.list,
    (texts) => {
      const [holds, missing, present] = [texts[1], texts[2], texts.slice(3)];
      if (!isFlag(holds) || !isFlag(missing) || !present.every(isText)) return undefined;
      return { type: 'list', holds: holds === '1', missing: missing === '1', present };
    },
  ],
  [
    LETTERS.aged,
    (texts) => {
      const [holds, missing, added] = [texts[1], texts[2], texts.slice(3)];
      if (!isFlag(holds) || !isFlag(missing) || !added.every(isAdded)) return undefined;
      const times = added.map(([value, at]) => [value, Number(at)] as const);
      return { type: 'aged', holds: holds === '1', missing: missing === '1', added: times };
    },
  ],
  [
    LETTERS.mark,
    (texts) => {
      const [holds, markedAt] = [texts[1], texts[2]];
      if (texts.length !== 3 || !isFlag(holds) || !isDigits(markedAt)) return undefined;
      return { type: 'mark', holds: holds === '1', markedAtMs: Number(markedAt) };
    },
  ],
  [
    LETTERS.order,
    (texts) => {
      const [holds, order, differs] = [texts[1], orderFound.safeParse(texts[2]), texts.slice(3)];
      if (!isFlag(holds) || !order.success || !differs.every(isText)) return undefined;
      // Sorted here, because Lua sorts by the server's locale.
      return { type: 'order', holds: holds === '1', order: order.data, differs: differs.toSorted() };
    },
  ],
  [
    LETTERS.approval,
    (texts) => {
      const [holds, approval] = [texts[1], approvalFound.safeParse(texts[2])];
      if (texts.length !== 3 || !isFlag(holds) || !approval.success) return undefined;
      return { type: 'approval', holds: holds === '1', approval: approval.data };
    },
  ],
  [
    LETTERS.refusals,
    (texts) => {
      const [holds, refusals, lockedAt, lockedUntil] = texts.slice(1);
      if (texts.length !== 5 || !isFlag(holds) || !isDigits(refusals)) return undefined;
      if (!isDigits(lockedAt) || !isDigits(lockedUntil)) return undefined;
      const times = { lockedAtMs: Number(lockedAt), lockedUntilMs: Number(lockedUntil) };
      return { type: 'refusals', holds: holds === '1', refusals: Number(refusals), ...times };
    },
  ],
  [
    LETTERS['speed-up'],
    (texts) => {
      const [holds, approvedAt, speedUps] = [texts[1], texts[2], texts[3]];
      if (texts.length !== 4 || !isFlag(holds) || !isDigits(approvedAt) || !isDigits(speedUps))
        return undefined;
      return {
        type: 'speed-up',
        holds: holds === '1',
        approvedAtMs: Number(approvedAt),
        speedUps: Number(speedUps),
      };
    },
  ],
]);

const isText = (value: unknown): value is string => typeof value === 'string';
const isFlag = (value: unknown): value is '0' | '1' => value === '0' || value === '1';
const isUnits = (value: unknown): value is string => isText(value) && /^\d+(?:e\d{1,3})?$/.test(value);
const isDigits = (value: unknown): value is string => isText(value) && /^\d{1,16}$/.test(value);
const isAdded = (value: unknown): value is readonly [value: string, at: string] =>
  Array.isArray(value) && value.length === 2 && isText(value[0]) && isDigits(value[1]);

/** An amount as results have it; undefined for anything else. */
export const readUnits = (written: unknown): Amount | undefined =>
  isUnits(written) ? parseUnits(written) : undefined;

function parseUnits(written: string): Amount {
  const [digits = '', exponent = '0'] = written.split('e');
  return BigInt(digits) * tenTo(Number(exponent));
}
