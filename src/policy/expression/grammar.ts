import type { ASTNode } from '@marcbachmann/cel-js';
import { parseAmount } from '../../values/amount.ts';
import type { WrongText } from '../language/asset-texts.ts';
import { fixFor, formatInput } from '../fault.ts';
import { MOVEMENT_TYPE, readMemberText } from '../language/members.ts';
import { LISTS, type Name, type Names, listIn } from './language.ts';

const FUNCTIONS: readonly string[] = ['decimal', 'given', 'size', 'sum'];
/** Functions whose value is a number. */
const NUMBERS: ReadonlySet<string> = new Set(['decimal', 'size', 'sum']);
const CALCULATIONS: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '-_']);
const TEXT_METHODS: readonly string[] = ['startsWith', 'endsWith', 'contains'];
const LOOPS: readonly string[] = ['all', 'exists', 'exists_one', 'filter', 'map'];
const METHODS: readonly string[] = [...TEXT_METHODS, 'size', ...LOOPS];

/** A fault of an expression, and its position. */
export class ExpressionFault extends Error {
  /** A character, counted from 0. */
  readonly at: number;
  readonly fix: string;

  constructor(at: number, message: string, fix: string) {
    super(message);
    this.at = at;
    this.fix = fix;
  }
}

/** A use of a name of the callback, and its position in the text. */
interface Use {
  readonly name: string;
  readonly start: number;
}

/** The names that an expression uses, and how much of it is repeated for each output. */
interface ExpressionUsage {
  readonly uses: readonly Use[];
  /** The number of nodes within loops. */
  readonly nodesInLoops: number;
}

/**
 * Finds what an expression uses. Throws {@link ExpressionFault} for the parts of CEL that policies don't
 * have: binary floating point, division, maps, bytes, time, regular expressions, growing text, nested loops,
 * and loops over anything but the outputs. The rest is bounded in time, exact and typed.
 */
export function analyseExpression(root: ASTNode, names: Names, check: CheckText): ExpressionUsage {
  const walk = new GrammarCheck(names, check);
  walk.visit(root, undefined);
  const { uses, nodesInLoops } = walk;
  if (uses.length === 0) {
    throw new ExpressionFault(
      0,
      'it uses nothing of the callback, so its value is always the same',
      fixFor('', [...names.keys()]),
    );
  }
  return { uses, nodesInLoops };
}

/** Why no callback can have a text in a member, although its grammar allows it; undefined if one can. */
export type CheckText = (member: string, text: string) => WrongText | undefined;

/** The variable of the surrounding loop, if there is one. */
type Loop = string | undefined;

class GrammarCheck {
  readonly uses: Use[] = [];
  nodesInLoops = 0;
  readonly #names: Names;
  readonly #check: CheckText;
  /** The list that it can loop over: the outputs or the movements. */
  readonly #list: string | undefined;

  constructor(names: Names, check: CheckText) {
    this.#names = names;
    this.#list = listIn(names);
    this.#check = check;
  }

  visit(node: ASTNode, loop: Loop): void {
    if (loop !== undefined) this.nodesInLoops++;
    switch (node.op) {
      case 'value':
        return checkLiteral(node);
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
        if (node.args.length === 0) throw faultAt(node, 'the list is empty', 'write its elements');
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
        return this.#checkTexts(node.args, loop);
      case '!_':
        return this.visit(node.args, loop);
      case '-_':
        return checkNegative(node);
      case '+':
      case '-':
      case '*':
        for (const operand of node.args) this.#number(operand);
        return this.#all(node.args, loop);
      case '/':
      case '%':
        throw faultAt(
          node,
          'a division is not exact',
          'multiply the other side: not a / 3 <= b but a <= b * 3',
        );
      case 'map':
      case '.?':
      case '[?]':
        throw faultAt(
          node,
          'maps and optional fields are not supported',
          'compare members with texts, numbers and lists',
        );
      default:
        throw new ExpressionFault(0, 'it has a part that is not supported', 'write it in another way');
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
      throw faultAt(node, `there is no ${formatInput(name)} in this callback`, fixFor(name, known));
    }
    if (loop !== undefined && name === this.#list) {
      throw faultAt(
        node,
        `it has a loop over the ${name} within a loop over them`,
        'write one loop after the other',
      );
    }
    this.uses.push({ name, start: node.start });
  }

