import type { ArchivedEntry } from '../../archive/line.ts';
import { archiveFault } from '../../archive/fault.ts';
import { verifyArchive } from '../../archive/verify.ts';
import { printableJson } from '../../values/printable.ts';
import type { CommandRow } from '../command.ts';
import { jsonOrText } from '../json.ts';
import { sourceOption } from '../sources.ts';
import { periodOf, periodOptions } from '../period.ts';

const DRAIN_EVERY = 100;

export const journalExport: CommandRow = {
  path: 'journal export',
  summary:
    'Entries of an archive as JSON Lines, as `decisions export` writes them, verified as they are read.',
  example:
    'journal export /var/lib/countersign/archive --since 2025-03-01 --until 2025-04-01 > march.jsonl\njournal export /var/lib/countersign/archive --source shop --subject payment:11321',
  define: (command) =>
    periodOptions(sourceOption(command.argument('<directory...>', 'what `journal archive --to` wrote to')))
      .option('--id <id>', 'this entry, as SOURCE/ID or ID')
      .option('--subject <subject>', 'about this subject, such as payment:11321')
      .addHelpText(
        'after',
        `
\`policy backtest\` and \`replay\` read what it writes. Changes of prices are not in an archive: for policies that reckon by prices, add
those of \`countersign decisions export\` to the file. Needs no store. Where something is wrong with the archive it says so, and
exits with 2: what was written until then is no proof.`,
      ),
  async run(session, call) {
    const period = periodOf(call, session.clock());
    const [source, subject, id] = [call.option('source'), call.option('subject'), call.option('id')];
    const wanted = (entry: ArchivedEntry): boolean =>
      (source === undefined || entry.source === source) &&
      (subject === undefined || entry.subject === subject) &&
      (id === undefined || entry.id === id || `${entry.source}/${entry.id}` === id) &&
      entry.atMs >= (period.fromMs ?? 0) &&
      entry.atMs < (period.untilMs ?? Infinity);
    let count = 0;
    const { faults } = await verifyArchive(call.arguments, async (entry) => {
      if (!wanted(entry)) return;
      const json = { ...entry, detail: jsonOrText(entry.detail) };
      session.print(printableJson(json), json);
      if (++count % DRAIN_EVERY === 0) await session.drained();
    });
    await session.drained();
    const [first] = faults;
    if (first !== undefined) throw archiveFault(first);
    return 0;
  },
};
