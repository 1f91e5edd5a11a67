import { readFile } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { ASSETS_FILE } from '../policy/language/assets.ts';
import { listFileLine } from '../policy/language/list-file.ts';
import { type Store, filesOf } from '../store/store.ts';
import { jsonOrText } from '../values/text.ts';
import { decodeUtf8 } from '../values/utf8.ts';
import { yamlText } from '../values/written-yaml.ts';
import { contentIn, contentOf, policyText } from './content.ts';
import { TESTS_DIRECTORY, policyFileNames, testFileNames } from './files.ts';

/*
 * The files of a revision as people wrote them, with comments and tests, beside its document.
 */

export interface SourceFile {
  /** Relative to the directory of the policies, with `/`. */
  readonly name: string;
  readonly text: string;
}

const shape = z.array(z.strictObject({ name: z.string(), text: z.string() }));
/** Larger files are not kept. Those that a revision refers to are in its document in any case. */
const KEPT_MAX_CHARACTERS = 4_194_304;

/**
 * The files of a directory in the form in which a store keeps them. Undefined if they are too large, or if
 * one can't be read: a push must be possible without them.
 */
export async function keptFiles(directory: string, document: string): Promise<string | undefined> {
  try {
    return await readKeptFiles(directory, document);
  } catch {
    return undefined;
  }
}

async function readKeptFiles(directory: string, document: string): Promise<string | undefined> {
  const { lists, files = {} } = contentIn(document, '');
  const names = [
    ...(await policyFileNames(directory)),
    ...(await testFileNames(directory)).map((name) => `${TESTS_DIRECTORY}/${name}`),
    ...Object.keys(lists),
    ...Object.keys(files),
  ];
  const read: SourceFile[] = [];
  let size = 0;
  for (const name of new Set(names)) {
    const text = decodeUtf8(await readFile(join(directory, name)));
    size += text.length;
    if (size > KEPT_MAX_CHARACTERS) return undefined;
    read.push({ name, text });
  }
  return keptText(read);
}

export function keptText(files: readonly SourceFile[]): string | undefined {
  const text = JSON.stringify(files.map(({ name, text: each }) => ({ name, text: each })));
  return text.length > KEPT_MAX_CHARACTERS * 2 ? undefined : text;
}

export interface RevisionFiles {
  readonly files: readonly SourceFile[];
  /** False if the files were made from the document, so that comments and tests are missing. */
  readonly asWritten: boolean;
}

/** The files of a revision. Throws STORE_CORRUPT if the store does not have its policies. */
export async function filesOfRevision(
  store: Pick<Store, 'document'>,
  revision: string,
): Promise<RevisionFiles> {
  const content = await contentOf(store, revision);
  const kept = filesInText((await store.document(filesOf(revision))) ?? '');
  const written = kept ?? [
    { name: 'policies.yaml', text: content.policies.map(policyText).join('---\n') },
    ...(content.assets === undefined ? [] : [{ name: ASSETS_FILE, text: yamlText(content.assets) }]),
  ];
  const there = new Set(written.map(({ name }) => name));
  // A candidate of the console may lack the files that the revision in force had.
  const referred = [
    ...Object.entries(content.lists).map(([name, values]) => ({
      name,
      text: values.map((value) => `${listFileLine(value)}\n`).join(''),
    })),
    ...Object.entries(content.files ?? {}).map(([name, text]) => ({ name, text })),
  ].filter(({ name }) => !there.has(name));
  return { files: [...written, ...referred], asWritten: kept !== undefined };
}

/** The files that {@link keptText} wrote; undefined for any other text. */
export function filesInText(text: string): readonly SourceFile[] | undefined {
  const kept = shape.safeParse(jsonOrText(text));
  return kept.data?.map(({ name, text: each }) => ({ name: placeOf(name), text: each }));
}

/** Where the file belongs: the console has the tests beside the policies. */
const placeOf = (name: string): string =>
  /\.test\.ya?ml$/i.test(name) && basename(name) === name ? `${TESTS_DIRECTORY}/${name}` : name;

/** Throws STORE_CORRUPT for a name that leads out of the directory: a push could have any names. */
export function assertInside(directory: string, files: readonly SourceFile[]): void {
  const root = resolve(directory) + sep;
  const outside = files.find(({ name }) => !resolve(root, name).startsWith(root));
  if (outside === undefined) return;
  throw new CountersignError(
    'STORE_CORRUPT',
    `the revision has a file ${JSON.stringify(outside.name)}, which would be outside of ${directory}. ` +
      'Nothing was written',
  );
}
