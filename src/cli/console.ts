import { ROLES, type Role } from '../act/act.ts';
import {
  invitePerson,
  memberJson,
  noPasskey,
  peopleOf,
  removePerson,
  signOutPerson,
} from '../console/sign-in/acts.ts';
import { INVITATION_MAX_MS, peopleLines } from '../console/sign-in/people.ts';
import { usageError } from '../errors.ts';
import { durationMs } from '../policy/language/parameter.ts';
import { originOf } from '../settings/console.ts';
import { actCommand, actParts } from './act.ts';
import type { Call, CommandRow } from './command.ts';
import { counted, isoTime, printable, table } from './print.ts';
import type { Session } from './session.ts';

export const consoleInvite = actCommand(invitePerson, {
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
  input(session, call) {
    const [name = ''] = call.arguments;
    return { name, origin: originIn(session), roles: rolesOf(call), keepMs: keepOf(call) };
  },
});

export const consolePeople: CommandRow = {
  path: 'console people',
  summary:
    'Show who has a passkey for the console: roles, passkeys, sessions and last sign-in. --yaml prints the passkeys of ' +
    'one person as lines for people.yaml.',
  example: 'console people\nconsole people --yaml ada',
  define: (command) =>
    command.option('--yaml <name>', 'print the lines of people.yaml with the passkeys of this person'),
  async run(session, call) {
    const { people } = peopleOf(await actParts(session));
    const wanted = call.option('yaml');
    if (wanted !== undefined) {
      const member = await people.find(wanted);
      if (member === undefined || member.passkeys.length === 0) throw noPasskey(wanted);
      const { name, roles, passkeys } = member;
      const keys = passkeys.map(({ id, publicKey }) => ({ id, publicKey }));
      session.print(peopleLines(member), { name, roles, passkeys: keys });
      return 0;
    }
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

export const consoleRemove = actCommand(removePerson, {
  example: 'console remove ada',
  define: (command) =>
    command.argument('<name>', 'a name that `console people` prints, or of somebody who was only invited'),
  input: (_session, { arguments: [name = ''] }) => ({ name }),
});

export const consoleSignOut = actCommand(signOutPerson, {
  example: 'console sign-out ada',
  define: (command) => command.argument('<name>', 'a name that `console people` prints'),
  input: (_session, { arguments: [name = ''] }) => ({ name }),
});

/** The origin of links. Throws USAGE if nobody signs in with passkeys. */
function originIn(session: Session): string {
  const passkeys = session.settings().console?.passkeys;
  if (passkeys !== undefined) return originOf(passkeys);
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
