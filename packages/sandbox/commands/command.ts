import type { Command } from 'commander';
import { z } from 'zod';
import { messageOf, usageError } from '../../../src/errors.ts';
import type { Clock } from '../../../src/values/clock.ts';
import { printableLines } from '../../../src/values/text.ts';
import type { ControlCommand } from '../control.ts';

/** A command of the program that has the sandbox: what it gives to the command line. */
export interface SandboxCommand {
  /** Its words, such as `sandbox reset`. */
  readonly path: string;
  readonly summary: string;
  /** The examples of `--help`, one on each line, without the program's name. */
  readonly example: string;
  readonly define: (command: Command) => void;
  /** Resolves with the exit code, which is 0. Throws a CountersignError. */
  readonly run: (session: Session, call: Call) => Promise<0>;
}

/** What the program does for a command. */
export interface Session {
  readonly clock: Clock;
  /** Prints the text, or with `--json` the value as JSON. */
  print(text: string, value: unknown): void;
  /** Prints a line for people. */
  report(line: string): void;
  /** Resolves when the program is to end. */
  stopped(): Promise<unknown>;
}

/** The arguments of a call in order, and its options by name. */
export interface Call {
  readonly arguments: readonly string[];
  option(name: string): string | undefined;
  /** A whole number within bounds. Throws USAGE. */
  count(name: string, bounds: { readonly least: number; readonly most: number }): number | undefined;
}

export const CONTROL_PORT = '8071';
/** A poll of the co-signer asks about all that is pending. */
const TIMEOUT_MS = 300_000;

/** `--control-port`, for the commands that steer a sandbox. */
export function controlOption(command: Command): Command {
  return command.option('--control-port <port>', 'the control port of the sandbox', CONTROL_PORT);
}

/** A command that steers a sandbox and has no options of its own. */
export function steering(
  command: Extract<ControlCommand['command'], 'reset' | 'users' | 'signings' | 'poll' | 'self-check'>,
  summary: string,
  example = `sandbox ${command}`,
): SandboxCommand {
  return {
    path: `sandbox ${command}`,
    summary,
    example,
    define: controlOption,
    run: (session, call) => steer(session, call, { command }),
  };
}

const doneSchema = z.object({ text: z.string(), value: z.unknown() });
const failedSchema = z.object({ message: z.string() });

/** Sends a command to the sandbox of `--control-port`. Throws USAGE. */
export async function callSandbox(call: Call, command: ControlCommand): Promise<z.infer<typeof doneSchema>> {
  const port = call.count('controlPort', { least: 1, most: 65_535 }) ?? Number(CONTROL_PORT);
  const url = `http://127.0.0.1:${port}/`;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(command),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
    .then(async (response): Promise<unknown> => response.json())
    .catch((thrown: unknown) => {
      const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
      throw usageError(
        `no sandbox answers at ${url}: ${messageOf(cause)}. Start one with \`countersign sandbox\`, or give ` +
          'its --control-port',
      );
    });
  const done = doneSchema.safeParse(answer);
  if (done.success) return done.data;
  const failed = failedSchema.safeParse(answer);
  throw usageError(
    failed.success
      ? `the sandbox refuses: ${failed.data.message}`
      : `${url} is not a sandbox. Give the --control-port of one`,
  );
}

/** Sends a command, and prints what the sandbox says. */
export async function steer(session: Session, call: Call, command: ControlCommand): Promise<0> {
  const { text, value } = await callSandbox(call, command);
  session.print(printableLines(text), value);
  return 0;
}
