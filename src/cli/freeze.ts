import { CountersignError } from '../errors.ts';
import { lossesIn } from '../store/freezes.ts';
import type { Control, Freeze } from '../store/store.ts';
import { type Call, type CommandRow, byOption } from './command.ts';
import { columns, isoTime, printable } from './print.ts';
import { takenNote } from './taken-note.ts';

export const freeze: CommandRow = {
  path: 'freeze',
  summary: 'Stop every approval, on every replica, at once.',
  example: 'freeze "key of the gateway may have leaked"',
  define: (command) => byOption(command.argument('<reason>', 'why, for the journal and for whoever looks')),
  async run(session, call) {
    const store = await session.store();
    const [reason = ''] = call.arguments;
    const { freeze: added, control } = await store.freeze({ reason, by: session.by });
    const others = control.frozen.filter(({ id }) => id !== added.id);
    session.print(
      [
        `Frozen as ${added.id}: every callback is answered FAILURE until \`countersign unfreeze ${added.id}\`. ${inForce(control)}`,
        ...(others.length === 0 ? [] : [`Also frozen:\n${listed(others)}`]),
      ].join('\n'),
      { freeze: added, ...stateOf(control), services: await takenNote(session, control) },
    );
    return 0;
  },
};

export const unfreeze: CommandRow = {
  path: 'unfreeze',
  summary: 'Lift freezes: without any left, callbacks are decided again. Exits 1 while some stand.',
  example: 'unfreeze\nunfreeze f7 f12\nunfreeze --all\nunfreeze --acknowledge-loss',
  define: (command) =>
    byOption(
      command.argument(
        '[ids...]',
        'which, as `freeze` and `doctor` print them (default: the only one that an operator ordered)',
      ),
    )
      .option('--all', 'all that operators ordered')
      .option('--acknowledge-loss', 'go on after a loss of data, with what the store still has')
      .addHelpText('after', AFTER_A_LOSS),
  async run(session, call) {
    const store = await session.store();
    const { frozen } = await store.control();
    const acknowledgeLoss = call.flag('acknowledgeLoss');
    const ids = idsToLift(call, frozen);
    const { lifted, control } = await store.unfreeze({ by: session.by, ids, acknowledgeLoss });
    const approving = control.frozen.length === 0;
    const standing = new Set([...frozen, ...control.frozen].map(({ id }) => id));
    const missing = call.arguments.filter((id) => !standing.has(id));
    const texts = [
      ...lifted.map(({ id, by, reason }) => `Lifted ${id} of ${printable(by)}: ${printable(reason)}`),
      ...missing.map((id) => `No freeze ${id} stands.`),
      approving ? goesOn(control, lifted) : stillFrozen(control.frozen),
    ];
    session.print(texts.join('\n'), {
      approving,
      lifted,
      missing,
      ...stateOf(control),
      services: await takenNote(session, control),
    });
    return approving ? 0 : 1;
  },
};

const AFTER_A_LOSS = `
Where the services froze the store themselves, since Redis lost data, only --acknowledge-loss ends that: repeats and limits
then begin from what Redis still has, after a total loss from nothing. Push the policies before, and enter lists, prices and
orders again where they are gone. What was approved before the loss may be approved once more, so compare with the
platform first. What operators ordered stays frozen: name it as well, or give --all.
`;

/** What `freeze` gives. */
const ID = /^f\d{1,16}$/;

/**
 * Those that stand now, so that what somebody freezes meanwhile stays frozen. Throws USAGE where it is not
 * clear which.
 */
function idsToLift(call: Call, frozen: readonly Freeze[]): readonly string[] {
  const acknowledged = call.flag('acknowledgeLoss') ? lossesIn(frozen).map(({ id }) => id) : [];
  const ordered = frozen.filter(({ kind }) => kind === 'operator');
  const named = call.arguments;
  for (const id of named) {
    if (!ID.test(id)) {
      throw new CountersignError(
        'USAGE',
        `${JSON.stringify(id)} is not the id of a freeze, such as f7; \`countersign doctor\` names those that stand`,
      );
    }
  }
  if (call.flag('all')) {
    if (named.length > 0) throw new CountersignError('USAGE', 'give either ids or --all');
    return [...ordered.map(({ id }) => id), ...acknowledged];
  }
  if (named.length > 0 || call.flag('acknowledgeLoss')) return [...named, ...acknowledged];
  if (ordered.length > 1) {
    throw new CountersignError(
      'USAGE',
      `there are ${ordered.length} freezes, and nothing was lifted; name those to lift, or give --all:\n${listed(ordered)}`,
    );
  }
  return ordered.map(({ id }) => id);
}

const stateOf = ({ sequence, revision, frozen, prices }: Control): Omit<Control, 'lifted'> => ({
  sequence,
  revision,
  frozen,
  prices,
});

function goesOn(control: Control, lifted: readonly Freeze[]): string {
  const begun =
    lossesIn(lifted).length > 0
      ? ' Data was lost: repeats and limits begin from what the store still has.'
      : '';
  return `Callbacks are decided again. ${inForce(control)}${begun}`;
}

function stillFrozen(frozen: readonly Freeze[]): string {
  const loss =
    lossesIn(frozen).length > 0
      ? '\nData was lost, and that stands until it is acknowledged: do what it says, then `countersign unfreeze --acknowledge-loss`.'
      : '';
  return `Still frozen, every callback is answered FAILURE:\n${listed(frozen)}${loss}`;
}

function listed(freezes: readonly Freeze[]): string {
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
