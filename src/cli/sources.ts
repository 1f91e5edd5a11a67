import type { Command } from 'commander';
import { usageError } from '../errors.ts';
import type { SourceSettings } from '../settings/schema.ts';
import { closestMatch } from '../values/closest-match.ts';
import type { Call } from './command.ts';
import type { SourceOf } from './sender-keys.ts';
import type { Session } from './session.ts';

/** `--source`, for commands about one source or all of them. */
export function sourceOption(command: Command): Command {
  return command.option('--source <name>', 'only this source of the settings (default: all)');
}

/** The sources in the order of the settings. */
export const sourceNames = (session: Session): readonly string[] =>
  session.settings().sources.map(({ name }) => name);

/**
 * The source of `--source`, or all sources in the order of the settings. Throws USAGE for an unknown name.
 */
export function chosenSources(session: Session, call: Call): readonly string[] {
  const wanted = call.option('source');
  return wanted === undefined ? sourceNames(session) : [knownSource(session, wanted)];
}

/** Returns the name. Throws USAGE if no source of the settings has it. */
export function knownSource(session: Session, wanted: string): string {
  const names = sourceNames(session);
  if (names.includes(wanted)) return wanted;
  const match = closestMatch(wanted, names);
  const suggestion = match === undefined ? '' : `Did you mean ${match}? `;
  throw usageError(
    `${session.settingsFile} has no source ${wanted}. ${suggestion}Its sources: ${names.join(', ')}`,
  );
}

/** The source of `--source`, or the first source of such callbacks. Throws USAGE. */
export function sourceFor<K extends SourceSettings['callback']>(
  session: Session,
  callback: K,
  name: string | undefined,
): SourceOf<K> {
  const fitting = session
    .settings()
    .sources.filter((each): each is SourceOf<K> => each.callback === callback);
  const source = name === undefined ? fitting[0] : fitting.find((each) => each.name === name);
  if (source !== undefined) return source;
  const known = fitting.map((each) => each.name).join(', ') || 'none';
  const what =
    name === undefined
      ? `source with callback: ${callback}. Add one`
      : `${callback} source ${name}. Its ${callback} sources: ${known}`;
  throw usageError(`${session.settingsFile} has no ${what}`);
}
