import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { push } from './requests.ts';

/** A path for a database in a folder of its own, which goes when the test is over. */
export function temporaryPath(...names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, ...(names.length === 0 ? ['store.db'] : names));
}

/** Puts REVISION in force, and closes the store when the test is over. */
export async function readied(store: Store): Promise<Store> {
  onTestFinished(() => store.close());
  await store.register(['shop', 'vault']);
  await store.push(push('first', ''));
  return store;
}
