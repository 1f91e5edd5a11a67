import { expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import packageLock from '../../package-lock.json' with { type: 'json' };
import { textOf } from './documents.ts';

/* The version is that of package.json. These files can't read it, so they repeat it. */

const REPEATED: readonly (readonly [string, RegExp, number])[] = [
  ['compose.yaml', /\bimage: countersign:(\S+)/g, 1],
  ['Dockerfile', /^ARG VERSION=(\S+)/gm, 1],
  ['deploy/kubernetes/kustomization.yaml', /\bnewTag: ([^\s}]+)/g, 1],
  ['docs/deploy.md', /\bcountersign:(\d\S*)/g, 4],
  ['packages/platform/package.json', /"version": "(.*)"/g, 1],
  ['packages/sandbox/package.json', /"version": "(.*)"/g, 1],
];

it.each(REPEATED)('%s has the version of package.json', (path, pattern, times) => {
  const found = [...textOf(path).matchAll(pattern)].map(([, version]) => version);
  expect(found).toEqual(Array.from({ length: times }, () => packageJson.version));
});

it('package-lock.json has it, for the project and for each package', () => {
  const { version, packages } = packageLock;
  const { '': root, 'packages/platform': platform, 'packages/sandbox': sandbox } = packages;
  const versions = [version, ...[root, platform, sandbox].map((each) => each.version)];
  expect(versions).toEqual(versions.map(() => packageJson.version));
});
