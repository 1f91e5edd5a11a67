import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { Refusal, guard, notes } from '../../tools/release/main.ts';
import { ROOT, textOf } from '../deploy/documents.ts';

const OLDER = '## 0.1.0 (2026-11-28)\n\nThe first release.\n';
const SOURCES = {
  packageJson: '{"version":"0.2.0"}',
  changelog: `# Changelog\n\nSome words.\n\n## 0.2.0 (2027-01-31)\n\nMore.\n\n### Stores\n\nFaster.\n\n${OLDER}`,
  dockerfile: 'FROM node:26.10.0-slim AS a\nRUN x\nFROM node:26.10.0-slim\n',
};

const headed = (heading: string) => ({ changelog: `# Changelog\n\n## ${heading}\n\nMore.\n\n${OLDER}` });

describe('a release', () => {
  it('has the version, the base and the name of the image, which has no capitals', () => {
    expect(guard('v0.2.0', 'Ada/CounterSign', SOURCES)).toBe(
      'version=0.2.0\nbase=node:26.10.0-slim\nimage=ghcr.io/ada/countersign\n',
    );
  });

  it('has the newest page of the changelog as its notes', () => {
    expect(notes(SOURCES)).toBe('More.\n\n### Stores\n\nFaster.\n');
  });

  it.each<[string, string, string, Partial<typeof SOURCES>]>([
    ['another tag', 'v0.1.0', 'the tag v0.1.0 is not v0.2.0', {}],
    ['a tag without v', '0.2.0', 'the tag 0.2.0 is not v0.2.0', {}],
    ['a tag with more', 'v0.2.0-rc.1', 'the tag v0.2.0-rc.1 is not v0.2.0', {}],
    ['no tag', '', 'the tag  is not v0.2.0', {}],
    ['a page without a day', 'v0.2.0', 'says "0.2.0 (not yet released)"', headed('0.2.0 (not yet released)')],
    ['a page with no heading but the version', 'v0.2.0', 'says "0.2.0 "', headed('0.2.0')],
    ['a page with another day format', 'v0.2.0', 'says "0.2.0 (31.1.2027)"', headed('0.2.0 (31.1.2027)')],
    ['a newer page', 'v0.2.0', 'is not that of 0.2.0', headed('0.3.0 (2027-02-01)')],
    ['no page', 'v0.2.0', 'is not that of 0.2.0', { changelog: `# Changelog\n\n${OLDER}` }],
    ['two bases', 'v0.2.0', 'starts from 2 images', { dockerfile: 'FROM a:1\nFROM b:1\n' }],
  ])('is refused with %s', (_, tag, because, over) => {
    const refused = (): string => guard(tag, 'ada/countersign', { ...SOURCES, ...over });
    expect(refused).toThrow(Refusal);
    expect(refused).toThrow(because);
  });

  it.each(['', 'countersign', 'ada/countersign\nimage=ghcr.io/eve/x', 'ada/$(x)'])(
    'is refused with the repository %j',
    (repository) => {
      expect(() => guard('v0.2.0', repository, SOURCES)).toThrow('It must be OWNER/NAME');
    },
  );
});

describe('npm run release', () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['tools/release/main.ts', ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { GITHUB_REPOSITORY: 'ada/countersign' },
    });

  it('refuses another tag, in a line', () => {
    const because = `the tag v9.9.9 is not v${packageJson.version}, the version of package.json. Change one of them`;
    expect(run('guard', 'v9.9.9')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `no release: ${because}.\n`,
    });
  });

  it('prints the page of this version, which is in the changelog', () => {
    const { status, stdout } = run('notes');
    expect(status).toBe(0);
    expect(stdout.length).toBeGreaterThan(100);
    expect(textOf('CHANGELOG.md')).toContain(stdout);
  });

  it('refuses what it does not know', () => {
    expect(run()).toMatchObject({ status: 1, stderr: 'no release: give guard TAG, or notes.\n' });
  });
});
