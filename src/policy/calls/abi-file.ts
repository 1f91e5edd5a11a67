import { parseAbi } from 'viem/utils';
import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import type { AbiParameter } from './abi.ts';

/** A method in an ABI file, not yet checked for unsupported types. */
export interface AbiMethod {
  readonly name: string;
  readonly inputs: readonly AbiParameter[];
}

const ABI_BOUNDS = { characters: 262_144, lineCharacters: 4000, methods: 500, depth: 16 } as const;

/** Lines that declare no method. A line without `function` can be a method named `error`. */
const OTHER = /^(?:(?:struct|event|error)\s|(?:constructor|fallback|receive)\b)/;

/** A name at the start of a parameter. */
const TYPE_NAME = /([(,]\s*)([A-Za-z_$][\w$]*)(?![\w$])/g;

/** The fields of each struct, as a list of parameters. */
type Structs = ReadonlyMap<string, string>;

const parameter: z.ZodType<AbiParameter> = z.lazy(() =>
  z.object({
    type: z.string().max(200),
    name: z.string().max(200).optional(),
    components: z.array(parameter).max(64).optional(),
  }),
);
const item = z.looseObject({ type: z.string().default('function') });
const method = z.object({ name: z.string().max(200), inputs: z.array(parameter).max(64).default([]) });

/**
 * Reads the methods of an ABI file. The file is JSON (a list, or an object with a list under `abi`), or has
 * one human-readable signature on each line, with or without `function`. Such a file may also have `struct`
 * lines, blank lines, and comments after `#` or `//`. Throws a RangeError that says what is wrong.
 */
export function readAbiFile(text: string): readonly AbiMethod[] {
  if (text.length > ABI_BOUNDS.characters) {
    throw new RangeError(`it has ${text.length} characters; at most ${ABI_BOUNDS.characters} are read`);
  }
  const content = text.replace(/^\uFEFF/, '');
  const methods = /^\s*[[{]/.test(content) ? fromJson(content) : fromLines(content);
  if (methods.length === 0) throw new RangeError('it has no method');
  if (methods.length > ABI_BOUNDS.methods) {
    throw new RangeError(`it has ${methods.length} methods; at most ${ABI_BOUNDS.methods} are read`);
  }
  return methods;
}

function fromJson(text: string): readonly AbiMethod[] {
  const written: unknown = JSON.parse(text);
  const wrapped = z.object({ abi: z.unknown() }).safeParse(written);
  const items = z.array(item).safeParse(wrapped.success ? wrapped.data.abi : written);
  if (!items.success) throw new RangeError('it is JSON, but not a list of ABI items');
  return items.data
    .filter(({ type }) => type === 'function')
    .map((each) => {
      const parsed = method.safeParse(each);
      if (parsed.success) return parsed.data;
      const where = parsed.error.issues[0]?.path.join('.') ?? '';
      throw new RangeError(`its function ${JSON.stringify(each['name'])} can't be read at ${where}`);
    });
}

interface Line {
  readonly text: string;
  readonly number: number;
}

function fromLines(text: string): readonly AbiMethod[] {
  const lines = text
    .split('\n')
    .map((line, index): Line => ({ text: line.replace(/(?:#|\/\/).*/s, '').trim(), number: index + 1 }))
    .filter((line) => line.text !== '');
  const long = lines.find((line) => line.text.length > ABI_BOUNDS.lineCharacters);
  if (long !== undefined) {
    throw new RangeError(`line ${long.number} has more than ${ABI_BOUNDS.lineCharacters} characters`);
  }
  if (lines.length > ABI_BOUNDS.methods * 2) {
    throw new RangeError(`it has ${lines.length} lines; at most ${ABI_BOUNDS.methods * 2} are read`);
  }
  const structs = structsIn(lines);
  return lines.filter((line) => !OTHER.test(line.text)).map((line) => fromLine(line, structs));
}

/** Collects the structs, and refuses a name that is defined twice. */
function structsIn(lines: readonly Line[]): Structs {
  const structs = new Map<string, string>();
  for (const { text, number } of lines.filter((line) => line.text.startsWith('struct '))) {
    const [, name, fields = ''] = /^struct ([A-Za-z_$][\w$]*) ?\{([^{}]*)\};?$/.exec(text) ?? [];
    if (name === undefined) throw new RangeError(`line ${number} is not a struct`);
    if (structs.has(name)) throw new RangeError(`line ${number} defines the struct ${name} a second time`);
    const each = fields.split(';').map((field) => field.trim());
    structs.set(name, each.filter((field) => field !== '').join(', '));
  }
  return structs;
}

/**
 * Replaces the name of each struct by a tuple of its fields. viem does not get the structs, because it takes
 * exponential time for some of them, and the key of its cache does not contain all of their contents.
 */
function withoutStructs(signature: string, structs: Structs): string {
  let text = signature;
  for (let depth = 0; depth < ABI_BOUNDS.depth; depth++) {
    const before = text;
    text = before.replace(TYPE_NAME, (all, opening: string, name: string) => {
      const fields = structs.get(name);
      return fields === undefined ? all : `${opening}(${fields})`;
    });
    if (text === before) return text;
    if (text.length > ABI_BOUNDS.lineCharacters) {
      throw new RangeError(`with its structs it has more than ${ABI_BOUNDS.lineCharacters} characters`);
    }
  }
  throw new RangeError(`its structs are nested more than ${ABI_BOUNDS.depth} deep`);
}

function fromLine({ text, number }: Line, structs: Structs): AbiMethod {
  const trimmed = text.replace(/;$/, '');
  try {
    const signature = withoutStructs(
      trimmed.startsWith('function ') ? trimmed : `function ${trimmed}`,
      structs,
    );
    const lines: readonly string[] = [signature];
    const found = parseAbi(lines).find((each) => each.type === 'function');
    if (found === undefined) throw new RangeError('it is not a signature');
    return { name: found.name, inputs: found.inputs };
  } catch (thrown) {
    const [first] = messageOf(thrown).split('\n');
    throw new RangeError(`line ${number} is not a signature: ${first}`, { cause: thrown });
  }
}
