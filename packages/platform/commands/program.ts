import type { Command } from 'commander';
import type { Clock } from '../../../src/values/clock.ts';
import type { PlatformConfig, PlatformParts } from '../connection.ts';

/*
 * What the commands need of the program that has them, and what they give it. They import nothing of it.
 */

/** The arguments of a call in order, and its options by name. */
export interface Call {
  readonly arguments: readonly string[];
  option(name: string): string | undefined;
  flag(name: string): boolean;
}

/** Where a call runs. */
export interface Session {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Prints the text, or the value for programs. */
  print(text: string, value: unknown): void;
  /** Prints a line for people on standard error. */
  report(line: string): void;
  /** Shows the progress of long work. The empty text clears it. */
  progress(line: string): void;
  /** Resolves once the reader has taken the output. */
  drained(): Promise<void>;
}

/** How a program with sessions of its own connects to the platform. */
export interface Program<S extends Session, C extends Call> {
  /** Adds the options that `connect` reads. */
  connectionOptions(command: Command): Command;
  connect(session: S, call: C): { readonly config: PlatformConfig; readonly parts: PlatformParts };
}

/** A command, as a row of the program's table. */
export interface Row<S extends Session, C extends Call> {
  readonly path: string;
  readonly summary: string;
  /** The examples of `--help`, one on each line. */
  readonly example: string;
  define(command: Command): void;
  /** Resolves with 1 if the output isn't whole. */
  run(session: S, call: C): Promise<0 | 1>;
}
