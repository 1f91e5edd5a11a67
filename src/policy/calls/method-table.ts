import { messageOf } from '../../errors.ts';
import { nearest } from '../../values/nearest.ts';
import type { Path } from '../fault.ts';
import type { RuleContext } from '../rules/rule.ts';
import { readAbiFile } from './abi-file.ts';
import { knownMethods } from './known-methods.ts';
import { type Method, methodOf, renamed } from './method.ts';

/** The methods that a rule knows: those known to all, then those of its ABI files. */
export interface MethodTable {
  /** By signature; several where ABIs name the arguments differently. */
  readonly bySignature: ReadonlyMap<string, readonly Method[]>;
  /** A signature a selector, for messages. */
  readonly bySelector: ReadonlyMap<string, string>;
}

const FILES_MAX = 20;

/**
 * Methods from ABI files on top of those known; a fault for a file that can't be read, and for two methods
 * with one selector.
 */
export function methodTable(files: readonly string[], context: RuleContext): MethodTable | undefined {
  const bySignature = new Map<string, Method[]>();
  const bySelector = new Map<string, string>();
  for (const method of knownMethods()) add(method, bySignature, bySelector);
  if (files.length > FILES_MAX) {
    return context.fault(['abis'], `there are ${files.length} ABI files`, `keep to ${FILES_MAX}`);
  }
  let sound = true;
  for (const [index, file] of files.entries()) {
    sound = addFile(file, ['abis', index], { bySignature, bySelector }, context) && sound;
  }
  return sound ? { bySignature, bySelector } : undefined;
}

type Filling = { readonly bySignature: Map<string, Method[]>; readonly bySelector: Map<string, string> };

function addFile(
  file: string,
  path: Path,
  { bySignature, bySelector }: Filling,
  context: RuleContext,
): boolean {
  try {
    for (const { name, inputs } of readAbiFile(context.textFile(file))) {
      const own = methodOf(name, inputs, { own: true });
      const twin = bySelector.get(own.selector);
      if (twin !== undefined && twin !== own.signature) {
        context.fault(
          path,
          `${own.signature} of ${file} has the selector ${own.selector} of ${twin}: call data could be read either way`,
          'leave the one that you don’t need out of the file',
        );
        return false;
      }
      const [known] = bySignature.get(own.signature) ?? [];
      add(known === undefined ? own : renamed(known, inputs), bySignature, bySelector);
    }
    return true;
  } catch (thrown) {
    const cure =
      'put the file beside the policy: a JSON ABI, or a signature a line, like swap(uint256 amountIn, address to)';
    context.fault(path, `${file}: ${messageOf(thrown)}`, cure);
    return false;
  }
}

function add(method: Method, bySignature: Map<string, Method[]>, bySelector: Map<string, string>): void {
  bySignature.set(method.signature, [...(bySignature.get(method.signature) ?? []), method]);
  bySelector.set(method.selector, method.signature);
}

/**
 * All methods of a signature as a policy writes it, blanks aside and `uint` for `uint256`; a fault if there
 * is none.
 */
export function methodsNamed(
  { bySignature }: MethodTable,
  written: string,
  path: Path,
  context: RuleContext,
): readonly Method[] {
  const signature = written.replaceAll(/\s/g, '').replaceAll(/\b(u?int)(?!\d)\b/g, '$1256');
  const found = bySignature.get(signature) ?? [];
  const [method] = found;
  if (method === undefined) {
    context.fault(
      path,
      `no method ${JSON.stringify(written.slice(0, 100))} is known`,
      cureForMethod(signature, bySignature),
    );
    return [];
  }
  if (method.unreadable !== undefined) {
    context.fault(path, `${signature} can't be judged: ${method.unreadable}`, 'leave it out');
    return [];
  }
  return found;
}

function cureForMethod(signature: string, bySignature: MethodTable['bySignature']): string {
  const [name = ''] = signature.split('(');
  const all = [...bySignature.keys()];
  const named = all.filter((each) => each.startsWith(`${name}(`));
  const meant =
    named.length > 0 ? named : all.filter((each) => nearest(name, [each.split('(')[0] ?? '']) !== undefined);
  const other = 'name an ABI file that has it under abis';
  return meant.length > 0 ? `did you mean ${meant.slice(0, 5).join(' or ')}? Else ${other}` : other;
}
