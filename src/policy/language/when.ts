import { z } from 'zod';
import type { Kind } from '../../callback/callback.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import { type Path, type Place, type Problem, fixFor, formatInput, problemsOf } from '../fault.ts';
import { type RuleContext, compileLines } from '../rule-context.ts';
import { addressTexts, chainsWithSpellings, knownAssets, wrongText } from './asset-texts.ts';
import { type AmountRange, type Condition, type When, bothTexts, isConstant } from './conditions.ts';
import { checkEntries } from './entry.ts';
import { ADDRESS_MEMBERS, memberNamed, memberNames, readMemberText } from './members.ts';
import { amountText, durationText, memberTexts, textList } from './parameter.ts';
import { compileSchedule, scheduleParameters } from './schedule.ts';

/** The parts of the policy, and the files beside it, that its conditions are compiled with. */
export interface Given extends Pick<
  RuleContext,
  'isStored' | 'listFile' | 'listAsWritten' | 'textFile' | 'assets' | 'movements'
> {
  readonly kind: Kind;
  /** The texts of the conditions around these. */
  readonly when: When['texts'];
  readonly problems: Problem[];
  /** What is valid, but hardly meant. */
  readonly doubts: Problem[];
  readonly placeOf: (path: Path) => Place | undefined;
}

/** Where a condition is written, and where its faults go. */
interface Reading extends Given, Pick<RuleContext, 'fault' | 'warn'> {
  readonly path: Path;
  /** The number of `not` around it. */
  readonly depth: number;
}

const DEPTH_MAX = 4;

/**
 * Compiles `when`: conditions by name. Addresses are in all forms that a callback may have. Reports faults to
 * `problems`.
 */
export function compileWhen(written: Json | undefined, path: Path, given: Given): When {
  const conditions = written === undefined ? [] : readConditions(written, readingAt(given, path, 0));
  const texts = conditions.flatMap((each) =>
    isNamed(each) && each.is === 'one-of' ? [[each.member, each.texts] as const] : [],
  );
  return { conditions, texts: new Map(texts), place: given.placeOf(path) };
}

const isNamed = (condition: Condition): boolean => condition.is === 'one-of' && !condition.isListed;

function readingAt(given: Given, path: Path, depth: number): Reading {
  const reportTo =
    (found: Problem[]): Reading['fault'] =>
    (where, message, fix) => {
      const at = 'file' in where ? { path, within: where } : { path: [...path, ...where] };
      found.push({ ...at, of: 'value', message, fix });
      return undefined;
    };
  return { ...given, path, depth, fault: reportTo(given.problems), warn: reportTo(given.doubts) };
}

/**
 * The conditions of a mapping. What depends on the callback alone comes first: it may decide by itself, and the
 * outcome then depends on nothing else.
 */
function readConditions(written: Json, reading: Reading): readonly Condition[] {
  const { kind, movements, path, depth, problems } = reading;
  if (!isObject(written)) {
    reading.fault([], `${formatInput(written)} is not valid`, 'write conditions, like { source: shop }');
    return [];
  }
  const wrongName = (name: string, message: string, fix: string): void => {
    problems.push({ path: [...path, name], of: 'name', message, fix });
  };
  const read = new Map<string, Condition>();
  let inner: Given = reading;
  const isSymbol = (name: string): boolean => memberNamed(kind, name) === 'symbol';
  // The symbols come first: they say by which chains addresses are read.
  const names = Object.keys(written).sort((a, b) => Number(isSymbol(b)) - Number(isSymbol(a)));
  for (const name of names) {
    const value = written[name];
    if (value === undefined) continue;
    const member = memberNamed(kind, name);
    const form = Object.hasOwn(FORMS, name) ? FORMS[name] : undefined;
    if (member === undefined && form?.kinds.includes(kind) !== true) {
      const known = [...memberNames(kind), ...formNames(kind)];
      wrongName(name, `a ${kind} callback has no member ${formatInput(name)}`, fixFor(name, known));
      continue;
    }
    if (read.has(member ?? name)) {
      wrongName(name, `${name} names ${member ?? name} a second time`, 'keep one of the two');
      continue;
    }
    const at = readingAt(inner, [...path, name], depth);
    if (member === 'amount' && movements !== undefined) {
      const fix = 'write value: a range at the current prices, like { above: 1000, maxAge: 10m }';
      at.fault([], 'the policy has movements, and their amounts are of several assets', fix);
      continue;
    }
    const condition = member === undefined ? form?.read(value, at) : readMember(member, value, at);
    if (condition === undefined) continue;
    read.set(member ?? name, condition);
    if (member === 'symbol' && condition.is === 'one-of' && isNamed(condition)) {
      inner = { ...reading, when: bothTexts(reading.when, new Map([[member, condition.texts]])) };
    }
  }
  const rank = (condition: Condition): number => (isNamed(condition) ? 0 : isConstant(condition) ? 1 : 2);
  return [...read.values()].sort((a, b) => rank(a) - rank(b));
}

