import { Command, CommanderError } from 'commander';
import { CountersignError, ERRORS, usageError } from '../errors.ts';
import { printableJson } from '../values/printable.ts';
import { type Call, type CommandRow, type ExitCode, optionName } from './command.ts';
import { commandsFor } from './commands.ts';
import { printable, printableLines } from './print.ts';
import { OutputClosed, type Terminal, openSession } from './session.ts';

/** Runs one call of the command line. Resolves with its exit code, and never rejects. */
export async function runProgram(argv: readonly string[], unsafe: Terminal): Promise<ExitCode> {
  const terminal = withoutControls(unsafe);
  let exitCode: ExitCode = 0;
  try {
    const program = programOf(await commandsFor(argv), terminal, argv.includes('--json'), (code) => {
      exitCode = code;
    });
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return reportFailure(thrown, argv.includes('--json'), terminal);
  }
}

/** A terminal that escapes all control characters, because printed texts may come from untrusted senders. */
function withoutControls(terminal: Terminal): Terminal {
  const { out, err, progress, confirm } = terminal;
  return {
    ...terminal,
    out: (text) => out(printableLines(text)),
    err: (text) => err(printableLines(text)),
    ...(progress && { progress: (line: string) => progress(printable(line)) }),
    ...(confirm && { confirm: (question: string) => confirm(printable(question)) }),
  };
}

function programOf(
  rows: readonly CommandRow[],
  terminal: Terminal,
  json: boolean,
  setExitCode: (code: ExitCode) => void,
): Command {
  const program = new Command('countersign')
    .description(
      'Answers payment and signing confirmations: SUCCESS if the callback is authentic, does not change an ' +
        'earlier order, and is within the policies.',
    )
    .version(versionText(terminal, json));
  printThroughTerminal(program, terminal);
  const groups = new Map<string, Command>();
  for (const row of rows) {
    const [first = '', second] = row.path.split(' ');
    const parent =
      second === undefined ? program : (groups.get(first) ?? group(program, first, groups, terminal));
    const command = parent.command(second ?? first);
    // A command such as `sandbox` is also the group of the commands that begin with its word. Options after
    // their second word are theirs.
    if (second === undefined) groups.set(first, command.enablePositionalOptions());
    define(command, row, terminal, setExitCode);
  }
  return program;
}

/** `countersign 0.1.0 (`, the commit and `)`. */
function versionText({ version, commit }: Terminal, json: boolean): string {
  if (json) return printableJson({ version, commit });
  return `countersign ${version} (${commit === 'unknown' ? 'commit unknown' : commit})`;
}

const groupSummaries: Readonly<Record<string, string>> = {
  send: 'Send a callback as the platform or the co-signer does.',
  simulate: 'Say what a callback would be answered now, without sending it.',
  policy: 'Check, test, push and roll back policies.',
  approvals: 'Show what waits for people, and approve or reject it.',
  list: 'Show and change the lists that policies use.',
  orders: 'Announce orders for the rule `expected-order`.',
  prices: 'Set prices of assets for the rule `value-limit`.',
  console: 'Invite people to the console, and show and remove them.',
  clock: "Show and accept the store's clock.",
  decisions: 'Show, explain and export decisions.',
  audit: 'Export what an auditor needs of a period, with a program that verifies it.',
  journal: 'Archive old entries of the journal, and verify the archive.',
  openapi: "Print the OpenAPI documents of the platform's operations and of this service.",
  platform: "Call the platform's operations.",
  signature: 'Explain why a signature is valid or not.',
  store: 'Back the embedded store up, and restore it.',
  limits: 'Show how much of the limits is used.',
  lockout: 'Show who is locked out by the rule `lock-out`, and lift lock-outs.',
};

function group(program: Command, name: string, groups: Map<string, Command>, terminal: Terminal): Command {
  const command = program.command(name).description(groupSummaries[name] ?? '');
  printThroughTerminal(command, terminal);
  groups.set(name, command);
  return command;
}

function define(
  command: Command,
  row: CommandRow,
  terminal: Terminal,
  setExitCode: (code: ExitCode) => void,
): void {
  printThroughTerminal(command, terminal);
  command
    .description(row.summary)
    .option('--config <file>', 'the settings file (default: $COUNTERSIGN_CONFIG or config/countersign.yaml)')
    .option('--json', 'print JSON for machines')
    .addHelpText('after', `\nExample:\n  countersign ${row.example.replaceAll('\n', '\n  countersign ')}\n`);
  row.define?.(command);
  command.action(async () => {
    const options = command.opts<Record<string, unknown>>();
    const session = openSession(terminal, {
      config: textOf(options['config']),
      json: options['json'] === true,
      by: textOf(options['by']),
      key: textOf(options['key']),
    });
    try {
      setExitCode(await row.run(session, callOf(command, options)));
    } finally {
      await session.close();
    }
  });
}

function callOf(command: Command, options: Readonly<Record<string, unknown>>): Call {
  return {
    arguments: textsOf(command.processedArgs),
    option: (name) => textOf(options[name]),
    options: (name) => textsOf([options[name]]),
    flag: (name) => options[name] === true,
    count(name, { least, most }) {
      const text = textOf(options[name]);
      if (text === undefined) return undefined;
      const number = /^\d{1,15}$/.test(text) ? Number(text) : -1;
      if (number >= least && number <= most) return number;
      throw usageError(
        `${optionName(name)} ${text} is not valid. Give a whole number from ${least} to ${most}`,
      );
    },
  };
}

/** Makes commander print through the terminal, and throw instead of ending the process. */
function printThroughTerminal(command: Command, terminal: Terminal): void {
  command.exitOverride().configureOutput({
    writeOut: terminal.out,
    writeErr: terminal.err,
    // The whole help would hide what is wrong.
    outputError: (text, write) => write(`${text}${usageOf(command)}`),
  });
}

/** `Usage: countersign policy push [options] [directory]; --help explains it`. */
function usageOf(command: Command): string {
  const words: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) words.unshift(at.name());
  return `Usage: ${words.join(' ')} ${command.usage()}; --help explains it\n`;
}

function reportFailure(thrown: unknown, json: boolean, terminal: Terminal): ExitCode {
  if (thrown instanceof OutputClosed) return 0;
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  if (!(thrown instanceof CountersignError)) {
    terminal.err(`${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`);
    return 2;
  }
  const { code, message, data } = thrown;
  if (code === 'AWAITS_SIGNATURES') terminal.out(`${json ? printableJson(data) : sentence(message)}\n`);
  else if (json) terminal.out(`${printableJson({ error: { code, message, data } })}\n`);
  else terminal.err(`${code}: ${message}\n`);
  // Whatever the platform says, it may have done what was requested.
  return code === 'PLATFORM_REFUSED' && data['outcome'] !== 'refused' ? 2 : ERRORS[code].exit;
}

const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;

const textsOf = (values: readonly unknown[]): readonly string[] =>
  values.flat().filter((each): each is string => typeof each === 'string');
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
