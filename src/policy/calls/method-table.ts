import { messageOf } from '../../errors.ts';
import { closestMatch } from '../../values/closest-match.ts';
import type { FilePlace, Path } from '../fault.ts';
import { type RuleContext, faultOfRuleFile } from '../rule-context.ts';
import { type AbiMethod, type UnreadableMethod, readAbiFile } from './abi-file.ts';
import { knownMethods } from './known-methods.ts';
import { type Method, methodOf, nameIn } from './methods.ts';

/** The methods that a rule knows: the built-in ones, then those of its ABI files. */
export interface MethodTable {
  /** A signature has several methods if ABIs name its arguments differently. */
  readonly bySignature: ReadonlyMap<string, readonly Method[]>;
  /** The signature for each selector, for messages. */
  readonly bySelector: ReadonlyMap<string, string>;
  /** The methods of the ABI files that can't be read or judged. No call of them passes. */
  readonly unreadable: readonly (FilePlace & { readonly name: string; readonly because: string })[];
}

const FILES_MAX = 20;

/**
 * The table of methods for a rule with these ABI files. Undefined, with a fault, if a file is invalid or if
 * two methods have the same selector.
 */
export function methodTable(files: readonly string[], context: RuleContext): MethodTable | undefined {
  const table: WritableTable = { bySignature: new Map(), bySelector: new Map(), unreadable: [] };
  for (const method of knownMethods()) addMethod(table, method);
  if (files.length > FILES_MAX) {
    return context.fault(
      ['abis'],
      `there are ${files.length} ABI files`,
      `remove some: at most ${FILES_MAX} are allowed`,
    );
  }
  let valid = true;
  for (const [index, file] of files.entries()) {
    valid = addFile(table, file, ['abis', index], context) && valid;
  }
  return valid ? table : undefined;
}

interface WritableTable {
  readonly bySignature: Map<string, Method[]>;
  readonly bySelector: Map<string, string>;
  readonly unreadable: MethodTable['unreadable'][number][];
}

function addMethod({ bySignature, bySelector }: WritableTable, method: Method): void {
  bySignature.set(method.signature, [...(bySignature.get(method.signature) ?? []), method]);
  bySelector.set(method.selector, method.signature);
}

function addFile(table: WritableTable, file: string, path: Path, context: RuleContext): boolean {
  const fix =
    'put the file beside the policy: a JSON ABI, or one signature on each line, ' +
    'like swap(uint256 amountIn, address to)';
  let text: string;
  try {
    text = context.textFile(file);
  } catch (thrown) {
    faultOfRuleFile(file, thrown, { path, fix }, context);
    return false;
  }
  try {
    for (const written of readAbiFile(text)) {
      const method = readMethod(written);
      if ('because' in method) {
        table.unreadable.push({ file, at: method.at(), name: method.name, because: method.because });
        continue;
      }
      const { signature, selector, inputs } = method;
      const other = table.bySelector.get(selector);
      if (other !== undefined && other !== signature) {
        const message =
          `${signature} of ${file} has the same selector ${selector} as ${other}, so ` +
          'call data would be ambiguous';
        context.fault(path, message, 'remove the one that you don’t need from the file');
        return false;
      }
      const [known] = table.bySignature.get(signature) ?? [];
      // A known method keeps its traits, by position.
      addMethod(
        table,
        known === undefined ? method : methodOf(nameIn(signature), inputs, known.traits, known.inputs),
      );
    }
    return true;
  } catch (thrown) {
    context.fault(path, `${file}: ${messageOf(thrown)}`, fix);
    return false;
  }
}

function readMethod(written: AbiMethod | UnreadableMethod): Method | UnreadableMethod {
  if ('because' in written) return written;
  const { name, inputs, at } = written;
  try {
    return methodOf(name, inputs, { fromAbiFile: true });
  } catch (thrown) {
    return { name, at, because: messageOf(thrown) };
  }
}

/**
 * The methods with a signature that a policy gives, with any blanks, and with `uint` for `uint256`. Empty,
 * with a fault, if the signature is unknown.
 */
export function methodsNamed(
  { bySignature, unreadable }: MethodTable,
  written: string,
  path: Path,
  context: RuleContext,
): readonly Method[] {
  const signature = toSignature(written);
  const found = bySignature.get(signature) ?? [];
  const [method] = found;
  const broken = unreadable.find(({ name }) => name !== '' && name === nameIn(signature));
  if (method === undefined && broken !== undefined) {
    const { file, at, name, because } = broken;
    const message = `the method ${name} in ${file}:${at.line}:${at.column} can't be read: ${because}`;
    context.fault(path, message, 'correct it there, or leave it out here');
    return [];
  }
  if (method === undefined) {
    const message = `no method ${JSON.stringify(written.slice(0, 100))} is known`;
    context.fault(path, message, fixForMethod(signature, bySignature));
    return [];
  }
  return found;
}

/** The signature as it is hashed: without blanks, and each type in full. */
function toSignature(written: string): string {
  return written.replaceAll(/\s/g, '').replaceAll(/\b(u?int)(?!\d)\b/g, '$1256');
}

function fixForMethod(signature: string, bySignature: MethodTable['bySignature']): string {
  const name = nameIn(signature);
  const all = [...bySignature.keys()];
  const named = all.filter((each) => each.startsWith(`${name}(`));
  const suggestion =
    named.length > 0 ? named : all.filter((each) => closestMatch(name, [nameIn(each)]) !== undefined);
  const other = 'add an ABI file with this method under abis';
  return suggestion.length > 0
    ? `did you mean ${suggestion.slice(0, 5).join(' or ')}? If not, ${other}`
    : other;
}
