import { isFrozenForLoss } from '../store/redis/lost.ts';
import type { Control } from '../store/store.ts';
import type { CommandRow } from './command.ts';
import { byOption } from './options.ts';
import { takenNote } from './taken-note.ts';

export const freeze: CommandRow = {
  path: 'freeze',
  summary: 'Stop every approval, on every replica, at once.',
  example: 'freeze "key of the gateway may have leaked"',
  define: (command) => byOption(command.argument('<reason>', 'why, for the log and for whoever looks')),
  async run(session, call) {
    const store = await session.store();
    const [reason = ''] = call.arguments;
    const control = await store.freeze({ reason, by: session.by });
    session.print(
      `Frozen: every callback is answered FAILURE until \`countersign unfreeze\`. ${inForce(control)}`,
      { ...control, services: await takenNote(session, control) },
    );
    return 0;
  },
};

export const unfreeze: CommandRow = {
  path: 'unfreeze',
  summary: 'Let approvals through again.',
  example: 'unfreeze',
  define: (command) => byOption(command.addHelpText('after', AFTER_A_LOSS)),
  async run(session) {
    const store = await session.store();
    const { frozen } = await store.control();
    const control = await store.unfreeze({ by: session.by });
    const begun = isFrozenForLoss(frozen)
      ? ' Data was lost: repeats and limits begin from what the store still has.'
      : '';
    session.print(`Callbacks are decided again. ${inForce(control)}${begun}`, {
      ...control,
      services: await takenNote(session, control),
    });
    return 0;
  },
};

const AFTER_A_LOSS = `
Where the services froze the store themselves, since Redis lost data, this says go on: repeats and limits begin from what
Redis still has, after a total loss from nothing. Push the policies before, and enter lists, prices and orders again
where they are gone. What was approved before the loss may be approved once more, so compare with the platform first.
`;

function inForce({ revision }: Control): string {
  return revision === '' ? 'No policies are in force.' : `In force: ${revision.slice(0, 12)}.`;
}
