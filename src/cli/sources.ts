import type { Command } from 'commander';
import { CountersignError } from '../errors.ts';
import { closestMatch } from '../values/closest-match.ts';
import type { Call } from './command.ts';
import type { Session } from './session.ts';

/** `--source`, for commands that look at one source or at all. */
export function sourceOption(command: Command): Command {
  return command.option('--source <name>', 'one source of the settings (default: all of them)');
}

/**
 * The source that `--source` names, else all of the settings, in their order. Throws USAGE for a name they
 * don't have.
 */
export function chosenSources(session: Session, call: Call): readonly string[] {
  const names = session.settings().sources.map(({ name }) => name);
  const wanted = call.option('source');
  return wanted === undefined ? names : [knownSource(session, wanted)];
}

/** The name itself. Throws USAGE if no source of the settings has it. */
export function knownSource(session: Session, wanted: string): string {
  const names = session.settings().sources.map(({ name }) => name);
  if (names.includes(wanted)) return wanted;
  const meant = closestMatch(wanted, names);
  throw new CountersignError(
    'USAGE',
    `no source of ${session.settingsFile} is called ${wanted}; ${meant === undefined ? 'there are' : `did you mean ${meant}? There are`}: ${names.join(', ')}`,
  );
}
