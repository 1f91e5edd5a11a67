import type { ASTNode } from '@marcbachmann/cel-js';
import { shown } from '../fault.ts';
import { OUTPUTS } from './names.ts';

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

const GREATEST_WHOLE = 2n ** 63n - 1n;

export type NodeOf<Op extends ASTNode['op']> = Extract<ASTNode, { readonly op: Op }>;

/** A fault of this node. */
export function unfit(node: ASTNode, message: string, cure: string): Unfit {
  return new Unfit(node.start, message, cure);
}

/**
 * Texts, booleans and whole numbers of 64 bits; nothing that is a binary floating point number, or would
 * become one.
 */
export function literal(node: NodeOf<'value'>): void {
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

export function negative(node: NodeOf<'-_'>): void {
  const { args: operand } = node;
  if (operand.op !== 'value')
    throw unfit(node, 'only a number that is written out has a sign', 'write 0 - amount');
  literal(operand);
}

/** The outputs, or those that a filter left. */
export function isOutputs(node: ASTNode): boolean {
  if (node.op === 'id') return node.args === OUTPUTS;
  return node.op === 'rcall' && node.args[0] === 'filter' && isOutputs(node.args[1]);
}

/** The texts that stand in an operand: it is one, or a list of some, or a choice between such. */
export function textsIn(node: ASTNode): readonly { readonly node: ASTNode; readonly text: string }[] {
  if (node.op === 'value') return typeof node.args === 'string' ? [{ node, text: node.args }] : [];
  if (node.op === 'list') return node.args.flatMap(textsIn);
  return node.op === '?:' ? node.args.slice(1).flatMap(textsIn) : [];
}
