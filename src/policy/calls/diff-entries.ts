import { parseAmount } from '../../values/amount.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import {
  type Direction,
  type ValueChange,
  definedIn,
  diffItems,
  directionOfBound,
  isSame,
  magnitude,
} from '../value-changes.ts';
import { nameIn, toSignature } from './methods.ts';

/*
 * What a change of contract-calls does to approvals. An entry allows calls of its contracts and methods. Where
 * several entries allow one method of one contract, the first that fits is taken, and its sums are charged. Then
 * even a further entry may refuse something, so no direction is proven.
 */

type JsonObject = { readonly [name: string]: Json | undefined };

/** An entry as the policy has it, with the names by which others may allow the same calls. */
interface WrittenEntry {
  readonly json: JsonObject;
  readonly contracts: ReadonlySet<string>;
  readonly methods: ReadonlySet<string>;
  /** Without their types: other spellings of a type are one method. */
  readonly methodNames: ReadonlySet<string>;
}

/** The changes of the entries under `calls`. */
export function diffEntries(before: Json | undefined, after: Json | undefined): readonly ValueChange[] {
  const [old, current] = [entriesOf(before), entriesOf(after)];
  if (old === undefined || current === undefined)
    return [{ name: 'calls', before, after, direction: 'unclear' }];
  const { counterparts, changed, added, removed } = matchEntries(old, current);
  const all = [...old, ...current];
  const isAlone = (entry: WrittenEntry): boolean =>
    all.every((other) => other === entry || other === counterparts.get(entry) || !overlaps(entry, other));
  const changes: readonly ValueChange[] = [
    ...listChanges('added', added, isAlone, 'looser'),
    ...changed.flatMap(([was, is]) => {
      const found = diffEntry(was, is);
      return isAlone(was) && isAlone(is)
        ? found
        : found.map((each) => ({ ...each, direction: 'unclear' as const }));
    }),
    ...listChanges('removed', removed, isAlone, 'stricter'),
  ];
  if (changes.length > 0) return changes;
  // Only their order, or spellings, have changed. The order of entries for one method matters.
  const direction = current.every(isAlone) ? undefined : 'unclear';
  return [{ name: 'calls', before, after, direction }];
}

/** Undefined for anything that is not a list of entries. */
function entriesOf(written: Json | undefined): readonly WrittenEntry[] | undefined {
  if (written === undefined) return [];
  if (!Array.isArray(written)) return undefined;
  const entries = (written as readonly Json[]).map((json): WrittenEntry | undefined => {
    if (!isObject(json)) return undefined;
    const [contracts, methods] = [textsOf(json['contract']), textsOf(json['method'])];
    if (contracts === undefined || methods === undefined) return undefined;
    return {
      json,
      contracts: new Set(contracts.map((each) => each.toLowerCase())),
      methods: new Set(methods.map(toSignature)),
      methodNames: new Set(methods.map((each) => nameIn(toSignature(each)))),
    };
  });
  return entries.every((entry) => entry !== undefined) ? entries : undefined;
}

function textsOf(written: Json | undefined): readonly string[] | undefined {
  const texts = typeof written === 'string' ? [written] : written;
  return Array.isArray(texts) && texts.every((each) => typeof each === 'string') ? texts : undefined;
}

/** Whether both may allow the same call. */
const overlaps = (a: WrittenEntry, b: WrittenEntry): boolean =>
  shareOne(a.contracts, b.contracts) && shareOne(a.methodNames, b.methodNames);

const shareOne = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  [...a].some((each) => b.has(each));

const without = (all: ReadonlySet<string>, others: ReadonlySet<string>): readonly string[] =>
  [...all].filter((each) => !others.has(each));

interface Matched {
  /** Each entry that both sides have, equal or changed, to that of the other side. */
  readonly counterparts: ReadonlyMap<WrittenEntry, WrittenEntry>;
  readonly changed: readonly (readonly [was: WrittenEntry, is: WrittenEntry])[];
  readonly added: readonly WrittenEntry[];
  readonly removed: readonly WrittenEntry[];
}

/** Matches equal entries first, then those for the same contracts and methods, then those that share some. */
function matchEntries(old: readonly WrittenEntry[], current: readonly WrittenEntry[]): Matched {
  const open = { old: new Set(old), current: new Set(current) };
  const match = (fits: (was: WrittenEntry, is: WrittenEntry) => boolean): Matched['changed'] =>
    [...open.current].flatMap((is) => {
      const was = [...open.old].find((each) => fits(each, is));
      if (was === undefined) return [];
      open.old.delete(was);
      open.current.delete(is);
      return [[was, is] as const];
    });
  const equal = match((was, is) => isSame(definedIn(was.json), definedIn(is.json)));
  const changed = [
    ...match((was, is) => isEqual(was.contracts, is.contracts) && isEqual(was.methods, is.methods)),
    ...match(overlaps),
  ];
  const both = [...equal, ...changed];
  const counterparts = new Map(both.flatMap(([was, is]) => [[was, is] as const, [is, was] as const]));
  return { counterparts, changed, added: [...open.current], removed: [...open.old] };
}

