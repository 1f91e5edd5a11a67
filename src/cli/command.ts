import type { Command } from 'commander';
import { usageError } from '../errors.ts';
import type { Session } from './session.ts';

/** 0: done. 1: the answer is no. 2: the call was wrong, or it failed. */
export type ExitCode = 0 | 1 | 2;

/** A command. */
export interface CommandRow {
  /** Its words, such as `policy push`. */
  readonly path: string;
  readonly summary: string;
  /** The examples of `--help`, one on each line, without the program's name. */
  readonly example: string;
  /** Adds its arguments and options. Every command has --config and --json. */
  readonly define?: (command: Command) => void;
  readonly run: (session: Session, call: Call) => Promise<ExitCode>;
}

/** The arguments of a call in order, and its options by name. */
export interface Call {
  readonly arguments: readonly string[];
  option(name: string): string | undefined;
  /** The texts of an option that can have several. */
  options(name: string): readonly string[];
  flag(name: string): boolean;
  /** A whole number within bounds. Throws USAGE. */
  count(name: string, bounds: { readonly least: number; readonly most: number }): number | undefined;
}

/** The option as people write it: `--speed-ups` for `speedUps`. */
export function optionName(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `--by`, for commands that change something. */
export function byOption(command: Command): Command {
  return command.option('--by <name>', 'the name to record for this change (default: your user name)');
}

/** `--key`, for changes that may wait for a second person. */
export function fourEyesKey(command: Command): Command {
  return command.option(
    '--key <file>',
    'where a second person must sign: sign as the first one, with this SSH key or the key of the agent whose .pub file this is',
  );
}

/** `--message`, for changes that must say why. */
export function messageOption(command: Command): Command {
  return command.requiredOption('--message <text>', 'the reason, for the history');
}

/** The text of `--message`. Throws USAGE if it is empty. */
export function requiredMessage(call: Call): string {
  const message = call.option('message')?.trim() ?? '';
  if (message !== '') return message;
  throw usageError(
    '--message is missing or empty. Write the reason for this change, for readers of the history',
  );
}
