import {
  Composer,
  type Document,
  Lexer,
  LineCounter,
  type Pair,
  Parser,
  isAlias,
  isMap,
  isScalar,
  isSeq,
} from 'yaml';
import { messageOf } from '../errors.ts';
import type { Json } from './canonical.ts';

/** Line and column, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * A YAML document with its aliases resolved. Every scalar is a text, also `1.0` and `true`; a quoted one has
 * no quotes and no escapes. Each node knows its position.
 */
export type Tree =
  | { readonly type: 'text'; readonly text: string; readonly at: Position }
  | { readonly type: 'list'; readonly items: readonly Tree[]; readonly at: Position }
  | { readonly type: 'map'; readonly entries: ReadonlyMap<string, Entry>; readonly at: Position };

interface Entry {
  readonly nameAt: Position;
  readonly value: Tree;
}

export interface SyntaxFault {
  readonly at: Position;
  /** May quote the file. */
  readonly message: string;
  /** The same without any text of the file, which may hold secrets. */
  readonly unquoted: string;
  readonly fix: string;
}

export interface Yaml {
  readonly trees: readonly Tree[];
  readonly faults: readonly SyntaxFault[];
}

/** The limits of one file. Within them no file takes more than about a second. */
export const YAML_BOUNDS = {
  bytes: 1_048_576,
  lexemes: 250_000,
  documents: 1000,
  depth: 16,
  aliases: 100,
  nodes: 100_000,
  faults: 20,
} as const;

const START: Position = { line: 1, column: 1 };
const SPLIT =
  'shorten it: policies and tests can be split into several files, and long lists put into files of their own';
const BYTE_ORDER_MARK = '\uFEFF';

/** Reads the documents of a file, and all faults of its syntax. Never throws. */
export function readYaml(text: string): Yaml {
  if (Buffer.byteLength(text) > YAML_BOUNDS.bytes) {
    return {
      trees: [],
      faults: [faultAt(START, `the file has more than ${YAML_BOUNDS.bytes} bytes`, SPLIT)],
    };
  }
  const marks = byteOrderMarks(text);
  if (marks.length > 0) return { trees: [], faults: marks.slice(0, YAML_BOUNDS.faults) };
  const lines = new LineCounter();
  const trees: Tree[] = [];
  const faults: SyntaxFault[] = [];
  try {
    for (const document of documentsOf(text, lines)) {
      const found = syntaxFaults(document, lines);
      if (found.length > 0) faults.push(...found);
      else trees.push(readTree(document, lines, faults));
    }
  } catch (thrown) {
    faults.push(
      thrown instanceof Unreadable
        ? thrown.fault
        : {
            ...faultAt(START, `the file can't be read: ${messageOf(thrown)}`, 'write it more simply'),
            unquoted: `the file can't be read`,
          },
    );
  }
  return { trees, faults: faults.slice(0, YAML_BOUNDS.faults) };
}

/** The tree as plain values. */
export function jsonOf(tree: Tree): Json {
  if (tree.type === 'text') return tree.text;
  if (tree.type === 'list') return tree.items.map(jsonOf);
  return Object.fromEntries([...tree.entries].map(([name, { value }]) => [name, jsonOf(value)]));
}

/** The position of the node at a path or, if there is no such node, of the last node on the way. */
export function positionOf(tree: Tree, path: readonly (string | number)[], of: 'name' | 'value'): Position {
  const [step, ...rest] = path;
  if (tree.type === 'list' && typeof step === 'number') {
    const item = tree.items[step];
    return item === undefined ? tree.at : positionOf(item, rest, of);
  }
  const entry = tree.type === 'map' && typeof step === 'string' ? tree.entries.get(step) : undefined;
  if (entry === undefined) return tree.at;
  return of === 'name' && rest.length === 0 ? entry.nameAt : positionOf(entry.value, rest, of);
}

/** Composes one document after another, so that reading a hostile file stops early. */
function* documentsOf(text: string, lines: LineCounter): Generator<Document.Parsed> {
  // readTree checks that names are unique. The library would take quadratic time.
  const composer = new Composer({ schema: 'failsafe', prettyErrors: false, uniqueKeys: false });
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let lexemes = 0;
  let documents = 0;
  for (const lexeme of new Lexer().lex(text)) {
    // The library recurses once for each level.
    if (parser.stack.length > STACK_MAX) tooDeep(positionAt(lines, parser.offset));
    if (++lexemes > YAML_BOUNDS.lexemes)
      tooMuch(`it has more than ${YAML_BOUNDS.lexemes} names, values and marks`);
    for (const token of parser.next(lexeme)) {
      for (const document of composer.next(token)) {
        if (++documents > YAML_BOUNDS.documents)
          tooMuch(`it has more than ${YAML_BOUNDS.documents} documents`);
        yield document;
      }
    }
  }
  for (const token of parser.end()) yield* composer.next(token);
  yield* composer.end(false, text.length);
}

/** The parser's stack also holds the document and what it reads at the moment. */
const STACK_MAX = YAML_BOUNDS.depth + 2;

function tooDeep(at: Position): never {
  tooMuch(
    `it is nested more than ${YAML_BOUNDS.depth} deep`,
    at,
    'remove the inner levels: nothing needs so many',
  );
}

/**
 * Files that were joined may have a byte order mark within them. It would become part of the first name after
 * it.
 */