const isEqual = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && without(a, b).length === 0;

/** One change for the entries whose direction is proven, and one for the others. */
function listChanges(
  change: 'added' | 'removed',
  entries: readonly WrittenEntry[],
  isAlone: (entry: WrittenEntry) => boolean,
  proven: Direction,
): readonly ValueChange[] {
  const { alone = [], others = [] } = Object.groupBy(entries, (entry) =>
    isAlone(entry) ? 'alone' : 'others',
  );
  const changeOf = (found: readonly WrittenEntry[], direction: Direction): readonly ValueChange[] => {
    const items = found.map(({ json }) => definedIn(json));
    if (items.length === 0) return [];
    return [{ name: 'calls', added: [], removed: [], [change]: items, direction }];
  };
  return [...changeOf(alone, proven), ...changeOf(others, 'unclear')];
}

// ---- one entry ----

/** The change of an entry that both have. Its members only add requirements, or allow more. */
function diffEntry(was: WrittenEntry, is: WrittenEntry): readonly ValueChange[] {
  const [method = ''] = [...is.methods];
  const [contract = ''] = [...is.contracts];
  const name = `calls[${method} of ${contract}]`;
  const hasOtherUnits = ['decimals', 'asset'].some((each) => !isSame(was.json[each], is.json[each]));
  const names = [...new Set([...Object.keys(was.json), ...Object.keys(is.json)])].sort();
  return names.flatMap((member): readonly ValueChange[] => {
    const [before, after] = [was.json[member], is.json[member]];
    if (isSame(before, after)) return [];
    const at = `${name}.${member}`;
    if (member === 'contract') return diffAllowed(at, was.contracts, is.contracts);
    if (member === 'method') return diffAllowed(at, was.methods, is.methods);
    if (member === 'where') return diffConditions(at, before, after, hasOtherUnits);
    if (member === 'value' || member === 'trailing') {
      const [from, to] = [maxOf(before), maxOf(after)];
      return [{ name: `${at}.max`, before: from, after: to, direction: directionOfOptional(from, to) }];
    }
    const isOptIn = ['unlimited', 'delegatecall', 'recipient'].includes(member);
    const direction = isOptIn ? directionOfOptional(before, after) : 'unclear';
    return [{ name: at, before, after, direction }];
  });
}

const maxOf = (written: Json | undefined): Json | undefined =>
  written !== undefined && isObject(written) ? written['max'] : written;

/** Something that is only allowed if the policy has it, up to a maximum if it has one. */
function directionOfOptional(before: Json | undefined, after: Json | undefined): Direction {
  if (before === undefined) return 'looser';
  if (after === undefined) return 'stricter';
  return directionOfBound('maximum', before, after);
}

/** Contracts or methods, each of which allows more calls. */
function diffAllowed(
  name: string,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): readonly ValueChange[] {
  const [added, removed] = [without(after, before), without(before, after)];
  if (added.length + removed.length === 0) return [];
  const direction = removed.length === 0 ? 'looser' : added.length === 0 ? 'stricter' : 'both';
  return [{ name, added, removed, direction }];
}

// ---- conditions of arguments ----

function diffConditions(
  name: string,
  before: Json | undefined,
  after: Json | undefined,
  hasOtherUnits: boolean,
): readonly ValueChange[] {
  const [from, to] = [before ?? {}, after ?? {}];
  if (!isObject(from) || !isObject(to)) return [{ name, before, after, direction: 'unclear' }];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  return names.flatMap((argument) =>
    diffCondition(`${name}.${argument}`, from[argument], to[argument], hasOtherUnits),
  );
}

