import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { CountersignError, messageOf } from '../../errors.ts';
import { readPolicyDirectory } from '../../release/files.ts';
import { noteOrigin } from '../../release/origin.ts';
import { findRevision, shortRevision } from '../../release/push.ts';
import { type SourceFile, filesOfRevision } from '../../release/sources.ts';
import type { CommandRow } from '../command.ts';
import { counted } from '../print.ts';
import { originOf } from './origin.ts';

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
    if (wanted === undefined && inForce === '') {
      throw new CountersignError(
        'NOT_FOUND',
        'no policies are in force. Push some with `countersign policy push`',
      );
    }
    const revision = wanted === undefined ? inForce : await findRevision(store, wanted);
    const { files, asWritten } = await filesOfRevision(store, revision);
    if (!call.flag('force')) await checkEmpty(directory);
    await writeFiles(directory, files);
    await noteOrigin(originOf(session, directory), revision);
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

async function checkEmpty(directory: string): Promise<void> {
  let names: readonly string[];
  try {
    names = await readdir(directory);
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return;
    throw new CountersignError('USAGE', `${directory} can't be read: ${messageOf(thrown)}. Name a directory`);
  }
  if (names.length === 0) return;
  throw new CountersignError(
    'USAGE',
    `${directory} is not empty. Name a new directory, or give --force to write over its files`,
  );
}

/** Throws STORE_CORRUPT for a name that leads out of the directory: a push could have any names. */
async function writeFiles(directory: string, files: readonly SourceFile[]): Promise<void> {
  const root = resolve(directory) + sep;
  for (const { name } of files) {
    if (!resolve(root, name).startsWith(root)) {
      throw new CountersignError(
        'STORE_CORRUPT',
        `the revision has a file ${JSON.stringify(name)}, which would be outside of ${directory}. Nothing was written`,
      );
    }
  }
  for (const { name, text } of files) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
