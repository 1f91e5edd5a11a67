import type { Callback, Kind } from '../../callback/callback.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import { addressTexts, chainsWithSpellings, knownAssets, wrongText } from './asset-texts.ts';
import type { Facts } from '../facts.ts';
import { type Path, type Place, type Problem, fixFor, formatInput } from '../fault.ts';
import { ADDRESS_MEMBERS, memberNamed, memberNames, readMemberText } from './members.ts';
import {
  MET,
  type Condition,
  type ConditionContext,
  type Tested,
  amountRange,
  listedIn,
  oneOf,
  schemeIs,
  testTexts,
  valueRange,
  within,
} from './conditions.ts';
import { combine } from '../standing.ts';

/** The callbacks that a policy or a rule is for: those that meet all of its conditions. */
export interface When {
  /** The texts that it names, by canonical member name. */
  readonly texts: ReadonlyMap<string, ReadonlySet<string>>;
  /** All other conditions. */
  readonly conditions: readonly Condition[];
  /** Where its file has it; undefined for a stored release. */
  readonly place?: Place | undefined;
}

/** No condition: for all callbacks. */
export const ALWAYS: When = { texts: new Map(), conditions: [] };

const DEPTH_MAX = 4;

/**
 * Compiles `when`: conditions by name. Addresses are in all forms that a callback may have. Reports faults to
 * `problems`.
 */
export function compileWhen(written: Json | undefined, path: Path, given: Given): When {
  const texts = new Map<string, ReadonlySet<string>>();
  const conditions: Condition[] = [];
  for (const [name, read] of readConditions(written, path, given, 0)) {
    if ('test' in read) conditions.push(read);
    else texts.set(name, read);
  }
  const place = given.placeOf(path);
  return texts.size === 0 && conditions.length === 0
    ? { ...ALWAYS, place }
    : { texts, conditions: constantFirst(conditions), place };
}

/** What depends on the callback alone may decide by itself. The outcome then depends on nothing else. */
const constantFirst = (conditions: readonly Condition[]): readonly Condition[] =>
  conditions.toSorted((a, b) => Number(b.constant) - Number(a.constant));

/** The texts that both allow. A rule counts one symbol if its own conditions name it. */
export function bothTexts(outer: When['texts'], own: When['texts']): When['texts'] {
  const both = new Map(outer);
  for (const [member, allowed] of own) {
    const before = both.get(member);
    both.set(
      member,
      before === undefined ? allowed : new Set([...allowed].filter((text) => before.has(text))),
    );
  }
  return both;
}

/** The parts of the policy that its conditions are compiled with. */
export interface Given extends Pick<
  ConditionContext,
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

function contextOf(
  inner: Omit<ConditionContext, 'path' | 'fault' | 'warn'>,
  { problems, doubts }: Given,
  path: Path,
): ConditionContext {
  const reportTo =
    (found: Problem[]): ConditionContext['fault'] =>
    (where, message, fix) => {
      const at = 'file' in where ? { path, within: where } : { path: [...path, ...where] };
      found.push({ ...at, of: 'value', message, fix });
      return undefined;
    };
  return { ...inner, path, fault: reportTo(problems), warn: reportTo(doubts) };
}

/** The conditions of a mapping by canonical name: the texts of a member, or a condition of another form. */
function readConditions(
  written: Json | undefined,
  path: Path,
  given: Given,
  depth: number,
): ReadonlyMap<string, ReadonlySet<string> | Condition> {
  const read = new Map<string, ReadonlySet<string> | Condition>();
  if (written === undefined) return read;
  const fault = (at: Path, of: Problem['of'], message: string, fix: string): undefined => {
    given.problems.push({ path: [...path, ...at], of, message, fix });
    return undefined;
  };
  if (!isObject(written)) {
    fault([], 'value', `${formatInput(written)} is not valid`, 'write conditions, like { source: shop }');
    return read;
  }
  let inner = given;
  const isSymbol = (name: string): boolean => memberNamed(given.kind, name) === 'symbol';
  // The symbols come first: they say by which chains addresses are read.
  const names = Object.keys(written).sort((a, b) => Number(isSymbol(b)) - Number(isSymbol(a)));
  for (const name of names) {
    const value = written[name];
    if (value === undefined) continue;
    const member = memberNamed(given.kind, name);
    const form = FORMS[name];
    if (member === undefined && (form === undefined || !form.kinds.includes(given.kind))) {
      const known = [...memberNames(given.kind), ...formNames(given.kind)];
      fault(
        [name],
        'name',
        `a ${given.kind} callback has no member ${formatInput(name)}`,
        fixFor(name, known),
      );
      continue;
    }
    if (read.has(member ?? name)) {
      fault([name], 'name', `${name} names ${member ?? name} a second time`, 'keep one of the two');
      continue;
    }
    const context = contextOf(inner, given, [...path, name]);
    if (member === 'amount' && given.movements !== undefined) {
      const message = 'the policy has movements, and their amounts are of several assets';
      context.fault(
        [],
        message,
        'write value: a range at the current prices, like { above: 1000, maxAge: 10m }',
      );
      continue;
    }
    const condition =
      member !== undefined
        ? readMember(member, value, context)
        : name === 'not'
          ? readNot(value, [...path, name], inner, depth)
          : form?.compile?.(value, context);
    if (condition === undefined) continue;
    read.set(member ?? name, condition);
    if (member === 'symbol' && !('test' in condition)) {
      inner = { ...given, when: bothTexts(given.when, new Map([[member, condition]])) };
    }
  }
  return read;
}

