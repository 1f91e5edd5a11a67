import type { Failure } from '../errors.ts';
import { type Member, type TextBounds, readElements, readMembers } from './members.ts';
import { Rejected, catchRejection } from './rejection.ts';

/** A JSON value in which each number is the text that was written, such as `1.50` or `9007199254740993`. */
export type ExactJson =
  string | boolean | null | readonly ExactJson[] | { readonly [name: string]: ExactJson };

/** The value of a member, with all values below it. A name that appears twice is a failure. */
export function exactValue(
  member: Member,
  bounds: TextBounds,
): { readonly ok: true; readonly value: ExactJson } | Failure {
  return catchRejection(() => ({ ok: true, value: valueOf(member, bounds) }));
}

/** The text of each object and array that was read, as long as its value is used. */
const texts = new WeakMap<object, string>();

/** The JSON text of a value that {@link exactValue} gave; of a string or a number, its text. */
export function exactText(value: unknown): string {
  if (typeof value === 'string') return value;
  return (typeof value === 'object' && value !== null && texts.get(value)) || JSON.stringify(value);
}

/** Each level is read on its own, from text that the level above has already bounded. */
function valueOf({ kind, text }: Member, bounds: TextBounds): ExactJson {
  if (kind === 'string' || kind === 'number') return text;
  if (kind === 'boolean') return text === 'true';
  if (kind === 'null') return null;
  if (kind === 'array') {
    const read = readElements(text, bounds);
    if (!read.ok) throw new Rejected(read);
    return kept(
      text,
      read.elements.map((element) => valueOf(element, bounds)),
    );
  }
  const read = readMembers(text, bounds);
  if (!read.ok) throw new Rejected(read);
  return kept(
    text,
    Object.fromEntries(Array.from(read.members, ([name, value]) => [name, valueOf(value, bounds)])),
  );
}

function kept<T extends object>(text: string, value: T): T {
  texts.set(value, text);
  return value;
}
