import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import type { AccessRecord, Store } from '../../store/store.ts';
import { jsonOrText } from '../../values/text.ts';
import { ROLES, type Role } from '../page.ts';

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

export interface People {
  find(name: string): Promise<Member | undefined>;
  /** The person with the user handle of a passkey. */
  findByHandle(handle: string): Promise<Member | undefined>;
  /** By name. */
  all(): Promise<readonly Member[]>;
  /**
   * Changes the person as `change` says; undefined for somebody new. Resolves with the person then. Without
   * a result of `change`, nothing is written.
   */
  change(
    name: string,
    change: (member: Member | undefined) => Member | undefined,
  ): Promise<Member | undefined>;
  remove(name: string): Promise<Member | undefined>;
}

/** Names can be longer than a key should be, and have any character. */
export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** 256 random bits in base64url, that only their owner has. The store has their {@link digest}. */
export const newToken = (): string => randomBytes(32).toString('base64url');

const NAMES = 'people';
const PEOPLE_MAX = 1000;
const ATTEMPTS_MAX = 5;
const namesShape = z.array(z.string());

export function createPeople(store: AccessStore): People {
  const idOf = (name: string): string => `person:${digest(name)}`;

  async function read(name: string): Promise<{ readonly version: number; readonly member?: Member }> {
    const record = await store.access(idOf(name));
    if (record === undefined) return { version: 0 };
    return { version: record.version, member: parsed(memberShape, record) };
  }

  async function names(): Promise<{ readonly version: number; readonly names: readonly string[] }> {
    const record = await store.access(NAMES);
    return record === undefined
      ? { version: 0, names: [] }
      : { version: record.version, names: parsed(namesShape, record) };
  }

  /** Repeats a change that somebody else's change came before. */
  async function attempt<T>(work: () => Promise<{ readonly done: boolean; readonly value: T }>): Promise<T> {
    for (let time = 0; time < ATTEMPTS_MAX; time++) {
      const { done, value } = await work();
      if (done) return value;
    }
    throw new CountersignError('BUSY', 'The people are being changed by somebody else. Try again');
  }

  const list = (name: string, isListed: boolean): Promise<void> =>
    attempt(async () => {
      const { version, names: before } = await names();
      const others = before.filter((each) => each !== name);
      const after = isListed ? [...others, name].sort() : others;
      if (after.length > PEOPLE_MAX) {
        throw new CountersignError('USAGE', `There are ${PEOPLE_MAX} people. Remove somebody first`);
      }
      if (isListed === before.includes(name)) return { done: true, value: undefined };
      const change = { id: NAMES, expected: version, value: JSON.stringify(after), keepMs: 0 };
      return { done: await store.changeAccess(change), value: undefined };
    });

  const people: People = {
    find: async (name) => (await read(name)).member,
    async findByHandle(handle) {
      const record = await store.access(`handle:${digest(handle)}`);
      const name = record === undefined ? undefined : (await read(record.value)).member;
      return name?.handle === handle ? name : undefined;
    },
    async all() {
      const { names: listed } = await names();
      const found = await Promise.all(listed.map((name) => people.find(name)));
      return found.filter((member) => member !== undefined);
    },
    change: (name, change) =>
      attempt(async () => {
        const { version, member } = await read(name);
        const changed = change(member);
        if (changed === undefined) return { done: true, value: member };
        if (member === undefined) {
          await list(name, true);
          const handle = { id: `handle:${digest(changed.handle)}`, expected: 0, value: name, keepMs: 0 };
          await store.changeAccess(handle);
        }
        const record = { id: idOf(name), expected: version, value: JSON.stringify(changed), keepMs: 0 };
        return { done: await store.changeAccess(record), value: changed };
      }),
    remove: (name) =>
      attempt(async () => {
        const { version, member } = await read(name);
        if (member === undefined) return { done: true, value: undefined };
        const done = await store.changeAccess({ id: idOf(name), expected: version, keepMs: 0 });
        if (done) await list(name, false);
        return { done, value: member };
      }),
  };
  return people;
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

/** Throws STORE_CORRUPT for a record that this version can't read. */
export function parsed<T>(shape: z.ZodType<T>, { value }: AccessRecord): T {
  const read = shape.safeParse(jsonOrText(value));
  if (read.success) return read.data;
  throw new CountersignError(
    'STORE_CORRUPT',
    'a record of who may enter the console has a form that this version does not know. Use the version that wrote it',
  );
}
