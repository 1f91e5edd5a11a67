import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { ExitCode } from '../../src/cli/command.ts';
import { runProgram } from '../../src/cli/program.ts';
import type { Terminal } from '../../src/cli/session.ts';
import { closeDatabase, openDatabase } from '../../src/store/embedded/database.ts';
import { type TestServiceOptions, writeServiceFolder } from '../service.ts';

/** Where the settable clock of these tests stands. */
const NOW_MS = Date.UTC(2025, 5, 15, 12);

export interface Ran {
  readonly code: ExitCode;
  readonly out: string;
  readonly err: string;
  /** What was printed, as one JSON value. */
  readonly json: () => unknown;
}

/**
 * Runs a call that is written as one line: run`list add blocked ${values} --by ${'ada b'}`. A value is one word,
 * or a list of words. Or its words: run('list', 'add').
 */
export interface Run {
  (call: TemplateStringsArray, ...values: readonly (string | readonly string[])[]): Promise<Ran>;
  (...argv: readonly string[]): Promise<Ran>;
}

/** What runs calls that are written as lines, from what runs words. */
export function running(call: (argv: readonly string[]) => Promise<Ran>): Run {
  return (first?: string | TemplateStringsArray, ...rest: readonly (string | readonly string[])[]) =>
    call(typeof first === 'object' ? wordsOf(first, rest) : [first ?? [], ...rest].flat());
}

function wordsOf(
  call: TemplateStringsArray,
  values: readonly (string | readonly string[])[],
): readonly string[] {
  const line = call.reduce((before, text, at) => `${before}⟨${at - 1}⟩${text}`);
  const valueAt = (at: string): string | readonly string[] => values[Number(at)] ?? '';
  return line.split(' ').flatMap((word) => {
    const [, whole] = /^⟨(\d+)⟩$/.exec(word) ?? [];
    return whole === undefined
      ? word.replaceAll(/⟨(\d+)⟩/g, (_, at: string) => String(valueAt(at)))
      : valueAt(whole);
  });
}

/** The words of a line as a shell would give them. */
export const quotedWords = (line: string): readonly string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

/** Runs one call of the program in this process, with a terminal of the test's own. */
export async function runCall(argv: readonly string[], over: Partial<Terminal> = {}): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runProgram(argv, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    input: () => Promise.resolve(Buffer.alloc(0)),
    env: {},
    clock: () => NOW_MS,
    user: 'ada',
    version: '0.0.0',
    commit: 'unknown',
    stopped: () => Promise.resolve('SIGTERM'),
    ...over,
  });
  const printed = out.join('');
  return { code, out: printed, err: err.join(''), json: () => JSON.parse(printed) };
}

/** What a command that changed something tells people where no service runs. */
export const NOBODY_NOTED: unknown = expect.stringMatching(
  /^No service runs on \S+\. If one answers .*\.\n$/,
);

/** A call that ended so, and said this on standard error. */
export const reports = (code: ExitCode, text: string): object => ({
  code,
  err: expect.stringContaining(text),
});

/** A call that ended so, and printed this. */
export const prints = (code: ExitCode, text: string): object => ({
  code,
  out: expect.stringContaining(text),
});

export interface Place {
  /** Holds settings.yaml, policies/, keys and the store; removed when the test is over. */
  readonly folder: string;
  /** Runs a call with the settings of the folder. */
  readonly run: Run;
  /** The same, with a terminal that differs in this. */
  readonly runWith: (over: Partial<Terminal>) => Run;
  /** Writes a file of the folder; resolves its path. */
  readonly write: (name: string, text: string) => string;
}

/**
 * A folder with settings, keys and policies, a store that some service made unless `begun` is false, and none
 * that runs on it.
 */
export function place(
  options: TestServiceOptions = {},
  { begun = true }: { readonly begun?: boolean } = {},
): Place {
  const folder = writeServiceFolder(options);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  if (begun && options.redis === undefined) closeDatabase(openDatabase(join(folder, 'store.db')));
  return placeIn(folder);
}

/** The folder of a service. */
export function placeIn(folder: string): Place {
  const runWith = (over: Partial<Terminal>): Run =>
    running((argv) => runCall([...argv, '--config', join(folder, 'settings.yaml')], over));
  return {
    folder,
    run: runWith({}),
    runWith,
    write(name, text) {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    },
  };
}
