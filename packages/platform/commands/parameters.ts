import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { messageOf, usageError } from '../../../src/errors.ts';
import type { Operation } from '../operation.ts';
import type { Call, Session } from './program.ts';

/** `orderAmount` is `order-amount`. */
function optionName(parameter: string): string {
  return parameter.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * An option for each parameter. A secret has two, which name the place of its value: the arguments of a
 * process can be read by other users.
 */
export function parameterOptions(command: Command, operation: Operation): Command {
  const { parameters, secrets = [] } = operation;
  for (const [name, schema] of Object.entries(parameters.shape)) {
    const option = optionName(name);
    const about = `${(schema.description ?? '').replace(/\.$/, '')}${remark(operation, name)}`;
    if (secrets.includes(name)) {
      command.option(`--${option}-file <file>`, `a file with: ${about}`);
      command.option(`--${option}-env <name>`, `an environment variable with: ${about}`);
    } else {
      command.option(`--${option} <value>`, about);
    }
  }
  return command;
}

function remark({ parameters, oneOf = [] }: Operation, name: string): string {
  if (oneOf.includes(name)) return ` (one of ${oneOf.map((each) => `--${optionName(each)}`).join(', ')})`;
  const absent = parameters.shape[name]?.safeParse(undefined);
  if (absent?.success !== true) return ' (required)';
  return typeof absent.data === 'string' ? ` (default: ${absent.data})` : '';
}

/** The parameters of a call by name. Throws USAGE if the place of a secret can't be read. */
export function parametersOf(
  session: Session,
  call: Call,
  { parameters, secrets = [] }: Operation,
): Readonly<Record<string, string>> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(parameters.shape)) {
    const value = secrets.includes(name) ? secretOf(session, call, name) : call.option(name);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

function secretOf(session: Session, call: Call, name: string): string | undefined {
  const [file, variable] = [call.option(`${name}File`), call.option(`${name}Env`)];
  const option = optionName(name);
  if (variable !== undefined) {
    const value = session.env[variable];
    if (value !== undefined && value !== '') return value;
    throw usageError(`--${option}-env: ${variable} is not set. Set it, or name another`);
  }
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (thrown) {
    throw usageError(
      `--${option}-file: can't read ${file}: ${messageOf(thrown)}. Name a file that holds the value`,
    );
  }
}

/** The arguments of an example call. */
export function exampleOptions({ example, secrets = [] }: Operation): string {
  return Object.entries(example)
    .map(([name, value]) =>
      secrets.includes(name)
        ? ` --${optionName(name)}-file keys/${optionName(name)}.txt`
        : ` --${optionName(name)} ${/[\s]/.test(value) ? `"${value}"` : value}`,
    )
    .join('');
}
