import { Option } from 'commander';
import { EXCEPT, freeze, freezesText, unfreeze } from '../act/freezes.ts';
import { usageError } from '../errors.ts';
import { lossesIn } from '../store/freezes.ts';
import type { Freeze } from '../store/store.ts';
import { actCommand } from './act.ts';
import type { Call } from './command.ts';

export const freezeCommand = actCommand(freeze, {
  example: 'freeze "key of the gateway may have leaked"\nfreeze --except approved "unusual withdrawals"',
  define: (command) =>
    command
      .argument('<reason>', 'the reason, for the journal and for other operators')
      .addOption(
        new Option('--except <what>', 'approve what two people with the role approve have approved').choices(
          EXCEPT,
        ),
      ),
  input: (_session, call) => ({
    reason: call.arguments[0] ?? '',
    except: EXCEPT.find((each) => each === call.option('except')),
  }),
});

export const unfreezeCommand = actCommand(unfreeze, {
  example: 'unfreeze\nunfreeze f7 f12 --message "keys rotated"\nunfreeze --all\nunfreeze --acknowledge-loss',
  define: (command) =>
    command
      .argument(
        '[ids...]',
        'ids that `freeze` and `doctor` print (default: the freeze of an operator, if there is only one)',
      )
      .option('--message <text>', 'the reason, for the journal')
      .option('--all', 'all freezes of operators')
      .option('--acknowledge-loss', 'continue after a loss of data with the data that the store still has')
      .addHelpText('after', AFTER_A_LOSS),
  input: async (session, call) => ({
    ids: idsToLift(call, (await (await session.store()).control()).frozen),
    acknowledgeLoss: call.flag('acknowledgeLoss'),
    message: call.option('message')?.trim() ?? '',
  }),
});

const AFTER_A_LOSS = `
If Redis loses data, the services freeze the store. Only --acknowledge-loss lifts that freeze. Repeats and
limits then begin with the data that Redis still has, which may be none.

Before that, compare the approvals with the platform: an approval from before the loss may be given once
more. Push the policies, and enter missing lists, prices and orders again.

Freezes of operators stay. Name them as well, or give --all.
`;

/** The form of a freeze's id. */
const ID = /^f\d{1,16}$/;

/**
 * The ids of the current freezes, so that a later freeze is not lifted. Throws USAGE for an ambiguous call.
 */
function idsToLift(call: Call, frozen: readonly Freeze[]): readonly string[] {
  const acknowledged = call.flag('acknowledgeLoss') ? lossesIn(frozen).map(({ id }) => id) : [];
  const operatorFreezes = frozen.filter(({ kind }) => kind !== 'loss');
  const named = call.arguments;
  for (const id of named) {
    if (!ID.test(id)) {
      throw usageError(
        `${JSON.stringify(id)} is not the id of a freeze, such as f7. \`countersign doctor\` lists the ids`,
      );
    }
  }
  if (call.flag('all')) {
    if (named.length > 0) throw usageError('ids and --all were given. Give one of them');
    return [...operatorFreezes.map(({ id }) => id), ...acknowledged];
  }
  if (named.length > 0 || call.flag('acknowledgeLoss')) return [...named, ...acknowledged];
  if (operatorFreezes.length > 1) {
    throw usageError(
      `there are ${operatorFreezes.length} freezes. Nothing was lifted. Give ids, or --all:\n` +
        freezesText(operatorFreezes),
    );
  }
  return operatorFreezes.map(({ id }) => id);
}