/** The change of a condition on one argument. All of its members must be met. */
function diffCondition(
  name: string,
  before: Json | undefined,
  after: Json | undefined,
  hasOtherUnits = false,
): readonly ValueChange[] {
  if (isSame(before, after)) return [];
  const whole = (direction: Direction): readonly ValueChange[] => [{ name, before, after, direction }];
  if (before === 'any' && isObject(after ?? null)) return whole('stricter');
  if (after === 'any' && isObject(before ?? null)) return whole('looser');
  if (before === undefined || after === undefined || !isObject(before) || !isObject(after))
    return whole('unclear');
  // In other units, or for each value in place of the sum, a limit has another meaning.
  const hasOtherMeaning = ['decimals', 'asset', 'each'].some((each) => !isSame(before[each], after[each]));
  if (hasOtherUnits || hasOtherMeaning) return whole('unclear');
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const changed = new Set(names.filter((each) => !isSame(before[each], after[each])));
  return [...changed].flatMap((member): readonly ValueChange[] => {
    const [from, to] = [before[member], after[member]];
    const at = `${name}.${member}`;
    const items =
      member === 'values' && from !== undefined && to !== undefined ? diffItems(from, to) : undefined;
    if (items !== undefined) return [{ name: at, ...items, direction: directionOfValues(items) }];
    // A maximum implies a minimum of zero for some types.
    const isImplied = member === 'min' && (from === undefined || to === undefined) && changed.has('max');
    return [
      {
        name: at,
        before: from,
        after: to,
        direction: isImplied ? 'unclear' : directionIn(member, from, to, { ...before }),
      },
    ];
  });
}

/** Another spelling of a value is one value more and one less, so no direction is proven for both. */
function directionOfValues({ added, removed }: NonNullable<ReturnType<typeof diffItems>>): Direction {
  if (added.length > 0 && removed.length > 0) return 'unclear';
  return added.length > 0 ? 'looser' : removed.length > 0 ? 'stricter' : undefined;
}

function directionIn(
  member: string,
  from: Json | undefined,
  to: Json | undefined,
  condition: JsonObject,
): Direction {
  if (from === undefined || to === undefined) {
    const added = to ?? from;
    const isBelowZero = typeof added === 'string' && added.startsWith('-');
    // Beside a maximum, the minimum is zero if none is written, or there is no value below zero.
    const isReversed = member === 'min' && isBelowZero && condition['max'] !== undefined;
    return (from === undefined) === isReversed ? 'looser' : 'stricter';
  }
  if (member === 'max') return directionOfLimit('maximum', from, to);
  if (member === 'min') return directionOfLimit('minimum', from, to);
  if (member === 'within') return directionOfBound('maximum', from, to);
  return member === 'atLeast' ? directionOfShare(from, to) : 'unclear';
}

/** Of limits, which may be below zero. */
function directionOfLimit(bound: 'maximum' | 'minimum', before: Json, after: Json): Direction {
  const [from, to] = [limitOf(before), limitOf(after)];
  if (from === undefined || to === undefined) return 'unclear';
  if (from === to) return undefined;
  return to < from === (bound === 'maximum') ? 'stricter' : 'looser';
}

function limitOf(written: Json): bigint | undefined {
  if (typeof written !== 'string') return undefined;
  const isBelowZero = written.startsWith('-');
  const amount = parseAmount(isBelowZero ? written.slice(1) : written);
  return amount === undefined || !isBelowZero ? amount : -amount;
}

/** A greater share refuses more, and so does a lower age of prices. */
function directionOfShare(before: Json, after: Json): Direction {
  if (!isObject(before) || !isObject(after) || !isSame(before['of'], after['of'])) return 'unclear';
  const [share, age] = [
    directionOfPart('minimum', percentOf(before['share']), percentOf(after['share'])),
    directionOfPart('maximum', before['maxAge'], after['maxAge']),
  ];
  if (share === undefined || age === undefined) return share ?? age;
  return share === age ? share : share === 'unclear' || age === 'unclear' ? 'unclear' : 'both';
}

function directionOfPart(
  bound: 'maximum' | 'minimum',
  before: Json | undefined,
  after: Json | undefined,
): Direction {
  if (isSame(before, after)) return undefined;
  return before === undefined || after === undefined ? 'unclear' : directionOfBound(bound, before, after);
}

const percentOf = (written: Json | undefined): Json | undefined =>
  typeof written === 'string' ? written.replace(/ ?%$/, '') : written;

// ---- the other parameters ----

/** Transfers without call data, and methods that contain calls: without the parameter, none pass. */
export function diffOptional(
  name: string,
): (before: Json | undefined, after: Json | undefined) => readonly ValueChange[] {
  return (before, after) => {
    if (before === undefined || after === undefined) {
      return [{ name, before, after, direction: before === undefined ? 'looser' : 'stricter' }];
    }
    if (!isObject(before) || !isObject(after)) return [{ name, before, after, direction: 'unclear' }];
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].sort().flatMap((member) => {
      const [from, to] = [before[member], after[member]];
      const at = `${name}.${member}`;
      if (isSame(from, to)) return [];
      if (member === 'to') return diffCondition(at, from ?? 'any', to ?? 'any');
      const isLimit = magnitude(from) !== undefined && magnitude(to) !== undefined;
      const direction =
        isLimit && from !== undefined && to !== undefined ? directionOfBound('maximum', from, to) : 'unclear';
      return [{ name: at, before: from, after: to, direction }];
    });
  };
}
