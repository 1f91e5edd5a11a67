import { Environment } from '@marcbachmann/cel-js';
import type { Callback, Kind } from '../../callback/callback.ts';
import { parseAmount } from '../../values/amount.ts';
import { canonicalUserId } from '../../values/user-id.ts';
import type { Facts } from '../facts.ts';
import {
  ADDRESS_MEMBERS,
  checkMember,
  memberNamed,
  memberNames,
  payoutsOf,
  valuesOf,
} from '../language/members.ts';
import { Decimal, Moved, Output, Text, type Value, product, whole } from './values.ts';

/** The limits of an expression. `steps` are its nodes within loops, times the outputs of a callback. */
export const BOUNDS = {
  characters: 2000,
  nodes: 500,
  depth: 20,
  elements: 200,
  parameters: 2,
  steps: 100_000,
} as const;

/** CEL has a function `type`, so the member `type` has another name in the language. */
export const RENAMED: ReadonlyMap<string, string> = new Map([['type', 'TYPE']]);

interface Language {
  readonly names: Names;
  readonly environment: Environment;
}

const languages = new Map<string, Language>();

/** What an expression is about: callbacks of a kind, and for web3 perhaps their movements. */
export interface Subject {
  readonly kind: Kind;
  readonly hasMovements: boolean;
}

/** CEL with the names, types and functions for a subject. Cached. */
export function languageOf({ kind, hasMovements }: Subject): Language {
  const key = `${kind} ${hasMovements}`;
  const known = languages.get(key);
  if (known !== undefined) return known;
  const names = hasMovements ? namesWithMovements(kind) : namesOf(kind);
  const environment = new Environment({
    limits: {
      maxAstNodes: BOUNDS.nodes,
      maxDepth: BOUNDS.depth,
      maxListElements: BOUNDS.elements,
      maxCallArguments: BOUNDS.parameters,
    },
  });
  environment
    .registerType('decimal', { ctor: Decimal, fields: {} })
    .registerType('text', { ctor: Text, fields: {} })
    .registerType('output', { ctor: Output, fields: { to: 'text', amount: 'decimal' } })
    .registerType('movement', {
      ctor: Moved,
      fields: { type: 'text', to: 'text', symbol: 'text', amount: 'decimal', unlimited: 'bool' },
    });
  addDecimals(environment);
  addTexts(environment);
  addGiven(environment);
  for (const [name, { type }] of names) environment.registerVariable(RENAMED.get(name) ?? name, type);
  const language = { names, environment };
  languages.set(key, language);
  return language;
}

const SYNC = { async: false } as const;

const COMPARISONS: readonly (readonly [string, (a: bigint, b: bigint) => boolean])[] = [
  ['<', (a, b) => a < b],
  ['<=', (a, b) => a <= b],
  ['>', (a, b) => a > b],
  ['>=', (a, b) => a >= b],
];

const CALCULATIONS: readonly (readonly [string, (a: Decimal, b: Decimal) => Decimal])[] = [
  ['+', (a, b) => new Decimal(a.units + b.units)],
  ['-', (a, b) => new Decimal(a.units - b.units)],
  ['*', product],
];

/** Decimals are compared and calculated exactly, with each other and with whole numbers. */
function addDecimals(environment: Environment): void {
  for (const [operator, holds] of COMPARISONS) {
    environment
      .registerOperator(`decimal ${operator} decimal`, (a: Decimal, b: Decimal) => holds(a.units, b.units))
      .registerOperator(`decimal ${operator} int`, (a: Decimal, b: bigint) => holds(a.units, whole(b).units))
      .registerOperator(`int ${operator} decimal`, (a: bigint, b: Decimal) => holds(whole(a).units, b.units));
  }
  for (const [operator, calculate] of CALCULATIONS) {
    environment
      .registerOperator(`decimal ${operator} decimal`, calculate)
      .registerOperator(`decimal ${operator} int`, (a: Decimal, b: bigint) => calculate(a, whole(b)))
      .registerOperator(`int ${operator} decimal: decimal`, (a: bigint, b: Decimal) =>
        calculate(whole(a), b),
      );
  }
  environment
    .registerOperator('decimal == decimal', (a: Decimal, b: Decimal) => a.units === b.units)
    .registerOperator('decimal == int', (a: Decimal, b: bigint) => a.units === whole(b).units)
    .registerOperator('decimal in list<int>', (a: Decimal, list: readonly bigint[]) =>
      list.some((each) => a.units === whole(each).units),
    )
    .registerFunction('decimal(string): decimal', cachedDecimals(decimalFrom), SYNC)
    .registerFunction('decimal(text): decimal', ({ text }: Text) => decimalFrom(text), SYNC)
    .registerFunction('decimal(int): decimal', whole, SYNC)
    .registerFunction('sum(list<decimal>): decimal', sum, SYNC);
}

