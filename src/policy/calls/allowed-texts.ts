import { messageOf } from '../../errors.ts';
import { readAddress } from '../../values/address.ts';
import { comparableEntry } from '../../values/comparable.ts';
import { secondSpelling } from '../../values/spelling.ts';
import { type Path, shown } from '../fault.ts';
import type { RuleContext } from '../rules/rule.ts';
import type { Argument } from './argument.ts';
import { readLimit } from './limit-text.ts';
import { formatType } from './type.ts';

/** An argument, and how a policy writes its values. */
export interface Judged {
  readonly argument: Argument;
  /** Digits after the point that its limits are written with; undefined if nobody said. */
  readonly decimals: number | undefined;
  readonly amount: boolean;
  /** Whether its limits are for the sum over a transaction, and not for each value. */
  readonly summed: boolean;
}

/** The values that will do, by where they are written. */
export interface AllowedTexts {
  readonly where: string;
  readonly texts: ReadonlySet<string>;
}

/**
 * The values that `values` and `file` of a condition name; a fault for one that the argument could never
 * have.
 */
export function compileTexts(
  written: { readonly values?: readonly string[] | undefined; readonly file?: string | undefined },
  judged: Judged,
  path: Path,
  context: RuleContext,
): readonly AllowedTexts[] | undefined {
  const sets: AllowedTexts[] = [];
  const { values, file } = written;
  if (values !== undefined) {
    const texts = readTexts(values, judged, [...path, 'values'], context);
    if (texts === undefined) return undefined;
    sets.push({ where: 'the values of the policy', texts });
  }
  if (file !== undefined) {
    const at = [...path, 'file'];
    const lines = linesOf(file, at, context);
    const texts = lines && readTexts(lines, judged, at, context);
    if (texts === undefined || !checksumsStand(file, judged, at, context)) return undefined;
    sets.push({ where: file, texts });
  }
  return sets;
}

function linesOf(file: string, path: Path, context: RuleContext): readonly string[] | undefined {
  try {
    return context.listFile(file);
  } catch (thrown) {
    return context.fault(path, messageOf(thrown), 'put the file beside the policy, one value a line');
  }
}

/**
 * The lines of a file are compared in lower case; whether an address was misspelt shows only as it is
 * written.
 */
function checksumsStand(file: string, judged: Judged, path: Path, context: RuleContext): boolean {
  if (judged.argument.type.kind !== 'address') return true;
  return readTexts(context.writtenList(file) ?? [], judged, path, context) !== undefined;
}

function readTexts(
  written: readonly string[],
  judged: Judged,
  path: Path,
  context: RuleContext,
): ReadonlySet<string> | undefined {
  const texts = new Set<string>();
  for (const each of written) {
    const read = readText(each, judged);
    if (read.ok) texts.add(read.text);
    // A revision in force from before this was a fault: nothing that is looked up is ever so.
    else if (!context.again) return context.fault(path, read.message, read.cure);
  }
  return texts;
}

type TextRead =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly cure: string };

/** A value as the policy writes it, in the form in which those of a call are looked up. */
function readText(written: string, { argument, decimals }: Judged): TextRead {
  const { type } = argument;
  const no = (cure: string): TextRead => ({
    ok: false,
    message: `no ${formatType(type)} is ever ${shown(written)}`,
    cure,
  });
  switch (type.kind) {
    case 'address': {
      const read = readAddress('evm', written);
      if (read.ok) return { ok: true, text: read.address };
      return { ok: false, message: `${shown(written)} is no address: ${read.because}`, cure: 'copy it anew' };
    }
    case 'uint':
    case 'int': {
      const read = readLimit(written, type, decimals ?? 0);
      return read.ok ? { ok: true, text: read.value.toString() } : read;
    }
    case 'bool':
      return written === 'true' || written === 'false'
        ? { ok: true, text: written }
        : no('write true or false');
    case 'bytes':
      return /^0x(?:[0-9a-f]{2})*$/i.test(written)
        ? { ok: true, text: written.toLowerCase() }
        : no('write 0x and hexadecimal digits');
    case 'fixed-bytes': {
      const digits = type.size * 2;
      return /^0x[0-9a-f]+$/i.test(written) && written.length === digits + 2
        ? { ok: true, text: written.toLowerCase() }
        : no(`write 0x and ${digits} hexadecimal digits`);
    }
    case 'string': {
      const text = comparableEntry(written);
      const why = secondSpelling(text);
      if (why === undefined) return { ok: true, text };
      return {
        ok: false,
        message: `${shown(written)} ${why}, and such a text is refused`,
        cure: 'leave that out',
      };
    }
    case 'array':
    case 'tuple':
      break;
  }
  return no('name one of its members');
}
