import { Command, CommanderError } from 'commander';
import { CountersignError } from '../errors.ts';
import { printableJson } from '../values/printable.ts';
import type { Call, CommandRow, ExitCode } from './command.ts';
import { commandsFor } from './commands.ts';
import { printable, printableLines } from './print.ts';
import { OutputClosed, type Terminal, openSession } from './session.ts';

/** Runs one call of the command line; resolves with its exit code, never rejects. */
export async function runProgram(argv: readonly string[], around: Terminal): Promise<ExitCode> {
  const terminal = unsteered(around);
  let exitCode: ExitCode = 0;
  try {
    const program = programOf(await commandsFor(argv), terminal, (code) => {
      exitCode = code;
    });
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return failed(thrown, argv.includes('--json'), terminal);
  }
}

/** The terminal, with what could steer it escaped in all that is printed, whoever wrote it. */
function unsteered(terminal: Terminal): Terminal {
  const { out, err, progress } = terminal;
  return {
    ...terminal,
    out: (text) => out(printableLines(text)),
    err: (text) => err(printableLines(text)),
    ...(progress && { progress: (line: string) => progress(printable(line)) }),
  };
}

function programOf(
  rows: readonly CommandRow[],
  terminal: Terminal,
  ended: (code: ExitCode) => void,
): Command {
  const program = new Command('countersign')
    .description('Answers payment and signing confirmations: SUCCESS if authentic, first and within policy.')
    .version(terminal.version);
  silence(program, terminal);
  const groups = new Map<string, Command>();
  for (const row of rows) {
    const [first = '', second] = row.path.split(' ');
    const parent =
      second === undefined ? program : (groups.get(first) ?? group(program, first, groups, terminal));
    define(parent.command(second ?? first), row, terminal, ended);
  }
  return program;
}

const groupSummaries: Readonly<Record<string, string>> = {
  send: 'one callback, as the platform or the co-signer would send it',
  policy: 'policy files to a revision in force, and back',
  list: 'the lists that policies refer to',
  orders: 'what was announced to come, for `expected-order`',
  prices: 'prices of assets, for `value-limit`',
  decisions: 'what was decided, and why',
  journal: 'old entries of the journal, in files',
  signature: 'why a signature verifies or not',
};

function group(program: Command, name: string, groups: Map<string, Command>, terminal: Terminal): Command {
  const command = program.command(name).description(groupSummaries[name] ?? '');
  silence(command, terminal);
  groups.set(name, command);
  return command;
}

function define(
  command: Command,
  row: CommandRow,
  terminal: Terminal,
  ended: (code: ExitCode) => void,
): void {
  silence(command, terminal);
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
    });
    try {
      ended(await row.run(session, callOf(command, options)));
    } finally {
      await session.close();
    }
  });
}

function callOf(command: Command, options: Readonly<Record<string, unknown>>): Call {
  const given = command.processedArgs.flat().filter((each): each is string => typeof each === 'string');
  return {
    arguments: given,
    option: (name) => textOf(options[name]),
    flag: (name) => options[name] === true,
    count(name, { least, most }) {
      const text = textOf(options[name]);
      if (text === undefined) return undefined;
      const number = /^\d{1,15}$/.test(text) ? Number(text) : -1;
      if (number >= least && number <= most) return number;
      throw new CountersignError('USAGE', `--${name} ${text}: give a whole number from ${least} to ${most}`);
    },
  };
}

/** Commander prints through the terminal and throws instead of leaving the process. */
function silence(command: Command, terminal: Terminal): void {
  command
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError();
}

function failed(thrown: unknown, json: boolean, terminal: Terminal): ExitCode {
  if (thrown instanceof OutputClosed) return 0;
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  if (!(thrown instanceof CountersignError)) {
    terminal.err(`${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`);
    return 2;
  }
  const { code, message, data } = thrown;
  if (json) terminal.out(`${printableJson({ error: { code, message, data } })}\n`);
  else terminal.err(`${code}: ${message}\n`);
  return code === 'POLICY_INVALID' ||
    code === 'POLICY_CONFLICT' ||
    code === 'ORDER_CONFLICT' ||
    code === 'NOT_FOUND'
    ? 1
    : 2;
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
