import type { Command } from 'commander';
import { CountersignError } from '../errors.ts';
import { closestMatch } from '../values/closest-match.ts';
import type { Call } from './command.ts';
import type { Session } from './session.ts';

/** `--source`, for commands about one source or all of them. */
export function sourceOption(command: Command): Command {
  return command.option('--source <name>', 'only this source of the settings (default: all)');
}

/**
 * The source of `--source`, or all sources in the order of the settings. Throws USAGE for an unknown name.
 */
export function chosenSources(session: Session, call: Call): readonly string[] {
  const names = session.settings().sources.map(({ name }) => name);
  const wanted = call.option('source');
  return wanted === undefined ? names : [knownSource(session, wanted)];
}

/** Returns the name. Throws USAGE if no source of the settings has it. */
export function knownSource(session: Session, wanted: string): string {
  const names = session.settings().sources.map(({ name }) => name);
  if (names.includes(wanted)) return wanted;
  const match = closestMatch(wanted, names);
  const suggestion = match === undefined ? '' : `Did you mean ${match}? `;
  throw new CountersignError(
    'USAGE',
    `${session.settingsFile} has no source ${wanted}. ${suggestion}Its sources: ${names.join(', ')}`,
  );
}
