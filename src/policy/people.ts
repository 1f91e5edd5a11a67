import { z } from 'zod';
import { messageOf } from '../errors.ts';
import type { Json } from '../values/canonical.ts';
import { type SshKey, parseSshKey } from '../values/ssh-key.ts';
import { type Problem, fixFor, formatInput, problemsOf } from './fault.ts';

/** The people. Every other YAML file of the directory, apart from the asset table, has policies. */
export const PEOPLE_FILE = 'people.yaml';

/** So many different people must sign what operators do, and approve what a freeze excepts. */
export const SIGNERS_NEEDED = 2;

/** What a person may do. `operate` includes `read`; `approve` is for transfers. */
export const PERSON_ROLES = ['read', 'operate', 'approve'] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];

/** The public half of a passkey. */
export interface PersonPasskey {
  /** Of the credential, in base64url. */
  readonly id: string;
  /** In COSE form, in base64url. */
  readonly publicKey: string;
}

export interface Person {
  readonly name: string;
  readonly roles: readonly PersonRole[];
  readonly sshKeys: readonly SshKey[];
  readonly passkeys: readonly PersonPasskey[];
}

export interface People {
  readonly people: ReadonlyMap<string, Person>;
  /** The names of the members, each once. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
}

/** Each thing that a text like people.yaml says: a sentence each, for those who compare two of them. */
export const peopleSentences = ({ people, groups }: People): readonly string[] => [
  ...[...people.values()].flatMap(({ name, roles, sshKeys, passkeys }) => [
    ...roles.map((role) => `${name} has the role ${role}`),
    ...sshKeys.map(({ fingerprint }) => `${name} has the key ${fingerprint}`),
    ...passkeys.map(({ id }) => `${name} has the passkey ${id}`),
  ]),
  ...[...groups].flatMap(([group, members]) => members.map((name) => `${name} is in the group ${group}`)),
];

export const NO_PEOPLE: People = { people: new Map(), groups: new Map() };

/** Of a person or a group. */
export const PEOPLE_NAME = /^[A-Za-z0-9][\w.@+-]{0,63}$/;
export const PEOPLE_NAME_FIX = 'at most 64 letters, digits and any of . _ @ + -, a letter or a digit first';
const PEOPLE_MAX = 1000;
const KEYS_MAX = 20;
const ROLES = `a list with any of ${PERSON_ROLES.join(', ')}`;
const SSH_KEYS = `a list of at most ${KEYS_MAX} lines, each the text of a file like id_ed25519.pub`;
const PASSKEYS = `a list of at most ${KEYS_MAX} passkeys, as \`countersign console people --yaml\` prints them`;
const BASE64URL = /^[\w-]{1,2048}$/;
const ENCODED = 'the text that `countersign console people --yaml` prints';

/** In its only form: one passkey must not be two. */
const encoded = z
  .string({ error: ENCODED })
  .refine((text) => BASE64URL.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text, {
    error: ENCODED,
  });

/** A person in the file. */
export const personShape = z.strictObject({
  roles: z
    .array(z.enum(PERSON_ROLES, { error: `one of ${PERSON_ROLES.join(', ')}` }), { error: ROLES })
    .min(1, { error: ROLES })
    .describe(
      'What the person may do: `read` looks; `operate` also signs revisions and does what operators do; `approve` ' +
        'approves transfers.',
    ),
  sshKeys: z
    .array(z.string({ error: SSH_KEYS }), { error: SSH_KEYS })
    .max(KEYS_MAX, { error: SSH_KEYS })
    .default([])
    .describe('The public halves of the SSH keys that the person signs with.'),
  passkeys: z
    .array(
      z.strictObject({
        id: encoded.describe('The id of the credential, in base64url.'),
        publicKey: encoded.describe('The public key in COSE form, in base64url.'),
      }),
      { error: PASSKEYS },
    )
    .max(KEYS_MAX, { error: PASSKEYS })
    .default([])
    .describe('The public halves of the passkeys that the person signs in and signs with.'),
});

const MEMBERS = 'a list of names of people';
const groupShape = z
  .array(z.string({ error: MEMBERS }), { error: MEMBERS })
  .min(1, { error: MEMBERS })
  .max(PEOPLE_MAX, { error: MEMBERS });

const peopleShape = z.strictObject({
  people: z.record(z.string(), z.json(), { error: 'a name a line, and below it the roles and keys' }),
  groups: z
    .record(z.string(), z.json(), { error: 'a name a line, with the list of its members' })
    .default({}),
});

type Fault = (path: Problem['path'], of: Problem['of'], message: string, fix: string) => void;

/** Compiles the file. Reports faults to `problems`. */
export function compilePeople(written: Json, problems: Problem[]): People {
  const fault: Fault = (path, of, message, fix) => void problems.push({ path, of, message, fix });
  const read = peopleShape.safeParse(written);
  if (!read.success) {
    problems.push(...problemsOf(read.error, written, Object.keys(peopleShape.shape)));
    return NO_PEOPLE;
  }
  const people = new Map<string, Person>();
  const entries = Object.entries(read.data.people);
  if (entries.length > PEOPLE_MAX) {
    fault(['people'], 'value', `it has ${entries.length} people`, `at most ${PEOPLE_MAX} are allowed`);
  }
  for (const [name, each] of entries.slice(0, PEOPLE_MAX)) {
    if (!PEOPLE_NAME.test(name))
      fault(['people', name], 'name', `${formatInput(name)} can't be a name`, PEOPLE_NAME_FIX);
    const person = compilePerson(name, each, problems);
    if (person !== undefined) people.set(name, person);
  }
  checkKeys(people, fault);
  const groups = new Map<string, readonly string[]>();
  for (const [name, each] of Object.entries(read.data.groups)) {
    const path = ['groups', name];
    if (!PEOPLE_NAME.test(name)) fault(path, 'name', `${formatInput(name)} can't be a name`, PEOPLE_NAME_FIX);
    const members = groupShape.safeParse(each);
    if (!members.success) problems.push(...problemsOf(members.error, each, [], path));
    else {
      checkMembers(members.data, { path, known: Object.keys(read.data.people), people }, fault);
      groups.set(name, members.data);
    }
  }
  return { people, groups };
}

function compilePerson(name: string, written: Json, problems: Problem[]): Person | undefined {
  const path = ['people', name];
  const read = personShape.safeParse(written);
  if (!read.success) {
    problems.push(...problemsOf(read.error, written, Object.keys(personShape.shape), path));
    return undefined;
  }
  const { roles, sshKeys, passkeys } = read.data;
  const keys = sshKeys.flatMap((line, at) => {
    try {
      return [parseSshKey(line)];
    } catch (thrown) {
      const message = 'it is no SSH key that can be used';
      problems.push({ path: [...path, 'sshKeys', at], of: 'value', message, fix: messageOf(thrown) });
      return [];
    }
  });
  return { name, roles: [...new Set(roles)], sshKeys: keys, passkeys };
}

/** One key of two people would count for both. */
function checkKeys(people: ReadonlyMap<string, Person>, fault: Fault): void {
  const owners = new Map<string, string>();
  for (const { name, sshKeys, passkeys } of people.values()) {
    const own = [
      ...sshKeys.map(({ fingerprint }, at) => [fingerprint, ['sshKeys', at]] as const),
      ...passkeys.map(({ id }, at) => [`passkey ${id}`, ['passkeys', at]] as const),
      ...passkeys.map(({ publicKey }, at) => [`of passkey ${publicKey}`, ['passkeys', at]] as const),
    ];
    for (const [key, at] of own) {
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, name);
      else {
        const message = `it has the key ${key}, which ${owner} has already`;
        fault(
          ['people', name, ...at],
          'value',
          message,
          'write each key once: each person has keys of their own',
        );
      }
    }
  }
}

function checkMembers(
  members: readonly string[],
  {
    path,
    known,
    people,
  }: { readonly path: Problem['path']; readonly known: readonly string[]; readonly people: People['people'] },
  fault: Fault,
): void {
  for (const [at, name] of members.entries()) {
    const person = people.get(name);
    if (members.indexOf(name) < at)
      fault([...path, at], 'value', `${name} is in the group already`, 'remove it');
    else if (!known.includes(name)) {
      fault([...path, at], 'value', `${formatInput(name)} is not one of the people`, fixFor(name, known));
    } else if (person !== undefined && !person.roles.includes('approve')) {
      fault(
        [...path, at],
        'value',
        `${name} has not the role approve`,
        'add it to the roles, or remove the name',
      );
    }
  }
}
