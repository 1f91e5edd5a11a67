import { archiveFault } from '../../archive/folder.ts';
import type { ArchivedEntry } from '../../archive/line.ts';
import { verifyArchive } from '../../archive/verify.ts';
import { CountersignError } from '../../errors.ts';
import { exportEnd, exportedEntry } from '../../journal/exported.ts';
import { printableJson } from '../../values/printable.ts';
import type { CommandRow } from '../command.ts';
import { periodOf, periodOptions } from '../period.ts';
import { sourceOption } from '../sources.ts';

const DRAIN_EVERY = 100;

export const journalExport: CommandRow = {
  path: 'journal export',
  summary: 'Write entries of an archive as JSON Lines, like `decisions export`, and verify them.',
  example:
    'journal export /var/lib/countersign/archive --since 2025-03-01 --until 2025-04-01 > march.jsonl\n' +
    'journal export /var/lib/countersign/archive --source shop --subject payment:11321',
  define: (command) =>
    periodOptions(sourceOption(command.argument('<directory...>', 'directory of `journal archive --to`')))
      .option('--id <id>', 'only this entry: SOURCE/ID or ID')
      .option('--subject <subject>', 'only entries about this subject, such as payment:11321')
      .option('--end-line', 'end with a line that says up to when the export is complete, for `reconcile`')
      .addHelpText(
        'after',
        `
\`policy backtest\` and \`replay\` read the output. An archive has no changes of prices. For policies that
use prices, append the lines with "type":"prices" from \`countersign decisions export\` to the file.

The command needs no store. If the archive is damaged, it says so and exits with 2. Don't rely on what it
wrote until then.`,
      ),
  async run(session, call) {
    const period = periodOf(call, session.clock());
    const [source, subject, id] = [call.option('source'), call.option('subject'), call.option('id')];
    if (call.flag('endLine') && (subject ?? id) !== undefined) {
      throw new CountersignError(
        'USAGE',
        '--end-line is about all entries of a period. Leave --subject and --id out',
      );
    }
    const wanted = (entry: ArchivedEntry): boolean =>
      (source === undefined || entry.source === source) &&
      (subject === undefined || entry.subject === subject) &&
      (id === undefined || entry.id === id || `${entry.source}/${entry.id}` === id) &&
      entry.atMs >= (period.fromMs ?? 0) &&
      entry.atMs < (period.untilMs ?? Infinity);
    let count = 0;
    const { sources, faults } = await verifyArchive(call.arguments, async (entry) => {
      if (!wanted(entry)) return;
      const json = exportedEntry(entry);
      session.print(printableJson(json), json);
      if (++count % DRAIN_EVERY === 0) await session.drained();
    });
    await session.drained();
    const [first] = faults;
    if (first !== undefined) throw archiveFault(first);
    if (!call.flag('endLine')) return 0;
    const ends = sources
      .filter((each) => source === undefined || each.source === source)
      .map(
        ({ source: name, lastAtMs = 0 }) => [name, Math.min(lastAtMs, period.untilMs ?? Infinity)] as const,
      );
    const end = exportEnd(new Map(ends));
    session.print(printableJson(end), end);
    await session.drained();
    return 0;
  },
};
