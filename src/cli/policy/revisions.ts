import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CountersignError, usageError } from '../../errors.ts';
import { compileRelease } from '../../policy/compile.ts';
import { diffReleases } from '../../policy/diff.ts';
import type { Release } from '../../policy/release.ts';
import { contentOf, contentText } from '../../release/content.ts';
import { diffFrom, diffOrReason, diffText } from '../../release/diff-text.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { noteOrigin, originOf, pushedText } from '../../release/origin.ts';
import { findRevision, lastPush, releaseHistory, shortRevision } from '../../release/push.ts';
import { type SourceFile, assertInside, filesOfRevision } from '../../release/sources.ts';
import { signersText } from '../../release/trust.ts';
import { signerRules } from '../../start/trust.ts';
import { freezeText } from '../../store/freezes.ts';
import type { Store } from '../../store/store.ts';
import type { Call, CommandRow } from '../command.ts';
import { checkEmpty } from '../empty-directory.ts';
import { counted, isoTime, printable, table } from '../print.ts';
import type { Session } from '../session.ts';
import { sourceNames } from '../sources.ts';

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
    const revision = await chosenRevision(store, wanted, inForce);
    const content = await contentOf(store, revision);
    const pushed = await lastPush(store, revision);
    const freezes = frozen.map((freeze) => ({ ...freeze, at: isoTime(freeze.atMs) }));
    session.print(
      [
        `# revision ${revision}${revision === inForce ? ', in force' : ''}`,
        ...(pushed === undefined ? [] : [`# ${pushedText(pushed)}`]),
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

/** The revision that a call names, or the one in force. Throws NOT_FOUND or REVISION_UNKNOWN. */
async function chosenRevision(store: Store, wanted: string | undefined, inForce: string): Promise<string> {
  if (wanted !== undefined) return findRevision(store, wanted);
  if (inForce !== '') return inForce;
  throw new CountersignError(
    'NOT_FOUND',
    'no policies are in force. Push some with `countersign policy push`',
  );
}

const SHOWN = 20;

export const policyHistory: CommandRow = {
  path: 'policy history',
  summary: 'List the revisions that were put in force, by whom, why and with whose signatures, newest first.',
  example: 'policy history\npolicy history --limit 100',
  define: (command) => command.option('--limit <number>', `at most this many (default: ${SHOWN})`),
  async run(session, call) {
    const limit = call.count('limit', { least: 1, most: 1000 }) ?? SHOWN;
    const store = await session.store();
    const history = await releaseHistory(store, limit);
    const rules = signerRules(session.settings());
    const rows = await Promise.all(
      history.map(async ({ inForce, sequence, revision, atMs, by, message, serial }) => [
        inForce ? '*' : ' ',
        String(sequence),
        shortRevision(revision),
        isoTime(atMs),
        printable(by),
        printable(message),
        ...(rules === undefined ? [] : [await signersText({ store, rules, forPeople: true }, serial)]),
      ]),
    );
    session.print(
      table(rows, 'No policies were pushed yet. Begin with `countersign policy push`.'),
      history.map(({ atMs, serial, ...entry }) => ({
        ...entry,
        ...(serial > 0 && { serial }),
        at: isoTime(atMs),
      })),
    );
    return 0;
  },
};

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
      throw usageError('a directory and --to were given. Give one of them');
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
    const sources = sourceNames(session);
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

export const policyCheckout: CommandRow = {
  path: 'policy checkout',
  summary: 'Write the policies of a revision to files, with their comments and tests.',
  example: 'policy checkout config/in-force\npolicy checkout config/policies 3f9a1c04d2b7 --force',
  define: (command) =>
    command
      .argument('<directory>', 'where to write the files')
      .argument('[revision]', 'the revision or its beginning (default: the revision in force)')
      .option('--force', 'write into a directory that has files, over those with the same names'),
  async run(session, call) {
    const [directory = '', wanted] = call.arguments;
    const store = await session.store();
    const { revision: inForce } = await store.control();
    const revision = await chosenRevision(store, wanted, inForce);
    const { files, asWritten } = await filesOfRevision(store, revision);
    if (!call.flag('force')) await checkEmpty(directory, ', or give --force to write over its files');
    await writeFiles(directory, files);
    await noteOrigin(originOf(session.settings().store, directory), revision);
    if (!asWritten) {
      session.report(
        'The store has no files of this revision, so they were made from its policies, without comments and tests.',
      );
    }
    // A directory that had files may have further policies.
    const written = await readPolicyDirectory(directory);
    if (written.revision !== revision) {
      session.report(
        `The files in ${directory} are not those of the revision alone: they have revision ` +
          `${shortRevision(written.revision)}. Remove the policy files that do not belong to it.`,
      );
    }
    session.print(`${directory}: ${counted(files.length, 'file')} of revision ${shortRevision(revision)}.`, {
      directory,
      revision,
      asWritten,
      files: files.map(({ name }) => name),
      same: written.revision === revision,
    });
    return written.revision === revision ? 0 : 1;
  },
};

/** Throws STORE_CORRUPT for a name that leads out of the directory. */
export async function writeFiles(directory: string, files: readonly SourceFile[]): Promise<void> {
  assertInside(directory, files);
  for (const { name, text } of files) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
