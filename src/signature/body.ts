import type { Member, Members } from '../values/members.ts';

/** JSON of members, each value in its own text. */
export function jsonOf(members: Members): string {
  const written = Array.from(
    members,
    ([name, { kind, text }]) => `${JSON.stringify(name)}:${kind === 'string' ? JSON.stringify(text) : text}`,
  );
  return `{${written.join(',')}}`;
}

/** The members but for some of them. */
export function without(members: Members, ...names: readonly string[]): Map<string, Member> {
  const rest = new Map<string, Member>();
  for (const [name, member] of members) if (!names.includes(name)) rest.set(name, member);
  return rest;
}

export function stringMember(text: string): Member {
  return { kind: 'string', text };
}
