import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../../tools/bench/main.ts', import.meta.url));

it.each([
  ['--help', { status: 0, stdout: expect.stringMatching(/^Usage: npm run bench -- /), stderr: '' }],
  [
    '--nope',
    { status: 2, stdout: '', stderr: expect.stringMatching(/^Unknown option '--nope'.*\n\nUsage: /) },
  ],
] as const)('npm run bench -- %s measures nothing, and says how it is used', (option, expected) => {
  expect(spawnSync(process.execPath, [PROGRAM, option], { encoding: 'utf8' })).toMatchObject(expected);
});
