import { liftLockout, lockoutJson, lockoutText } from '../act/lockouts.ts';
import { CountersignError, usageError } from '../errors.ts';
import { isHeldBy } from '../release/diff-text.ts';
import { releaseInForce } from '../release/stored.ts';
import type { Lockout, Store } from '../store/store.ts';
import { actCommand } from './act.ts';
import { type CommandRow, messageOption, requiredMessage } from './command.ts';
import { table } from './print.ts';
import { chosenSources, sourceOption } from './sources.ts';

export const lockoutList: CommandRow = {
  path: 'lockout list',
  summary: 'Show who is locked out by the rule lock-out.',
  example: 'lockout list\nlockout list --source shop',
  define: (command) => sourceOption(command),
  async run(session, call) {
    const store = await session.store();
    const found = await lockoutsOf(store, chosenSources(session, call));
    const release = await releaseInForce(store);
    const all = found.map((lockout) => ({
      ...lockout,
      holds: release === undefined || isHeldBy(release.policies, lockout),
    }));
    const rows = all.map(({ holds, ...lockout }) => [
      lockout.source,
      lockout.id,
      `${lockoutText(lockout)}${holds ? '' : '; no rule in force looks at it, so it refuses nothing'}`,
    ]);
    session.print(table(rows, 'Nobody is locked out.'), all.map(lockoutJson));
    return 0;
  },
};

export const lockoutLift = actCommand(liftLockout, {
  example: 'lockout lift 0f1e2d3c4b5a69788796a5b4c3d2e1f0 --message "called the user"',
  define: (command) =>
    messageOption(command.argument('<id>', 'the id that `lockout list` prints')).option(
      '--source <name>',
      'a source of the settings (default: the only one with this lock-out)',
    ),
  async input(session, call) {
    const [id = ''] = call.arguments;
    const message = requiredMessage(call);
    const sources = chosenSources(session, call);
    const [first = ''] = sources;
    const source = sources.length === 1 ? first : await sourceWith(id, await session.store(), sources);
    return { source, id, message };
  },
});

/** Newest first. */
async function lockoutsOf(store: Store, sources: readonly string[]): Promise<readonly Lockout[]> {
  const found: Lockout[] = [];
  for (const source of sources) for await (const lockout of store.lockouts(source)) found.push(lockout);
  return found.sort((a, b) => b.sinceMs - a.sinceMs);
}

/** The only source with this lock-out. Throws NOT_FOUND if there is none, and USAGE if there are several. */
async function sourceWith(id: string, store: Store, sources: readonly string[]): Promise<string> {
  const found = (await lockoutsOf(store, sources)).filter((lockout) => lockout.id === id);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only.source;
  const names = found.map(({ source }) => source).join(', ');
  throw only === undefined
    ? new CountersignError(
        'NOT_FOUND',
        `there is no lock-out ${id}. \`countersign lockout list\` lists those that stand`,
      )
    : usageError(`${id} is locked out in several sources. Give --source: ${names}`);
}
