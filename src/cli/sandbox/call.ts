import type { Command } from 'commander';
import { z } from 'zod';
import { CountersignError, messageOf } from '../../errors.ts';
import type { ControlCommand } from '../../sandbox/control.ts';
import type { Call, ExitCode } from '../command.ts';
import { printableLines } from '../print.ts';
import type { Session } from '../session.ts';

export const CONTROL_PORT = '8071';
/** A poll of the co-signer asks about all that is pending. */
const TIMEOUT_MS = 300_000;

/** `--control-port`, for the commands that steer a sandbox. */
export function controlOption(command: Command): Command {
  return command.option('--control-port <port>', 'the control port of the sandbox', CONTROL_PORT);
}

const doneSchema = z.object({ text: z.string(), value: z.unknown() });
const failedSchema = z.object({ message: z.string() });

export type Done = z.infer<typeof doneSchema>;

/** Sends a command to the sandbox of `--control-port`. Throws USAGE. */
export async function callSandbox(call: Call, command: ControlCommand): Promise<Done> {
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
      throw new CountersignError(
        'USAGE',
        `no sandbox answers at ${url}: ${messageOf(cause)}. Start one with \`countersign sandbox\`, or give ` +
          'its --control-port',
      );
    });
  const done = doneSchema.safeParse(answer);
  if (done.success) return done.data;
  const failed = failedSchema.safeParse(answer);
  throw new CountersignError(
    'USAGE',
    failed.success
      ? `the sandbox refuses: ${failed.data.message}`
      : `${url} is not a sandbox. Give the --control-port of one`,
  );
}

/** Sends a command, and prints what the sandbox says. */
export async function steer(session: Session, call: Call, command: ControlCommand): Promise<ExitCode> {
  const { text, value } = await callSandbox(call, command);
  session.print(printableLines(text), value);
  return 0;
}
