import type { ASTNode } from '@marcbachmann/cel-js';
import { parseAmount } from '../../values/amount.ts';
import { cureFor, shown } from '../fault.ts';
import { readMemberText } from '../members.ts';
import { type Name, type Names, OUTPUTS, OUTPUT_FIELDS } from './language.ts';

const FUNCTIONS: readonly string[] = ['decimal', 'given', 'size', 'sum'];
/** Those whose value is a number. */
const NUMBERS: ReadonlySet<string> = new Set(['decimal', 'size', 'sum']);
const CALCULATIONS: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '-_']);
const TEXT_METHODS: readonly string[] = ['startsWith', 'endsWith', 'contains'];
const LOOPS: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map'];
const METHODS: readonly string[] = [...TEXT_METHODS, 'size', ...LOOPS];

/** What makes an expression unfit for a policy, and where in it. */
export class Unfit extends Error {
  /** Counted from 0. */
  readonly at: number;
  readonly cure: string;

  constructor(at: number, message: string, cure: string) {
    super(message);
    this.at = at;
    this.cure = cure;
  }
}

/** An id that stands for a name of the callback, so that it can be found again in the text. */
interface Use {
  readonly name: string;
  readonly start: number;
}

/** What an expression asks for, and how much of it is done again for each output. */
interface Grammar {
  readonly uses: readonly Use[];
  /** Nodes within loops. */
  readonly looped: number;
}

/**
 * What an expression asks for. Throws {@link Unfit} for all that CEL knows and a policy does without: binary
 * floating point, division, maps, bytes, time, regular expressions, text that grows, loops but over the
 * outputs, one within another. What is left is bounded in time, exact, and typed throughout.
 */
export function readGrammar(root: ASTNode, names: Names): Grammar {
  const walk = new Walk(names);
  walk.visit(root, undefined);
  const { uses, looped } = walk;
  if (uses.length === 0) {
    throw new Unfit(
      0,
      'it asks for nothing of the callback, so it says the same to each',
      cureFor('', [...names.keys()]),
    );
  }
  return { uses, looped };
}

/** The variable of the loop that surrounds a node, if one does. */
type Loop = string | undefined;

class Walk {
  readonly uses: Use[] = [];
  looped = 0;
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  visit(node: ASTNode, loop: Loop): void {
    if (loop !== undefined) this.looped++;
    switch (node.op) {
      case 'value':
        return literal(node);
      case 'id':
        return this.#id(node, loop);
      case '.':
        return this.#field(node, loop);
      case '[]':
        return this.#element(node, loop);
      case 'call':
        return this.#call(node, loop);
      case 'rcall':
        return this.#method(node, loop);
      case 'list':
        if (node.args.length === 0) throw unfit(node, 'the list is empty', 'write what stands in it');
        return this.#all(node.args, loop);
      case '?:':
      case '||':
      case '&&':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#all(node.args, loop);
      case '==':
      case '!=':
      case 'in':
        this.#all(node.args, loop);
        return this.#compared(node.args, loop);
      case '!_':
        return this.visit(node.args, loop);
      case '-_':
        return negative(node);
      case '+':
      case '-':
      case '*':
        for (const operand of node.args) this.#number(operand);
        return this.#all(node.args, loop);
      case '/':
      case '%':
        throw unfit(
          node,
          'a division is not exact',
          'multiply the other side: not a / 3 <= b but a <= b * 3',
        );
      case 'map':
      case '.?':
      case '[?]':
        throw unfit(node, 'that is not known here', 'compare members with texts, numbers and lists');
      default:
        throw new Unfit(0, 'it has a part that is not known here', 'write it otherwise');
    }
  }

