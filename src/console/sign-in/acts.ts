import { z } from 'zod';
import { type Act, ROLES } from '../../act/act.ts';
import { CountersignError, usageError } from '../../errors.ts';
import type { Clock } from '../../values/clock.ts';
import { counted, isoTime, printable } from '../../values/text.ts';
import { createInvitations } from './invitations.ts';
import { type AccessStore, type Member, createPeople, newMember } from './people.ts';
import { createSessions } from './sessions.ts';

/*
 * What is done about the people of the console. The rows stand here, and not in src/act, because only the
 * console knows how people sign in.
 */

interface Parts {
  readonly store: AccessStore;
  readonly clock: Clock;
}

/** People, their sessions and invitations in a store. */
export function peopleOf({ store, clock }: Parts) {
  const people = createPeople(store, clock);
  return {
    people,
    sessions: createSessions(store, people, { idleMs: 0, lifeMs: 0 }, clock),
    invitations: createInvitations(store, people, clock),
  };
}

const inviteInput = z.strictObject({
  name: z.string(),
  /** Empty for a further passkey of a person, who keeps the roles. */
  roles: z.array(z.enum(ROLES)).readonly(),
  keepMs: z.number(),
  /** Where the console is, for the link. */
  origin: z.string(),
});

interface Invited {
  readonly name: string;
  readonly roles: readonly string[];
  readonly link: string;
  readonly expires: string;
}

/** For the command line: what it prints has the link, which is for the person alone. */
export const invitePerson: Act<Parts, typeof inviteInput, Invited> = {
  name: 'console invite',
  summary: 'Print a link by which a person makes a passkey for the console. It can be used once.',
  role: 'operate',
  recordsAuthor: false,
  input: inviteInput,
  async perform(parts, { name, roles, keepMs, origin }) {
    const { people, invitations } = peopleOf(parts);
    const member = await people.find(name);
    if (member === undefined && roles.length === 0) {
      throw usageError(`${name} is new. Give --role: ${ROLES.join(', ')}`);
    }
    const token = await invitations.create({ name, roles, keepMs });
    return {
      name,
      roles: roles.length === 0 ? (member?.roles ?? []) : roles,
      link: `${origin}/console/invite/${token}`,
      expires: isoTime(parts.clock() + keepMs),
    };
  },
  text: ({ name, roles, link, expires }) =>
    `${link}\n\nGive this link to ${printable(name)} (${roles.join(', ')}), and to nobody else. It can be used ` +
    `once, until ${expires}.`,
  json: (invited) => invited,
};

const nameInput = z.strictObject({ name: z.string() });

interface Removed {
  readonly name: string;
  /** Undefined for somebody who was only invited. */
  readonly member: Member | undefined;
}

export const removePerson: Act<Parts, typeof nameInput, Removed> = {
  name: 'console remove',
  summary:
    'Remove a person from the console: the passkeys and open invitations no longer work, and all sessions end.',
  role: 'operate',
  recordsAuthor: false,
  input: nameInput,
  async perform(parts, { name }) {
    const { people, sessions, invitations } = peopleOf(parts);
    if ((await people.find(name)) === undefined && !(await invitations.isInvited(name))) {
      throw new CountersignError(
        'NOT_FOUND',
        `${name} has neither a passkey for the console nor an open invitation. \`countersign console people\` ` +
          'lists who has a passkey',
      );
    }
    await sessions.endAll(name);
    return { name, member: await people.remove(name) };
  },
  text: removedText,
  json: ({ name, member }) => memberJson(member ?? newMember(name, [])),
};

function removedText({ name, member }: Removed): string {
  return member === undefined
    ? `Ended the invitations of ${printable(name)}, who had no passkey.`
    : `Removed ${printable(name)}. Invitations from before no longer work.`;
}

interface SignedOut {
  readonly name: string;
  /** Sessions. */
  readonly ended: number;
}

export const signOutPerson: Act<Parts, typeof nameInput, SignedOut> = {
  name: 'console sign-out',
  summary: 'End all sessions of a person. The passkeys stay.',
  role: 'operate',
  recordsAuthor: false,
  input: nameInput,
  async perform(parts, { name: given }) {
    const { people, sessions } = peopleOf(parts);
    const member = await people.find(given);
    if (member !== undefined) return { name: member.name, ended: await sessions.endAll(member.name) };
    throw noPasskey(given);
  },
  text: signedOutText,
  json: (signedOut) => signedOut,
};

export const noPasskey = (name: string): CountersignError =>
  new CountersignError(
    'NOT_FOUND',
    `${name} has no passkey for the console. \`countersign console people\` lists who has`,
  );

function signedOutText({ name, ended }: SignedOut): string {
  return `Ended ${counted(ended, 'session')} of ${printable(name)}.`;
}

export const memberJson = ({ name, roles, passkeys, sessions, lastSignInMs }: Member): object => ({
  name,
  roles,
  passkeys: passkeys.map(({ id, createdAtMs }) => ({ id, created: isoTime(createdAtMs) })),
  sessions: sessions.length,
  lastSignIn: lastSignInMs === 0 ? null : isoTime(lastSignInMs),
});
