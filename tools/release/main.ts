import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * What .github/workflows/release.yml asks of the project's files:
 *
 *   npm run --silent release -- guard TAG   whether TAG may be released, and names that other jobs need
 *   npm run --silent release -- notes       the page of CHANGELOG.md of this version
 *
 * It needs Node alone, so the first job installs no packages.
 */

/** What may be released: the texts of the files that name a version. */
export interface Sources {
  readonly packageJson: string;
  readonly changelog: string;
  readonly dockerfile: string;
}

/** The release can't be made; the message says why and what to do. */
export class Refusal extends Error {}

/**
 * Lines for GITHUB_OUTPUT: `version`, `base` (the image that the Dockerfile starts from) and `image` (the name
 * of ours in the registry). Throws a {@link Refusal} unless the tag and the changelog name the version.
 */
export function guard(
  tag: string,
  repository: string,
  { packageJson, changelog, dockerfile }: Sources,
): string {
  const version = versionOf(packageJson);
  if (tag !== `v${version}`) {
    throw new Refusal(`the tag ${tag} is not v${version}, the version of package.json. Change one of them`);
  }
  const { heading } = pageOf(changelog, version);
  if (!/^\(\d{4}-\d\d-\d\d\)$/.test(heading)) {
    throw new Refusal(
      `CHANGELOG.md says "${version} ${heading}". ` +
        `Write the day of the release, such as ## ${version} (2026-11-28)`,
    );
  }
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository)) {
    throw new Refusal(`GITHUB_REPOSITORY is "${repository}". It must be OWNER/NAME`);
  }
  const bases = new Set([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base));
  if (bases.size !== 1) throw new Refusal(`the Dockerfile starts from ${bases.size} images. Use one`);
  // Names of images have no capitals.
  return `version=${version}\nbase=${[...bases].join()}\nimage=ghcr.io/${repository.toLowerCase()}\n`;
}

/** What changed in this version, as the notes of a release. */
export function notes({ packageJson, changelog }: Sources): string {
  return `${pageOf(changelog, versionOf(packageJson)).text}\n`;
}

function versionOf(packageJson: string): string {
  return (JSON.parse(packageJson) as { readonly version: string }).version;
}

/** The newest page of the changelog: what stands behind the version in its heading, and its text. */
function pageOf(changelog: string, version: string): { readonly heading: string; readonly text: string } {
  const [, page = ''] = changelog.split(/^## /m);
  const [first = '', ...lines] = page.split('\n');
  const [named, ...heading] = first.split(' ');
  if (named !== version)
    throw new Refusal(`the newest page of CHANGELOG.md is not that of ${version}. Write it`);
  return { heading: heading.join(' '), text: lines.join('\n').trim() };
}

if (import.meta.main) {
  const textOf = (name: string): string => readFileSync(join(import.meta.dirname, '../..', name), 'utf8');
  const sources = {
    packageJson: textOf('package.json'),
    changelog: textOf('CHANGELOG.md'),
    dockerfile: textOf('Dockerfile'),
  };
  const [command, tag = ''] = process.argv.slice(2);
  try {
    if (command === 'guard')
      process.stdout.write(guard(tag, process.env['GITHUB_REPOSITORY'] ?? '', sources));
    else if (command === 'notes') process.stdout.write(notes(sources));
    else throw new Refusal('give guard TAG, or notes');
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    console.error(`no release: ${thrown.message}.`);
    process.exitCode = 1;
  }
}