  #all(nodes: readonly ASTNode[], loop: Loop): void {
    for (const each of nodes) this.visit(each, loop);
  }

  #id(node: NodeOf<'id'>, loop: Loop): void {
    const name = node.args;
    if (name === loop) return;
    if (!this.#names.has(name)) {
      const known = [...this.#names.keys(), ...(loop === undefined ? [] : [loop])];
      throw unfit(node, `there is no ${shown(name)} in this callback`, cureFor(name, known));
    }
    if (loop !== undefined && name === OUTPUTS) {
      throw unfit(
        node,
        'the outputs are looked through within a loop over them',
        'write one loop after the other',
      );
    }
    this.uses.push({ name, start: node.start });
  }

  #field(node: NodeOf<'.'>, loop: Loop): void {
    const [of, name] = node.args;
    if (!OUTPUT_FIELDS.includes(name)) {
      const cure = this.#names.has(OUTPUTS)
        ? cureFor(name, OUTPUT_FIELDS)
        : 'write the name of a member alone';
      throw new Unfit(node.pos, `nothing here has a part ${shown(name)}`, cure);
    }
    this.visit(of, loop);
  }

  /** One of the outputs, by its place. */
  #element(node: NodeOf<'[]'>, loop: Loop): void {
    const [of, place] = node.args;
    if (of.op !== 'id' || of.args !== OUTPUTS || place.op !== 'value' || typeof place.args !== 'bigint') {
      throw unfit(
        node,
        'only outputs have places, and a place is a whole number',
        'write it like outputs[0]',
      );
    }
    this.#all(node.args, loop);
  }

  #call(node: NodeOf<'call'>, loop: Loop): void {
    const [name, parameters] = node.args;
    const [first] = parameters;
    if (!FUNCTIONS.includes(name)) {
      throw unfit(node, `there is no function ${shown(name)}`, cureFor(name, FUNCTIONS));
    }
    if (first === undefined || parameters.length > 1) {
      throw unfit(
        node,
        `${name} has one parameter`,
        `write it like ${name}(${name === 'decimal' ? "'1.5'" : 'memo'})`,
      );
    }
    if (name === 'given' && (first.op !== 'id' || first.args === loop)) {
      throw unfit(node, 'given asks whether a member is there', 'write it like given(memo)');
    }
    if (name === 'decimal' && first.op === 'value' && typeof first.args === 'string') {
      if (parseAmount(first.args) === undefined) {
        throw unfit(first, `${shown(first.args)} is no decimal`, "write it like decimal('1.5')");
      }
    }
    this.visit(first, loop);
  }

  #method(node: NodeOf<'rcall'>, loop: Loop): void {
    const [name, of, parameters] = node.args;
    if (!METHODS.includes(name)) {
      const cure = name === 'matches' ? `use ${TEXT_METHODS.join(', ')} or in` : cureFor(name, METHODS);
      throw unfit(node, `there is no .${name}(…)`, cure);
    }
    if (LOOPS.includes(name)) return this.#loop(node, loop);
    this.visit(of, loop);
    this.#all(parameters, loop);
  }

  #loop(node: NodeOf<'rcall'>, loop: Loop): void {
    const [name, of, [variable, body, ...more]] = node.args;
    if (loop !== undefined) throw unfit(node, 'a loop within a loop', 'write one loop after the other');
    if (!isOutputs(of)) {
      const cure = this.#names.has(OUTPUTS)
        ? `write ${OUTPUTS}.${name}(o, …)`
        : 'compare the members themselves';
      throw unfit(of, 'only the outputs of a withdrawal are looked through', cure);
    }
    if (variable?.op !== 'id' || body === undefined || more.length > 0) {
      throw unfit(
        node,
        `${name} needs a name and a condition`,
        `write it like ${OUTPUTS}.${name}(o, o.amount <= 5)`,
      );
    }
    if (this.#names.has(variable.args)) {
      throw unfit(variable, `${variable.args} is a name of the callback`, 'call the output o');
    }
    this.visit(of, loop);
    this.visit(body, variable.args);
  }

  /** Sums of texts and of lists would grow: only what is certainly a number has part in one. */
  #number(node: ASTNode): void {
    if (node.op === '?:') return node.args.slice(1).forEach((branch) => this.#number(branch));
    const certain =
      CALCULATIONS.has(node.op) ||
      (node.op === 'value' && (typeof node.args === 'bigint' || typeof node.args === 'number')) ||
      (node.op === 'id' && this.#names.get(node.args)?.type === 'decimal') ||
      (node.op === '.' && node.args[1] === 'amount') ||
      (node.op === 'call' && NUMBERS.has(node.args[0])) ||
      (node.op === 'rcall' && node.args[0] === 'size');
    if (certain) return;
    throw unfit(node, 'only amounts and numbers are added and multiplied', 'compare the parts one by one');
  }

  /** A text that the member never has would make a comparison say the same to every callback. */
  #compared([a, b]: readonly [ASTNode, ASTNode], loop: Loop): void {
    for (const [asked, written] of [
      [a, b],
      [b, a],
    ] as const) {
      const member = this.#memberOf(asked, loop);
      if (member === undefined) continue;
      for (const { node, text } of textsIn(written)) {
        const read = readMemberText(member, text);
        if (read.ok) continue;
        const cure =
          text === '' ? `write !given(${member}) for a member that is not there` : `write ${read.expected}`;
        throw unfit(node, `no ${member} is ever ${shown(text)}`, cure);
      }
    }
  }

  #memberOf(node: ASTNode, loop: Loop): Name['member'] {
    if (node.op === 'id' && node.args !== loop) return this.#names.get(node.args)?.member;
    return node.op === '.' && node.args[1] === 'to' ? 'to' : undefined;
  }
}

