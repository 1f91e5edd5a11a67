import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kind, KINDS } from '../callback/callback.ts';
import type { CompiledPolicy, Release } from '../policy/release.ts';
import { type Json, isObject } from '../values/canonical.ts';
import { readPolicyDirectory } from './files.ts';

const DIRECTORY = 'docs/examples';

/** The names of the examples: the folders with policies and tests. */
export async function exampleNames(directory: string = DIRECTORY): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The page that lists the examples, generated from their policies: path from the root, and content. */
export async function examplesPage(): Promise<readonly [path: string, content: string]> {
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
  return [`${DIRECTORY}/README.md`, `${INTRODUCTION}\n${sections.join('\n')}`];
}

const TITLES: Readonly<Record<Kind | 'several', string>> = {
  payment: 'Payments',
  transfer: 'Withdrawals',
  web3: 'Web3 transactions',
  several: 'Several kinds of callbacks',
};

const INTRODUCTION = `# Example policies

<!-- Generated from the policies in this folder; change their descriptions. -->

Each folder has policies and their tests, with callbacks at both sides of each limit. Copy one, change it, and
run its tests with \`npx countersign policy test docs/examples/day-and-night\`. The rules are described in
[rules.md](../rules.md), conditions and alternatives in [conditions.md](../conditions.md).
`;

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