type Read = (written: Json, reading: Reading) => Condition | undefined;

const EVERY: readonly Kind[] = ['payment', 'transfer', 'web3'];

/** The conditions that are not about one member, by name. */
const FORMS: Readonly<Record<string, { readonly kinds: readonly Kind[]; readonly read: Read }>> = {
  not: { kinds: EVERY, read: readNot },
  value: { kinds: EVERY, read: readValue },
  during: { kinds: EVERY, read: readDuring },
  scheme: { kinds: ['payment'], read: readScheme },
};

/** The names of conditions other than members. */
export const formNames = (kind: Kind): readonly string[] =>
  Object.entries(FORMS)
    .filter(([, { kinds }]) => kinds.includes(kind))
    .map(([name]) => name);

/** A text, a list of texts, or a mapping: `{ file: vips.txt }`, or for the amount a range. */
function readMember(member: string, written: Json, reading: Reading): Condition | undefined {
  if (isObject(written)) {
    if ('file' in written) return readListed(member, written, reading);
    if (member === 'amount') return readAmount(written, reading);
    const fix = 'write a text, or a list of texts, or the name of a file like { file: vips.txt }';
    return reading.fault([], 'a mapping is not valid', fix);
  }
  const isList = Array.isArray(written);
  const texts = new Set<string>();
  const chains = ADDRESS_MEMBERS.has(member) ? chainsWithSpellings(reading) : [];
  const assets = reading.isStored ? undefined : knownAssets(reading);
  for (const [index, text] of (isList ? (written as readonly Json[]) : [written]).entries()) {
    const at = isList ? [index] : [];
    const read = typeof text === 'string' ? readMemberText(member, text) : undefined;
    if (read?.ok === true) {
      for (const form of addressTexts(read.text, chains)) texts.add(form);
      const wrong = assets && typeof text === 'string' ? wrongText(member, text, assets) : undefined;
      if (wrong !== undefined) reading.fault(at, wrong.message, wrong.fix);
    } else {
      const expected = read?.expected ?? 'a text, or a list of texts';
      reading.fault(at, `${formatInput(text)} is not valid`, `write ${expected}`);
    }
  }
  if (isList && written.length === 0) {
    reading.fault([], 'the list is empty, so no callback would meet it', 'name a value, or leave it out');
  }
  return { is: 'one-of', member, texts, isListed: false };
}

const FILE = 'the name of a file beside the policy';
export const listFileShape = z.strictObject({
  file: z
    .string({ error: FILE })
    .min(1, { error: FILE })
    .describe('A file beside the policy, with a value a line. It becomes part of the revision.'),
});

/** The member's value is in a file: `{ file: vips.txt }`. */
function readListed(member: string, written: Json, reading: Reading): Condition | undefined {
  const read = parsed(listFileShape, written, reading);
  if (read === undefined) return undefined;
  const place = { path: ['file'], fix: 'put the file beside the policy, one value a line' };
  const texts = compileLines(read.file, place, reading, (values, asWritten, own) => {
    const found = memberTexts(member, values, place.path, own);
    return found && checkEntries([member], asWritten, place.path, own) ? found : undefined;
  });
  return texts && { is: 'one-of', member, texts, isListed: true };
}

