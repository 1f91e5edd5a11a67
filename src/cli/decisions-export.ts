import { CountersignError } from '../errors.ts';
import type { CommandRow } from './command.ts';
import { entryJson } from './decision-text.ts';
import { entryId } from './decisions-show.ts';
import { pagedEntries } from './journal-pages.ts';
import { chosenSources, sourceOption } from './sources.ts';
import { periodOf, periodOptions } from './time.ts';

const DRAIN_EVERY = 100;

export const decisionsExport: CommandRow = {
  path: 'decisions export',
  summary: 'The journal as JSON Lines on standard output, an entry a line, source by source.',
  example:
    'decisions export --since 7d > decisions.jsonl\ndecisions export --source shop --after 1017 >> decisions.jsonl',
  define: (command) =>
    periodOptions(sourceOption(command))
      .option('--after <id>', 'only what follows this entry of the source, to resume')
      .option('--limit <number>', 'at most so many'),
  async run(session, call) {
    const limit = call.count('limit', { least: 1, most: 999_999_999 }) ?? Infinity;
    const period = periodOf(call, session.clock());
    const sources = chosenSources(session, call);
    const after = call.option('after');
    if (after !== undefined && sources.length > 1) {
      throw new CountersignError(
        'USAGE',
        `--after is about one source; add --source with one of ${sources.join(', ')}`,
      );
    }
    const store = await session.store();
    let count = 0;
    for (const source of sources) {
      const from = after === undefined ? {} : { after: entryId(session, call, after).id };
      for await (const entry of pagedEntries(store, { source, ...period, ...from })) {
        if (count === limit) break;
        const line = entryJson(entry);
        session.print(JSON.stringify(line), line);
        count += 1;
        if (count % DRAIN_EVERY === 0) {
          session.progress(`${count} entries`);
          await session.drained();
        }
      }
    }
    session.progress('');
    await session.drained();
    return 0;
  },
};
