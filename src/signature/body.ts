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
  return new Map([...members].filter(([name]) => !names.includes(name)));
}

export function stringMember(text: string): Member {
  return { kind: 'string', text };
}
