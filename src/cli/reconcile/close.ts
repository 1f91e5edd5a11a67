import { CountersignError } from '../../errors.ts';
import { closeException } from '../../reconcile/close.ts';
import { type CommandRow, byOption, messageOption, requiredMessage } from '../command.ts';
import { counted } from '../print.ts';
import { directoryOf, directoryOption } from './directory.ts';

export const reconcileClose: CommandRow = {
  path: 'reconcile close',
  summary: 'Close an exception of a reconciliation with a note, which the journal keeps.',
  example:
    'reconcile close 3 17 --directory /var/lib/countersign/reconciliation --message "refunded, ticket 4711"',
  define: (command) =>
    directoryOption(messageOption(byOption(command)))
      .argument('<run>', 'the number of the run')
      .argument('<item>', 'the number of its item'),
  async run(session, call) {
    const directory = directoryOf(session, call);
    const message = requiredMessage(call);
    const [run, item] = [numberOf('run', call.arguments[0]), numberOf('item', call.arguments[1])];
    const { by, clock } = session;
    const store = await session.store();
    const { closing, open } = await closeException({ directory, run, item, message, by, clock, store });
    const { at: _at, record: _record, previous: _previous, ...json } = closing;
    session.print(
      `Closed ${run}/${item} (${closing.class} ${closing.source}/${closing.id}) as entry ${closing.entry}. ` +
        `${counted(open, 'exception')} left open in run ${run}.`,
      { ...json, open },
    );
    return 0;
  },
};

function numberOf(what: string, text = ''): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new CountersignError(
    'USAGE',
    `${text} is not the number of a ${what}. Write ${what} and item as in 3 17`,
  );
}
