import type { Callback, Kind } from '../callback/callback.ts';
import type { Json } from '../values/canonical.ts';
import { type Problem, fixFor, formatInput } from './fault.ts';
import { memberNamed, memberNames, readMemberText, valuesOf } from './members.ts';

/** The values that a policy applies to, by canonical member name. */
export type When = ReadonlyMap<string, ReadonlySet<string>>;

/** Compiles `when`: by member, a text or a list of texts. Reports faults to `problems`. */
export function compileWhen(written: Json | undefined, kind: Kind, problems: Problem[]): When {
  const when = new Map<string, ReadonlySet<string>>();
  if (written === undefined) return when;
  const fault = (
    path: readonly (string | number)[],
    of: Problem['of'],
    message: string,
    fix: string,
  ): void => {
    problems.push({ path: ['when', ...path], of, message, fix });
  };
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    fault(
      [],
      'value',
      `${formatInput(written)} is not valid`,
      'write members and their values, like { source: shop }',
    );
    return when;
  }
  for (const [name, value] of Object.entries(written)) {
    const member = memberNamed(kind, name);
    if (member === undefined) {
      fault(
        [name],
        'name',
        `a ${kind} callback has no member ${formatInput(name)}`,
        fixFor(name, memberNames(kind)),
      );
      continue;
    }
    if (when.has(member)) {
      fault([name], 'name', `${name} names ${member} a second time`, 'keep one of the two');
      continue;
    }
    const texts = new Set<string>();
    for (const [index, text] of (Array.isArray(value) ? (value as readonly Json[]) : [value]).entries()) {
      const read = typeof text === 'string' ? readMemberText(member, text) : undefined;
      if (read?.ok === true) texts.add(read.text);
      else {
        const path = Array.isArray(value) ? [name, index] : [name];
        fault(
          path,
          'value',
          `${formatInput(text)} is not valid`,
          `write ${read?.expected ?? 'a text, or a list of texts'}`,
        );
      }
    }
    if (Array.isArray(value) && value.length === 0) {
      fault(
        [name],
        'value',
        'the list is empty, so the policy would apply to nothing',
        'name a value, or leave it out',
      );
    }
    when.set(member, texts);
  }
  return when;
}

/**
 * Whether a policy applies to a callback. It doesn't apply if `when` has none of a member's values. If `when`
 * has only some of them (for a withdrawal to several addresses), it is the `mixedMember`: the policy
 * applies and refuses.
 */
export function appliesTo(
  when: When,
  callback: Callback,
): { readonly applies: boolean; readonly mixedMember: string | undefined } {
  let mixedMember: string | undefined;
  for (const [member, texts] of when) {
    const values = valuesOf(callback, member);
    let matches = 0;
    for (const value of values) if (texts.has(value)) matches++;
    if (matches === 0) return { applies: false, mixedMember: undefined };
    if (matches < values.length) mixedMember ??= member;
  }
  return { applies: true, mixedMember };
}
