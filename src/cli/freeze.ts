import type { Control } from '../store/store.ts';
import type { CommandRow } from './command.ts';
import { byOption } from './options.ts';

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
      control,
    );
    return 0;
  },
};

export const unfreeze: CommandRow = {
  path: 'unfreeze',
  summary: 'Let approvals through again.',
  example: 'unfreeze',
  define: byOption,
  async run(session) {
    const store = await session.store();
    const control = await store.unfreeze({ by: session.by });
    session.print(`Callbacks are decided again. ${inForce(control)}`, control);
    return 0;
  },
};

function inForce({ revision }: Control): string {
  return revision === '' ? 'No policies are in force.' : `In force: ${revision.slice(0, 12)}.`;
}
