import { CountersignError, usageError } from '../errors.ts';
import { isHeldBy } from '../release/diff-text.ts';
import { releaseInForce } from '../release/stored.ts';
import type { Lockout, Store } from '../store/store.ts';
import { type CommandRow, byOption, messageOption, requiredMessage } from './command.ts';
import { isoTime, printable, table } from './print.ts';
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

export const lockoutLift: CommandRow = {
  path: 'lockout lift',
  summary: 'Lift a lock-out. Its refusals no longer count.',
  example: 'lockout lift 0f1e2d3c4b5a69788796a5b4c3d2e1f0 --message "called the user"',
  define: (command) =>
    byOption(
      messageOption(command.argument('<id>', 'the id that `lockout list` prints')).option(
        '--source <name>',
        'a source of the settings (default: the only one with this lock-out)',
      ),
    ),
  async run(session, call) {
    const [id = ''] = call.arguments;
    const message = requiredMessage(call);
    const sources = chosenSources(session, call);
    const store = await session.store();
    const [first = ''] = sources;
    const source = sources.length === 1 ? first : await sourceWith(id, store, sources);
    const lifted = await store.liftLockout({ source, id, by: session.by, message });
    session.print(`Lifted in ${lifted.source}: ${lockoutText(lifted)}`, lockoutJson(lifted));
    return 0;
  },
};

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

/** `userId 7: since …, after 3 refusals, until … (policy payments)`. */
function lockoutText({ whose, policy, refusals, sinceMs, untilMs }: Lockout): string {
  const until = untilMs === 0 ? 'until it is lifted' : `until ${isoTime(untilMs)}`;
  return printable(
    `${whose}: since ${isoTime(sinceMs)}, after ${refusals} refusals, ${until} (policy ${policy})`,
  );
}

const lockoutJson = <T extends Lockout>({ sinceMs, untilMs, ...lockout }: T) => ({
  ...lockout,
  since: isoTime(sinceMs),
  until: untilMs === 0 ? null : isoTime(untilMs),
});