const GREATEST_WHOLE = 2n ** 63n - 1n;

type NodeOf<Op extends ASTNode['op']> = Extract<ASTNode, { readonly op: Op }>;

/** A fault of this node. */
function unfit(node: ASTNode, message: string, cure: string): Unfit {
  return new Unfit(node.start, message, cure);
}

/**
 * Texts, booleans and whole numbers of 64 bits; nothing that is a binary floating point number, or would
 * become one.
 */
function literal(node: NodeOf<'value'>): void {
  const { args: value, start, end, input } = node;
  const written = input.slice(start, end);
  if (typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'bigint') {
    if (!/^\d+$/.test(written))
      throw unfit(
        node,
        `${shown(written)} is not in decimal`,
        'write a number like 16, an address in quotes',
      );
    if (value <= GREATEST_WHOLE) return;
  }
  if (typeof value === 'bigint' || typeof value === 'number') {
    const kind = typeof value === 'number' ? 'has a point or an exponent' : 'is too great for a whole number';
    throw unfit(node, `${shown(written)} ${kind}`, `write decimal('${written}')`);
  }
  const cure =
    value === null ? 'write given(memo) to ask whether there is a memo' : 'write it like 5 or in quotes';
  throw unfit(node, `${shown(written)} is neither a text, a number, true nor false`, cure);
}

function negative(node: NodeOf<'-_'>): void {
  const { args: operand } = node;
  if (operand.op !== 'value')
    throw unfit(node, 'only a number that is written out has a sign', 'write 0 - amount');
  literal(operand);
}

/** The outputs, or those that a filter left. */
function isOutputs(node: ASTNode): boolean {
  if (node.op === 'id') return node.args === OUTPUTS;
  return node.op === 'rcall' && node.args[0] === 'filter' && isOutputs(node.args[1]);
}

/** The texts that stand in an operand: it is one, or a list of some, or a choice between such. */
function textsIn(node: ASTNode): readonly { readonly node: ASTNode; readonly text: string }[] {
  if (node.op === 'value') return typeof node.args === 'string' ? [{ node, text: node.args }] : [];
  if (node.op === 'list') return node.args.flatMap(textsIn);
  return node.op === '?:' ? node.args.slice(1).flatMap(textsIn) : [];
}
