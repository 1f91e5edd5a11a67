import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';

const PACKAGES = join(import.meta.dirname, '../../../packages');

it.each(readdirSync(PACKAGES))('npm packs no archive of packages/%s that could not run', (name) => {
  const archives = temporaryFolder();
  const { status, stderr } = spawnSync('npm', ['pack', '--pack-destination', archives], {
    cwd: join(PACKAGES, name),
    encoding: 'utf8',
  });
  expect(status).toBe(1);
  expect(stderr).toContain('Node runs no TypeScript below node_modules, so this folder is no npm package.');
  expect(readdirSync(archives)).toEqual([]);
});
