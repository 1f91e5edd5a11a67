import { ROLES, type Role } from '../act/act.ts';
import { createInvitations } from '../console/sign-in/invitations.ts';
import { INVITATION_MAX_MS, type Member, createPeople, newMember } from '../console/sign-in/people.ts';
import { createSessions } from '../console/sign-in/sessions.ts';
import { CountersignError, usageError } from '../errors.ts';
import { durationMs } from '../policy/language/parameter.ts';
import { originOf } from '../settings/console.ts';
import type { Call, CommandRow } from './command.ts';
import { counted, isoTime, printable, table } from './print.ts';
import type { Session } from './session.ts';

export const consoleInvite: CommandRow = {
  path: 'console invite',
  summary: 'Print a link by which a person makes a passkey for the console. It can be used once.',
  example:
    'console invite ada --role operate\nconsole invite rita --role read --expires 1h\nconsole invite ada',
  define: (command) =>
    command
      .argument('<name>', 'the name of the person, for the console and the journal')
      .option(
        '--role <roles>',
        `what the person may do: ${ROLES.join(', ')}, several with commas (default: as before, for a person who ` +
          'gets a further passkey)',
      )
      .option('--expires <duration>', 'how long the link can be used, at most 30d', '24h'),
  async run(session, call) {
    const [name = ''] = call.arguments;
    const { origin } = passkeySettings(session);
    const roles = rolesOf(call);
    const keepMs = keepOf(call);
    const { people, invitations } = await openPeople(session);
    const member = await people.find(name);
    if (member === undefined && roles.length === 0) {
      throw usageError(`${name} is new. Give --role: ${ROLES.join(', ')}`);
    }
    const token = await invitations.create({ name, roles, keepMs });
    const link = `${origin}/console/invite/${token}`;
    const expires = isoTime(session.clock() + keepMs);
    const may = roles.length === 0 ? (member?.roles ?? []) : roles;
    session.print(
      `${link}\n\nGive this link to ${printable(name)} (${may.join(', ')}), and to nobody else. It can be used once, ` +
        `until ${expires}.`,
      { name, roles: may, link, expires },
    );
    return 0;
  },
};

export const consolePeople: CommandRow = {
  path: 'console people',
  summary: 'Show who has a passkey for the console: roles, passkeys, sessions and last sign-in.',
  example: 'console people',
  async run(session) {
    const { people } = await openPeople(session);
    const members = await people.all();
    const rows = members.map((member) => [
      printable(member.name),
      member.roles.join(', '),
      counted(member.passkeys.length, 'passkey'),
      counted(member.sessions.length, 'session'),
      member.lastSignInMs === 0 ? 'never signed in' : `signed in ${isoTime(member.lastSignInMs)}`,
    ]);
    session.print(
      table(rows, 'Nobody has a passkey. Invite somebody with `countersign console invite`.'),
      members.map(memberJson),
    );
    return 0;
  },
};

export const consoleRemove: CommandRow = {
  path: 'console remove',
  summary:
    'Remove a person from the console: the passkeys and open invitations no longer work, and all sessions end.',
  example: 'console remove ada',
  define: (command) =>
    command.argument('<name>', 'a name that `console people` prints, or of somebody who was only invited'),
  async run(session, call) {
    const [name = ''] = call.arguments;
    const { people, sessions, invitations } = await openPeople(session);
    if ((await people.find(name)) === undefined && !(await invitations.isInvited(name))) {
      throw new CountersignError(
        'NOT_FOUND',
        `${name} has neither a passkey for the console nor an open invitation. \`countersign console people\` ` +
          'lists who has a passkey',
      );
    }
    await sessions.endAll(name);
    const member = await people.remove(name);
    session.print(
      member === undefined
        ? `Ended the invitations of ${printable(name)}, who had no passkey.`
        : `Removed ${printable(name)}. Invitations from before no longer work.`,
      memberJson(member ?? newMember(name, [])),
    );
    return 0;
  },
};

export const consoleSignOut: CommandRow = {
  path: 'console sign-out',
  summary: 'End all sessions of a person. The passkeys stay.',
  example: 'console sign-out ada',
  define: (command) => command.argument('<name>', 'a name that `console people` prints'),
  async run(session, call) {
    const [given = ''] = call.arguments;
    const { people, sessions } = await openPeople(session);
    const { name } = known(given, await people.find(given));
    const ended = await sessions.endAll(name);
    session.print(`Ended ${counted(ended, 'session')} of ${printable(name)}.`, { name, ended });
    return 0;
  },
};

/** The origin of links. Throws USAGE if nobody signs in with passkeys. */
function passkeySettings(session: Session): { readonly origin: string } {
  const passkeys = session.settings().console?.passkeys;
  if (passkeys !== undefined) return { origin: originOf(passkeys) };
  throw usageError(
    `${session.settingsFile} has no console.passkeys, so nobody can use an invitation. Set its host`,
  );
}

function rolesOf(call: Call): readonly Role[] {
  const written = call.option('role');
  if (written === undefined) return [];
  return written.split(',').map((text) => {
    const role = ROLES.find((each) => each === text.trim());
    if (role !== undefined) return role;
    throw usageError(`--role ${text} is not a role. Give one of ${ROLES.join(', ')}`);
  });
}

function keepOf(call: Call): number {
  const written = call.option('expires') ?? '';
  const keepMs = durationMs(written);
  if (keepMs !== undefined && keepMs > 0 && keepMs <= INVITATION_MAX_MS) return keepMs;
  throw usageError(`--expires ${written} is not valid. Write a duration such as 24h, at most 30d`);
}

async function openPeople(session: Session) {
  const store = await session.store();
  const people = createPeople(store, session.clock);
  const bounds = { idleMs: 0, lifeMs: 0 };
  return {
    people,
    sessions: createSessions(store, people, bounds, session.clock),
    invitations: createInvitations(store, people, session.clock),
  };
}

function known(name: string, member: Member | undefined): Member {
  if (member !== undefined) return member;
  throw new CountersignError(
    'NOT_FOUND',
    `${name} has no passkey for the console. \`countersign console people\` lists who has`,
  );
}

const memberJson = ({ name, roles, passkeys, sessions, lastSignInMs }: Member): object => ({
  name,
  roles,
  passkeys: passkeys.map(({ id, createdAtMs }) => ({ id, created: isoTime(createdAtMs) })),
  sessions: sessions.length,
  lastSignIn: lastSignInMs === 0 ? null : isoTime(lastSignInMs),
});
