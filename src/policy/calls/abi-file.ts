import { parseAbi } from 'viem/utils';
import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import { type Position, type Tree, positionOf, readYaml } from '../../values/yaml.ts';
import { type AbiParameter, TOO_DEEP } from './abi.ts';

/** A method in an ABI file, not yet checked for unsupported types. */
export interface AbiMethod {
  readonly name: string;
  readonly inputs: readonly AbiParameter[];
  /** Its place in the file. */
  readonly at: () => Position;
}

/** What should be a method in an ABI file. */
export interface UnreadableMethod {
  /** Its name, as far as it has one. */
  readonly name: string;
  readonly at: () => Position;
  readonly because: string;
}

const ABI_BOUNDS = { characters: 262_144, lineCharacters: 4000, methods: 500, depth: 16 } as const;

/** Lines that declare no method. A line without `function` can be a method named `error`. */
const OTHER = /^(?:(?:struct|event|error)\s|(?:constructor|fallback|receive)\b)/;

/** A name at the start of a parameter. */
const TYPE_NAME = /([(,]\s*)([A-Za-z_$][\w$]*)(?![\w$])/g;

/** The fields of each struct, as a list of parameters. */
type Structs = ReadonlyMap<string, string>;

/** The reading of types has a lower limit. This one keeps the schema finite. */
const parameter = parameterShape(16);
const item = z.looseObject({ type: z.string().default('function') });
const method = z.object({ name: z.string().max(200), inputs: z.array(parameter).max(64).default([]) });

function parameterShape(levels: number): z.ZodType<AbiParameter> {
  return z.object({
    type: z.string().max(200),
    name: z.string().max(200).optional(),
    components: (levels > 0
      ? z.array(parameterShape(levels - 1)).max(64)
      : z.undefined({ error: TOO_DEEP })
    ).optional(),
  });
}

/**
 * Reads the methods of an ABI file. The file is JSON (a list, or an object with a list under `abi`), or has
 * one human-readable signature on each line, with or without `function`. Such a file may also have `struct`
 * lines, blank lines, and comments after `#` or `//`. Throws a RangeError that says what is wrong with the file.
 */
export function readAbiFile(text: string): readonly (AbiMethod | UnreadableMethod)[] {
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

function fromJson(text: string): readonly (AbiMethod | UnreadableMethod)[] {
  const written: unknown = JSON.parse(text);
  const wrapped = z.object({ abi: z.unknown() }).safeParse(written);
  const items = z.array(item).safeParse(wrapped.success ? wrapped.data.abi : written);
  if (!items.success) throw new RangeError('it is JSON, but not a list of ABI items');
  let tree: Tree | undefined;
  return items.data.flatMap((each, index): readonly (AbiMethod | UnreadableMethod)[] => {
    if (each.type !== 'function') return [];
    const at = (): Position => {
      // JSON is YAML, whose reader knows the places.
      tree ??= readYaml(text).trees[0];
      return tree === undefined
        ? START
        : positionOf(tree, wrapped.success ? ['abi', index] : [index], 'value');
    };
    const parsed = method.safeParse(each);
    if (parsed.success) return [{ ...parsed.data, at }];
    const name = typeof each['name'] === 'string' ? each['name'] : '';
    const [issue] = parsed.error.issues;
    const because =
      issue?.message === TOO_DEEP ? TOO_DEEP : `its member ${issue?.path.join('.')} is not valid`;
    return [{ name, at, because }];
  });
}

const START: Position = { line: 1, column: 1 };

interface Line {
  readonly text: string;
  readonly number: number;
}

function fromLines(text: string): readonly (AbiMethod | UnreadableMethod)[] {
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
  for (let depth = 0; depth <= ABI_BOUNDS.depth; depth++) {
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

function fromLine({ text, number }: Line, structs: Structs): AbiMethod | UnreadableMethod {
  const trimmed = text.replace(/;$/, '').replace(/^function\s+/, '');
  const at = (): Position => ({ line: number, column: 1 });
  try {
    const lines: readonly string[] = [withoutStructs(`function ${trimmed}`, structs)];
    const found = parseAbi(lines).find((each) => each.type === 'function');
    if (found === undefined) throw new RangeError('it is not a signature');
    return { name: found.name, inputs: found.inputs, at };
  } catch (thrown) {
    const [first = ''] = messageOf(thrown).split('\n');
    return { name: /^[\w$]*/.exec(trimmed)?.[0] ?? '', at, because: `it is not a signature: ${first}` };
  }
}
