import type { Command } from 'commander';
import { CountersignError } from '../errors.ts';
import type { Session } from './session.ts';

/** 0 done, 1 the answer is no, 2 the call itself was wrong. */
export type ExitCode = 0 | 1 | 2;

/** One row of the command line: `path` is its words, as in `policy push`. */
export interface CommandRow {
  readonly path: string;
  readonly summary: string;
  /** What `--help` shows as an example, without the program's name; a line each. */
  readonly example: string;
  /** Arguments and options of its own, beside --config and --json. */
  readonly define?: (command: Command) => void;
  readonly run: (session: Session, call: Call) => Promise<ExitCode>;
}

/** What the caller wrote: arguments in order, options by name. */
export interface Call {
  readonly arguments: readonly string[];
  option(name: string): string | undefined;
  flag(name: string): boolean;
  /** A whole number within bounds. Throws USAGE. */
  count(name: string, bounds: { readonly least: number; readonly most: number }): number | undefined;
}

/** `--by`, for commands that change something. */
export function byOption(command: Command): Command {
  return command.option(
    '--by <name>',
    'who is recorded as having done this (default: the user of this shell)',
  );
}

/** `--message`, for changes that must say why. */
export function messageOption(command: Command): Command {
  return command.requiredOption('--message <text>', 'why, for the history');
}

/** What `--message` says. Throws USAGE if that is nothing. */
export function neededMessage(call: Call): string {
  const message = call.option('message')?.trim() ?? '';
  if (message !== '') return message;
  throw new CountersignError(
    'USAGE',
    '--message is missing or empty; say why, for whoever reads the history',
  );
}