const bounds = {
  above: amountText.optional().describe('Greater than this.'),
  atLeast: amountText.optional().describe('This or greater.'),
  below: amountText.optional().describe('Less than this.'),
  atMost: amountText.optional().describe('This or less.'),
};

export const amountShape = z.strictObject(bounds).superRefine(checkRange);

/** The amount is in a range: `{ above: 1000, atMost: 5000 }`. */
function readAmount(written: Json, reading: Reading): Condition | undefined {
  const range = parsed(amountShape, written, reading);
  return range && { is: 'amount', range };
}

export const valueShape = z
  .strictObject({
    ...bounds,
    maxAge: durationText.describe('How old a price may be, from 1s to 92d, like 10m.'),
  })
  .superRefine(checkRange);

/** The value at the current price is in a range: `{ above: 10000, maxAge: 10m }`. */
function readValue(written: Json, reading: Reading): Condition | undefined {
  const range = parsed(valueShape, written, reading);
  return range && { is: 'value', range, maxAge: range.maxAge, ofMovements: reading.movements !== undefined };
}

/** A range has one lower or upper bound, or one of each, and something within. */
function checkRange({ above, atLeast, below, atMost }: AmountRange, context: z.RefinementCtx): void {
  const fault = (message: string, fix: string): void =>
    context.addIssue({ code: 'custom', message, params: { fix } });
  const lower = above ?? atLeast;
  const upper = below ?? atMost;
  if (lower === undefined && upper === undefined) {
    return fault('the range has no bound', 'write above, atLeast, below or atMost');
  }
  if (above !== undefined && atLeast !== undefined)
    return fault('above and atLeast are both given', 'keep one');
  if (below !== undefined && atMost !== undefined)
    return fault('below and atMost are both given', 'keep one');
  if (lower === undefined || upper === undefined) return;
  const isEmpty = lower > upper || (lower === upper && (atLeast === undefined || atMost === undefined));
  if (isEmpty) fault('no amount is in the range', 'write a lower bound that is below the upper one');
}

/** The instant is within opening hours, as the rule schedule has them. */
function readDuring(written: Json, reading: Reading): Condition | undefined {
  const read = parsed(scheduleParameters, written, reading);
  const schedule = read && compileSchedule(read, reading);
  return schedule && { is: 'open', schedule };
}

const SCHEME = 'a scheme, like md5 or rsa-envelope, or a list of schemes';
const SCHEME_PATTERN = /^[a-z][a-z0-9-]{0,63}$/;

/** The payment is signed with one of the schemes. */
function readScheme(written: Json, reading: Reading): Condition | undefined {
  const read = textList.safeParse(written);
  return read.success && read.data.every((text) => SCHEME_PATTERN.test(text))
    ? { is: 'signed', schemes: new Set(read.data) }
    : reading.fault([], `${JSON.stringify(written)} is not valid`, `write ${SCHEME}`);
}

/** The callback must not meet all of the conditions in it. */
function readNot(written: Json, reading: Reading): Condition | undefined {
  const { path, depth } = reading;
  if (depth === DEPTH_MAX) {
    return reading.fault([], `there are more than ${DEPTH_MAX} \`not\` in one another`, 'use fewer');
  }
  if (isObject(written) && Object.keys(written).length === 0) {
    const message = 'it has no conditions, so no callback would meet it';
    return reading.fault([], message, 'write conditions in it, or leave it out');
  }
  return { is: 'not', all: readConditions(written, readingAt(reading, path, depth + 1)) };
}

/** The value, if it fits the schema; otherwise reports its faults. */
function parsed<T extends z.ZodObject>(
  shape: T,
  written: Json,
  { problems, path }: Reading,
): z.output<T> | undefined {
  const read = shape.safeParse(written);
  if (read.success) return read.data;
  problems.push(...problemsOf(read.error, written, Object.keys(shape.shape), path));
  return undefined;
}
