import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { CountersignError, usageError } from '../../errors.ts';
import { PEOPLE_NAME, PEOPLE_NAME_FIX, type People as SignedPeople } from '../../policy/people.ts';
import type { AccessRecord, Store } from '../../store/store.ts';
import type { Clock } from '../../values/clock.ts';
import { jsonOrText } from '../../values/text.ts';
import { ROLES, type Role } from '../../act/act.ts';

export type AccessStore = Pick<Store, 'access' | 'changeAccess'>;

const passkey = z.object({
  /** The id of the credential, and its public key, in base64url. */
  id: z.string(),
  publicKey: z.string(),
  counter: z.number(),
  transports: z.array(z.string()),
  createdAtMs: z.number(),
});
export type Passkey = Readonly<z.output<typeof passkey>>;

const memberShape = z.object({
  name: z.string(),
  /** Random. It is the user handle of the person's passkeys, and says nothing about the person. */
  handle: z.string(),
  roles: z.array(z.enum(ROLES)),
  passkeys: z.array(passkey),
  /** The ids of the sessions, oldest first. */
  sessions: z.array(z.string()),
  lastSignInMs: z.number(),
});
/** Somebody who was invited and has a passkey. */
export type Member = Readonly<z.output<typeof memberShape>>;

/** What counts of a person in the store. Undefined for somebody who may not enter. */
export type KnownAs = (member: Member) => Member | undefined;

/**
 * With signers in the settings: roles and public keys are those that people have signed, in people.yaml. Who
 * can write to the store can then give nobody another role or passkey. Handles, counters and sessions are
 * those of the store.
 */
export const knownByPeople =
  (signed: () => SignedPeople): KnownAs =>
  (member) => {
    const person = signed().people.get(member.name);
    return (
      person && {
        ...member,
        roles: [...new Set(person.roles.map((role) => (role === 'approve' ? 'read' : role)))],
        passkeys: member.passkeys.flatMap((kept) => {
          const known = person.passkeys.find(({ id }) => id === kept.id);
          return known === undefined ? [] : [{ ...kept, publicKey: known.publicKey }];
        }),
      }
    );
  };

/** The last removal of a name, which is also kept beside a member who was invited again. */
const removal = { removalMs: z.number() };
/** What the store has of a name. */
const recordShape = z.union([
  memberShape.extend(removal),
  z.object({ name: z.string(), ...removal }).transform(({ removalMs }) => ({ removalMs })),
]);

/** An invitation lasts at most this long. */
export const INVITATION_MAX_MS = 30 * 86_400_000;
/** Longer than any invitation from before the removal. */
const REMOVAL_KEEP_MS = INVITATION_MAX_MS + 86_400_000;

export interface People {
  find(name: string): Promise<Member | undefined>;
  /** The person with the user handle of a passkey. */
  findByHandle(handle: string): Promise<Member | undefined>;
  /** By name. */
  all(): Promise<readonly Member[]>;
  /**
   * Changes the person as `change` says; undefined for somebody new. Resolves with the person then. Without
   * a result of `change`, nothing is written. `removalMs` is that of `lastRemovalMs`, in the same atomic
   * step.
   */
  change(
    name: string,
    change: (member: Member | undefined, removalMs: number) => Member | undefined,
  ): Promise<Member | undefined>;
  /**
   * Removes the person, and ends the invitations of the name that were made before. Resolves with the person;
   * undefined if nobody has a passkey by that name.
   */
  remove(name: string): Promise<Member | undefined>;
  /**
   * When the name was removed last; 0 if it was not removed within the life of an invitation. It grows with
   * each removal, also if the clock goes back. An invitation is good only after the last removal.
   */
  lastRemovalMs(name: string): Promise<number>;
}

/** Names can be longer than a key should be, and have any character. */
export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** 256 random bits in base64url, that only their owner has. The store has their {@link digest}. */
export const newToken = (): string => randomBytes(32).toString('base64url');

const NAMES = 'people';
const PEOPLE_MAX = 1000;
const ATTEMPTS_MAX = 5;
const namesShape = z.array(z.string());

