import { unmatchedInStore } from '../../start/policies.ts';
import { diffFrom, diffOrReason } from '../../release/diff-text.ts';
import { unmatchedText } from '../../release/lists.ts';
import { shortRevision, rollback } from '../../release/push.ts';
import { type CommandRow, byOption, messageOption, requiredMessage } from '../command.ts';
import { servicesThatApplied } from '../services.ts';

export const policyRollback: CommandRow = {
  path: 'policy rollback',
  summary: 'Put an earlier revision in force again, and show what that changed.',
  example:
    'policy rollback previous --message "the new limit refuses too much"\n' +
    'policy rollback 3f9a1c04d2b7 --message "as before the trial"',
  define: (command) =>
    messageOption(
      byOption(
        command.argument('<revision>', 'the revision, a beginning that only one revision has, or `previous`'),
      ),
    ),
  async run(session, call) {
    const message = requiredMessage(call);
    const [revision = ''] = call.arguments;
    const store = await session.store();
    const { control, before, release } = await rollback(store, { revision, by: session.by, message });
    for (const list of await unmatchedInStore(session.settings(), store, release)) {
      session.report(`Warning: ${unmatchedText(list)}.`);
    }
    const sources = session.settings().sources.map(({ name }) => name);
    const diff = await diffFrom(store, { before, release, sources });
    session.print(
      `${diffOrReason(diff)}\nIn force: ${shortRevision(before)} → ${shortRevision(control.revision)}.`,
      {
        before,
        revision: control.revision,
        sequence: control.sequence,
        diff,
        services: await servicesThatApplied(session, control),
      },
    );
    return 0;
  },
};
