import { named, rollback } from '../../release/push.ts';
import { type CommandRow, byOption, messageOption, neededMessage } from '../command.ts';
import { takenNote } from '../taken-note.ts';

export const policyRollback: CommandRow = {
  path: 'policy rollback',
  summary: 'Put a revision of old in force again.',
  example: 'policy rollback 3f9a1c04d2b7 --message "the new limit refuses too much"',
  define: (command) =>
    messageOption(
      byOption(command.argument('<revision>', 'the beginning of its name will do, if only one begins so')),
    ),
  async run(session, call) {
    const message = neededMessage(call);
    const [revision = ''] = call.arguments;
    const store = await session.store();
    const { revision: before } = await store.control();
    const control = await rollback(store, { revision, by: session.by, message });
    session.print(`In force: ${named(before)} → ${named(control.revision)}.`, {
      before,
      revision: control.revision,
      sequence: control.sequence,
      services: await takenNote(session, control),
    });
    return 0;
  },
};