  #field(node: NodeOf<'.'>, loop: Loop): void {
    const [of, name] = node.args;
    const fields = LISTS.get(this.#list ?? 'outputs') ?? [];
    if (!fields.includes(name)) {
      const fix = this.#list === undefined ? 'write the name of a member alone' : fixFor(name, fields);
      throw new ExpressionFault(node.pos, `there is no field ${formatInput(name)}`, fix);
    }
    this.visit(of, loop);
  }

  /** An output by its index. */
  #element(node: NodeOf<'[]'>, loop: Loop): void {
    const [of, place] = node.args;
    if (of.op !== 'id' || !LISTS.has(of.args) || place.op !== 'value' || typeof place.args !== 'bigint') {
      throw faultAt(node, 'only outputs have an index, and it is a whole number', 'write it like outputs[0]');
    }
    this.#all(node.args, loop);
  }

  #call(node: NodeOf<'call'>, loop: Loop): void {
    const [name, parameters] = node.args;
    const [first] = parameters;
    if (!FUNCTIONS.includes(name)) {
      throw faultAt(node, `there is no function ${formatInput(name)}`, fixFor(name, FUNCTIONS));
    }
    if (first === undefined || parameters.length > 1) {
      throw faultAt(
        node,
        `${name} has one parameter`,
        `write it like ${name}(${name === 'decimal' ? "'1.5'" : 'memo'})`,
      );
    }
    if (name === 'given' && (first.op !== 'id' || first.args === loop)) {
      throw faultAt(node, 'the parameter of given is the name of a member', 'write it like given(memo)');
    }
    if (name === 'decimal' && first.op === 'value' && typeof first.args === 'string') {
      if (parseAmount(first.args) === undefined) {
        throw faultAt(first, `${formatInput(first.args)} is not a decimal`, "write it like decimal('1.5')");
      }
    }
    this.visit(first, loop);
  }

  #method(node: NodeOf<'rcall'>, loop: Loop): void {
    const [name, of, parameters] = node.args;
    if (!METHODS.includes(name)) {
      const fix = name === 'matches' ? `use ${TEXT_METHODS.join(', ')} or in` : fixFor(name, METHODS);
      throw faultAt(node, `there is no .${name}(…)`, fix);
    }
    if (LOOPS.includes(name)) return this.#loop(node, loop);
    this.visit(of, loop);
    this.#all(parameters, loop);
  }

  #loop(node: NodeOf<'rcall'>, loop: Loop): void {
    const [name, of, [variable, body, ...more]] = node.args;
    if (loop !== undefined) throw faultAt(node, "loops can't be nested", 'write one loop after the other');
    if (!this.#isList(of)) {
      const list = this.#list;
      const fix = list === undefined ? 'compare the members themselves' : `write ${list}.${name}(o, …)`;
      const what = list === 'movements' ? 'the movements of a transaction' : 'the outputs of a withdrawal';
      throw faultAt(of, `a loop is only possible over ${what}`, fix);
    }
    if (variable?.op !== 'id' || body === undefined || more.length > 0) {
      throw faultAt(
        node,
        `${name} needs a name and a condition`,
        `write it like ${this.#list}.${name}(o, o.amount <= 5)`,
      );
    }
    if (this.#names.has(variable.args)) {
      throw faultAt(variable, `${variable.args} is a name of the callback`, 'call the output o');
    }
    this.visit(of, loop);
    this.visit(body, variable.args);
  }

  /** Whether the node is the list that it can loop over, filtered or not. */
  #isList(node: ASTNode): boolean {
    if (node.op === 'id') return LISTS.has(node.args);
    return node.op === 'rcall' && node.args[0] === 'filter' && this.#isList(node.args[1]);
  }

  /** Only numbers can be added: sums of texts and lists would grow. */
  #number(node: ASTNode): void {
    if (node.op === '?:') return node.args.slice(1).forEach((branch) => this.#number(branch));
    const isNumber =
      CALCULATIONS.has(node.op) ||
      (node.op === 'value' && (typeof node.args === 'bigint' || typeof node.args === 'number')) ||
      (node.op === 'id' && this.#names.get(node.args)?.type === 'decimal') ||
      (node.op === '.' && node.args[1] === 'amount') ||
      (node.op === 'call' && NUMBERS.has(node.args[0])) ||
      (node.op === 'rcall' && node.args[0] === 'size');
    if (isNumber) return;
    throw faultAt(node, 'only amounts and numbers are added and multiplied', 'compare the parts one by one');
  }

  /** A comparison with a text that the member never has would have the same result for every callback. */
  #checkTexts([a, b]: readonly [ASTNode, ASTNode], loop: Loop): void {
    for (const [memberSide, textSide] of [
      [a, b],
      [b, a],
    ] as const) {
      const member = this.#memberOf(memberSide, loop);
      if (member === undefined) continue;
      for (const { node, text } of textsIn(textSide)) {
        const read = readMemberText(member, text);
        const wrong = read.ok ? this.#check(member, text) : undefined;
        if (wrong !== undefined) throw faultAt(node, wrong.message, wrong.fix);
        if (read.ok) continue;
        const fix =
          text === '' ? `write !given(${member}) for a member that is not there` : `write ${read.expected}`;
        throw faultAt(node, `${member} can't be ${formatInput(text)}`, fix);
      }
    }
  }

  #memberOf(node: ASTNode, loop: Loop): Name['member'] {
    if (node.op === 'id' && node.args !== loop) return this.#names.get(node.args)?.member;
    if (node.op !== '.') return undefined;
    const field = node.args[1];
    if (field === 'type') return MOVEMENT_TYPE;
    return field === 'to' || field === 'symbol' ? field : undefined;
  }
}