interface Form {
  readonly kinds: readonly Kind[];
  /** Undefined for `not`, which has conditions in it. */
  readonly compile?: (written: Json, context: ConditionContext) => Condition | undefined;
}

const EVERY: readonly Kind[] = ['payment', 'transfer', 'web3'];

/** The conditions that are not about one member, by name. */
const FORMS: Readonly<Record<string, Form>> = {
  not: { kinds: EVERY },
  value: { kinds: EVERY, compile: valueRange },
  during: { kinds: EVERY, compile: within },
  scheme: { kinds: ['payment'], compile: schemeIs },
};

/** The names of conditions other than members. */
export const formNames = (kind: Kind): readonly string[] =>
  Object.entries(FORMS)
    .filter(([, { kinds }]) => kinds.includes(kind))
    .map(([name]) => name);

/** A text, a list of texts, or a mapping: `{ file: vips.txt }`, or for the amount a range. */
function readMember(
  member: string,
  written: Json,
  context: ConditionContext,
): ReadonlySet<string> | Condition | undefined {
  if (isObject(written)) {
    if ('file' in written) return listedIn(member, written, context);
    if (member === 'amount') return amountRange(written, context);
    const fix = 'write a text, or a list of texts, or the name of a file like { file: vips.txt }';
    return context.fault([], 'a mapping is not valid', fix);
  }
  const isList = Array.isArray(written);
  const texts = new Set<string>();
  const chains = ADDRESS_MEMBERS.has(member) ? chainsWithSpellings(context) : [];
  const assets = context.isStored ? undefined : knownAssets(context);
  for (const [index, text] of (isList ? (written as readonly Json[]) : [written]).entries()) {
    const read = typeof text === 'string' ? readMemberText(member, text) : undefined;
    if (read?.ok === true) {
      for (const form of addressTexts(read.text, chains)) texts.add(form);
      const wrong = assets && typeof text === 'string' ? wrongText(member, text, assets) : undefined;
      if (wrong !== undefined) context.fault(isList ? [index] : [], wrong.message, wrong.fix);
    } else {
      const expected = read?.expected ?? 'a text, or a list of texts';
      context.fault(isList ? [index] : [], `${formatInput(text)} is not valid`, `write ${expected}`);
    }
  }
  if (isList && written.length === 0) {
    context.fault([], 'the list is empty, so no callback would meet it', 'name a value, or leave it out');
  }
  return texts;
}

/** `not`: the callback must not meet all of the conditions in it. */
function readNot(written: Json, path: Path, given: Given, depth: number): Condition | undefined {
  const fault = (message: string, fix: string): undefined => {
    given.problems.push({ path, of: 'value', message, fix });
    return undefined;
  };
  if (depth === DEPTH_MAX)
    return fault(`there are more than ${DEPTH_MAX} \`not\` in one another`, 'use fewer');
  if (isObject(written) && Object.keys(written).length === 0) {
    return fault(
      'it has no conditions, so no callback would meet it',
      'write conditions in it, or leave it out',
    );
  }
  const conditions = constantFirst(
    [...readConditions(written, path, given, depth + 1)].map(([name, read]) =>
      'test' in read ? read : oneOf(name, read),
    ),
  );
  return {
    constant: conditions.every(({ constant }) => constant),
    members: conditions.flatMap(({ members = [] }) => members),
    extent: { not: conditions.map(({ extent = 'anything' }) => extent) },
    test(callback, facts) {
      const tested = testAll(conditions, callback, facts);
      if (tested.state === 'met') return { ...tested, state: 'unmet' };
      return tested.state === 'unmet' ? { ...tested, state: 'met' } : tested;
    },
  };
}

/**
 * Whether every callback meets it. Compares with ALWAYS, whose members {@link compileWhen} gives to all of these, so
 * that the evaluation reads no maps for it. If in doubt, it is false: then the conditions are tested.
 */
export const isWithoutConditions = ({ texts, conditions }: When): boolean =>
  texts === ALWAYS.texts && conditions === ALWAYS.conditions;

/** Whether a callback meets all conditions of `when`. */
export function testWhen({ texts, conditions }: When, callback: Callback, facts: Facts): Tested {
  let worst = MET;
  for (const [member, allowed] of texts) {
    const state = testTexts(member, allowed, callback);
    if (state.state === 'unmet') return state;
    worst = worse(worst, state);
  }
  return conditions.length === 0 ? worst : testAll(conditions, callback, facts, worst);
}

/**
 * Whether the callback may meet all conditions at some time and some prices. Plugins are asked before these
 * are known.
 */
export function mayMeet({ texts, conditions }: When, callback: Callback, facts: Facts): boolean {
  const constant = conditions.filter((condition) => condition.constant);
  return testWhen({ texts, conditions: constant }, callback, facts).state !== 'unmet';
}

/** One unmet condition decides, whatever the others are. Otherwise an unknown one does. */
function testAll(
  conditions: readonly Condition[],
  callback: Callback,
  facts: Facts,
  before: Tested = MET,
): Tested {
  let worst = before;
  for (const condition of conditions) {
    worst = worse(worst, condition.test(callback, facts));
    if (worst.state === 'unmet') break;
  }
  return worst;
}

const SEVERITY = { met: 0, unknown: 1, unclear: 2, unmet: 3 } as const;

/** The one of the two that decides, with the standing of both. */
function worse(one: Tested, other: Tested): Tested {
  const worst = SEVERITY[other.state] > SEVERITY[one.state] ? other : one;
  if (one === MET || other === MET) return one === MET ? other : one;
  return { ...worst, ...combine('one', [one, other]) };
}