function byteOrderMarks(text: string): readonly SyntaxFault[] {
  if (!text.includes(BYTE_ORDER_MARK, 1)) return [];
  return text.split('\n').flatMap((line, index) => {
    const column = /^(?:---[ \t]+)?\uFEFF/.exec(line)?.[0].length;
    if (column === undefined || (index === 0 && column === 1)) return [];
    const message = 'there is a byte order mark (U+FEFF), which only the beginning of a file may have';
    return [faultAt({ line: index + 1, column }, message, 'delete this invisible character')];
  });
}

function syntaxFaults(document: Document.Parsed, lines: LineCounter): readonly SyntaxFault[] {
  return [...document.errors, ...document.warnings].map(({ message, pos: [offset] }) => ({
    ...faultAt(positionAt(lines, offset), `it is not valid YAML: ${message}`, 'correct the syntax here'),
    // The library quotes the file after a colon.
    unquoted: message.split(': ')[0] ?? message,
  }));
}

/** A document as a tree, with aliases resolved. Throws Unreadable for a document above the limits. */
function readTree(document: Document.Parsed, lines: LineCounter, faults: SyntaxFault[]): Tree {
  let aliases = 0;
  let nodes = 0;
  const at = (offset: number | undefined): Position => positionAt(lines, offset ?? 0);
  const read = (node: unknown, parent: Position, depth: number): Tree => {
    if (depth > YAML_BOUNDS.depth) tooDeep(parent);
    if (++nodes > YAML_BOUNDS.nodes) tooMuch(`it has more than ${YAML_BOUNDS.nodes} nodes`, parent);
    if (isAlias(node)) {
      if (++aliases > YAML_BOUNDS.aliases) {
        tooMuch(`it has more than ${YAML_BOUNDS.aliases} aliases`, parent, 'write the values out');
      }
      const target = node.resolve(document);
      if (target !== undefined) return read(target, parent, depth + 1);
      const place = at(node.range?.[0]);
      const message = `there is no anchor for the alias *${node.source}`;
      faults.push({
        ...faultAt(place, message, 'write the value out'),
        unquoted: 'there is no anchor for an alias',
      });
      return { type: 'text', text: '', at: place };
    }
    if (isScalar(node)) return { type: 'text', text: String(node.value), at: at(node.range?.[0]) };
    const place = isSeq(node) || isMap(node) ? at(node.range?.[0]) : parent;
    if (isSeq(node)) {
      return { type: 'list', items: node.items.map((item) => read(item, place, depth + 1)), at: place };
    }
    if (!isMap(node)) return { type: 'text', text: '', at: place };
    const entries = new Map<string, Entry>();
    let isSplit = false;
    for (const [index, pair] of node.items.entries()) {
      const { key, value } = pair;
      const name = read(key, place, depth + 1);
      const number = node.flow === true ? splitNumber(node.items, index) : undefined;
      if (number !== undefined) {
        const message = `a comma splits the number ${number}`;
        faults.push({ ...faultAt(name.at, message, NO_COMMA), unquoted: 'a comma splits a number' });
      }
      isSplit = number !== undefined || (isSplit && isBareNumber(pair));
      if (isSplit) continue;
      if (name.type !== 'text') {
        faults.push(faultAt(name.at, 'a name is not plain text', 'write a plain name before the colon'));
      } else if (entries.has(name.text)) {
        const message = `${JSON.stringify(name.text.slice(0, NAME_SHOWN))} appears twice`;
        faults.push({
          ...faultAt(name.at, message, 'keep one of the two'),
          unquoted: 'a name appears twice',
        });
      } else entries.set(name.text, { nameAt: name.at, value: read(value, name.at, depth + 1) });
    }
    return { type: 'map', entries, at: place };
  };
  return read(document.contents, at(document.range[0]), 1);
}

const NO_COMMA = 'write it without commas, and with a point before decimals, like 1000.5';

/**
 * The number that an author meant by `{ max: 1,000,000 }`, at the index of the first `000`. YAML reads an entry
 * `max: 1`, and entries `000` without a value.
 */
function splitNumber(items: readonly Item[], index: number): string | undefined {
  const [before, item] = [textOfScalar(items[index - 1]?.value), items[index]];
  if (item === undefined || !isBareNumber(item) || !/^\d+$/.test(before)) return undefined;
  const end = items.findIndex((each, at) => at > index && !isBareNumber(each));
  const parts = items.slice(index, end === -1 ? undefined : end);
  return [before, ...parts.map(({ key }) => textOfScalar(key))].join(',');
}

type Item = Pick<Pair, 'key' | 'value'>;

const isBareNumber = ({ key, value }: Item): boolean =>
  value === null && /^\d+(?:\.\d+)?$/.test(textOfScalar(key));

const textOfScalar = (node: unknown): string => (isScalar(node) ? String(node.value) : '');

const NAME_SHOWN = 80;

class Unreadable extends Error {
  readonly fault: SyntaxFault;
  constructor(fault: SyntaxFault) {
    super(fault.message);
    this.fault = fault;
  }
}

function tooMuch(message: string, at: Position = START, fix: string = SPLIT): never {
  throw new Unreadable(faultAt(at, message, fix));
}

/** A fault whose message quotes nothing. */
function faultAt(at: Position, message: string, fix: string): SyntaxFault {
  return { at, message, unquoted: message, fix };
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return line === 0 ? START : { line, column: col };
}
