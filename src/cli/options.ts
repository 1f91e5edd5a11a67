import type { Command } from 'commander';
import { CountersignError } from '../errors.ts';
import type { Call } from './command.ts';

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
