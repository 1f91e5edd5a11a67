import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kind, KINDS } from '../../src/callback/callback.ts';
import type { CompiledPolicy, Release } from '../../src/policy/release.ts';
import { type Json, isObject } from '../../src/values/canonical.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { type GeneratedFile, type ReadFile, pageWith } from './marks.ts';

const DIRECTORY = 'docs/examples';

/** The names of the examples: the folders with policies and tests. */
export async function exampleNames(directory: string = DIRECTORY): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The page that lists the examples, with a table that is generated from their policies. */
export async function examplesPage(read: ReadFile): Promise<GeneratedFile> {
  const names = await exampleNames();
  const examples = await Promise.all(
    names.map(async (name) => ({ name, release: await readPolicyDirectory(join(DIRECTORY, name)) })),
  );
  const sections = [...KINDS, 'several' as const].flatMap((kind) => {
    const own = examples.filter(({ release }) => kindOf(release) === kind);
    if (own.length === 0) return [];
    const rows = own.map(
      ({ name, release }) =>
        `| ${descriptionOf(release)} | [${name}](${name}/policies.yaml) | ${rulesOf(release)} |`,
    );
    return [
      `## ${TITLES[kind]}\n\n| what the risk officer says | example | rules |\n| --- | --- | --- |\n${rows.join('\n')}\n`,
    ];
  });
  return pageWith(sections.join('\n'), `${DIRECTORY}/README.md`, read);
}

const TITLES: Readonly<Record<Kind | 'several', string>> = {
  payment: 'Payments',
  transfer: 'Withdrawals',
  web3: 'Web3 transactions',
  several: 'Several kinds of callbacks',
};

function kindOf({ policies }: Release): Kind | 'several' {
  const [first, ...others] = new Set(policies.map(({ callback }) => callback));
  return first === undefined || others.length > 0 ? 'several' : first;
}

/** What the policies say of themselves. */
function descriptionOf({ document }: Release): string {
  const release: Json = JSON.parse(document);
  const policies =
    isObject(release) && Array.isArray(release['policies']) ? (release['policies'] as readonly Json[]) : [];
  const texts = policies.map((policy) => (isObject(policy) ? policy['description'] : undefined));
  return texts
    .filter((text) => typeof text === 'string')
    .map((text) => text.trim().replaceAll(/\s+/g, ' '))
    .join(' ');
}

/** The rules that the policies use, and whether they use conditions and alternatives. */
function rulesOf({ policies }: Release): string {
  const names = new Set(policies.flatMap(({ rules }) => rules.map(({ name }) => name.replace(/#.*/, ''))));
  const groups = new Set(policies.flatMap(({ entries }) => entries.flatMap(groupsIn)));
  return [
    ...[...names].map((name) => `[${name}](../rules/${name}.md)`),
    ...[...groups].map((group) => `\`${group}\``),
  ].join(', ');
}

function groupsIn(entry: CompiledPolicy['entries'][number]): readonly string[] {
  const own = entry.when.texts.size + entry.when.conditions.length > 0 ? ['when'] : [];
  return 'group' in entry ? [...own, entry.group, ...entry.entries.flatMap(groupsIn)] : own;
}
