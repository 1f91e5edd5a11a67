import { Command, InvalidArgumentError } from 'commander';

/**
 * The command line of a tool that `npm run SCRIPT` starts. `--help` shows its options with an example. An option that
 * is unknown or wrong ends the process with code 2, before anything is done.
 */
export function commandLine(script: string, description: string, example: string): Command {
  const command = `npm run ${script} --`;
  return new Command(command)
    .usage('[options]')
    .description(description)
    .helpOption('--help', 'show this')
    .addHelpText('after', `\nExample:\n  ${command} ${example}`)
    .showHelpAfterError(`\`${command} --help\` shows the options.`)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

/** For an option that takes a whole number: how its text is read. */
export const wholeNumber =
  ({ least, most }: { readonly least: number; readonly most: number }) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d{1,15}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Write digits for a number from ${least} to ${most}.`);
  };

/** For an option that takes minutes, which may have decimals: how its text is read. */
export const minutesUpTo =
  (most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d{1,4}(\.\d{1,3})?$/.test(text) && value > 0 && value <= most) return value;
    throw new InvalidArgumentError(`Write digits for minutes up to ${most}, such as 8.5.`);
  };
