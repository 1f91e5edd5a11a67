import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandsFor } from '../../src/cli/commands.ts';
import { ROOT, fencedLines, textOf } from './documents.ts';

/** Longer words first: `reconcile close` before `reconcile`. */
const commands = (await commandsFor([])).toSorted((a, b) => b.path.length - a.path.length);

const DOCUMENTS = [
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
  'compose.yaml',
  'deploy/kubernetes/operator.yaml',
];

/**
 * The words of each call of the command line that a document makes, in fences, in code within sentences, and
 * in comments.
 */
function callsIn(path: string): readonly (readonly string[])[] {
  const text = textOf(path);
  const sentences = text.replaceAll(/^ *```[^]*?^ *```$/gm, '');
  const inline = [...sentences.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code ?? '');
  const lines = path.endsWith('.md') ? [...fencedLines(text), ...inline] : text.split('\n');
  return lines.flatMap((line) => {
    const [, call] =
      /(?:^|npx |-- |[$#] |run --rm operator )countersign ([a-z].*)$/.exec(line) ??
      /run --rm operator ([a-z].*)$/.exec(line) ??
      [];
    return call === undefined ? [] : [wordsOf(call)];
  });
}

/** As a shell would give them; what is redirected is not the program's. */
function wordsOf(call: string): readonly string[] {
  const own = call.replace(/\s(?:<|>|>>|\|)\s.*$/, '').replace(/\s+#.*$/, '');
  return [...own.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/** Reads a call as the program does, and runs nothing. Throws where it is none. */
function expectCall(words: readonly string[]): void {
  const row = commands.find(({ path }) => path === words.slice(0, path.split(' ').length).join(' '));
  const isGroup = commands.some(({ path }) => path.startsWith(`${words.join(' ')} `));
  if (row === undefined && isGroup) return;
  if (row === undefined) throw new Error(`no command is called ${words.join(' ')}`);
  // Named without its arguments, it is the command that is meant.
  if (words.length === row.path.split(' ').length) return;
  const command = new Command()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined, writeOut: () => undefined })
    .option('--config <file>')
    .option('--json')
    .action(() => undefined);
  row.define?.(command);
  const rest = words.slice(row.path.split(' ').length);
  if (!rest.includes('--help')) command.parse([...rest], { from: 'user' });
}

describe('every call in the documents is one that the program takes', () => {
  const calls = DOCUMENTS.flatMap((path) =>
    callsIn(path).map((words) => [path, words.join(' '), words] as const),
  );

  it('of which there are many', () => {
    expect(calls.length).toBeGreaterThan(40);
  });

  it.each(calls)('%s: %s', (_path, _call, words) => {
    expect(() => expectCall(words)).not.toThrow();
  });

  it.each([
    ['polcy push', 'no command is called'],
    ['policy push --massage x', 'unknown option'],
    ['policy rollback --message x', "missing required argument 'revision'"],
    ['freeze one two', 'too many arguments'],
  ])('and one that is none is found: %s', (call, because) => {
    expect(() => expectCall(wordsOf(call))).toThrow(because);
  });
});