const GREATEST_WHOLE = 2n ** 63n - 1n;

type NodeOf<Op extends ASTNode['op']> = Extract<ASTNode, { readonly op: Op }>;

/** A fault at this node. */
function faultAt(node: ASTNode, message: string, fix: string): ExpressionFault {
  return new ExpressionFault(node.start, message, fix);
}

/** Accepts texts, booleans and whole numbers of 64 bits, and no binary floating point. */
function checkLiteral(node: NodeOf<'value'>): void {
  const { args: value, start, end, input } = node;
  const written = input.slice(start, end);
  if (typeof value === 'string' || typeof value === 'boolean') return;
  if (typeof value === 'bigint') {
    if (!/^\d+$/.test(written))
      throw faultAt(
        node,
        `${formatInput(written)} is not in decimal`,
        'write a number like 16, an address in quotes',
      );
    if (value <= GREATEST_WHOLE) return;
  }
  if (typeof value === 'bigint' || typeof value === 'number') {
    const kind = typeof value === 'number' ? 'has a point or an exponent' : 'is too great for a whole number';
    throw faultAt(node, `${formatInput(written)} ${kind}`, `write decimal('${written}')`);
  }
  const fix =
    value === null ? 'write given(memo) to ask whether there is a memo' : 'write it like 5 or in quotes';
  throw faultAt(node, `${formatInput(written)} is neither a text, a number, true nor false`, fix);
}

function checkNegative(node: NodeOf<'-_'>): void {
  const { args: operand } = node;
  if (operand.op !== 'value') throw faultAt(node, 'only a number can have a sign', 'write 0 - amount');
  checkLiteral(operand);
}

/** The literal texts of an operand: a text, a list of texts, or a choice between them. */
function textsIn(node: ASTNode): readonly { readonly node: ASTNode; readonly text: string }[] {
  if (node.op === 'value') return typeof node.args === 'string' ? [{ node, text: node.args }] : [];
  if (node.op === 'list') return node.args.flatMap(textsIn);
  return node.op === '?:' ? node.args.slice(1).flatMap(textsIn) : [];
}
