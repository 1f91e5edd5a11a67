import { CountersignError } from '../../errors.ts';
import { contentOf, contentText } from '../../release/content.ts';
import { findRevision } from '../../release/push.ts';
import { freezeText } from '../../store/freezes.ts';
import type { HistoryEntry, Store } from '../../store/store.ts';
import type { CommandRow } from '../command.ts';
import { isoTime, printable } from '../print.ts';

export const policyShow: CommandRow = {
  path: 'policy show',
  summary: 'Show the policies of a revision as YAML, and who put it in force.',
  example: 'policy show\npolicy show 3f9a1c04d2b7',
  define: (command) =>
    command.argument('[revision]', 'the revision or its beginning (default: the revision in force)'),
  async run(session, call) {
    const store = await session.store();
    const { revision: inForce, frozen } = await store.control();
    const [wanted] = call.arguments;
    if (wanted === undefined && inForce === '') {
      throw new CountersignError(
        'NOT_FOUND',
        'no policies are in force. Push some with `countersign policy push`',
      );
    }
    const revision = wanted === undefined ? inForce : await findRevision(store, wanted);
    const content = await contentOf(store, revision);
    const pushed = await lastPush(store, revision);
    const freezes = frozen.map((freeze) => ({ ...freeze, at: isoTime(freeze.atMs) }));
    session.print(
      [
        `# revision ${revision}${revision === inForce ? ', in force' : ''}`,
        ...(pushed === undefined ? [] : [`# pushed ${pushText(pushed)}`]),
        ...freezes.map((freeze) => `# FROZEN since ${freeze.at} as ${printable(freezeText(freeze))}`),
        contentText(content),
      ].join('\n'),
      {
        revision,
        inForce: revision === inForce,
        frozen: freezes,
        ...(pushed && { by: pushed.by, at: isoTime(pushed.atMs), message: pushed.message }),
        policies: content.policies,
        lists: content.lists,
      },
    );
    return 0;
  },
};

/** `2025-03-01T10:00:00.000Z by ada: as reviewed`. */
function pushText({ atMs, by, message }: HistoryEntry): string {
  return `${isoTime(atMs)} by ${printable(by)}: ${printable(message)}`;
}

const HISTORY_MAX = 1000;

async function lastPush(store: Store, revision: string): Promise<HistoryEntry | undefined> {
  const history = await store.history(HISTORY_MAX);
  return history.find((entry) => entry.revision === revision);
}
