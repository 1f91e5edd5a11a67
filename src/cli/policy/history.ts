import { shortRevision, releaseHistory } from '../../release/push.ts';
import type { CommandRow } from '../command.ts';
import { columns, isoTime, printable } from '../print.ts';

const SHOWN = 20;

export const policyHistory: CommandRow = {
  path: 'policy history',
  summary: 'List the revisions that were put in force, by whom and why, newest first.',
  example: 'policy history\npolicy history --limit 100',
  define: (command) => command.option('--limit <number>', `at most this many (default: ${SHOWN})`),
  async run(session, call) {
    const limit = call.count('limit', { least: 1, most: 1000 }) ?? SHOWN;
    const history = await releaseHistory(await session.store(), limit);
    const rows = history.map(({ inForce, sequence, revision, atMs, by, message }) => [
      inForce ? '*' : ' ',
      String(sequence),
      shortRevision(revision),
      isoTime(atMs),
      printable(by),
      printable(message),
    ]);
    session.print(
      rows.length === 0
        ? 'No policies were pushed yet. Begin with `countersign policy push`.'
        : columns(rows),
      history.map(({ atMs, ...entry }) => ({ ...entry, at: isoTime(atMs) })),
    );
    return 0;
  },
};
