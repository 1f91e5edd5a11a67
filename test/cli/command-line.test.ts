import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import type { CommandRow } from '../../src/cli/command.ts';
import { commandsFor } from '../../src/cli/commands.ts';
import { quotedWords, runCall } from './terminal.ts';

/** The words of an example; what is redirected is not the program's. */
const wordsOf = (line: string): readonly string[] => quotedWords(line.replace(/\s(?:<|>|>>|\|)\s.*$/, ''));

/** Parses a row's arguments and options as the program does, and runs nothing. */
function parse(row: CommandRow, words: readonly string[]): void {
  const command = new Command()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .option('--config <file>')
    .option('--json')
    .action(() => undefined);
  row.define?.(command);
  command.parse([...words], { from: 'user' });
}

const commands = await commandsFor([]);
const pathsFor = async (argv: readonly string[]): Promise<readonly string[]> =>
  (await commandsFor(argv)).map(({ path }) => path);
const lines = commands.flatMap((row) => row.example.split('\n').map((line) => ({ row, line })));

describe('--version', () => {
  const commit = 'ab12'.repeat(10);
  const of = { version: '1.2.3', commit };

  it.each([
    [['--version'], of, `countersign 1.2.3 (${commit})\n`],
    [['--version'], { ...of, commit: 'unknown' }, 'countersign 1.2.3 (commit unknown)\n'],
    [['--version', '--json'], of, `{"version":"1.2.3","commit":"${commit}"}\n`],
    [['--json', '--version'], { ...of, commit: 'unknown' }, '{"version":"1.2.3","commit":"unknown"}\n'],
  ])('%j of %j', async (argv, over, out) => {
    expect(await runCall(argv, over)).toMatchObject({ code: 0, out, err: '' });
  });
});

describe('the command line', () => {
  it('has each path once', () => {
    const paths = commands.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
  });

  it.each(commands)('$path is found by its words, and loaded alone', async (row) => {
    expect(await pathsFor(row.path.split(' '))).toEqual([row.path]);
    expect(await pathsFor([...row.path.split(' '), 'and', '--more'])).toEqual([row.path]);
  });

  it.each([
    [['polcy', 'push']],
    [['policy']],
    [['policy', '--help']],
    [['--json', 'serve']],
    [['help', 'serve']],
  ])('what names no command has them all: %j', async (argv) => {
    expect(await pathsFor(argv)).toEqual(commands.map(({ path }) => path));
  });

  it.each(commands)('$path says in a sentence what it does', ({ summary }) => {
    expect(summary).toMatch(/^[A-Z].{10,}\.$/);
  });

  it.each(lines)('$line is a real call', ({ row, line }) => {
    const path = row.path.split(' ');
    expect(wordsOf(line).slice(0, path.length)).toEqual(path);
    expect(() => parse(row, wordsOf(line).slice(path.length))).not.toThrow();
  });

  it('and an example that is none would be found', () => {
    const row = commands.find(({ path }) => path === 'policy show');
    if (row === undefined) throw new Error('there is no policy show');
    expect(() => parse(row, wordsOf('--unknown-option'))).toThrow('unknown option');
    expect(() => parse(row, wordsOf('one two'))).toThrow('too many arguments');
  });

  it.each(commands)('$path --help shows its examples, whole', async ({ path, example, summary }) => {
    const { code, out, err } = await runCall([...path.split(' '), '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const line of example.split('\n')) expect(out).toContain(`  countersign ${line}\n`);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(summary);
    expect(out).toContain('--json');
    expect(out).toContain('--config');
  });

  it('settings that are not there: 2, and the file is named', async () => {
    const { code, out, err } = await runCall(['policy', 'history', '--config', '/nowhere/settings.yaml']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('SETTINGS_INVALID');
    expect(err).toContain('/nowhere/settings.yaml');
  });

  it('a fault with --json is JSON on standard output, and nothing else', async () => {
    const { code, json, err } = await runCall(['policy', 'history', '--json', '--config', '/nowhere/s.yaml']);
    expect({ code, err }).toEqual({ code: 2, err: '' });
    expect(json()).toMatchObject({ error: { code: 'SETTINGS_INVALID' } });
  });
});
