import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import type { Connection } from './connection.ts';
import { isReply } from './fault.ts';

/** One operation in Lua, as Redis is given it. */
export interface Script {
  readonly source: string;
  readonly sha: string;
  /** From the file's name (`notice-3.lua`); undefined where the number of keys varies. */
  readonly keys: number | undefined;
}

const FOLDER = new URL('scripts/', import.meta.url);

/**
 * Reads `scripts/<name>.lua`. A line `--- @include amount` is replaced by `scripts/include/amount.lua`, once.
 */
export function loadScript(name: string): Script {
  return scriptFrom(name, readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8'));
}

export function scriptFrom(name: string, text: string): Script {
  const source = withIncludes(text, new Set());
  const keys = /-(\d+)$/.exec(name)?.[1];
  return {
    source,
    sha: createHash('sha1').update(source).digest('hex'),
    keys: keys === undefined ? undefined : Number(keys),
  };
}

function withIncludes(text: string, included: Set<string>): string {
  return text.replaceAll(/^--- @include (\w+)$/gm, (_line, name: string) => {
    if (included.has(name)) return '';
    included.add(name);
    return withIncludes(readFileSync(new URL(`include/${name}.lua`, FOLDER), 'utf8'), included);
  });
}

/** Runs a script in one round trip; in a second one, with its text, if Redis does not know it (any more). */
export async function run(
  connection: Connection,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  const rest = [keys.length, ...keys, ...args];
  try {
    return await connection.call('evalsha', [script.sha, ...rest]);
  } catch (thrown) {
    if (!isReply(thrown)) throw thrown;
    return connection.call('eval', [script.source, ...rest]);
  }
}
