import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { messageOf, usageError } from '../../../src/errors.ts';
import { INSTANT_FORM, readInstant } from '../../../src/values/clock.ts';
import { DAY_MS } from '../time.ts';
import { type SandboxCommand, callSandbox, controlOption, steer, steering } from './command.ts';

export const sandboxReset = steering('reset', 'Set the records of the sandbox back to those of its seed.');

export const sandboxSnapshot: SandboxCommand = {
  path: 'sandbox snapshot',
  summary: 'Write the records and the clock of the sandbox to a file.',
  example: 'sandbox snapshot before.json',
  define: (command) => controlOption(command).argument('<file>', 'the file to write'),
  async run(session, call) {
    const [file = ''] = call.arguments;
    const { value } = await callSandbox(call, { command: 'snapshot' });
    try {
      writeFileSync(file, z.string().parse(value), { mode: 0o600 });
    } catch (thrown) {
      throw usageError(`can't write ${file}: ${messageOf(thrown)}. Name a file that this user may write`);
    }
    session.print(`The snapshot is in ${file}.`, { file });
    return 0;
  },
};

export const sandboxRestore: SandboxCommand = {
  path: 'sandbox restore',
  summary: 'Set the records and the clock of the sandbox to those of a snapshot.',
  example: 'sandbox restore before.json',
  define: (command) => controlOption(command).argument('<file>', 'a file of `sandbox snapshot`'),
  run: (session, call) =>
    steer(session, call, { command: 'restore', snapshot: textOf(call.arguments[0] ?? '') }),
};

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw usageError(`can't read ${file}: ${messageOf(thrown)}. Name a file of \`sandbox snapshot\``);
  }
}

export const sandboxClock: SandboxCommand = {
  path: 'sandbox clock',
  summary: 'Show, set or move the clock of the sandbox.',
  example: 'sandbox clock show\nsandbox clock set 2026-03-02T10:00:00Z\nsandbox clock move 1d',
  define: (command) =>
    controlOption(command)
      .argument('<action>', 'show, set or move')
      .argument('[to]', 'an instant for set; a duration such as 90s, 2h or 1d for move'),
  run(session, call) {
    const [action = '', to = ''] = call.arguments;
    if (action === 'show') return steer(session, call, { command: 'clock-show' });
    if (action === 'set') {
      const atMs = readInstant(to);
      if (atMs !== undefined) return steer(session, call, { command: 'clock-set', atMs });
      throw usageError(`${to} is not an instant. Write ${INSTANT_FORM}`);
    }
    if (action !== 'move') {
      throw usageError(`${action} is not an action. Write show, set or move`);
    }
    const byMs = durationMs(to);
    if (byMs > 0) return steer(session, call, { command: 'clock-move', byMs });
    throw usageError(`${to} is not a duration. Write 90s, 2h or 1d`);
  },
};

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS };

/** 0 for a text that is no duration. */
function durationMs(written: string): number {
  const [, count = '0', unit = ''] = /^(\d{1,4})([smhd])$/.exec(written) ?? [];
  return Number(count) * (UNITS_MS[unit] ?? 0);
}

export const sandboxLog: SandboxCommand = {
  path: 'sandbox log',
  summary: 'Show what the sandbox was asked and sent, what was signed, and why it was accepted or not.',
  example: 'sandbox log\nsandbox log --count 5 --json',
  define: (command) => controlOption(command).option('--count <number>', 'the most entries', '50'),
  run: (session, call) =>
    steer(session, call, { command: 'log', count: call.count('count', { least: 1, most: 10_000 }) ?? 50 }),
};
