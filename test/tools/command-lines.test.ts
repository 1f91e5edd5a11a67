import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The tools with options, and the program of each. */
const TOOLS = Object.entries(packageJson.scripts).flatMap(([script, command]) => {
  const [, program] = /^node (tools\/(?!demo|image|package|release|sbom)\S+\.ts)$/.exec(command) ?? [];
  return program === undefined ? [] : [[script, program] as const];
});

const run = (program: string, ...argv: readonly string[]) =>
  spawnSync(process.execPath, [program, ...argv], { cwd: ROOT, encoding: 'utf8' });

it('all tools are looked at', () => {
  expect(TOOLS.map(([script]) => script)).toEqual(
    expect.arrayContaining(['bench', 'chaos', 'end-to-end', 'fuzz', 'fuzz:policies', 'soak', 'sizing']),
  );
});

it.each(TOOLS)('npm run %s shows its options and an example, and does nothing', (script, program) => {
  const { status, stdout, stderr } = run(program, '--help');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^Usage: npm run ${script} -- \\[options\\]\n\n[A-Z]`));
  expect(stdout).toMatch(new RegExp(`\nExample:\n  npm run ${script} -- --\\w`));
  expect(run(program, '--nope')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: `error: unknown option '--nope'\n\`npm run ${script} -- --help\` shows the options.\n`,
  });
});

it('an argument without an option is refused', () => {
  expect(run('tools/fuzz/main.ts', 'nope')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('error: too many arguments. Expected 0 arguments but got 1: nope.'),
  });
});

it.each([
  ['tools/chaos/main.ts', '--minutes', '0'],
  ['tools/chaos/main.ts', '--minutes', '61'],
  ['tools/chaos/main.ts', '--only', 'nothing'],
  ['tools/soak/main.ts', '--steps', '2'],
  ['tools/fuzz/main.ts', '--seed', '-1'],
])('%s %s %s is refused before anything is done', (program, option, text) => {
  const { status, stdout, stderr } = run(program, option, text);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toContain(`argument '${text}' is invalid`);
});
