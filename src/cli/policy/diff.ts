import { CountersignError } from '../../errors.ts';
import { compileRelease } from '../../policy/compile.ts';
import { diffReleases } from '../../policy/diff.ts';
import type { Release } from '../../policy/release.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { diffFrom, diffOrReason, diffText } from '../../release/diff-text.ts';
import { findRevision, shortRevision } from '../../release/push.ts';
import type { Store } from '../../store/store.ts';
import type { Call, CommandRow } from '../command.ts';
import type { Session } from '../session.ts';

export const policyDiff: CommandRow = {
  path: 'policy diff',
  summary:
    'Show how policy files differ from the policies in force, or one revision from another: rule ' +
    'by rule, whether each change gets stricter or looser, and where a count begins anew.',
  example: 'policy diff\npolicy diff config/policies --exit-code\npolicy diff --from 3f9a1c04 --to 77b0e2d1',
  define: (command) =>
    command
      .argument('[directory]', 'the policy files (default: policies.directory of the settings)')
      .option('--from <revision>', 'compare with this revision or its beginning (default: the one in force)')
      .option('--to <revision>', 'compare this revision instead of a directory')
      .option('--exit-code', 'exit 1 if anything differs'),
  async run(session, call) {
    const to = call.option('to');
    if (to !== undefined && call.arguments.length > 0) {
      throw new CountersignError('USAGE', 'a directory and --to were given. Give one of them');
    }
    // Files first, so that their faults are reported even if the store can't be reached.
    const files = to === undefined ? await sideOfFiles(session, call) : undefined;
    const store = await session.store();
    const { revision: inForce } = await store.control();
    const from = await sideOfRevision(store, call.option('from') ?? inForce);
    const side = files ?? (await sideOfRevision(store, to ?? ''));
    // What becomes of the store's counts and lock-outs is known only of a change of what is in force.
    const release =
      from.revision === inForce && side.document !== undefined ? compiled(side.document) : undefined;
    const sources = session.settings().sources.map(({ name }) => name);
    const pushed = release && (await diffFrom(store, { before: inForce, release, sources }));
    const diff = typeof pushed === 'object' ? pushed : diffReleases(from.document, side.document);
    const text = typeof pushed === 'object' ? diffOrReason(pushed) : diffText(diff);
    session.print(`${shortRevision(from.revision)} → ${shortRevision(side.revision)}\n${text}`, {
      from: from.revision,
      to: side.revision,
      ...diff,
    });
    return call.flag('exitCode') && !diff.same ? 1 : 0;
  },
};

function compiled(document: string): Release | undefined {
  const result = compileRelease(document);
  return result.ok ? result.release : undefined;
}

interface Side {
  readonly revision: string;
  readonly document: string | undefined;
}

async function sideOfFiles(session: Session, call: Call): Promise<Side> {
  const [directory = session.settings().policies.directory] = call.arguments;
  return readPolicyDirectory(directory);
}

/** A revision by its name or beginning. The empty text means no policies. Throws REVISION_UNKNOWN. */
async function sideOfRevision(store: Store, name: string): Promise<Side> {
  if (name === '') return { revision: '', document: undefined };
  const revision = await findRevision(store, name);
  return { revision, document: await store.document(revision) };
}
