import type { DatabaseSync } from 'node:sqlite';
import type { Store } from '../store.ts';
import { text } from './rows.ts';

/** The sources that were ever registered: what holds for all of them is told by the journal of each. */
export interface SourceTable {
  names(): readonly string[];
  register(sources: readonly string[]): void;
}

export function createSources(connection: DatabaseSync): SourceTable {
  const all = connection.prepare('SELECT name FROM source ORDER BY name');
  const add = connection.prepare('INSERT INTO source VALUES (?) ON CONFLICT DO NOTHING');
  return {
    names: () => all.all().map((row) => text(row, 'name')),
    register(sources) {
      for (const source of sources) add.run(source);
    },
  };
}

/**
 * The store's verb. Sources that are known cost no write, so that a command can read where nothing can be
 * written.
 */
export function createRegister(
  names: () => Promise<readonly string[]>,
  register: Store['register'],
): Store['register'] {
  return async (sources) => {
    const known = new Set(await names());
    if (sources.some((source) => !known.has(source))) await register(sources);
  };
}
