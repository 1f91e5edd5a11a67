import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitOf } from '../../src/values/commit.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const COMMIT = 'ab12'.repeat(10);
const OTHER = 'cd34'.repeat(10);
const BRANCH = 'refs/heads/work/a';

type Files = Readonly<Record<string, string>>;

function folderWith(files: Files): string {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

const packed = `# pack-refs with: peeled fully-peeled sorted \n${OTHER} refs/heads/a\n${COMMIT} ${BRANCH}\n^${OTHER}\n`;
const onBranch = { '.git/HEAD': `ref: ${BRANCH}\n` };

describe('the commit is read', () => {
  it.each<[string, Files]>([
    ['from a commit that is checked out', { '.git/HEAD': `${COMMIT}\n` }],
    ['from the file of a branch', { ...onBranch, [`.git/${BRANCH}`]: `${COMMIT}\n` }],
    ['from packed branches', { ...onBranch, '.git/packed-refs': packed }],
    [
      'from the file of a branch before packed ones, which may be older',
      {
        ...onBranch,
        [`.git/${BRANCH}`]: `${COMMIT}\n`,
        '.git/packed-refs': packed.replaceAll(COMMIT, OTHER),
      },
    ],
    ['from the file of the image', { commit: `${COMMIT}\n` }],
    ['from the file of the image before a clone', { commit: COMMIT, '.git/HEAD': OTHER }],
  ])('%s', (_, files) => {
    expect(commitOf(folderWith(files))).toBe(COMMIT);
  });

  it.each<[string, Files]>([
    ['with a file of its own', { [`clone/.git/${BRANCH}`]: `${COMMIT}\n` }],
    ['that is packed', { 'clone/.git/packed-refs': packed }],
  ])('from the branch of a worktree %s', (_, files) => {
    const folder = folderWith({
      'tree/.git': 'gitdir: ../clone/.git/worktrees/tree\n',
      'clone/.git/HEAD': OTHER,
      'clone/.git/worktrees/tree/HEAD': `ref: ${BRANCH}\n`,
      'clone/.git/worktrees/tree/commondir': '../..\n',
      ...files,
    });
    expect(commitOf(join(folder, 'tree'))).toBe(COMMIT);
  });

  it('as a name of SHA-256', () => {
    expect(commitOf(folderWith({ '.git/HEAD': 'ef'.repeat(32) }))).toBe('ef'.repeat(32));
  });
});

describe('the commit is unknown', () => {
  it.each<[string, Files]>([
    ['without a clone', {}],
    ['on a branch without a commit', onBranch],
    [
      'if only a branch with a longer name is packed',
      { ...onBranch, '.git/packed-refs': `${COMMIT} ${BRANCH}b` },
    ],
    ['if the file of the image has something else', { commit: 'main', '.git/HEAD': COMMIT }],
    ['if HEAD has something else', { '.git/HEAD': `${COMMIT}\n<script>` }],
    ['if HEAD names a file outside of the references', { '.git/HEAD': 'ref: ../secret', secret: COMMIT }],
    ['if the link of a worktree leads nowhere', { '.git': 'gitdir: ../nowhere' }],
  ])('%s', (_, files) => {
    expect(commitOf(folderWith(files))).toBe('unknown');
  });
});
