import { Composer, type Document, Lexer, LineCounter, Parser, isAlias, isMap, isScalar, isSeq } from 'yaml';
import { messageOf } from '../errors.ts';
import type { Json } from '../values/canonical.ts';
import { type Path, shown } from './fault.ts';

/** Counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * YAML as policies use it: every scalar is the text it is written as, and each node knows where it stands.
 */
export type Tree =
  | { readonly type: 'text'; readonly text: string; readonly at: Position }
  | { readonly type: 'list'; readonly items: readonly Tree[]; readonly at: Position }
  | { readonly type: 'map'; readonly entries: ReadonlyMap<string, Entry>; readonly at: Position };

interface Entry {
  readonly nameAt: Position;
  readonly value: Tree;
}

interface SyntaxFault {
  readonly at: Position;
  readonly message: string;
  readonly cure: string;
}

export interface Yaml {
  readonly trees: readonly Tree[];
  readonly faults: readonly SyntaxFault[];
}

/** What one file may be at most; reading it is then a matter of a second at worst. */
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
const SPLIT = 'split it into several files, and put long lists into files of their own';

/** The documents of one file, and all that is wrong with its syntax. Never throws. */
export function readYaml(text: string): Yaml {
  if (Buffer.byteLength(text) > YAML_BOUNDS.bytes) {
    return refused(`the file has more than ${YAML_BOUNDS.bytes} bytes`, SPLIT);
  }
  const lines = new LineCounter();
  const trees: Tree[] = [];
  const faults: SyntaxFault[] = [];
  try {
    for (const document of documentsOf(text, lines)) {
      const found = syntaxFaults(document, lines);
      if (found.length > 0) faults.push(...found);
      else trees.push(new Reading(document, lines, faults).tree());
    }
  } catch (thrown) {
    faults.push(thrown instanceof Unreadable ? thrown.fault : unexpected(thrown));
  }
  return { trees, faults: faults.slice(0, YAML_BOUNDS.faults) };
}

/** The same as plain values. */
export function plainOf(tree: Tree): Json {
  if (tree.type === 'text') return tree.text;
  if (tree.type === 'list') return tree.items.map(plainOf);
  return Object.fromEntries([...tree.entries].map(([name, { value }]) => [name, plainOf(value)]));
}

/** Where a path leads, or as far along it as there is anything. */
export function positionOf(tree: Tree, path: Path, of: 'name' | 'value'): Position {
  const [step, ...rest] = path;
  if (tree.type === 'list' && typeof step === 'number') {
    const item = tree.items[step];
    return item === undefined ? tree.at : positionOf(item, rest, of);
  }
  const entry = tree.type === 'map' && typeof step === 'string' ? tree.entries.get(step) : undefined;
  if (entry === undefined) return tree.at;
  return of === 'name' && rest.length === 0 ? entry.nameAt : positionOf(entry.value, rest, of);
}

/** Composes document by document, so that a hostile file is left before it has cost much. */
function* documentsOf(text: string, lines: LineCounter): Generator<Document.Parsed> {
  // Unique names are checked below, where it takes linear time.
  const composer = new Composer({ schema: 'failsafe', prettyErrors: false, uniqueKeys: false });
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let lexemes = 0;
  let depth = 0;
  let documents = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === '[' || lexeme === '{') depth++;
    if (lexeme === ']' || lexeme === '}') depth--;
    if (depth > YAML_BOUNDS.depth) tooMuch(`it is nested more than ${YAML_BOUNDS.depth} deep`);
    if (++lexemes > YAML_BOUNDS.lexemes) tooMuch('it is too long');
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

function syntaxFaults(document: Document.Parsed, lines: LineCounter): readonly SyntaxFault[] {
  return [...document.errors, ...document.warnings].map((fault) => ({
    at: positionAt(lines, fault.pos[0]),
    message: `not YAML that a policy may use: ${fault.message}`,
    cure: 'mend the syntax here',
  }));
}

/** One document's nodes to a tree, aliases followed, within bounds. */
class Reading {
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  readonly #faults: SyntaxFault[];
  #aliases = 0;
  #nodes = 0;

  constructor(document: Document.Parsed, lines: LineCounter, faults: SyntaxFault[]) {
    this.#document = document;
    this.#lines = lines;
    this.#faults = faults;
  }

  tree(): Tree {
    return this.#read(this.#document.contents, this.#at(this.#document.range[0]), 1);
  }

  #read(node: unknown, near: Position, depth: number): Tree {
    if (depth > YAML_BOUNDS.depth) tooMuch(`it is nested more than ${YAML_BOUNDS.depth} deep`, near);
    if (++this.#nodes > YAML_BOUNDS.nodes) tooMuch(`it has more than ${YAML_BOUNDS.nodes} nodes`, near);
    if (isAlias(node)) {
      if (++this.#aliases > YAML_BOUNDS.aliases) {
        tooMuch(`its aliases stand for more than ${YAML_BOUNDS.aliases} nodes`, near, 'write the values out');
      }
      const target = node.resolve(this.#document);
      if (target === undefined) {
        const at = this.#at(node.range?.[0]);
        this.#fault(at, `the alias *${node.source} stands for nothing`, 'write the value out');
        return { type: 'text', text: '', at };
      }
      return this.#read(target, near, depth + 1);
    }
    if (isScalar(node)) return { type: 'text', text: String(node.value), at: this.#at(node.range?.[0]) };
    const at = isSeq(node) || isMap(node) ? this.#at(node.range?.[0]) : near;
    if (isSeq(node)) {
      return { type: 'list', items: node.items.map((item) => this.#read(item, at, depth + 1)), at };
    }
    if (!isMap(node)) return { type: 'text', text: '', at };
    const entries = new Map<string, Entry>();
    for (const { key, value } of node.items) {
      const name = this.#read(key, at, depth + 1);
      if (name.type !== 'text') {
        this.#fault(name.at, 'a name is not plain text', 'write a plain name before the colon');
        continue;
      }
      if (entries.has(name.text)) {
        this.#fault(name.at, `${shown(name.text)} is there twice`, 'keep one of the two');
        continue;
      }
      entries.set(name.text, { nameAt: name.at, value: this.#read(value, name.at, depth + 1) });
    }
    return { type: 'map', entries, at };
  }

  #fault(at: Position, message: string, cure: string): void {
    this.#faults.push({ at, message, cure });
  }

  #at(offset: number | undefined): Position {
    return positionAt(this.#lines, offset ?? 0);
  }
}

class Unreadable extends Error {
  readonly fault: SyntaxFault;
  constructor(fault: SyntaxFault) {
    super(fault.message);
    this.fault = fault;
  }
}

function tooMuch(message: string, at: Position = START, cure: string = SPLIT): never {
  throw new Unreadable({ at, message, cure });
}

function unexpected(thrown: unknown): SyntaxFault {
  return { at: START, message: `the file can't be read: ${messageOf(thrown)}`, cure: 'write it more simply' };
}

function refused(message: string, cure: string): Yaml {
  return { trees: [], faults: [{ at: START, message, cure }] };
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return line === 0 ? START : { line, column: col };
}
