import { CountersignError } from '../errors.ts';

/*
 * A statement is what people sign: a short text in lines, signed as its bytes, so that nobody has to agree on
 * a canonical form. Its first line says what it is, and in which version. Then comes a field a line: a name,
 * a blank and a value. Whoever signs it reads what they sign.
 */

/** What a statement is, and its version: `countersign-revision/1`. */
const KIND = /^countersign-[a-z]{1,32}\/[1-9]\d{0,2}$/;
const NAME = /^[a-z]{1,32}$/;
/** Visible ASCII and single blanks: nothing that a terminal or a browser shows in another way. */
const VALUE = /^[!-~]+(?: [!-~]+)*$/;
/** Of a statement. */
const MAX_CHARACTERS = 65_536;

export type Field = readonly [name: string, value: string];

/** Throws USAGE for a value that can't be signed, because a person could not read it. */
export function statementText(kind: string, fields: readonly Field[]): string {
  const wrong = fields.find(([name, value]) => !NAME.test(name) || !VALUE.test(value));
  if (!KIND.test(kind) || wrong !== undefined) {
    const [name, value] = wrong ?? ['its first line', kind];
    throw new CountersignError(
      'USAGE',
      `${name} of a statement can't be ${JSON.stringify(value)}: write visible ASCII characters and single blanks`,
    );
  }
  return [kind, ...fields.map(([name, value]) => `${name} ${value}`), ''].join('\n');
}

const PLAIN = /^[!#-~][!-~]*(?: [!-~]+)*$/;

/** A text as a value: itself if it is visible ASCII with single blanks, and otherwise as JSON in ASCII. */
export function inClear(text: string): string {
  if (PLAIN.test(text)) return text;
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  // Two blanks in a row would not be one form.
  return JSON.stringify(text).replaceAll(/[^!-~ ]|(?<= ) /g, escaped);
}

/**
 * The fields of a statement of this kind, as they are written. Throws SIGNATURE_REFUSED for any other text.
 */
export function readStatement(text: string, kind: string): readonly Field[] {
  const [first, ...lines] = text.slice(0, MAX_CHARACTERS).split('\n');
  const fields = lines.slice(0, -1).map((line): Field => {
    const blank = line.indexOf(' ');
    return [line.slice(0, blank), line.slice(blank + 1)];
  });
  const isWhole =
    first === kind &&
    lines.at(-1) === '' &&
    fields.every(([name, value]) => NAME.test(name) && VALUE.test(value)) &&
    statementText(kind, fields) === text;
  if (isWhole) return fields;
  throw refused(`what was signed is not a statement of the kind ${kind}`);
}

/**
 * The namespace of SSH signatures: a signature for another deployment, or another purpose, is none for this
 * one.
 */
export const namespaceOf = (deployment: string): string => `countersign@${deployment}`;

export const refused = (because: string): CountersignError =>
  new CountersignError('SIGNATURE_REFUSED', because);
