import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { storeTraces, traced } from '../../observe/traces.ts';
import type { Connection } from './connection.ts';
import { isUnknownScript } from './faults.ts';

/** A Lua script as Redis runs it. */
export interface Script {
  /** That of its file, without the number of keys. */
  readonly name: string;
  readonly source: string;
  readonly sha: string;
  /** How many keys it takes, from the name of its file (`push-3.lua`); undefined if the number varies. */
  readonly keys: number | undefined;
}

const FOLDER = new URL('scripts/', import.meta.url);

/** Reads `scripts/<name>.lua`. Each line `--- @include x` inserts `scripts/include/x.lua` once. */
export function loadScript(name: string): Script {
  return scriptFrom(name, readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8'));
}

export function scriptFrom(name: string, text: string): Script {
  const source = withIncludes(text, new Set());
  const keys = /-(\d+)$/.exec(name)?.[1];
  return {
    name: name.replace(/-\d+$/, ''),
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

/**
 * Runs a script by its hash in one round trip. If Redis does not know the script, a second round trip sends
 * its text.
 */
export function run(
  connection: Connection,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  // A decision has up to several hundred arguments, which `concat` copies faster than `...` does.
  const callWith = (name: string, head: readonly (string | number)[]): Promise<unknown> =>
    connection.call(name, head.concat(keys, args));
  const message = { system: 'redis', operation: 'EVALSHA', script: script.name } as const;
  return traced(storeTraces, message, () =>
    callWith('evalsha', [script.sha, keys.length]).catch((thrown: unknown) => {
      if (!isUnknownScript(thrown)) throw thrown;
      return callWith('eval', [script.source, keys.length]);
    }),
  );
}