/**
 * Literal decimals of policies are cached, because every evaluation reads them. The limit keeps texts from
 * callbacks from filling the memory.
 */
const CACHED_MAX = 1000;

function cachedDecimals(read: (text: string) => Decimal): (text: string) => Decimal {
  const known = new Map<string, Decimal>();
  return (text) => {
    const found = known.get(text) ?? read(text);
    if (known.size < CACHED_MAX) known.set(text, found);
    return found;
  };
}

function decimalFrom(text: string): Decimal {
  const amount = parseAmount(text);
  if (amount === undefined) throw new RangeError(`${JSON.stringify(text.slice(0, 80))} is not a decimal`);
  return new Decimal(amount);
}

function sum(decimals: readonly Decimal[]): Decimal {
  return new Decimal(decimals.reduce((total, { units }) => total + units, 0n));
}

/** Member texts are compared as everywhere in a policy: hexadecimal and bech32 without regard to case. */
function addTexts(environment: Environment): void {
  environment
    .registerOperator('text == text', (a: Text, b: Text) => a.text === b.text)
    .registerOperator('text == string', (member: Text, written: string) => member.is(written))
    .registerOperator('text in list<string>', (member: Text, list: readonly string[]) =>
      list.some((each) => member.is(each)),
    )
    .registerOperator('string in list<text>', (written: string, list: readonly Text[]) =>
      list.some((each) => each.is(written)),
    )
    .registerFunction(
      'text.startsWith(string): bool',
      (member: Text, written: string) => member.text.startsWith(member.part(written)),
      SYNC,
    )
    .registerFunction(
      'text.endsWith(string): bool',
      (member: Text, written: string) => member.text.endsWith(member.part(written)),
      SYNC,
    )
    .registerFunction(
      'text.contains(string): bool',
      (member: Text, written: string) => member.text.includes(member.part(written)),
      SYNC,
    )
    .registerFunction('size(text): int', sizeOf, SYNC)
    .registerFunction('text.size(): int', sizeOf, SYNC);
}

/** In code points, as in CEL. */
function sizeOf({ text }: Text): bigint {
  return BigInt(text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0));
}

/** `given(memo)`: whether a name has a value. It is a macro, since reading a missing value is an error. */
function addGiven(environment: Environment): void {
  environment.registerFunction(
    'given(ast): bool',
    ({ args: [asked] }: Macro) => ({
      typeCheck: (checker: Checker, _: unknown, scope: unknown) => {
        checker.check(asked, scope);
        return checker.getType('bool');
      },
      evaluate: (_: unknown, __: unknown, scope: { readonly getValue: (name: string) => unknown }) =>
        scope.getValue(asked.args) !== undefined,
    }),
    SYNC,
  );
}

interface Macro {
  /** The grammar ensures exactly one argument, a name. */
  readonly args: readonly [{ readonly args: string }];
}

interface Checker {
  readonly check: (node: unknown, scope: unknown) => unknown;
  readonly getType: (name: string) => unknown;
}

/** A name in an expression. */
export interface Name {
  readonly type: 'decimal' | 'text' | 'bool' | 'list<output>' | 'list<movement>';
  /** For type `text`: the member whose format literals in a comparison must have. */
  readonly member: string | undefined;
  /** Undefined if the callback has no such value. Its use is then an error. */
  readonly read: (callback: Callback, facts: Facts) => Value | undefined;
  /** Why the callback has no such value. */
  readonly missing: string;
}

