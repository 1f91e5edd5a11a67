import { usageError } from '../errors.ts';
import { lossesIn } from '../store/freezes.ts';
import type { Control, Freeze } from '../store/store.ts';
import { type Call, type CommandRow, byOption } from './command.ts';
import { columns, isoTime, printable } from './print.ts';
import { servicesThatApplied } from './services.ts';

export const freeze: CommandRow = {
  path: 'freeze',
  summary: 'Stop all approvals on all replicas immediately.',
  example: 'freeze "key of the gateway may have leaked"',
  define: (command) =>
    byOption(command.argument('<reason>', 'the reason, for the journal and for other operators')),
  async run(session, call) {
    const store = await session.store();
    const [reason = ''] = call.arguments;
    const { freeze: added, control } = await store.freeze({ reason, by: session.by });
    const others = control.frozen.filter(({ id }) => id !== added.id);
    session.print(
      [
        `Frozen as ${added.id}. Every callback is answered FAILURE until \`countersign unfreeze ` +
          `${added.id}\`. ${inForce(control)}`,
        ...(others.length === 0 ? [] : [`Also frozen:\n${formatFreezes(others)}`]),
      ].join('\n'),
      { freeze: added, ...stateOf(control), services: await servicesThatApplied(session, control) },
    );
    return 0;
  },
};

export const unfreeze: CommandRow = {
  path: 'unfreeze',
  summary: 'Lift freezes. Approvals continue once no freeze is left. Exits 1 while some are left.',
  example: 'unfreeze\nunfreeze f7 f12 --message "keys rotated"\nunfreeze --all\nunfreeze --acknowledge-loss',
  define: (command) =>
    byOption(
      command.argument(
        '[ids...]',
        'ids that `freeze` and `doctor` print (default: the freeze of an operator, if there is only one)',
      ),
    )
      .option('--message <text>', 'the reason, for the journal')
      .option('--all', 'all freezes of operators')
      .option('--acknowledge-loss', 'continue after a loss of data with the data that the store still has')
      .addHelpText('after', AFTER_A_LOSS),
  async run(session, call) {
    const store = await session.store();
    const { frozen } = await store.control();
    const acknowledgeLoss = call.flag('acknowledgeLoss');
    const ids = idsToLift(call, frozen);
    const why = call.option('message')?.trim() ?? '';
    const change = { by: session.by, reason: why, ids, acknowledgeLoss };
    const { lifted, control } = await store.unfreeze(change);
    const approving = control.frozen.length === 0;
    const inEffect = new Set([...frozen, ...control.frozen].map(({ id }) => id));
    const missing = call.arguments.filter((id) => !inEffect.has(id));
    const texts = [
      ...lifted.map(({ id, by, reason }) => `Lifted ${id} of ${printable(by)}: ${printable(reason)}`),
      ...missing.map((id) => `There is no freeze ${id}.`),
      approving ? approvingAgain(control, lifted) : stillFrozen(control.frozen),
    ];
    session.print(texts.join('\n'), {
      approving,
      lifted,
      missing,
      ...stateOf(control),
      services: await servicesThatApplied(session, control),
    });
    return approving ? 0 : 1;
  },
};

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
  const operatorFreezes = frozen.filter(({ kind }) => kind === 'operator');
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
        formatFreezes(operatorFreezes),
    );
  }
  return operatorFreezes.map(({ id }) => id);
}

const stateOf = ({ sequence, revision, frozen, prices }: Control): Omit<Control, 'lifted'> => ({
  sequence,
  revision,
  frozen,
  prices,
});

function approvingAgain(control: Control, lifted: readonly Freeze[]): string {
  const loss =
    lossesIn(lifted).length > 0
      ? ' Data was lost. Repeats and limits begin with the data that the store still has.'
      : '';
  return `Approvals continue. ${inForce(control)}${loss}`;
}

function stillFrozen(frozen: readonly Freeze[]): string {
  const loss =
    lossesIn(frozen).length > 0
      ? '\nData was lost. Do what the freeze says, then run `countersign unfreeze --acknowledge-loss`.'
      : '';
  return `Still frozen. Every callback is answered FAILURE:\n${formatFreezes(frozen)}${loss}`;
}

function formatFreezes(freezes: readonly Freeze[]): string {
  return columns(
    freezes.map(({ id, atMs, by, reason }) => [
      `  ${id}`,
      `since ${isoTime(atMs)} by ${printable(by)}: ${printable(reason)}`,
    ]),
  );
}

function inForce({ revision }: Control): string {
  return revision === '' ? 'No policies are in force.' : `In force: ${revision.slice(0, 12)}.`;
}
