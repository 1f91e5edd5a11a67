import { readPolicyDirectory } from '../release/files.ts';
import { named, pushRelease } from '../release/push.ts';
import type { CommandRow } from './command.ts';
import { byOption, messageOption, neededMessage } from './options.ts';
import { sizeOf, sizeText } from './policy-validate.ts';

export const policyPush: CommandRow = {
  path: 'policy push',
  summary: 'Put policy files in force, on every replica.',
  example:
    'policy push --message "limit raised, see RISK-12"\npolicy push config/policies --message "as reviewed" --expect 3f9a1c04d2b7',
  define: (command) =>
    messageOption(
      byOption(
        command.argument('[directory]', 'where they are (default: policies.directory of the settings)'),
      ),
    ).option(
      '--expect <revision>',
      'push only if this one, or one that begins so, is in force; `none` if nothing is (default: what is in force now)',
    ),
  async run(session, call) {
    const message = neededMessage(call);
    const [directory = session.settings().policies.directory] = call.arguments;
    const release = await readPolicyDirectory(directory);
    const store = await session.store();
    const { revision: before, frozen } = await store.control();
    const { revision } = release;
    const size = sizeOf(release);
    if (revision === before) {
      session.print(`${named(revision)} is in force already: nothing to push.`, {
        pushed: false,
        before,
        revision,
        ...size,
      });
      return 0;
    }
    const expected = expectedOf(call.option('expect'), before);
    const { sequence } = await pushRelease(store, { release, expected, by: session.by, message });
    session.print(`In force: ${named(before)} → ${named(revision)}, ${sizeText(release)}.`, {
      pushed: true,
      before,
      revision,
      sequence,
      ...size,
    });
    if (frozen !== undefined)
      session.tell('All is frozen; `countersign unfreeze` lets approvals through again.');
    return 0;
  },
};

/** What the store is to compare with: the full name of what is in force if that is meant, else what cannot be in force. */
function expectedOf(expect: string | undefined, inForce: string): string {
  if (expect === undefined) return inForce;
  if (expect === 'none') return '';
  const wanted = expect.toLowerCase();
  return wanted.length >= 4 && inForce.startsWith(wanted) ? inForce : wanted;
}