export type Names = ReadonlyMap<string, Name>;

/**
 * The lists that loops run over, with the fields of their elements. An expression has at most one of them.
 */
export const LISTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['outputs', ['to', 'amount']],
  ['movements', ['type', 'to', 'symbol', 'amount', 'unlimited']],
]);

/** The list that an expression with these names can loop over. */
export const listIn = (names: Names): string | undefined => [...LISTS.keys()].find((name) => names.has(name));

/** All names for a kind of callback: its members with their aliases, and facts about the callback. */
function namesOf(kind: Kind): Names {
  const names = new Map<string, Name>();
  for (const name of memberNames(kind)) {
    const member = memberNamed(kind, name);
    if (member !== undefined) names.set(name, nameOf(member, name));
  }
  if (kind === 'payment') names.set('scheme', SCHEME);
  if (kind === 'transfer') names.set('outputs', PAYOUTS);
  if (kind === 'web3') names.set('unlimited', UNLIMITED);
  if (kind !== 'payment') names.set('speedUp', SPEED_UP);
  return names;
}

/** Amounts and assets are those of each movement. */
function namesWithMovements(kind: Kind): Names {
  const names = new Map(namesOf(kind));
  for (const name of ['amount', 'symbol', 'unlimited']) names.delete(name);
  return names.set('movements', MOVEMENTS);
}

function nameOf(member: string, name: string): Name {
  if (member === 'amount') return AMOUNT;
  if (member === 'pending_round') return SPEED_UP;
  return {
    type: 'text',
    member,
    missing: member === 'to' ? `several addresses are paid, so ${name} is not one` : `${name} is missing`,
    read: (callback) => {
      const found = valuesOf(callback, member);
      const text = found[0];
      return text === undefined || found.length > 1 ? undefined : textOf(callback, member, text);
    },
  };
}

function textOf({ reading }: Callback, member: string, text: string): Text {
  if (member === 'userId') return new Text(text, canonicalUserId);
  return new Text(text, ADDRESS_MEMBERS.has(member) ? reading?.canonical : undefined);
}

const AMOUNT: Name = {
  type: 'decimal',
  member: undefined,
  missing: 'the amount is unlimited',
  read: ({ amount }) => (amount === 'unlimited' ? undefined : new Decimal(amount)),
};

const SPEED_UP: Name = {
  type: 'bool',
  member: undefined,
  missing: 'it is not known whether it is a speed-up',
  read: ({ question }) => question.speedUp,
};

const UNLIMITED: Name = {
  type: 'bool',
  member: undefined,
  missing: 'it is not known whether the amount is unlimited',
  read: ({ amount }) => amount === 'unlimited',
};

const SCHEME: Name = {
  type: 'text',
  member: 'scheme',
  missing: 'it is not known how the callback was signed',
  read: (_, { scheme }) => (scheme === undefined ? undefined : new Text(scheme)),
};

/** One element for each address, with its total; not the raw `outputs` of the body. */
const PAYOUTS: Name = {
  type: 'list<output>',
  member: undefined,
  missing: 'it is not known whom the withdrawal pays',
  read: (callback) => {
    const payouts = payoutsOf(callback);
    return payouts.length === 0
      ? undefined
      : payouts.map(({ to, amount }) => new Output(textOf(callback, 'to', to), new Decimal(amount)));
  },
};

const MOVEMENTS: Name = {
  type: 'list<movement>',
  member: undefined,
  missing: 'it is not known what the transaction moves',
  read: (callback) => {
    checkMember(callback, 'to');
    return callback.movements?.list.map(
      ({ type, to, symbol, amount }) =>
        new Moved(
          {
            type: new Text(type),
            to: textOf(callback, 'to', to),
            symbol: symbol === undefined ? undefined : new Text(symbol),
          },
          typeof amount === 'bigint' ? new Decimal(amount) : amount === 'unlimited' ? amount : undefined,
        ),
    );
  },
};
