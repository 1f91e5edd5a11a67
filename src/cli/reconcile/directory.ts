import type { Command } from 'commander';
import { CountersignError } from '../../errors.ts';
import type { Call } from '../command.ts';
import type { Session } from '../session.ts';

export const directoryOption = (command: Command): Command =>
  command.option(
    '--directory <directory>',
    'where runs are kept; it must exist (default: reconcile.directory of the settings)',
  );

/** The directory of `--directory`, or of the settings. Throws USAGE if there is neither. */
export function directoryOf(session: Session, call: Call): string {
  const written = call.option('directory') ?? session.settings().reconcile.directory;
  return required('directory', written, 'the directory where runs are kept');
}

export function required(name: string, value: string | undefined, what: string): string {
  if (value !== undefined && value !== '') return value;
  throw new CountersignError('USAGE', `--${name} is missing. Give ${what}`);
}