export function createPeople(store: AccessStore, clock: Clock): People {
  const idOf = (name: string): string => `person:${digest(name)}`;

  async function read(
    name: string,
  ): Promise<{ readonly version: number; readonly removalMs: number; readonly member?: Member }> {
    const record = await store.access(idOf(name));
    if (record === undefined) return { version: 0, removalMs: 0 };
    const { removalMs, ...member } = parsed(recordShape, record);
    return { version: record.version, removalMs, ...('handle' in member && { member }) };
  }

  const listed = createNames(store);
  const people: People = {
    find: async (name) => (await read(name)).member,
    async findByHandle(handle) {
      const record = await store.access(`handle:${digest(handle)}`);
      const name = record === undefined ? undefined : (await read(record.value)).member;
      return name?.handle === handle ? name : undefined;
    },
    async all() {
      const names = await listed.all();
      const found = await Promise.all(names.map((name) => people.find(name)));
      return found.filter((member) => member !== undefined);
    },
    change: (name, change) =>
      attempt(async () => {
        const { version, removalMs, member } = await read(name);
        const changed = change(member, removalMs);
        if (changed === undefined) return { done: true, value: member };
        if (member === undefined) {
          await listed.set(name, true);
          const handle = { id: `handle:${digest(changed.handle)}`, expected: 0, value: name, keepMs: 0 };
          await store.changeAccess(handle);
        }
        const value = JSON.stringify({ ...changed, removalMs });
        const done = await store.changeAccess({ id: idOf(name), expected: version, value, keepMs: 0 });
        // Again, because a removal may have come in between.
        if (done && member === undefined) await listed.set(name, true);
        return { done, value: changed };
      }),
    remove: (name) =>
      attempt(async () => {
        const { version, removalMs, member } = await read(name);
        const value = JSON.stringify({ name, removalMs: Math.max(clock(), removalMs + 1) });
        const record = { id: idOf(name), expected: version, value, keepMs: REMOVAL_KEEP_MS };
        const done = await store.changeAccess(record);
        if (done) {
          await listed.set(name, false);
          // The person may have been invited again meanwhile.
          if ((await read(name)).member !== undefined) await listed.set(name, true);
        }
        return { done, value: member };
      }),
    lastRemovalMs: async (name) => (await read(name)).removalMs,
  };
  return people;
}

/** The names of all people, in one record. */
function createNames(store: AccessStore) {
  async function read(): Promise<{ readonly version: number; readonly names: readonly string[] }> {
    const record = await store.access(NAMES);
    return record === undefined
      ? { version: 0, names: [] }
      : { version: record.version, names: parsed(namesShape, record) };
  }
  return {
    all: async () => (await read()).names,
    set: (name: string, isListed: boolean): Promise<void> =>
      attempt(async () => {
        const { version, names: before } = await read();
        const others = before.filter((each) => each !== name);
        const after = isListed ? [...others, name].sort() : others;
        if (after.length > PEOPLE_MAX) {
          throw usageError(`There are ${PEOPLE_MAX} people. Remove somebody first`);
        }
        if (isListed === before.includes(name)) return { done: true, value: undefined };
        const change = { id: NAMES, expected: version, value: JSON.stringify(after), keepMs: 0 };
        return { done: await store.changeAccess(change), value: undefined };
      }),
  };
}

/** Repeats a change that somebody else's change came before. */
export async function attempt<T>(
  work: () => Promise<{ readonly done: boolean; readonly value: T }>,
): Promise<T> {
  for (let time = 0; time < ATTEMPTS_MAX; time++) {
    const { done, value } = await work();
    if (done) return value;
  }
  throw new CountersignError('BUSY', 'The people are being changed by somebody else. Try again');
}

/** A new person, without a passkey. */
export const newMember = (name: string, roles: readonly Role[]): Member => ({
  name,
  handle: randomBytes(16).toString('base64url'),
  roles: [...roles],
  passkeys: [],
  sessions: [],
  lastSignInMs: 0,
});

/**
 * The public halves of a person's passkeys, as the lines that people.yaml needs. Throws USAGE for a name that
 * it can't have.
 */
export function peopleLines({ name, roles, passkeys }: Member): string {
  if (!PEOPLE_NAME.test(name)) {
    throw usageError(
      `${name} can't be a name in people.yaml (${PEOPLE_NAME_FIX}). Invite the person by another name`,
    );
  }
  return [
    `  ${JSON.stringify(name)}:`,
    `    roles: [${roles.join(', ')}]`,
    '    passkeys:',
    ...passkeys.flatMap(({ id, publicKey }) => [`      - id: ${id}`, `        publicKey: ${publicKey}`]),
  ].join('\n');
}

/** Throws STORE_CORRUPT for a record that this version can't read. */
export function parsed<T>(shape: z.ZodType<T>, { value }: AccessRecord): T {
  const read = shape.safeParse(jsonOrText(value));
  if (read.success) return read.data;
  throw new CountersignError(
    'STORE_CORRUPT',
    'a record of who may enter the console has a form that this version does not know. Use the version that wrote it',
  );
}
